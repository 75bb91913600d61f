//! The whole system on one machine: tables, queues, the real binaries as functions, HTTP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use embedded_dynamodb::Engine;
use lambda_boot::with_causes;
use lambda_host::REGION;
use lambda_host::buckets::Buckets;
use lambda_host::gateway::{HttpApi, unverified_claims};
use lambda_host::mapping::Mapping;
use lambda_host::queues::Queues;
use lambda_host::topics::{Topic, Topics};
use order_events::{EventType, Timestamp};
use serde_json::json;
use stand_in_gateway::StandIn;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use crate::config::{Authorization, Config, StartError};
use crate::console::Watched;
use crate::data_dir::DataDir;
use crate::setup::{ARCHIVE_BUCKET, GATEWAY_SECRET};
pub(crate) use crate::setup::{EVENT_CONCURRENCY, Setup};
use crate::template::{Payments, Template};
use crate::{demo, payments};

/// The longest time of the demo. It takes about two seconds, and longer if a message is retried.
const DEMO_TIMEOUT: Duration = Duration::from_mins(1);

/// The running system. It ends when this value is dropped.
#[derive(Debug)]
pub struct Stack {
    sources: Vec<Source>,
    _archiver: Mapping,
    _payments: payments::Running,
    servers: JoinSet<Result<(), StartError>>,
    _gateway: StandIn,
    topic: Topic,
    endpoints: Endpoints,
    /// The APIs' addresses.
    http: String,
    sqs: String,
    _engine: Engine,
    config: Config,
    /// Declared after the engine, so that the engine is closed before the folder is unlocked.
    data: DataDir,
}

/// The event source mapping of one event type.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) event_type: EventType,
    pub(crate) mapping: Mapping,
}

/// The URLs of the services that the functions use.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    pub(crate) dynamodb: String,
    pub(crate) sns: String,
    pub(crate) s3: String,
    pub(crate) gateway: String,
}

/// An open port.
#[derive(Debug)]
struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

impl Stack {
    /// Starts the engine and all APIs, sets up tables, queues, topic and functions, and fills an empty store with the demo.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let data = DataDir::open(&config.data_dir)?;
        let http = Port::open(config.http_port, "HTTP_PORT").await?;
        let sqs = Port::open(config.sqs_port, "SQS_PORT").await?;
        let sns = Port::open(config.sns_port, "SNS_PORT").await?;
        let s3 = Port::open(config.s3_port, "S3_PORT").await?;
        let gateway = Port::open(config.gateway_port, "GATEWAY_PORT").await?;
        if config.demo && !data.has_tables() && data.planned_demo().is_none() {
            data.plan_demo(Timestamp::from(SystemTime::now()))?;
        }
        let engine = data.open_engine(config.dynamodb_port)?;
        create_tables(&engine).await?;
        let gateway = start_gateway(gateway.listener, &data)?;
        let buckets = open_archive(&data)?;
        let endpoints = Endpoints { dynamodb: engine.endpoint(), sns: sns.url(), s3: s3.url(), gateway: gateway.url() };

        let queues = Queues::new(sqs.address);
        let topics = Topics::new(sns.address, &queues);
        let payments = Payments::read()?;
        let topic = topics.create(payments.topic()?)?;
        let setup = Setup { config: &config, data: &data, endpoints: &endpoints };
        let (mut sources, mut watched) = (Vec::new(), Watched::default());
        for &event_type in EventType::ALL {
            sources.push(setup.source(event_type, &queues, &topic, &mut watched).await?);
        }
        let archiver = setup.archiver(&queues, &topic, &mut watched).await?;
        let running = payments::start(&setup, &payments, &engine, &queues, &topic, &mut watched).await?;

