//! A batch of SQS messages: each message is done once, and fails alone. Needs the cargo feature `sqs`.
//!
//! [`process_batch`] is for messages with a JSON body; [`SqsBatch`] is for all others, and for your own logs and metrics.
//!
//! The event source mapping must have `FunctionResponseTypes: [ReportBatchItemFailures]`. Without it, Lambda ignores the response and
//! deletes every message. Use it with standard queues: messages are processed concurrently, so the order of a FIFO queue is lost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
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

/// Reserved at the end of the invocation, to complete the records and to answer.
const TO_COMPLETE: Duration = Duration::from_secs(1);

/// Reserved at the end of the invocation, to answer.
const TO_ANSWER: Duration = Duration::from_millis(200);

/// No batch takes longer, and `Instant` cannot hold every duration.
const A_DAY: Duration = Duration::from_hours(24);

/// Does the work of every message of a batch once, and returns the messages that the queue must deliver again.
///
/// `T` is the JSON of the message's body, `key` is what makes two messages the same work, and `work` does it. The same key with another
/// body is refused.
///
/// Messages with the same key and body are one piece of work. Ten run at once. The work is stopped early enough to record what is done and
/// to answer before the store's time limit. A message is acknowledged only if its work is done, now or earlier: a message whose work fails,
/// panics, is stopped, or is being done by another invocation is delivered again, and so is one that cannot be read or has an empty key.
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
        let unreadable =
            |error: serde_json::Error| format!("the body is not the expected JSON (column {})", error.column());
        let value: T = serde_json::from_str(body).map_err(unreadable)?;
        Ok(KeyedMessage { key: key(&value), fingerprint: Fingerprint::of(body), value })
    };
    let work = async |value: &T| work(value).await.map_err(Into::into);
    SqsBatch::new(store, batch).process(parse, work, &mut outcome::LogFailures).await
}

/// What a message asks for.
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
}

/// Messages with the same key and fingerprint.
struct Repeated<T> {
    message_ids: Vec<String>,
    message: KeyedMessage<T>,
}

impl<'a> SqsBatch<'a> {
    /// A batch whose records are in `store`. All of it must be answered before the store's time limit.
    pub fn new(store: &'a TimedStore, batch: SqsEvent) -> Self {
        Self { store, messages: batch.records, concurrency: CONCURRENCY, is_in_key_order: false }
    }

    /// How many pieces of work run at once: 10 by default, at least 1.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Starts the work in the order of the keys (by their bytes), not in that of the messages.
    pub fn in_key_order(mut self) -> Self {
        self.is_in_key_order = true;
        self
    }

