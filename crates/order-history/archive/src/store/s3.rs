//! Objects in a bucket.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{Builder, StalledStreamProtectionConfig};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::operation::put_object::PutObjectError;
use aws_sdk_s3::primitives::ByteStream;
use aws_types::SdkConfig;
use aws_types::service_config::ServiceConfigKey;

use super::{Object, Version, is_hidden};
use crate::{Error, Location};

/// The attempts to read an object whose content was incomplete, and to make a conditional write after a conflict.
const ATTEMPTS: u32 = 4;

/// The pause after the first attempt. It doubles after each attempt.
const PAUSE: Duration = Duration::from_millis(100);

/// A transfer without progress is stopped after this time.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);

/// A client for S3 with settings for objects of several megabytes.
///
/// `attempt` is the longest time for one request, including the body of an upload. It must be enough for the largest
/// object on the slowest network. A transfer without progress always ends after five seconds.
///
/// If the configuration has its own endpoint, such as an emulator, the bucket's name is part of the path, because
/// it cannot be part of such a host name.
#[must_use]
pub fn client(config: &SdkConfig, attempt: Duration) -> Client {
    let timeouts = TimeoutConfig::builder().connect_timeout(Duration::from_secs(2)).operation_attempt_timeout(attempt);
    let settings = Builder::from(config)
        .force_path_style(has_endpoint(config))
        .timeout_config(timeouts.build())
        .stalled_stream_protection(StalledStreamProtectionConfig::enabled().grace_period(STALL_TIMEOUT).build())
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS));
    Client::from_conf(settings.build())
}

/// Whether the configuration, a profile or the environment sets another endpoint for S3.
fn has_endpoint(config: &SdkConfig) -> bool {
    let key = ServiceConfigKey::builder().service_id("S3").env("AWS_ENDPOINT_URL").profile("endpoint_url").build();
    let of_service = || config.service_config()?.load_config(key.ok()?);
    config.endpoint_url().is_some() || of_service().is_some()
}

#[derive(Debug, Clone)]
pub(super) struct Bucket {
    client: Client,
    name: String,
    prefix: String,
}

impl Bucket {
    pub(super) fn new(client: Client, name: String, prefix: String) -> Self {
        Self { client, name, prefix }
    }

    pub(super) fn location(&self) -> Location {
        Location::S3 { bucket: self.name.clone(), prefix: self.prefix.clone() }
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<Object>, Error> {
        let mut found = Vec::new();
        let request = self.client.list_objects_v2().bucket(&self.name).prefix(self.key(prefix));
        let mut pages = request.into_paginator().send();
        while let Some(page) = pages.next().await {
            for object in page.map_err(|error| self.error(error, prefix))?.contents.unwrap_or_default() {
                let Some(key) = object.key.as_deref().and_then(|key| key.strip_prefix(&self.prefix)) else { continue };
                if !is_hidden(key) {
                    let size = object.size.and_then(|size| size.try_into().ok()).unwrap_or_default();
                    found.push(Object { key: key.to_owned(), size });
                }
            }
        }
        // S3 lists in this order, but directory buckets and some emulators do not.
        found.sort_unstable();
        Ok(found)
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>, Error> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            // The SDK also requests the checksum, and compares it at the end of the content.
            let response = self.client.get_object().bucket(&self.name).key(self.key(key)).send().await;
            let response = match response {
                Ok(response) => response,
                Err(error) if error.as_service_error().is_some_and(|error| error.code() == Some("NoSuchKey")) => {
                    return Ok(None);
                }
                Err(error) => return Err(self.error(error, key)),
            };
            let version = Version(response.e_tag.clone().unwrap_or_default());
            match content(response).await {
                Ok(bytes) => return Ok(Some((bytes, version))),
                Err(_) if attempt < ATTEMPTS => tokio::time::sleep(pause).await,
                Err(source) => return Err(Error::Incomplete { place: self.place(key), source }),
            }
            pause *= 2;
        }
        unreachable!("the last attempt returns")
    }

    pub(super) async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), Error> {
        // The SDK adds a checksum, so S3 stores the complete object or nothing.
        let request = self.client.put_object().bucket(&self.name).key(self.key(key)).body(ByteStream::from(bytes));
        request.send().await.map(|_| ()).map_err(|error| self.error(error, key))
    }

    /// Puts an object if its version is still `expected`; without `expected`, if the key is free. Returns whether it has the new
    /// content now.
    pub(super) async fn put_if(&self, key: &str, bytes: Vec<u8>, expected: Option<&Version>) -> Result<bool, Error> {
        let bytes = bytes::Bytes::from(bytes);
        let mut pause = PAUSE;
        for attempt in 1.. {
            let request = self.client.put_object().bucket(&self.name).key(self.key(key));
            let request = match expected {
                Some(Version(tag)) => request.if_match(tag),
                None => request.if_none_match("*"),
            };
            let Err(error) = request.body(ByteStream::from(bytes.clone())).send().await else { return Ok(true) };
            match refusal(&error) {
                // Another write was first, or an earlier attempt of this one whose response was lost.
                Some(Refusal::Differs) => return Ok(self.get(key).await?.is_some_and(|(now, _)| now == bytes)),
                Some(Refusal::Conflict) if attempt < ATTEMPTS => tokio::time::sleep(pause).await,
                Some(Refusal::Conflict) | None => return Err(self.error(error, key)),
            }
            pause *= 2;
        }
        unreachable!("the last attempt returns")
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), Error> {
        let request = self.client.delete_object().bucket(&self.name).key(self.key(key));
        request.send().await.map(|_| ()).map_err(|error| self.error(error, key))
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn place(&self, key: &str) -> String {
        format!("s3://{}/{}", self.name, self.key(key))
    }

    fn error<E>(&self, error: SdkError<E, HttpResponse>, key: &str) -> Error
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        Error::of_s3(error, &self.name, &self.key(key))
    }
}

/// Why a conditional write was refused.
enum Refusal {
    /// The condition is not met.
    Differs,
    /// A concurrent write; this one should be retried:
    /// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>.
    Conflict,
}

fn refusal(error: &SdkError<PutObjectError, HttpResponse>) -> Option<Refusal> {
    let code = error.as_service_error()?.code();
    match error.raw_response()?.status().as_u16() {
        412 => Some(Refusal::Differs),
        // The object to replace has been deleted.
        404 if code == Some("NoSuchKey") => Some(Refusal::Differs),
        409 => Some(Refusal::Conflict),
        _ => None,
    }
}

/// The content of a response. Checks its length and its checksum.
async fn content(response: GetObjectOutput) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let length = response.content_length;
    let bytes = response.body.collect().await?.to_vec();
    match length.map(usize::try_from) {
        Some(Ok(length)) if length != bytes.len() => {
            Err(format!("received {} bytes instead of {length}", bytes.len()).into())
        }
        _ => Ok(bytes),
    }
}
