//! A batch of SQS messages: each message is done once, and fails alone. Needs the cargo feature `sqs`.
//!
//! [`process_batch`] is for messages with a JSON body; [`SqsBatch`] is for all others, and for your own logs and metrics.
//!
//! The event source mapping must have `FunctionResponseTypes: [ReportBatchItemFailures]`. Without it, Lambda ignores the response and
//! deletes every message. It is for standard queues: messages are processed concurrently, so a batch from a FIFO queue is refused.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::{Claim, Claimed, Error, Fingerprint, TimedStore};

mod outcome;

pub use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
pub use outcome::{BatchFailed, BatchObserver, MessageError, MessageOutcome, ProcessedMessage};

/// How many messages are processed at once, unless [`SqsBatch::concurrency`] says otherwise: all ten of a usual batch.
const CONCURRENCY: usize = 10;

/// Reserved at the end of the invocation, to complete the records and to respond.
const TO_COMPLETE: Duration = Duration::from_secs(1);

/// Reserved at the end of the invocation, to respond.
const TO_RESPOND: Duration = Duration::from_millis(200);

/// No batch takes longer, and `Instant` cannot hold every duration.
const A_DAY: Duration = Duration::from_hours(24);

/// Does the work of every message of a batch once, and returns the messages that the queue must deliver again.
///
/// `T` is the JSON of the message's body, `key` is what makes two messages the same work, and `work` does it. The same key with another
/// body is refused. Bodies are compared byte for byte: if a producer writes the same order in several ways, use [`SqsBatch`] with
/// [`Fingerprint::of_value`].
///
/// Messages with the same key and body are one piece of work. Ten run at once, and each is recorded as soon as it is done. The work is stopped
/// early enough to respond before the store's time limit. A message is acknowledged only if its work is done, now or earlier: a message whose
/// work fails, panics, is stopped, or is being done by another invocation is delivered again, and so is one that cannot be read or has an
/// empty key.
///
/// A panic fails only its own message if the program is built with `panic = "unwind"`. With `panic = "abort"`, which `cargo lambda build`
/// sets unless your release profile sets `panic`, it ends the process, and all messages of the batch are delivered again.
///
/// A batch from a FIFO queue is refused.
///
/// When `work` returns an error or panics, its claim is released, so none of its requests may still be running then.
///
/// Every failure is logged (`tracing`, level `ERROR`), without the message's body. If messages failed and none was done, the result is
/// [`BatchFailed`], so that the invocation counts as an error.
pub async fn process_batch<T, E>(
    store: &TimedStore,
    batch: SqsEvent,
    key: impl Fn(&T) -> String,
    work: impl AsyncFn(&T) -> Result<(), E>,
) -> Result<SqsBatchResponse, BatchFailed>
where
    T: DeserializeOwned,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let parse = |message: &SqsMessage| {
        let body = message.body.as_deref().unwrap_or_default();
        // The parser's own message may quote the body.
        let unreadable = |error: serde_json::Error| {
            let (kind, line, column) = (error.classify(), error.line(), error.column());
            format!("the body is not the expected JSON ({kind:?} error at line {line}, column {column})")
        };
        let value: T = serde_json::from_str(body).map_err(unreadable)?;
        Ok(KeyedMessage { key: key(&value), fingerprint: Fingerprint::of(body), value })
    };
    let work = async |value: &T| work(value).await.map_err(Into::into);
    SqsBatch::new(store, batch).process(parse, work, &mut outcome::LogFailures).await
}

/// The work that a message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedMessage<T> {
    /// What makes two messages the same work. A message with an empty key fails.
    pub key: String,
    /// The payload's fingerprint: the same key with another one is refused.
    pub fingerprint: Fingerprint,
    /// What the work needs of the message.
    pub value: T,
}

/// A batch of SQS messages, with settings; see [`process_batch`] for the short way.
#[derive(Debug)]
#[must_use = "nothing is processed before `process` is called"]
pub struct SqsBatch<'a> {
    store: &'a TimedStore,
    messages: Vec<SqsMessage>,
    concurrency: usize,
    is_in_key_order: bool,
    completes_together: bool,
}

/// Messages with the same key and fingerprint.
struct Repeated<T> {
    message_ids: Vec<String>,
    message: KeyedMessage<T>,
}

impl<'a> SqsBatch<'a> {
    /// A batch whose records are in `store`. The response is returned before the store's time limit.
    pub fn new(store: &'a TimedStore, batch: SqsEvent) -> Self {
        Self {
            store,
            messages: batch.records,
            concurrency: CONCURRENCY,
            is_in_key_order: false,
            completes_together: false,
        }
    }

    /// How many pieces of work run at once: 10 by default, at least 1. The requests for a record count as a part of its work.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Starts the work in the order of the keys (by their bytes), not in that of the messages.
    pub fn in_key_order(mut self) -> Self {
        self.is_in_key_order = true;
        self
    }