    /// Does the work of every message once, and returns the messages that the queue must deliver again.
    ///
    /// `parse` reads a message, `work` does what it asks for, and `observer` is told about every message. What `work` returns goes to the
    /// observer only: it is not stored. `work` must have stored all its effects when it returns `Ok`.
    ///
    /// The rules are those of [`process_batch`].
    pub async fn process<T, R, E>(
        self,
        parse: impl Fn(&SqsMessage) -> Result<KeyedMessage<T>, E>,
        work: impl AsyncFn(&T) -> Result<R, E>,
        observer: &mut impl BatchObserver<T, R, E>,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        let invocation = Invocation { store: self.store.with_fixed_deadline() };
        let mut answer = Answer { observer, messages: 0, failed: 0, response: SqsBatchResponse::default() };
        let mut repeated: Vec<Repeated<T>> = Vec::new();
        let mut places: HashMap<(String, Fingerprint), usize> = HashMap::new();
        for message in self.messages {
            let message_id = message.message_id.clone().unwrap_or_default();
            let message = match parse(&message) {
                Ok(message) => message,
                Err(error) => {
                    answer.note(&message_id, None, MessageOutcome::Failed(MessageError::Parse(error)));
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

        let mut claims = Vec::new();
        let mut processed = stream::iter(repeated)
            .map(async |repeated| {
                let done = invocation.process(&repeated.message, &work).await;
                (repeated, done)
            })
            .buffer_unordered(self.concurrency);
        while let Some((Repeated { message_ids, message }, done)) = processed.next().await {
            claims.extend(done.claim);
            if let Some(error) = done.not_released {
                answer.observer.not_released(&message.value, &error);
            }
            answer.note_all(&message_ids, &message.value, done.outcome);
        }
        drop(processed);
        let records = claims.len();
        if let Err(error) = invocation.complete(claims).await {
            answer.observer.not_completed(records, &error);
        }
        answer.close()
    }
}

/// The work on one batch.
struct Invocation {
    /// All its claims expire at the same moment, the deadline of the batch.
    store: TimedStore,
}

/// What became of a piece of work.
struct Done<R, E> {
    outcome: MessageOutcome<R, E>,
    /// To be completed: the work is done.
    claim: Option<Claim>,
    not_released: Option<Error>,
}

impl<R, E> From<MessageOutcome<R, E>> for Done<R, E> {
    fn from(outcome: MessageOutcome<R, E>) -> Self {
        Self { outcome, claim: None, not_released: None }
    }
}

impl Invocation {
    /// Claims the work and does it, as far as time allows.
    async fn process<T, R, E>(&self, message: &KeyedMessage<T>, work: &impl AsyncFn(&T) -> Result<R, E>) -> Done<R, E> {
        let stop = self.leaving(TO_COMPLETE);
        // No request is sent that cannot be answered in time.
        if stop <= Instant::now() {
            return MessageOutcome::Failed(MessageError::OutOfTime).into();
        }
        let claimed = match timeout_at(stop, self.store.claim(&message.key, &message.fingerprint)).await {
            Ok(Ok(claimed)) => claimed,
            Ok(Err(error)) => return MessageOutcome::Failed(error.into()).into(),
            Err(_) => return MessageOutcome::Failed(MessageError::OutOfTime).into(),
        };
        let claim = match claimed {
            Claimed::New(claim) => claim,
            Claimed::Completed { .. } => return MessageOutcome::Completed.into(),
            Claimed::InProgress { until } => return MessageOutcome::InProgress { until }.into(),
        };
        // After a panic, nothing of the work is used but the fact that it failed.
        let worked = timeout_at(stop, AssertUnwindSafe(async { work(&message.value).await }).catch_unwind()).await;
        let error = match worked {
            Ok(Ok(Ok(result))) => {
                return Done { outcome: MessageOutcome::New(result), claim: Some(claim), not_released: None };
            }
            Ok(Ok(Err(error))) => MessageError::Work(error),
            Ok(Err(_)) => MessageError::Panicked,
            // A request of the stopped work may still take effect, so the claim is left to expire.
            Err(_) => return MessageOutcome::Failed(MessageError::OutOfTime).into(),
        };
        let released = timeout_at(self.leaving(TO_ANSWER), self.store.release(claim)).await;
        let not_released = released.unwrap_or(Err(Error::OutOfTime)).err();
        Done { outcome: MessageOutcome::Failed(error), claim: None, not_released }
    }

    /// Completes the records of work that is done. It has no result, so that `COMPLETED` is true whoever owns the claims by now.
    async fn complete(&self, claims: Vec<Claim>) -> Result<(), Error> {
        timeout_at(self.leaving(TO_ANSWER), self.store.complete_all(claims)).await.unwrap_or(Err(Error::OutOfTime))
    }

    /// When to stop, to leave `time`, but at most a quarter of what is left, for what follows: at the deadline Lambda ends the
    /// invocation without an answer, and the queue delivers every message of the batch again.
    fn leaving(&self, time: Duration) -> Instant {
        let left = self.store.deadline().saturating_sub(self.store.now()).min(A_DAY);
        Instant::now() + left.saturating_sub(time.min(left / 4))
    }
}

/// The answer to the queue, and the observer that hears of every message.
struct Answer<'a, O> {
    observer: &'a mut O,
    messages: usize,
    failed: usize,
    response: SqsBatchResponse,
}

impl<O> Answer<'_, O> {
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
