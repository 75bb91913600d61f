//! An archive in a folder, and tables.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use archive::Store;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use embedded_dynamodb::{Engine, Wire};
use flate2::Compression;
use flate2::write::GzEncoder;
use lambda_host::buckets::{Buckets, SECRET};
use order_events::{Event, EventId, Message};
use order_store::table::create_if_missing;
use order_view::VIEW;
use projection::dynamodb::read_item;
use projection::{Found, State};
use rebuild::Error;
use rebuild::batch::{Meter, Processor, Sink};
use rebuild::execution::execute;
use rebuild::filter::Filter;
use rebuild::fold::Quarantined;
use rebuild::plan::{BATCH_BYTES, Listing};
use rebuild::run::{Plan, Report, Run, Target};
use rebuild::snapshot::Snapshot;
use rebuild::table::TableSink;
use sample_events::{message_of_order, story_messages};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use uuid::Uuid;

/// The orders of a table or of a fold.
pub(crate) type Orders = BTreeMap<String, State>;

/// A folder that is removed when the test ends.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("rebuild-{}", Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn archive(&self) -> Store {
        Store::folder(&self.0)
    }

    /// Writes a file of the archive, compressed if its name ends with `.gz`.
    pub(crate) fn put(&self, key: &str, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        self.put_bytes(key, &encoded(key, lines));
    }

    pub(crate) fn put_bytes(&self, key: &str, bytes: &[u8]) {
        let path = self.0.join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Every file, with its content.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.0.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let content = std::fs::read(&path).unwrap();
                    found.insert(path, content);
                }
            }
        }
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn encoded(key: &str, lines: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<u8> {
    let mut text = String::new();
    for line in lines {
        text += line.as_ref();
        text.push('\n');
    }
    if Path::new(key).extension().is_none_or(|extension| extension != "gz") {
        return text.into_bytes();
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

/// The name of a file of this day of March 2026.
pub(crate) fn key(day: usize, name: &str) -> String {
    format!("events/dt=2026-03-{day:02}/hh=12/{name}.ndjson.gz")
}

/// All events of an order, as messages sorted by event id. Every order has its own event ids.
pub(crate) fn lines_of_order(order_id: usize) -> Vec<String> {
    let messages = story_messages();
    let ids = messages.iter().map(|message| message["headers"]["ID"].as_str().unwrap().parse::<EventId>().unwrap());
    let of_order = ids.zip(&messages).enumerate().map(|(place, (id, message))| {
        let id = format!("{:016x}-{:08x}{place:08x}", id.time().as_millis(), order_id).parse().unwrap();
        message_of_order(message, id, &order_id.to_string(), Some(&format!("consumer-{}", order_id % 7))).to_string()
    });
    of_order.collect()
}

/// All events of several orders.
pub(crate) fn lines_of_orders(orders: std::ops::Range<usize>) -> Vec<String> {
    orders.flat_map(lines_of_order).collect()
}

pub(crate) fn events(lines: &[String]) -> Vec<Event> {
    lines.iter().map(|line| Message::parse(line).unwrap().event).collect()
}

/// The fold of the lines by the rules of the view.
pub(crate) fn folded(lines: &[String]) -> Orders {
    order_view::fold(&events(lines)).unwrap().states.into_iter().collect()
}

/// A new table of an engine.
pub(crate) async fn new_table(client: &Client) -> String {
    let name = format!("orders-{}", Uuid::new_v4());
    create_if_missing(client, &name).await.unwrap();
    name
}

/// Every order of a table.
pub(crate) async fn orders(client: &Client, table: &str) -> Orders {
    let (mut orders, mut after) = (Orders::new(), None);
    loop {
        let page = client.scan().table_name(table).set_exclusive_start_key(after).send().await.unwrap();
        for item in page.items.unwrap_or_default() {
            let order_id = item[VIEW.key].as_s().unwrap().clone();
            let Found { state, unreadable } = read_item(&VIEW, item);
            assert_eq!(unreadable, [], "of order {order_id}");
            orders.insert(order_id, state);
        }
        after = page.last_evaluated_key;
        if after.is_none() {
            return orders;
        }
    }
}

/// A rebuild in this process.
#[derive(Clone)]
pub(crate) struct Rebuild {
    pub(crate) archive: Store,
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) filter: Filter,
    pub(crate) memory: usize,
    pub(crate) jobs: usize,
    pub(crate) rate: Option<u32>,
    pub(crate) snapshot: Option<Snapshot>,
}

impl Rebuild {
    pub(crate) fn new(archive: Store, client: Client, table: &str) -> Self {
        let (filter, memory) = (Filter::default(), 64 << 20);
        Self { archive, client, table: table.to_owned(), filter, memory, jobs: 2, rate: None, snapshot: None }
    }

    /// Starts and finishes a run.
    pub(crate) async fn run(&self) -> Result<(Report, Vec<Quarantined>), Error> {
        self.resume(&Run::new_id(SystemTime::now())).await
    }

    /// Finishes a run. Starts it if necessary.
    pub(crate) async fn resume(&self, id: &str) -> Result<(Report, Vec<Quarantined>), Error> {
        let run = Run::new(&self.archive, id)?;
        let base = match &self.snapshot {
            Some(snapshot) => Some(snapshot.base(&self.filter).await?),
            None => None,
        };
        let listing = Listing::read(&self.archive, &self.filter, base.as_ref()).await?;
        let batches = listing.batches(base.as_ref(), BATCH_BYTES);
        let into = Target::Table(self.table.clone());
        let snapshot = base.map(|base| base.id);
        let plan = Plan { rate: self.rate, snapshot, ..Plan::new(id, into, self.filter.clone()) };
        let (_, batches) = run.begin(plan, batches).await?;
        let missing = run.progress_of(batches).await?.missing;
        let mut quarantined = Vec::new();
        execute(&run, &self.processor(), missing, self.jobs, |_, quarantine| quarantined.extend_from_slice(quarantine))
            .await?;
        Ok((run.report().await?, quarantined))
    }

    pub(crate) fn processor(&self) -> Processor {
        Processor {
            archive: self.archive.clone(),
            filter: Arc::new(self.filter.clone()),
            sink: Sink::Table(Arc::new(TableSink::new(self.client.clone(), &self.table, self.rate))),
            memory: self.memory,
            meter: Arc::new(Meter::default()),
        }
    }
}

/// An S3 in this process.
pub(crate) struct S3 {
    folder: Folder,
    buckets: Buckets,
    pub(crate) endpoint: String,
    _server: JoinSet<()>,
}

impl S3 {
    pub(crate) async fn start() -> Self {
        let folder = Folder::new();
        let buckets = Buckets::open(folder.path()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        let served = buckets.clone();
        server.spawn(async move { served.serve(listener).await.unwrap() });
        Self { folder, buckets, endpoint, _server: server }
    }

    /// A new bucket with these files.
    pub(crate) fn bucket(&self, files: &[(String, Vec<String>)]) -> String {
        let name = format!("archive-{}", Uuid::new_v4());
        self.buckets.create(&name).unwrap();
        for (key, lines) in files {
            self.folder.put(&format!("{name}/{key}"), lines.iter().map(String::as_str));
        }
        name
    }

    /// The text of an object.
    pub(crate) fn get(&self, bucket: &str, key: &str) -> String {
        std::fs::read_to_string(self.buckets.folder(bucket).join(key)).unwrap()
    }

    /// Every object of every bucket, and the other files of the server.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.folder.files()
    }

    /// A bucket, over a wire.
    pub(crate) fn store_over(&self, wire: &Wire, bucket: &str) -> Store {
        let credentials = Credentials::new("local", SECRET, None, None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(&self.endpoint)
            .http_client(wire.clone())
            .build();
        Store::s3(archive::client(&config, Duration::from_secs(30)), bucket, "")
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn engine() -> (Engine, Client) {
    let engine = Engine::start();
    let client = engine.client();
    (engine, client)
}