        let mut servers = JoinSet::new();
        let (http_url, sqs_url) = (http.url(), sqs.url());
        let integrations = vec![setup.query_api()?, payments::api(&setup, &payments)?];
        let api = HttpApi::start(integrations, unverified_claims).await;
        let api = api.map_err(|source| cannot("start the HTTP functions", source))?;
        watched.functions.extend_from_slice(api.processes());
        let routes = setup.console(watched, queues.clone(), topic.clone(), &engine, &payments)?;
        let serving = api.serve_behind(http.listener, routes);
        servers.spawn(async move { serving.await.map_err(|source| cannot("serve HTTP", source)) });
        servers.spawn(async move { queues.serve(sqs.listener).await.map_err(|source| cannot("serve SQS", source)) });
        servers.spawn(async move { topics.serve(sns.listener).await.map_err(|source| cannot("serve SNS", source)) });
        servers.spawn(async move { buckets.serve(s3.listener).await.map_err(|source| cannot("serve S3", source)) });
        let mut stack = Self {
            sources,
            _archiver: archiver,
            _payments: running,
            servers,
            _gateway: gateway,
            topic,
            endpoints,
            http: http_url,
            sqs: sqs_url,
            _engine: engine,
            config,
            data,
        };
        if stack.config.demo
            && let Some(now) = stack.data.planned_demo()
        {
            stack.publish_demo(now).await?;
            stack.data.finish_demo()?;
        }
        Ok(stack)
    }

    /// Serves all APIs until this future is dropped.
    pub async fn serve(mut self) -> Result<(), StartError> {
        let ended = self.servers.join_next().await;
        ended.and_then(Result::ok).unwrap_or(Ok(()))
    }

    /// The URL of the HTTP API.
    #[must_use]
    pub fn http_url(&self) -> String {
        self.http.clone()
    }

    /// The other addresses and folders, in one line.
    #[must_use]
    pub fn endpoints(&self) -> String {
        let Endpoints { dynamodb, sns, s3, gateway } = &self.endpoints;
        let (sqs, logs, archive) = (&self.sqs, self.data.logs(), self.data.buckets().join(ARCHIVE_BUCKET));
        format!(
            "DynamoDB at {dynamodb}, SQS at {sqs}, SNS at {sns}, S3 at {s3}, the payment gateway at {gateway}, \
             the archive of all events in {}, the functions' logs in {}",
            archive.display(),
            logs.display()
        )
    }

    /// Commands to try: read an order, publish an event, list a consumer's orders, pay.
    #[must_use]
    pub fn commands_to_try(&self) -> String {
        let (order, consumer) = (demo::ORDER, demo::CONSUMER);
        let (event_type, message) = demo::next_message(Timestamp::from(SystemTime::now()));
        let (http, sns, topic) = (&self.http, &self.endpoints.sns, self.topic.arn());
        let demo::Payment { order_id, consumer_id, amount, currency } = demo::UNPAID;
        let intent = json!({"orderId": order_id, "consumerId": consumer_id, "amount": amount, "currency": currency});
        let attributes = json!({"event-type": {"DataType": "String", "StringValue": event_type.name()}});
        format!(
            "  curl {http}/orders/{order}\n  \
               aws sns publish --no-sign-request --region {REGION} --endpoint-url {sns} \\\n    \
                 --topic-arn {topic} \\\n    \
                 --message-attributes '{attributes}' \\\n    \
                 --message '{message}'\n  \
               curl '{http}/orders?consumerId={consumer}'\n\
             Pay for an order:\n  \
               id=$(curl -s {http}/payment-intents -H 'Idempotency-Key: order-{order_id}' -H 'Content-Type: application/json' \\\n    \
                 -d '{intent}' | sed 's/.*\"paymentIntentId\":\"\\([^\"]*\\)\".*/\\1/')\n  \
               token=$(curl -si -X POST {http}/payment-intents/$id/charge -H 'Idempotency-Key: charge-{order_id}' \\\n    \
                 | tr -d '\\r' | sed -n 's/^[Cc]onsistency-[Tt]oken: //p')\n  \
               curl {http}/orders/{order_id} -H \"Consistency-Token: $token\" -H 'Prefer: wait=5'\n  \
               curl {gateway}/charges\n\
             Rebuild the order history from the archive into another table:\n  \
               make rebuild STAGE=local INTO=ftgo-order-history-v2\n  \
               make rebuild-verify STAGE=local LEFT=ftgo-order-history RIGHT=ftgo-order-history-v2",
            gateway = self.endpoints.gateway,
        )
    }

    /// Publishes the demo, pays for its orders, and waits until the view has all of it.
    async fn publish_demo(&mut self, now: Timestamp) -> Result<(), StartError> {
        let demo = async {
            let events = demo::events(now).map_err(|error| error.to_string())?;
            for event in &events {
                let message = event.to_message().map_err(|error| error.to_string())?;
                let attributes = [("event-type", event.event_type().name())];
                self.topic.publish(message, &attributes).await.map_err(|error| with_causes(&error))?;
            }
            for source in &self.sources {
                let of_type = events.iter().filter(|event| event.event_type() == source.event_type);
                source.mapping.done(of_type.count() as u64).await;
            }
            demo::pay(&self.http, self.config.authorization, now).await
        };
        let in_time = tokio::select! {
            in_time = tokio::time::timeout(DEMO_TIMEOUT, demo) => in_time,
            // If a server stops, the demo cannot finish.
            Some(Ok(Err(error))) = self.servers.join_next() => return Err(error),
        };
        in_time
            .unwrap_or_else(|_| Err(format!("it took longer than {DEMO_TIMEOUT:?}; start again to finish it")))
            .map_err(StartError::Demo)
    }
}

/// Opens the buckets, and creates that of the archive.
pub(crate) fn open_archive(data: &DataDir) -> Result<Buckets, StartError> {
    let path = data.buckets();
    let opened = Buckets::open(&path).and_then(|buckets| buckets.create(ARCHIVE_BUCKET).map(|()| buckets));
    opened.map_err(|source| StartError::DataDir { path, source })
}

/// Starts the stand-in gateway, with its earlier charges.
pub(crate) fn start_gateway(listener: TcpListener, data: &DataDir) -> Result<StandIn, StartError> {
    let secret = Some(GATEWAY_SECRET.to_owned());
    let settings = stand_in_gateway::Settings { secret, file: Some(data.charges()), ..Default::default() };
    StandIn::start(listener, settings).map_err(|source| cannot("start the payment gateway", source))
}

/// Creates the missing tables.
pub(crate) async fn create_tables(engine: &Engine) -> Result<(), StartError> {
    let tables = Template::read()?.tables()?;
    let client = engine.client();
    payment_store::create_tables(&client, &Payments::read()?.tables()?)
        .await
        .map_err(|error| StartError::Tables(error.into()))?;
    order_store::table::create_if_missing(&client, &tables.order_history_table)
        .await
        .map_err(|error| StartError::Tables(error.into()))?;
    idempotency::create_table(&client, &tables.idempotency_table)
        .await
        .map_err(|error| StartError::Tables(error.into()))?;
    Ok(())
}

impl Port {
    async fn open(port: u16, variable: &'static str) -> Result<Self, StartError> {
        let opened = TcpListener::bind(loopback(port)).await;
        let opened = opened.and_then(|listener| Ok(Self { address: listener.local_addr()?, listener }));
        opened.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::PortTaken { port, variable },
            _ => cannot(&format!("open port {port}"), source),
        })
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

pub(crate) fn cannot(what: &str, source: io::Error) -> StartError {
    StartError::Io { what: what.to_owned(), source }
}

pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
