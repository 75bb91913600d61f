//! The entry point: locks in one table.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem};
use uuid::Uuid;

use crate::cancellation::{Cancellation, Cause};
use crate::holder::Sighting;
use crate::protocol::{Mode, Subject, Write};
use crate::record::{Item, Record};
use crate::request::{LockRequest, LockSetRequest};
use crate::{Attributes, Error, Holder, Key, LocksBuilder, Observation, RetryPolicy, Takeover, retry_on_conflict};

/// A request that meets another one's transaction on the same item is sent again after a moment.
const CONFLICTS: RetryPolicy =
    RetryPolicy { attempts: 5, first_pause: Duration::from_millis(10), max_pause: Duration::from_millis(100) };

/// Locks in one DynamoDB table. Clones are cheap and share everything.
#[derive(Clone)]
pub struct Locks {
    pub(crate) settings: Arc<Settings>,
    pub(crate) deadline: Option<SystemTime>,
}

pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) attributes: Attributes,
    pub(crate) placement: Placement,
    pub(crate) name: Option<String>,
    pub(crate) lease: Duration,
    pub(crate) takeover: Takeover,
    pub(crate) polling: RetryPolicy,
    pub(crate) clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    pub(crate) observer: Box<dyn Fn(Observation) + Send + Sync>,
}

/// Where a lock's attributes are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Placement {
    /// In an item of their own, which lives for so long after its last use.
    Record { retention: Option<Duration> },
    /// In the protected item. It must never be created or deleted for the sake of a lock.
    InPlace,
}

impl Locks {
    /// Locks in this table, which [`create_table`](crate::create_table) or your deployment has created.
    pub fn builder(client: Client, table: impl Into<String>) -> LocksBuilder {
        LocksBuilder::new(client, table.into())
    }

    /// The same locks for one invocation: no lease and no wait ends after `deadline`, when Lambda ends the
    /// work. A release waits for its response for at most half of the time that is left, so that the caller can still
    /// return its result.
    #[must_use]
    pub fn until(&self, deadline: SystemTime) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Asks for the lock that excludes all others.
    pub fn exclusive(&self, key: impl Into<Key>) -> LockRequest {
        LockRequest::new(self.clone(), key.into(), Mode::Exclusive)
    }

    /// Asks for a lock that excludes only exclusive ones.
    pub fn shared(&self, key: impl Into<Key>) -> LockRequest {
        LockRequest::new(self.clone(), key.into(), Mode::Shared)
    }

    /// Asks for several locks at once, all or none; add them to the request. At most 100.
    pub fn all(&self) -> LockSetRequest {
        LockSetRequest::new(self.clone())
    }

    /// Who holds a lock, for people and tools: by the time of the response, it may have changed. `None`: nobody, or the item
    /// does not exist.
    ///
    /// A holder whose lease has ended is still shown.
    pub async fn holder(&self, key: impl Into<Key>) -> Result<Option<Holder>, Error> {
        let record = self.read(&key.into()).await?;
        let record = record.filter(Record::is_held);
        Ok(record.map(|record| Holder::new(Sighting::now(record, None))))
    }

    pub(crate) fn subject<'a>(&'a self, key: &'a Key) -> Subject<'a> {
        let Settings { table, attributes, placement, .. } = &*self.settings;
        Subject { table, names: attributes, key, placement: *placement }
    }

    /// Milliseconds since the epoch by this caller's clock.
    pub(crate) fn now(&self) -> u64 {
        millis((self.settings.clock)())
    }

    /// When a lease that starts now ends. Never after the deadline.
    pub(crate) fn lease_end(&self, now: u64) -> u64 {
        let lease = u64::try_from(self.settings.lease.as_millis()).unwrap_or(u64::MAX);
        let end = now.saturating_add(lease);
        self.deadline.map_or(end, |deadline| end.min(millis(deadline)))
    }