    /// Completes the records of the batch together, at its end: one request for 25 records instead of one for each.
    ///
    /// **Only for idempotent work.** If the process dies before the end of the batch, the work of all its messages is done again. Without this,
    /// only work that was not recorded yet is done again. The requests are sent one after another, so it is not for batches of thousands.
    pub fn complete_together(mut self) -> Self {
        self.completes_together = true;
        self
    }

    /// Does the work of every message once, and returns the messages that the queue must deliver again.
    ///
    /// `parse` reads a message, `work` does what it asks for, and `observer` is called with the outcome of every message; it must not panic.
    /// What `work` returns goes to the observer only: it is not stored. `work` must have stored all its effects when it returns `Ok`.
    ///
    /// The rules are those of [`process_batch`].
    pub async fn process<T, R, E>(
        self,
        parse: impl Fn(&SqsMessage) -> Result<KeyedMessage<T>, E>,
        work: impl AsyncFn(&T) -> Result<R, E>,
        observer: &mut impl BatchObserver<T, R, E>,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        let invocation = Invocation::new(self.store, self.completes_together);
        let mut report = BatchReport { observer, messages: 0, failed: 0, response: SqsBatchResponse::default() };
        let is_fifo = self.messages.iter().any(is_from_fifo_queue);
        let mut repeated: Vec<Repeated<T>> = Vec::new();
        let mut places: HashMap<(String, Fingerprint), usize> = HashMap::new();
        for message in self.messages {
            let message_id = message.message_id.clone().unwrap_or_default();
            let parsed = if is_fifo { Err(MessageError::FifoQueue) } else { read(&parse, &message) };
            let message = match parsed {
                Ok(message) => message,
                Err(error) => {
                    report.note(&message_id, None, MessageOutcome::Failed(error));
                    continue;
                }
            };
            match places.entry((message.key.clone(), message.fingerprint.clone())) {
                Entry::Occupied(place) => repeated[*place.get()].message_ids.push(message_id),
                Entry::Vacant(place) => {
                    place.insert(repeated.len());
                    repeated.push(Repeated { message_ids: vec![message_id], message });
                }
            }
        }
        if self.is_in_key_order {
            repeated.sort_by(|one, other| one.message.key.cmp(&other.message.key));
        }

        let (mut claims, mut ids_of_claims, mut values_of_claims) = (Vec::new(), Vec::new(), Vec::new());
        let mut processed = stream::iter(repeated)
            .map(async |repeated| {
                // Boxed, because the compiler limits how deep types are nested, and the caller's own futures are around these.
                let processed = Box::pin(invocation.process(&repeated.message, &work)).await;
                (repeated, processed)
            })
            .buffer_unordered(self.concurrency);
        while let Some((Repeated { message_ids, message }, (outcome, record))) = processed.next().await {
            let value = message.value;
            report.note_all(&message_ids, &value, outcome);
            match record {
                RecordState::Settled => {}
                RecordState::ToComplete(claim) => {
                    claims.push(claim);
                    ids_of_claims.extend(message_ids);
                    values_of_claims.push(value);
                }
                RecordState::NotCompleted(error) => report.observer.not_completed(&message_ids, &[value], &error),
                RecordState::NotReleased(error) => report.observer.not_released(&message_ids, &value, &error),
            }
        }
        if let Err(error) = invocation.complete_all(claims).await {
            report.observer.not_completed(&ids_of_claims, &values_of_claims, &error);
        }
        report.close()
    }
}

/// A panic of the parser fails only this message.
fn read<T, E>(
    parse: &impl Fn(&SqsMessage) -> Result<KeyedMessage<T>, E>,
    message: &SqsMessage,
) -> Result<KeyedMessage<T>, MessageError<E>> {
    let parsed = catch_unwind(AssertUnwindSafe(|| parse(message)));
    parsed.map_err(|_| MessageError::Panicked)?.map_err(MessageError::Parse)
}

/// The name of a FIFO queue ends with `.fifo`, in small letters. A message group id proves nothing: messages of a standard queue can have
/// one too.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queue-message-identifiers.html>
fn is_from_fifo_queue(message: &SqsMessage) -> bool {
    message.event_source_arn.as_deref().is_some_and(|arn| arn.rsplit('.').next() == Some("fifo"))
}

/// The work on one batch.
struct Invocation {
    /// All its claims expire at the same moment, the deadline of the batch.
    store: TimedStore,
    completes_together: bool,
    /// When work is stopped. The time after it is for the records and the response: at the deadline Lambda ends the invocation without a
    /// response, and the queue delivers every message of the batch again. The same for all messages, so that a late start does not shorten
    /// the time after it.
    stop: Instant,
    /// When requests for records are stopped.
    respond_by: Instant,
}

/// The idempotency record of a message, after the message was processed.
enum RecordState {
    /// Nothing is left to do, or the record is left to expire.
    Settled,
    /// The work is done, and the record is completed at the end of the batch.
    ToComplete(Claim),
    NotCompleted(Error),
    NotReleased(Error),
}

