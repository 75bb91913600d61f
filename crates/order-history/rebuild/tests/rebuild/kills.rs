//! Processes that end at any request to S3.

use std::path::Path;

use archive::Store;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use embedded_dynamodb::{Disturbance, Wire};
use lambda_host::buckets::{Buckets, SECRET};
use rebuild::filter::Filter;
use rebuild::run::{Run, Target};
use rebuild::snapshot::{Options, take};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::buckets::orders_in;
use crate::import_files::import;
use crate::snapshots::{built, options, snapshot, spread};
use crate::world::{Folder, Orders, encoded, folded, key, lines_of_orders, runtime};

/// An S3 API in this process, with an archive in the bucket `archive`.
struct S3 {
    folder: Folder,
    endpoint: String,
    _server: Runtime,
}

impl S3 {
    fn start() -> Self {
        let (folder, server) = (Folder::new(), runtime());
        let buckets = Buckets::open(folder.path()).unwrap();
        buckets.create("archive").unwrap();
        let listener = server.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        server.spawn(async move { buckets.serve(listener).await });
        Self { folder, endpoint, _server: server }
    }

    /// The archive over a wire, without retries.
    fn over(&self, wire: &Wire) -> Store {
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&self.endpoint)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", SECRET, None, None, "test"))
            .force_path_style(true)
            .http_client(wire.clone())
            .retry_config(RetryConfig::disabled());
        Store::s3(aws_sdk_s3::Client::from_conf(config.build()), "archive", "")
    }

    /// The same objects, without S3.
    fn files(&self) -> Store {
        Store::folder(self.folder.path().join("archive"))
    }

    fn put(&self, key: &str, lines: &[String]) {
        self.folder.put_bytes(&format!("archive/{key}"), &encoded(key, lines));
    }

    /// Keeps only these objects.
    fn reset_to(&self, objects: &[(String, Vec<u8>)]) {
        let archive = self.folder.path().join("archive");
        std::fs::remove_dir_all(&archive).unwrap();
        for hidden in std::fs::read_dir(self.folder.path()).unwrap() {
            let path = hidden.unwrap().path();
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
        std::fs::create_dir(&archive).unwrap();
        for (key, bytes) in objects {
            self.folder.put_bytes(&format!("archive/{key}"), bytes);
        }
    }

    fn objects(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.files();
        let listed = runtime().block_on(files.list("")).unwrap();
        let content = |key: &str| runtime().block_on(files.get(key)).unwrap().unwrap();
        listed.into_iter().map(|object| (object.key.clone(), content(&object.key))).collect()
    }
}

/// A process that ends before its request `last` is sent, or after the request took effect and before its response.
fn killed(last: usize, answered: bool) -> Wire {
    Wire::disturbed(move |request| match request.number.cmp(&last) {
        std::cmp::Ordering::Less => Disturbance::None,
        std::cmp::Ordering::Equal if !answered => Disturbance::LoseResponse,
        std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => Disturbance::FailBefore,
    })
}

/// The unfinished run, if it can be resumed.
fn unfinished(store: &Store) -> Option<String> {
    let plans = runtime().block_on(store.list("runs/")).unwrap();
    let plans = plans.iter().filter(|object| Path::new(&object.key).ends_with("plan.json"));
    let mut ids = plans.map(|object| object.key.split('/').nth(1).unwrap());
    ids.find_map(|id| {
        let run = Run::new(store, id).unwrap();
        let plan = runtime().block_on(run.plan()).unwrap();
        let is_unfinished = runtime().block_on(run.find_report()).unwrap().is_none();
        (is_unfinished && matches!(plan.into, Target::Snapshot(_))).then(|| id.to_owned())
    })
}

fn latest(store: &Store) -> String {
    String::from_utf8(runtime().block_on(store.get("snapshots/latest")).unwrap().unwrap()).unwrap()
}

#[test]
fn a_snapshot_that_is_stopped_at_any_request_can_be_resumed_and_the_latest_one_stays_usable() {
    let (s3, lines) = (S3::start(), lines_of_orders(0..4));
    let (files, expected): (_, Orders) = (spread(&lines, 3), folded(&lines));
    s3.put(&key(1, "a"), &files[0]);
    let first = snapshot(&s3.files());
    s3.put(&key(2, "b"), &files[1]);
    s3.put(&key(3, "c"), &files[2]);
    let before = s3.objects();
    let old = latest(&s3.files());
    assert!(old.contains(&first.id));

    let wire = Wire::watched();
    runtime().block_on(take(options(&s3.over(&wire)), |_| ())).unwrap();
    let requests = wire.requests().len();
    assert!(requests > 30, "{requests} requests");
    let (mut kept, mut replaced) = (0, 0);
    for last in 1..=requests {
        for answered in [true, false] {
            s3.reset_to(&before);
            let taken = runtime().block_on(take(options(&s3.over(&killed(last, answered))), |_| ()));
            assert!(taken.is_err(), "request {last} of {requests} was not the last one");
            let files = s3.files();
            if latest(&files) == old {
                kept += 1;
            } else {
                replaced += 1;
            }
            assert_eq!(built(&files), expected, "from the latest snapshot after request {last}");

            // A run that was not started does not prevent another one.
            let resume = unfinished(&files);
            runtime().block_on(take(Options { resume, ..options(&files) }, |_| ())).unwrap();
            assert_ne!(latest(&files), old, "after request {last}");
            assert_eq!(built(&files), expected, "from the snapshot that was resumed after request {last}");
            let spilled = runtime().block_on(files.list("runs/")).unwrap();
            let spilled: Vec<_> = spilled.iter().filter(|object| object.key.contains("/spill/")).collect();
            assert!(spilled.is_empty(), "after request {last}: {spilled:?}");
        }
    }
    assert!(kept > 2 * replaced && replaced > 0, "the latest was kept {kept} times and replaced {replaced} times");
}

#[test]
fn a_run_that_was_stopped_at_any_request_and_resumed_writes_the_same_import_files() {
    let (s3, lines) = (S3::start(), lines_of_orders(0..4));
    for (day, file) in spread(&lines, 3).iter().enumerate() {
        s3.put(&key(day + 1, "a"), file);
    }
    let (before, expected) = (s3.objects(), folded(&lines));
    let wire = Wire::watched();
    runtime().block_on(import(&s3.over(&wire), "files", Filter::default(), 64 << 20)).unwrap();
    let requests = wire.requests().len();
    assert!(requests > 25, "{requests} requests");
    for last in 1..=requests {
        for answered in [true, false] {
            s3.reset_to(&before);
            let killed = s3.over(&killed(last, answered));
            runtime().block_on(import(&killed, "files", Filter::default(), 64 << 20)).unwrap_err();
            runtime().block_on(import(&s3.files(), "files", Filter::default(), 64 << 20)).unwrap();
            let found = orders_in(&s3.files(), "runs/files/import/data/");
            assert_eq!(found, expected, "after request {last}");
            assert_eq!(runtime().block_on(s3.files().list("runs/files/spill/")).unwrap(), []);
        }
    }
}
