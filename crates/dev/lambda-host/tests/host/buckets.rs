//! The S3 API, through the SDK.

use std::path::PathBuf;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use lambda_host::REGION;
use lambda_host::buckets::{Buckets, SECRET};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use uuid::Uuid;

#[tokio::test]
async fn an_object_is_a_file_in_the_folder_of_its_bucket() {
    let s3 = Api::start().await;
    s3.put("events/dt=2026-03-01/a.ndjson", b"first\n").await;
    assert_eq!(std::fs::read(s3.root.join("archive/events/dt=2026-03-01/a.ndjson")).unwrap(), b"first\n");
    std::fs::write(s3.root.join("archive/events/b.ndjson"), b"by hand\n").unwrap();

    assert_eq!(s3.get("events/dt=2026-03-01/a.ndjson").await.unwrap().0, b"first\n");
    assert_eq!(s3.get("events/b.ndjson").await.unwrap().0, b"by hand\n");
    assert_eq!(s3.keys("events/").await, ["events/b.ndjson", "events/dt=2026-03-01/a.ndjson"]);
    assert_eq!(s3.keys("").await, s3.keys("events/").await, "the engine's own files are not in the bucket");
}

#[tokio::test]
async fn a_listing_has_pages_of_at_most_a_thousand() {
    let s3 = Api::start().await;
    for number in 0..1_205 {
        std::fs::write(s3.root.join(format!("archive/{number:04}")), b"x").unwrap();
    }
    let page = s3.client.list_objects_v2().bucket("archive").max_keys(5_000).send().await.unwrap();
    assert_eq!((page.contents().len(), page.is_truncated()), (1_000, Some(true)));
    let keys = s3.keys("").await;
    assert_eq!(keys, (0..1_205).map(|number| format!("{number:04}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn missing_objects_and_buckets_give_s3s_errors() {
    let s3 = Api::start().await;
    let missing = s3.client.get_object().bucket("archive").key("nothing").send().await;
    assert_eq!(rejection(missing), (404, "NoSuchKey".to_owned()));
    let get = s3.client.get_object().bucket("elsewhere").key("nothing").send().await;
    assert_eq!(rejection(get), (404, "NoSuchBucket".to_owned()));
    let put = s3.client.put_object().bucket("elsewhere").key("a").body(ByteStream::from_static(b"a")).send().await;
    assert_eq!(rejection(put), (404, "NoSuchBucket".to_owned()));
    assert!(!s3.root.join("elsewhere").exists());
    let list = s3.client.list_objects_v2().bucket("elsewhere").send().await;
    assert_eq!(rejection(list), (404, "NoSuchBucket".to_owned()));
}

#[tokio::test]
async fn if_none_match_creates_an_object_only_if_it_does_not_exist() {
    let s3 = Api::start().await;
    let put = |body: &'static [u8]| {
        s3.client.put_object().bucket("archive").key("a").if_none_match("*").body(ByteStream::from_static(body)).send()
    };
    put(b"first").await.unwrap();
    assert_eq!(rejection(put(b"second").await), (412, "PreconditionFailed".to_owned()));
    assert_eq!(s3.get("a").await.unwrap().0, b"first");
}

#[tokio::test]
async fn if_match_replaces_only_the_version_that_was_read() {
    let s3 = Api::start().await;
    let put = |tag: &str, body: &'static [u8]| {
        s3.client.put_object().bucket("archive").key("a").if_match(tag).body(ByteStream::from_static(body)).send()
    };
    s3.put("a", b"first").await;
    let (_, first) = s3.get("a").await.unwrap();
    put(&first, b"second").await.unwrap();
    assert_eq!(rejection(put(&first, b"third").await), (412, "PreconditionFailed".to_owned()));
    let (body, second) = s3.get("a").await.unwrap();
    assert_eq!(body, b"second");
    assert_ne!(second, first);
}

/// The engine checks the condition before it writes: other writes must wait in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_conditional_puts_succeeds() {
    let s3 = Api::start().await;
    for round in 0..20 {
        let key = format!("new-{round}");
        s3.put("old", b"old").await;
        let (_, tag) = s3.get("old").await.unwrap();
        let mut puts = JoinSet::new();
        for number in 0..8 {
            let put = |key: &str| {
                let body = ByteStream::from(format!("{number}").into_bytes());
                s3.client.put_object().bucket("archive").key(key).body(body)
            };
            let (new, old) = (put(&key).if_none_match("*").send(), put("old").if_match(&tag).send());
            puts.spawn(async move { (new.await.is_ok(), old.await.is_ok()) });
        }
        let done = puts.join_all().await;
        assert_eq!(done.iter().filter(|(new, _)| *new).count(), 1, "{key}");
        assert_eq!(done.iter().filter(|(_, old)| *old).count(), 1, "round {round}");
    }
}

