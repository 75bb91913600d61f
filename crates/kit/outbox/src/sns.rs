//! The publisher for SNS.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sns::Client;
use aws_sdk_sns::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_sdk_sns::operation::publish_batch::{PublishBatchError, PublishBatchOutput};
use aws_sdk_sns::types::{BatchResultErrorEntry, MessageAttributeValue, PublishBatchRequestEntry};

use crate::pause::pause_before;
use crate::row::{ATTRIBUTE_OVERHEAD, MAX_PUBLISHED};
use crate::{BATCH_SIZE, Error, EventRow, Publisher};

/// The message attribute with the event's type, for the filters of subscriptions.
const EVENT_TYPE: &str = "event-type";

/// How often a message is sent in all, if the topic neither accepts nor refuses it.
const ROUNDS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// A standard topic of SNS. Every message has the attribute `event-type`.
///
/// Rows are sent with `PublishBatch`, as many at once as its limits allow: ten messages, and 256 KiB in all. If the topic fails for a message, it
/// is sent again up to two times, after a short pause. If the topic refuses a whole request for its content, each message is sent alone,
/// so that one of them does not affect the others.
#[derive(Debug, Clone)]
pub struct SnsTopic {
    client: Client,
    arn: String,
}

impl SnsTopic {
    /// The topic with this ARN. It must not be a FIFO topic: the order of messages is not kept.
    pub fn new(client: Client, arn: impl Into<String>) -> Self {
        Self { client, arn: arn.into() }
    }

    /// Sends rows that fit one request until the topic has taken or refused each, or the rounds are used up.
    async fn publish_request(&self, rows: &[EventRow]) -> Vec<Result<(), Error>> {
        let mut results = Vec::new();
        results.resize_with(rows.len(), || Err(Error::TopicUnavailable("the response leaves the message out".into())));
        let mut pending: Vec<usize> = (0..rows.len()).collect();
        for round in 0..ROUNDS {
            if round > 0 {
                tokio::time::sleep(pause_before(round, FIRST_PAUSE)).await;
            }
            match self.send(rows, &pending).await {
                Ok(output) => note(&output, &mut results),
                Err(error) if refuses_content(&error) && pending.len() > 1 => {
                    self.publish_each(rows, &pending, &mut results).await;
                    break;
                }
                // The SDK has repeated it already.
                Err(error) => {
                    fail(&pending, error, &mut results);
                    break;
                }
            }
            pending.retain(|index| results[*index].as_ref().is_err_and(Error::is_retryable));
            if pending.is_empty() {
                break;
            }
        }
        results
    }

    /// Sends each row in a request of its own, to see which one the topic refuses.
    async fn publish_each(&self, rows: &[EventRow], pending: &[usize], results: &mut [Result<(), Error>]) {
        for (position, index) in pending.iter().enumerate() {
            match self.send(rows, &[*index]).await {
                Ok(output) => note(&output, results),
                Err(error) if refuses_content(&error) => fail(&[*index], error, results),
                // Then it is not about the row, and the others need not wait for the same.
                Err(error) => return fail(&pending[position..], error, results),
            }
        }
    }

    async fn send(
        &self,
        rows: &[EventRow],
        indices: &[usize],
    ) -> Result<PublishBatchOutput, SdkError<PublishBatchError>> {
        let entries: Result<Vec<_>, _> = indices.iter().map(|index| entry(*index, &rows[*index])).collect();
        let entries = entries.map_err(SdkError::construction_failure)?;
        self.client.publish_batch().topic_arn(&self.arn).set_publish_batch_request_entries(Some(entries)).send().await
    }
}

impl Publisher for SnsTopic {
    async fn publish(&self, rows: &[EventRow]) -> Vec<Result<(), Error>> {
        let mut results = Vec::with_capacity(rows.len());
        for request in requests(rows) {
            match request {
                [row] if size(row) > MAX_PUBLISHED => results.push(Err(Error::MessageTooLarge)),
                rows => results.extend(self.publish_request(rows).await),
            }
        }
        results
    }
}

