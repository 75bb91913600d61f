//! Errors of a bucket say what to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use archive::{Error, Store};
use embedded_dynamodb::{Disturbance, Wire};
use lambda_boot::with_causes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::world::{BUCKET, S3, client_over};

#[track_caller]
fn check(error: &Error, code: &str, retryable: bool, says: &str) {
    let text = with_causes(error);
    assert_eq!((error.code(), error.is_retryable()), (code, retryable), "{text}");
    assert!(text.contains(says), "{text:?} does not say {says:?}");
}

#[tokio::test]
async fn the_error_for_a_missing_bucket_names_it() {
    let s3 = S3::start().await;
    let store = Store::s3(client_over(&s3.endpoint, &Wire::watched()), "elsewhere", "");
    let says = "the bucket elsewhere does not exist: create it, or correct its name";
    check(&store.list("").await.unwrap_err(), "archive_bucket_missing", false, says);
    check(&store.get("a").await.unwrap_err(), "archive_bucket_missing", false, says);
    check(&store.put("a", vec![]).await.unwrap_err(), "archive_bucket_missing", false, says);
    check(&store.put_if_absent("a", vec![]).await.unwrap_err(), "archive_bucket_missing", false, says);
}

#[tokio::test]
async fn every_error_says_what_to_do() {
    let cases = [
        (403, "AccessDenied", "archive_access_denied", false, "s3://archive/key is denied: allow s3:ListBucket"),
        (403, "InvalidAccessKeyId", "archive_credentials", false, "set or renew them"),
        (403, "SignatureDoesNotMatch", "archive_credentials", false, "set or renew them"),
        (400, "ExpiredToken", "archive_credentials", false, "set or renew them"),
        (403, "InvalidObjectState", "archive_frozen", false, "restore it first"),
        (503, "SlowDown", "archive_throttled", true, "with fewer concurrent requests"),
        (500, "InternalError", "archive_unavailable", true, "and retry"),
        (400, "AuthorizationHeaderMalformed", "archive_wrong_region", false, "is in another region: set AWS_REGION"),
        (400, "KMS.DisabledException", "archive_rejected", false, "S3 refused the request for s3://archive/key"),
    ];
    let s3 = S3::start().await;
    let mut checks = JoinSet::new();
    for (status, s3_code, code, retryable, says) in cases {
        let body: &'static str = Box::leak(format!("<Error><Code>{s3_code}</Code></Error>").into_boxed_str());
        let store = s3.store_over(&Wire::disturbed(move |_| Disturbance::Respond(status, body)));
        checks.spawn(async move {
            check(&store.get("key").await.unwrap_err(), code, retryable, says);
            check(&store.put("key", vec![]).await.unwrap_err(), code, retryable, says);
            check(&store.list("key").await.unwrap_err(), code, retryable, says);
        });
    }
    // In parallel, because the SDK pauses between attempts.
    checks.join_all().await;
}

#[tokio::test]
async fn the_error_for_a_bucket_in_another_region_names_the_region() {
    let response = "HTTP/1.1 301 Moved Permanently\r\nx-amz-bucket-region: eu-west-3\r\ncontent-length: 52\r\n\r\n\
                    <Error><Code>PermanentRedirect</Code></Error>       ";
    let server = Server::start(move |_| response.into()).await;
    let error = server.store().list("").await.unwrap_err();
    check(&error, "archive_wrong_region", false, "the bucket archive is in eu-west-3: set AWS_REGION to that region");
}

#[tokio::test]
async fn an_endpoint_without_a_server_is_unavailable() {
    let unused_address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let store = Store::s3(client_over(&format!("http://{unused_address}"), &Wire::watched()), BUCKET, "");
    check(&store.get("key").await.unwrap_err(), "archive_unavailable", true, "check the network and the endpoint");
}

/// The SDK retries only until the response starts. After that, the store retries.
#[tokio::test]
async fn incomplete_or_damaged_content_is_requested_again() {
    let whole = b"HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: 7\r\nx-amz-checksum-crc32: /sUwqQ==\r\n\r\ncontent";
    let with = |from: &str, to: &str| String::from_utf8_lossy(whole).replace(from, to).into_bytes();
    for damaged in [with("\r\n\r\ncontent", "\r\n\r\ncont"), with("\r\n\r\ncontent", "\r\n\r\ncontenT")] {
        let content = damaged.clone();
        let server = Server::start(move |number| if number <= 2 { content.clone() } else { whole.to_vec() }).await;
        assert_eq!(server.store().get("key").await.unwrap().unwrap(), b"content");
        assert_eq!(server.answered(), 3);

        let server = Server::start(move |_| damaged.clone()).await;
        let error = server.store().get("key").await.unwrap_err();
        check(&error, "archive_incomplete", true, "the content of s3://archive/key is incomplete");
    }
}

/// A connection that stops without an error.
#[tokio::test]
async fn content_of_a_stalled_transfer_is_requested_again() {
    let whole = b"HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: 7\r\n\r\ncontent";
    let server = Server::start_holding(|number| match number {
        1 => whole[..whole.len() - 3].to_vec(),
        _ => whole.to_vec(),
    });
    let server = server.await;
    let started = Instant::now();
    assert_eq!(server.store().get("key").await.unwrap().unwrap(), b"content");
    assert_eq!(server.answered(), 2);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

/// Answers every request in the same way.
struct Server {
    endpoint: String,
    answered: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Server {
    /// The connection ends after the response, regardless of its content length.
    async fn start(respond: impl Fn(usize) -> Vec<u8> + Send + 'static) -> Self {
        Self::start_with(respond, false).await
    }

    /// The connection stays open, regardless of the content length.
    async fn start_holding(respond: impl Fn(usize) -> Vec<u8> + Send + 'static) -> Self {
        Self::start_with(respond, true).await
    }

    async fn start_with(respond: impl Fn(usize) -> Vec<u8> + Send + 'static, holds: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let answered = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&answered);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut held = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() > 0 {
                    head.push(byte[0]);
                }
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                stream.write_all(&respond(number)).await.unwrap();
                held.extend(holds.then_some(stream));
            }
        });
        Self { endpoint, answered, _task: task }
    }

    fn store(&self) -> Store {
        Store::s3(client_over(&self.endpoint, &Wire::watched()), BUCKET, "")
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}