    /// Until the deadline, if there is one.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let deadline = millis(self.deadline?);
        Some(Duration::from_millis(deadline.saturating_sub(self.now())))
    }

    pub(crate) fn within_deadline(&self, wait: Duration) -> Duration {
        self.time_left().map_or(wait, |left| wait.min(left))
    }

    /// A token for one acquisition.
    pub(crate) fn token(&self) -> String {
        match &self.settings.name {
            Some(name) => format!("{name}#{}", Uuid::new_v4()),
            None => Uuid::new_v4().to_string(),
        }
    }

    pub(crate) fn observe(&self, observation: Observation) {
        (self.settings.observer)(observation);
    }

    pub(crate) fn parse(&self, item: &Item) -> Result<Record, Error> {
        Record::from_item(item, &self.settings.attributes)
    }

    /// Sends one write. A refusal is no error, and shows the item; `None`: there is no item.
    pub(crate) async fn send(&self, write: Write, key: &Key) -> Result<Sent, Error> {
        // The SDK's futures have several kilobytes, which the caller's own future would otherwise contain.
        retry_on_conflict(CONFLICTS, is_conflict, || Box::pin(self.send_once(write.clone(), key))).await
    }

    async fn send_once(&self, write: Write, key: &Key) -> Result<Sent, Error> {
        let Write { table, key: item_key, update, condition, names, values } = write;
        let request = self
            .settings
            .client
            .update_item()
            .table_name(table)
            .set_key(Some(item_key))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .return_values(ReturnValue::AllOld)
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        match request.send().await {
            Ok(response) => {
                let old = response.attributes.as_ref().map(|item| self.parse(item)).transpose()?;
                Ok(Sent::Written(old.unwrap_or_default()))
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refusal)) => {
                    self.refusal(refusal.item(), key).await.map(Sent::Refused)
                }
                _ => Err(error.into()),
            },
        }
    }

    /// Sends several writes as one transaction. A refusal is no error, and shows the items; those of a `None` there are not in
    /// the way, or do not exist.
    pub(crate) async fn send_all(&self, writes: Vec<TransactWriteItem>) -> Result<Option<Cancellation>, Error> {
        retry_on_conflict(CONFLICTS, is_conflict, || Box::pin(self.send_all_once(writes.clone()))).await
    }

    async fn send_all_once(&self, writes: Vec<TransactWriteItem>) -> Result<Option<Cancellation>, Error> {
        let request = self.settings.client.transact_write_items().set_transact_items(Some(writes));
        let Err(error) = request.send().await else { return Ok(None) };
        let Some(cancelled) = Cancellation::of(&error) else { return Err(error.into()) };
        let has = |wanted: fn(&Cause) -> bool| cancelled.causes().any(|(_, cause)| wanted(&cause));
        if has(|cause| matches!(cause, Cause::ConditionFailed { .. })) {
            Ok(Some(cancelled))
        } else if cancelled.is_conflict() {
            Err(Error::Contended(Some(error.into())))
        } else if has(|cause| *cause == Cause::Throttled) {
            Err(Error::Throttled(error.into()))
        } else {
            Err(Error::Rejected(error.into()))
        }
    }

    /// The record that a refusal shows. Where the server does not show it, it is read.
    pub(crate) async fn refusal(&self, shown: Option<&Item>, key: &Key) -> Result<Option<Record>, Error> {
        match shown {
            Some(item) => self.parse(item).map(Some),
            None => self.read(key).await,
        }
    }

    async fn read(&self, key: &Key) -> Result<Option<Record>, Error> {
        let Settings { client, table, attributes, .. } = &*self.settings;
        let request = client.get_item().table_name(table).set_key(Some(key.to_item(attributes)));
        let found = Box::pin(request.consistent_read(true).send()).await?;
        found.item.as_ref().map(|item| self.parse(item)).transpose()
    }
}

/// The outcome of one write.
pub(crate) enum Sent {
    /// It is written. This is what was there before.
    Written(Record),
    /// Its condition does not hold. This is what is there; `None`: no item.
    Refused(Option<Record>),
}

fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Contended(_))
}

/// A time before the epoch is a clock that was never set; it counts as the epoch.
fn millis(time: SystemTime) -> u64 {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locks").field("settings", &self.settings).field("deadline", &self.deadline).finish()
    }
}

/// The client has no short form, and closures have none at all.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("table", &self.table)
            .field("placement", &self.placement)
            .field("name", &self.name)
            .field("lease", &self.lease)
            .field("takeover", &self.takeover)
            .finish_non_exhaustive()
    }
}