/// The rows in order, cut into what one request takes.
fn requests(rows: &[EventRow]) -> Vec<&[EventRow]> {
    let mut requests = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (index, row) in rows.iter().enumerate() {
        if index > first && (index - first == BATCH_SIZE || bytes + size(row) > MAX_PUBLISHED) {
            requests.push(&rows[first..index]);
            (first, bytes) = (index, 0);
        }
        bytes += size(row);
    }
    if first < rows.len() {
        requests.push(&rows[first..]);
    }
    requests
}

/// What SNS counts: the message, and name, data type and value of its attribute.
fn size(row: &EventRow) -> usize {
    row.message.len() + row.event_type.len() + ATTRIBUTE_OVERHEAD
}

fn entry(index: usize, row: &EventRow) -> Result<PublishBatchRequestEntry, BoxError> {
    let event_type = MessageAttributeValue::builder().data_type("String").string_value(&row.event_type).build()?;
    let entry = PublishBatchRequestEntry::builder()
        .id(index.to_string())
        .message(&row.message)
        .message_attributes(EVENT_TYPE, event_type);
    Ok(entry.build()?)
}

/// Puts the result for each entry in its row's place.
fn note(output: &PublishBatchOutput, results: &mut [Result<(), Error>]) {
    let published = output.successful().iter().map(|entry| (entry.id().unwrap_or_default(), Ok(())));
    let failed = output.failed().iter().map(|entry| (entry.id(), Err(entry_error(entry))));
    for (id, result) in published.chain(failed) {
        if let Some(place) = id.parse::<usize>().ok().and_then(|index| results.get_mut(index)) {
            *place = result;
        }
    }
}

/// A request that failed, in the place of each of its rows.
fn fail(pending: &[usize], error: SdkError<PublishBatchError>, results: &mut [Result<(), Error>]) {
    let error = Arc::new(error);
    for index in pending {
        results[*index] = Err(request_error(&error));
    }
}

/// Whether the request was refused for what one of its messages has in it. `PublishBatch` mostly reports this for each message alone,
/// but not always.
fn refuses_content(error: &SdkError<PublishBatchError>) -> bool {
    let of_the_topic = || error.message().is_some_and(|message| message.contains("TopicArn"));
    match error.as_service_error() {
        Some(
            PublishBatchError::InvalidParameterException(_)
            | PublishBatchError::InvalidParameterValueException(_)
            | PublishBatchError::ValidationException(_)
            | PublishBatchError::BatchRequestTooLongException(_),
        ) => !of_the_topic(),
        _ => false,
    }
}

fn request_error(error: &Arc<SdkError<PublishBatchError>>) -> Error {
    let cause: BoxError = Box::new(Arc::clone(error));
    match &**error {
        _ if refuses_content(error) => Error::MessageRefused(cause),
        SdkError::ServiceError(response) if response.raw().status().is_server_error() => Error::TopicUnavailable(cause),
        SdkError::ServiceError(response) if is_throttling(response.err().code().unwrap_or_default()) => {
            Error::TopicUnavailable(cause)
        }
        SdkError::ServiceError(_) | SdkError::ConstructionFailure(_) => Error::TopicRejected(cause),
        // Timeout, dispatch failure or unreadable response; the SDK's enum is non-exhaustive.
        _ => Error::TopicUnavailable(cause),
    }
}

/// `SenderFault` says that it is on our side, which can be the message, and can be our rate or our permissions.
fn entry_error(entry: &BatchResultErrorEntry) -> Error {
    let code = entry.code();
    let cause = format!("{code}: {}", entry.message().unwrap_or_default()).into();
    if !entry.sender_fault() || is_throttling(code) {
        Error::TopicUnavailable(cause)
    } else if code.contains("Authorization") || code.contains("AccessDenied") || code.contains("KMS") {
        Error::TopicRejected(cause)
    } else {
        Error::MessageRefused(cause)
    }
}

/// `Throttled`, `ThrottlingException`, `KMSThrottling` and the like.
fn is_throttling(code: &str) -> bool {
    code.contains("Throttl")
}