/// The SDK compares the checksum, which the engine stores in a separate file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_object_that_is_being_replaced_is_read_whole_with_its_checksum() {
    let s3 = Api::start().await;
    s3.put("a", &[0; 10_000]).await;
    let writer = {
        let client = s3.client.clone();
        tokio::spawn(async move {
            for round in 1..=100_u8 {
                let body = ByteStream::from(vec![round; 10_000]);
                client.put_object().bucket("archive").key("a").body(body).send().await.unwrap();
            }
        })
    };
    while !writer.is_finished() {
        let (body, _) = s3.get("a").await.unwrap();
        assert_eq!(body, vec![body[0]; 10_000]);
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_large_object_is_uploaded_in_parts() {
    let s3 = Api::start().await;
    let upload = s3.client.create_multipart_upload().bucket("archive").key("large").send().await.unwrap();
    let id = upload.upload_id().unwrap();
    let mut done = CompletedMultipartUpload::builder();
    for number in 1..=2 {
        let part = s3.client.upload_part().bucket("archive").key("large").upload_id(id).part_number(number);
        let part = part.body(ByteStream::from(vec![b'x'; 6 << 20])).send().await.unwrap();
        done = done.parts(CompletedPart::builder().part_number(number).set_e_tag(part.e_tag).build());
    }
    let complete = s3.client.complete_multipart_upload().bucket("archive").key("large").upload_id(id);
    complete.multipart_upload(done.build()).send().await.unwrap();
    assert_eq!(s3.get("large").await.unwrap().0.len(), 12 << 20);
}

#[tokio::test]
async fn a_wrong_signature_is_rejected() {
    let s3 = Api::start().await;
    let other = client(&s3.endpoint, "another secret");
    let put = other.put_object().bucket("archive").key("a").body(ByteStream::from_static(b"a")).send().await;
    assert_eq!(rejection(put), (403, "SignatureDoesNotMatch".to_owned()));
}

/// A bucket `archive` in its own folder.
struct Api {
    root: PathBuf,
    endpoint: String,
    client: Client,
    _server: JoinSet<()>,
}

impl Api {
    async fn start() -> Self {
        let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("buckets-{}", Uuid::new_v4()));
        let buckets = Buckets::open(&root).unwrap();
        buckets.create("archive").unwrap();
        assert_eq!(buckets.folder("archive"), root.join("archive"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { buckets.serve(listener).await.unwrap() });
        Self { root, client: client(&endpoint, SECRET), endpoint, _server: server }
    }

    async fn put(&self, key: &str, body: &[u8]) {
        let body = ByteStream::from(body.to_vec());
        self.client.put_object().bucket("archive").key(key).body(body).send().await.unwrap();
    }

    /// An object's content and tag.
    async fn get(&self, key: &str) -> Option<(Vec<u8>, String)> {
        let object = self.client.get_object().bucket("archive").key(key).send().await.ok()?;
        let tag = object.e_tag.unwrap();
        Some((object.body.collect().await.unwrap().to_vec(), tag))
    }

    async fn keys(&self, prefix: &str) -> Vec<String> {
        let mut pages = self.client.list_objects_v2().bucket("archive").prefix(prefix).into_paginator().send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            keys.extend(page.unwrap().contents.unwrap_or_default().into_iter().map(|object| object.key.unwrap()));
        }
        keys
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

fn client(endpoint: &str, secret: &str) -> Client {
    let settings = Builder::new()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new("anybody", secret, None, None, "test"))
        .endpoint_url(endpoint)
        .force_path_style(true)
        .http_client(aws_smithy_http_client::Builder::new().build_http());
    Client::from_conf(settings.build())
}

/// The status and the code of an error.
fn rejection<T: std::fmt::Debug, E: ProvideErrorMetadata + std::fmt::Debug>(
    response: Result<T, SdkError<E, HttpResponse>>,
) -> (u16, String) {
    let error = response.unwrap_err();
    let status = error.raw_response().map_or(0, |response| response.status().as_u16());
    (status, error.code().unwrap_or_default().to_owned())
}
