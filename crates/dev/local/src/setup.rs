//! Makes the templates' queues and functions, with the changes for one machine.

use std::time::Duration;

use axum::Router;
use embedded_dynamodb::Engine;
use lambda_host::REGION;
use lambda_host::buckets;
use lambda_host::gateway::Integration;
use lambda_host::lambda::Settings;
use lambda_host::mapping::{Batching, Mapping};
use lambda_host::queues::{self, Queues};
use lambda_host::route::Route;
use lambda_host::topics::Topic;
use order_events::EventType;

use crate::config::{Config, StartError};
use crate::console::{self, Console, Tables, Watched};
use crate::data_dir::DataDir;
use crate::demo;
use crate::stack::{Endpoints, Source, cannot};
use crate::template::{Archive, Function, Payments, Projection, Template};

/// The concurrent requests of each HTTP function. More than the number of cores, because requests that wait for an event use no CPU.
const HTTP_CONCURRENCY: usize = 16;

/// The concurrent batches of one event type. Lambda allows more, but has more cores.
pub(crate) const EVENT_CONCURRENCY: usize = 2;

/// The bucket of the archive. The name in the template contains an account.
pub(crate) const ARCHIVE_BUCKET: &str = "ftgo-order-history-archive";

/// The longest time in which messages are gathered for one file of the archive. Production gathers for minutes.
const ARCHIVE_WINDOW: Duration = Duration::from_secs(1);

/// The secret of the stand-in payment gateway.
pub(crate) const GATEWAY_SECRET: &str = "local";

/// Sets up functions and queues.
pub(crate) struct Setup<'a> {
    pub(crate) config: &'a Config,
    pub(crate) data: &'a DataDir,
    pub(crate) endpoints: &'a Endpoints,
}

impl Setup<'_> {
    /// A function, with a new log.
    pub(crate) fn function(&self, function: &Function) -> Result<Settings, StartError> {
        let mut settings = self.config.function(function, self.endpoints)?;
        settings.log_file = Some(self.data.new_log(&settings.name)?);
        Ok(settings)
    }

    /// A queue with a shorter visibility timeout than in production.
    pub(crate) fn queue(&self, queue: queues::Settings) -> queues::Settings {
        queues::Settings { visibility_timeout: self.config.visibility_timeout.as_secs(), ..queue }
    }

    /// The queue and the function of an event type.
    pub(crate) async fn source(
        &self,
        event_type: EventType,
        queues: &Queues,
        topic: &Topic,
        watched: &mut Watched,
    ) -> Result<Source, StartError> {
        let Projection { queue, dead_letter_queue, subscription, handler, batch_size } = Projection::of(event_type)?;
        let dead_letters = queues.create(&dead_letter_queue).await?;
        let max_receive_count = max_receive_count(&queue);
        let queue = queues.create(&self.queue(queue)).await?;
        topic.subscribe(&subscription)?;
        let mut function = self.function(&handler)?;
        // A killed function's claims last until its timeout. They must have expired when the messages are retried. With
        // the whole visibility timeout they would not, because the claims start after the receive.
        function.timeout = function.timeout.min(self.config.visibility_timeout / 2);
        let mapping = Mapping::start(queue.clone(), function, batch_size, EVENT_CONCURRENCY);
        watched.add(&mapping, queue, dead_letters, max_receive_count);
        watched.handlers.insert(event_type, mapping.processes().clone());
        Ok(Source { event_type, mapping })
    }

    /// The queue and the function of the archive.
    pub(crate) async fn archiver(
        &self,
        queues: &Queues,
        topic: &Topic,
        watched: &mut Watched,
    ) -> Result<Mapping, StartError> {
        let archive = Template::read()?.archive;
        // Gathered messages must not become visible again.
        let window = ARCHIVE_WINDOW.min(self.config.visibility_timeout / 4);
        let batching = Batching { size: archive.batch_size, window: archive.batching_window().min(window) };
        let Archive { queue, dead_letter_queue, subscription, archiver, .. } = archive;
        let dead_letters = queues.create(&dead_letter_queue).await?;
        let max_receive_count = max_receive_count(&queue);
        let queue = queues.create(&self.queue(queue)).await?;
        topic.subscribe(&subscription)?;
        let mut function = self.function(&archiver)?;
        // The function must end before its messages are retried; otherwise they would be archived twice.
        function.timeout = function.timeout.min(self.config.visibility_timeout / 2);
        let mapping = Mapping::start(queue.clone(), function, batching, EVENT_CONCURRENCY);
        watched.add(&mapping, queue, dead_letters, max_receive_count);
        Ok(mapping)
    }

    /// The HTTP function of the order history.
    pub(crate) fn query_api(&self) -> Result<Integration, StartError> {
        let http = Template::read()?.http;
        let mut query_api = http.query_api;
        // The page links to the console, and without sign-in it offers the demo's consumers.
        query_api.environment.insert("CONSOLE".to_owned(), "console".to_owned());
        if self.config.demo {
            query_api.environment.insert("SAMPLE_CONSUMERS".to_owned(), demo::CONSUMERS.join(","));
        }
        self.integration(&query_api, http.routes)
    }

    /// The console's routes.
    pub(crate) fn console(
        &self,
        watched: Watched,
        queues: Queues,
        topic: Topic,
        engine: &Engine,
        payments: &Payments,
    ) -> Result<Router, StartError> {
        let of_orders = Template::read()?.tables()?;
        let tables = Tables {
            order_history: of_orders.order_history_table,
            idempotency: of_orders.idempotency_table,
            outbox: payments.tables()?.outbox,
        };
        Ok(console::routes(Console::new(console::Settings {
            watched,
            queues,
            topic,
            client: engine.client(),
            tables,
            logs: self.data.logs(),
            archive: self.data.buckets().join(ARCHIVE_BUCKET),
            shuffle_pace: self.config.shuffle_pace,
            visibility_timeout: self.config.visibility_timeout,
        })))
    }

    pub(crate) fn integration(&self, function: &Function, routes: Vec<Route>) -> Result<Integration, StartError> {
        let mut function = self.function(function)?;
        function.environment.push(("AUTHORIZATION".to_owned(), self.config.authorization.name().to_owned()));
        Ok(Integration { function, concurrency: HTTP_CONCURRENCY, routes })
    }
}