impl Invocation {
    fn new(store: &TimedStore, completes_together: bool) -> Self {
        let store = store.with_fixed_deadline();
        let left = store.deadline().saturating_sub(store.now()).min(A_DAY);
        let to_complete = TO_COMPLETE.min(left / 4);
        let to_respond = TO_RESPOND.min(to_complete / 4);
        let now = Instant::now();
        let (stop, respond_by) = (now + left.saturating_sub(to_complete), now + left.saturating_sub(to_respond));
        Self { store, completes_together, stop, respond_by }
    }

    /// Claims the work and does it, as far as time allows.
    async fn process<T, R, E>(
        &self,
        message: &KeyedMessage<T>,
        work: &impl AsyncFn(&T) -> Result<R, E>,
    ) -> (MessageOutcome<R, E>, RecordState) {
        let unclaimed = |outcome| (outcome, RecordState::Settled);
        let out_of_time = || unclaimed(MessageOutcome::Failed(MessageError::OutOfTime));
        // No request is sent that cannot be answered in time.
        if self.stop <= Instant::now() {
            return out_of_time();
        }
        let claimed = match timeout_at(self.stop, self.store.claim(&message.key, &message.fingerprint)).await {
            Ok(Ok(claimed)) => claimed,
            Ok(Err(error)) => return unclaimed(MessageOutcome::Failed(error.into())),
            Err(_) => return out_of_time(),
        };
        let claim = match claimed {
            Claimed::New(claim) => claim,
            Claimed::Completed { .. } => return unclaimed(MessageOutcome::Completed),
            Claimed::InProgress { until } => return unclaimed(MessageOutcome::InProgress { until }),
        };
        // After a panic, nothing of the work is used but the fact that it failed.
        let worked = timeout_at(self.stop, AssertUnwindSafe(async { work(&message.value).await }).catch_unwind()).await;
        let error = match worked {
            Ok(Ok(Ok(result))) => return (MessageOutcome::New(result), self.complete(claim).await),
            Ok(Ok(Err(error))) => MessageError::Work(error),
            Ok(Err(_)) => MessageError::Panicked,
            // A request of the stopped work may still take effect, so the claim is left to expire.
            Err(_) => return out_of_time(),
        };
        let released = self.before_the_response(self.store.release(claim)).await;
        (MessageOutcome::Failed(error), released.map_or_else(RecordState::NotReleased, |()| RecordState::Settled))
    }

    /// Completes the record of work that is done, now or at the end of the batch.
    async fn complete(&self, claim: Claim) -> RecordState {
        if self.completes_together {
            return RecordState::ToComplete(claim);
        }
        let completed = self.before_the_response(self.store.complete(claim, None)).await;
        completed.map_or_else(RecordState::NotCompleted, |()| RecordState::Settled)
    }

    /// Completes the records of work that is done. It has no result, so that `COMPLETED` is true whoever owns the claims by now.
    async fn complete_all(&self, claims: Vec<Claim>) -> Result<(), Error> {
        self.before_the_response(self.store.complete_all(claims)).await
    }

    async fn before_the_response(&self, request: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
        timeout_at(self.respond_by, Box::pin(request)).await.unwrap_or(Err(Error::OutOfTime))
    }
}

/// The response to the queue, and the observer of every message.
struct BatchReport<'a, O> {
    observer: &'a mut O,
    messages: usize,
    failed: usize,
    response: SqsBatchResponse,
}

impl<O> BatchReport<'_, O> {
    /// Notes the outcome of a piece of work for each of its messages.
    fn note_all<T, R, E>(&mut self, message_ids: &[String], value: &T, outcome: MessageOutcome<R, E>)
    where
        O: BatchObserver<T, R, E>,
    {
        let mut outcome = outcome;
        for message_id in message_ids {
            outcome = self.note(message_id, Some(value), outcome);
            if let MessageOutcome::New(_) = outcome {
                outcome = MessageOutcome::Completed;
            }
        }
    }

    fn note<T, R, E>(
        &mut self,
        message_id: &str,
        value: Option<&T>,
        outcome: MessageOutcome<R, E>,
    ) -> MessageOutcome<R, E>
    where
        O: BatchObserver<T, R, E>,
    {
        self.messages += 1;
        match &outcome {
            MessageOutcome::New(_) | MessageOutcome::Completed => {}
            MessageOutcome::InProgress { .. } => self.response.add_failure(message_id),
            MessageOutcome::Failed(_) => {
                self.failed += 1;
                self.response.add_failure(message_id);
            }
        }
        self.observer.processed(ProcessedMessage { message_id, value, outcome: &outcome });
        outcome
    }

    /// A message that another invocation is processing has not failed: a batch of only such messages is no error.
    fn close(self) -> Result<SqsBatchResponse, BatchFailed> {
        let is_all = self.response.batch_item_failures.len() == self.messages;
        if is_all && self.failed > 0 { Err(BatchFailed { messages: self.messages }) } else { Ok(self.response) }
    }
}
