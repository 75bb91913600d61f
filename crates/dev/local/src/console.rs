//! The console of `make run` shows the running system in a browser: functions, queues, failures, orders. Only this program serves it,
//! on the port of the HTTP API.

mod archive;
mod dead_letters;
mod functions;
mod guard;
mod orders;
mod outbox;
mod problem;
mod publisher;
mod random;
mod server;
mod shuffle;
mod site;
mod state;
mod watched;

use std::path::PathBuf;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use lambda_host::queues::Queues;
use lambda_host::topics::Topic;

use self::archive::Archive;
use self::dead_letters::DeadLetters;
use self::functions::Functions;
use self::orders::Orders;
use self::outbox::Outbox;
use self::publisher::Publisher;
pub(crate) use self::server::routes;
use self::shuffle::Shuffles;
pub(crate) use self::watched::Watched;
use self::watched::WatchedQueue;

/// The archive's files are counted again after this time. Counting reads all folders.
const COUNT_MAX_AGE: Duration = Duration::from_secs(5);

/// The state and the actions of the console.
pub(crate) struct Console {
    functions: Functions,
    queues: Vec<WatchedQueue>,
    dead_letters: DeadLetters,
    topic: Topic,
    outbox: Outbox,
    archive: Archive,
    orders: Orders,
    shuffles: Shuffles,
}

/// The system that the console shows.
pub(crate) struct Settings {
    pub(crate) watched: Watched,
    pub(crate) queues: Queues,
    pub(crate) topic: Topic,
    pub(crate) client: Client,
    pub(crate) tables: Tables,
    /// The folder with the functions' logs.
    pub(crate) logs: PathBuf,
    /// The folder with the objects of the archive.
    pub(crate) archive: PathBuf,
    /// The length of one step of a shuffle.
    pub(crate) shuffle_pace: Duration,
    /// The time after which a failed message is retried.
    pub(crate) visibility_timeout: Duration,
}

/// The names of the tables.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) order_history: String,
    pub(crate) idempotency: String,
    pub(crate) outbox: String,
}

impl Console {
    pub(crate) fn new(settings: Settings) -> Self {
        let Settings { watched, queues, topic, client, tables, logs, archive, shuffle_pace, visibility_timeout } =
            settings;
        let publisher = Publisher::new(topic.clone());
        let shuffles = shuffle::Settings {
            handlers: watched.handlers.clone(),
            client: client.clone(),
            tables: tables.clone(),
            publisher: publisher.clone(),
            pace: shuffle_pace,
            visibility_timeout,
        };
        Self {
            dead_letters: DeadLetters::new(queues),
            functions: Functions::new(watched.functions, &logs),
            queues: watched.queues,
            topic,
            outbox: Outbox { client: client.clone(), table: tables.outbox },
            archive: Archive::new(archive, COUNT_MAX_AGE),
            orders: Orders::new(client, &tables.order_history, publisher),
            shuffles: Shuffles::new(shuffles),
        }
    }
}