fn max_receive_count(queue: &queues::Settings) -> u32 {
    queue.redrive.as_ref().map_or(0, |redrive| redrive.max_receive_count)
}

impl Config {
    /// A function of the template that uses these endpoints.
    pub(crate) fn function(&self, function: &Function, endpoints: &Endpoints) -> Result<Settings, StartError> {
        let binary = self.binaries.join(function.binary());
        // The processes start with the first events, so a missing binary is reported here.
        std::fs::metadata(&binary).map_err(|source| cannot(&format!("find {}", binary.display()), source))?;
        let mut environment = function.environment.clone();
        // There is no Secrets Manager on one machine.
        if environment.remove("GATEWAY_SECRET_ARN").is_some() {
            environment.insert("GATEWAY_URL".to_owned(), endpoints.gateway.clone());
            environment.insert("GATEWAY_SECRET".to_owned(), GATEWAY_SECRET.to_owned());
        }
        if let Some(bucket) = environment.get_mut("ARCHIVE_BUCKET") {
            ARCHIVE_BUCKET.clone_into(bucket);
        }
        let added = [
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.dynamodb.as_str()),
            ("AWS_ENDPOINT_URL_SNS", &endpoints.sns),
            ("AWS_ENDPOINT_URL_S3", &endpoints.s3),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", buckets::SECRET),
        ];
        environment.extend(added.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (name, value) in [("LOG_LEVEL", &self.log_level), ("CHARGE_MODE", &self.charge_mode)] {
            if let (Some(of_template), Some(value)) = (environment.get_mut(name), value) {
                of_template.clone_from(value);
            }
        }
        Ok(Settings {
            name: function.name.clone(),
            handler: function.handler.clone(),
            binary,
            environment: environment.into_iter().collect(),
            timeout: function.timeout(),
            memory_size: function.memory_size,
            log_file: None,
        })
    }
}
