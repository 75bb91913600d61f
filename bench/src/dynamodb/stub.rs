//! A server that answers immediately, so that only the client's own cost is measured.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::http::request::Parts;

use super::meter::{LastReads, is_read};
use super::server::{RequestHandler, operation};
use crate::Result;

/// Every write succeeds. A read gets the engine's last response to the same operation that went
/// through the meter.
pub(super) struct Stub {
    delay: Duration,
    reads: Arc<LastReads>,
}

impl Stub {
    pub(super) fn new(delay: Duration, reads: Arc<LastReads>) -> Self {
        Self { delay, reads }
    }
}

impl RequestHandler for Stub {
    async fn answer(&self, request: Parts, _: Bytes) -> Result<Response<Full<Bytes>>> {
        let body = match operation(&request) {
            "BatchWriteItem" => Bytes::from_static(br#"{"UnprocessedItems":{}}"#),
            read if is_read(read) => self.reads.get(read),
            _ => Bytes::from_static(b"{}"),
        };
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        Ok(Response::builder().header("content-type", "application/x-amz-json-1.0").body(Full::new(body))?)
    }
}
