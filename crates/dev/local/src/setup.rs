//! Queues and functions as the templates have them, with what is different on one machine.

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
use crate::stack::{Places, Source, cannot};
use crate::template::{Archive, Function, Payments, Projection, Template};

/// How many requests each function behind HTTP serves at once. More than there are cores: a request that waits for its event does nothing else.
const HTTP_CONCURRENCY: usize = 16;

/// How many batches of one event type are handled at once. Lambda would handle more, but has more cores.
pub(crate) const EVENT_CONCURRENCY: usize = 2;

/// The bucket of the archive. The template's name has an account in it.
pub(crate) const ARCHIVE_BUCKET: &str = "ftgo-order-history-archive";

/// How long messages are gathered for one file of the archive, at most. Nobody sits and waits for minutes.
const ARCHIVE_WINDOW: Duration = Duration::from_secs(1);

/// What the stand-in payment gateway wants to hear.
pub(crate) const GATEWAY_SECRET: &str = "local";

/// What a function is set up with.
pub(crate) struct Setup<'a> {
    pub(crate) config: &'a Config,
    pub(crate) data: &'a DataDir,
    pub(crate) places: &'a Places,
}

impl Setup<'_> {
    /// A function, with a new log.
    pub(crate) fn function(&self, function: &Function) -> Result<Settings, StartError> {
        let mut settings = self.config.function(function, self.places)?;
        settings.log_file = Some(self.data.new_log(&settings.name)?);
        Ok(settings)
    }

    /// A queue whose messages come again sooner than in production.
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
        // A function that was killed has claimed its events for as long as it might have run. When they come again, that
        // time must have passed; with the whole visibility timeout it would not, by the time the function took to start.
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
        // What is gathered must not come again meanwhile.
        let window = ARCHIVE_WINDOW.min(self.config.visibility_timeout / 4);
        let batching = Batching { size: archive.batch_size, window: archive.batching_window().min(window) };
        let Archive { queue, dead_letter_queue, subscription, archiver, .. } = archive;
        let dead_letters = queues.create(&dead_letter_queue).await?;
        let max_receive_count = max_receive_count(&queue);
        let queue = queues.create(&self.queue(queue)).await?;
        topic.subscribe(&subscription)?;
        let mut function = self.function(&archiver)?;
        // It ends before its messages come again, which would only be archived twice.
        function.timeout = function.timeout.min(self.config.visibility_timeout / 2);
        let mapping = Mapping::start(queue.clone(), function, batching, EVENT_CONCURRENCY);
        watched.add(&mapping, queue, dead_letters, max_receive_count);
        Ok(mapping)
    }

    /// The function behind HTTP of the order history.
    pub(crate) fn query_api(&self) -> Result<Integration, StartError> {
        let http = Template::read()?.http;
        let mut query_api = http.query_api;
        // The page has a link to the console, and offers the demo's consumers to who is not signed in.
        query_api.environment.insert("CONSOLE".to_owned(), "console".to_owned());
        if self.config.demo {
            query_api.environment.insert("SAMPLE_CONSUMERS".to_owned(), demo::CONSUMERS.join(","));
        }
        self.integration(&query_api, http.routes)
    }

    /// The console, which looks at all the others.
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
    /// A function as its template has it, with what it needs at these places.
    pub(crate) fn function(&self, function: &Function, places: &Places) -> Result<Settings, StartError> {
        let binary = self.binaries.join(function.binary());
        // Its processes start with the first events; that it is there is found out now.
        std::fs::metadata(&binary).map_err(|source| cannot(&format!("find {}", binary.display()), source))?;
        let mut environment = function.environment.clone();
        // Its secret is in no Secrets Manager here.
        if environment.remove("GATEWAY_SECRET_ARN").is_some() {
            environment.insert("GATEWAY_URL".to_owned(), places.gateway.clone());
            environment.insert("GATEWAY_SECRET".to_owned(), GATEWAY_SECRET.to_owned());
        }
        if let Some(bucket) = environment.get_mut("ARCHIVE_BUCKET") {
            ARCHIVE_BUCKET.clone_into(bucket);
        }
        let ours = [
            ("AWS_ENDPOINT_URL_DYNAMODB", places.dynamodb.as_str()),
            ("AWS_ENDPOINT_URL_SNS", &places.sns),
            ("AWS_ENDPOINT_URL_S3", &places.s3),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", buckets::SECRET),
        ];
        environment.extend(ours.map(|(name, value)| (name.to_owned(), value.to_owned())));
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
