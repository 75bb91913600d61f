//! A folder, and a bucket of an S3 in this process.

use std::path::PathBuf;
use std::time::Duration;

use archive::{Store, client};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_types::SdkConfig;
use embedded_dynamodb::Wire;
use lambda_host::REGION;
use lambda_host::buckets::{Buckets, SECRET};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use uuid::Uuid;

pub(crate) const BUCKET: &str = "archive";

/// A folder that is removed after the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("archive-{}", Uuid::new_v4())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An S3 with an empty bucket.
pub(crate) struct S3 {
    pub(crate) folder: Folder,
    pub(crate) endpoint: String,
    _server: JoinSet<()>,
}

impl S3 {
    pub(crate) async fn start() -> Self {
        let folder = Folder::new();
        let buckets = Buckets::open(&folder.0).unwrap();
        buckets.create(BUCKET).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { buckets.serve(listener).await.unwrap() });
        Self { folder, endpoint, _server: server }
    }

    /// Its bucket.
    pub(crate) fn store(&self) -> Store {
        self.store_over(&Wire::watched())
    }

    /// Its bucket, over a wire.
    pub(crate) fn store_over(&self, wire: &Wire) -> Store {
        Store::s3(client_over(&self.endpoint, wire), BUCKET, "")
    }
}

pub(crate) fn client_over(endpoint: &str, wire: &Wire) -> Client {
    client(&config(endpoint, wire), Duration::from_secs(30))
}

pub(crate) fn config(endpoint: &str, wire: &Wire) -> SdkConfig {
    let credentials = Credentials::new("somebody", SECRET, None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .http_client(wire.clone())
        .build()
}

/// An empty folder, an empty bucket, and an empty prefix of a bucket with other objects.
pub(crate) struct Stores {
    folder: Folder,
    s3: S3,
}

impl Stores {
    pub(crate) async fn empty() -> Self {
        let s3 = S3::start().await;
        s3.store().put("other", b"not in the part".to_vec()).await.unwrap();
        Self { folder: Folder::new(), s3 }
    }

    pub(crate) fn all(&self) -> [Store; 2] {
        let part = Store::s3(client_over(&self.s3.endpoint, &Wire::watched()), BUCKET, "part/of it/");
        [Store::folder(&self.folder.0), part]
    }
}
