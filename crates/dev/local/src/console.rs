//! The console of `make run`: what runs, what waits and what failed, in a browser. It is served by this program only, beside the HTTP
//! API and on the same port.

mod archive;
mod dead_letters;
mod dice;
mod functions;
mod guard;
mod orders;
mod outbox;
mod problem;
mod publisher;
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

/// How long a count of the archive's files stays good: it walks through all folders.
const COUNT_GOOD_FOR: Duration = Duration::from_secs(5);

/// All that the console shows and does.
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

/// Where the console finds what it shows.
pub(crate) struct Settings {
    /// What runs.
    pub(crate) watched: Watched,
    pub(crate) queues: Queues,
    pub(crate) topic: Topic,
    pub(crate) client: Client,
    /// The tables' names.
    pub(crate) tables: Tables,
    /// The folder with the functions' logs.
    pub(crate) logs: PathBuf,
    /// The folder with the objects of the archive.
    pub(crate) archive: PathBuf,
    /// How long a step of a shuffle lasts.
    pub(crate) shuffle_pace: Duration,
    /// When a message that failed comes again.
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
            archive: Archive::new(archive, COUNT_GOOD_FOR),
            orders: Orders::new(client, &tables.order_history, publisher),
            shuffles: Shuffles::new(shuffles),
        }
    }
}
