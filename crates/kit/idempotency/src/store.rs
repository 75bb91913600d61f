//! The protocol without the claim: complete, release.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use uuid::Uuid;

use crate::cache::Cache;
use crate::record::{Item, Record, Status};
use crate::schema::Schema;
use crate::write::{IN_PROGRESS, OURS};
use crate::{Claim, Claimed, Error, Fingerprint, Observation, StoreBuilder};

/// How often a record is written that was refused by one which was released, or has expired, before it could be judged.
pub(crate) const ATTEMPTS: usize = 5;

/// Idempotency records in one DynamoDB table. Clones are cheap and share everything.
///
/// It completes and releases claims, and reads and records results. To claim, give it a time limit first: with [`until`](Self::until) the
/// deadline of a Lambda invocation, with [`for_at_most`](Self::for_at_most) a duration.
#[derive(Clone)]
pub struct IdempotencyStore {
    pub(crate) settings: Arc<Settings>,
}

pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) key_prefix: Option<String>,
    pub(crate) retention: Duration,
    pub(crate) schema: Schema,
    pub(crate) cache: Cache,
    pub(crate) clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    pub(crate) observer: Box<dyn Fn(Observation) + Send + Sync>,
}

impl IdempotencyStore {
    /// A store in this table, which [`create_table`](crate::create_table) or your deployment has created.
    pub fn builder(client: Client, table: impl Into<String>) -> StoreBuilder {
        StoreBuilder::new(client, table.into())
    }

    /// Records that the work is done, with its result as a JSON text.
    ///
    /// It fails with [`Error::ClaimLost`] if another caller has taken the claim over. An expired claim that nobody
    /// took over can still be completed. Completing twice has the same effect as completing once.
    ///
    /// A result that does not fit the record is [`Error::ResultTooLarge`]; nothing is sent then, and a clone of the
    /// claim can be completed without it.
    pub async fn complete(&self, claim: Claim, result: Option<String>) -> Result<(), Error> {
        let record = self.fitting(self.completed(claim, result))?;
        let update = self.update(&record)?;
        let request = self
            .settings
            .client
            .update_item()
            .table_name(update.table_name)
            .set_key(Some(update.key))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(update.expression_attribute_names)
            .set_expression_attribute_values(update.expression_attribute_values);
        match request.send().await {
            Ok(_) => {
                self.settings.cache.insert(record);
                Ok(())
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Err(Error::ClaimLost),
                _ => Err(error.into()),
            },
        }
    }

    /// Releases the claim, so that the work can be tried again at once.
    ///
    /// A claim that another caller has taken over, or that is completed, is left as it is: there is nothing to
    /// release.
    pub async fn release(&self, claim: Claim) -> Result<(), Error> {
        let names = &self.settings.schema.attributes;
        let request = self
            .settings
            .client
            .delete_item()
            .table_name(&self.settings.table)
            .set_key(Some(self.settings.schema.key(&claim.id)))
            .condition_expression([OURS, IN_PROGRESS].join(" AND "))
            .expression_attribute_names("#owner", &names.owner)
            .expression_attribute_names("#status", &names.status)
            .expression_attribute_values(":owner", AttributeValue::S(claim.owner))
            .expression_attribute_values(":in_progress", Status::InProgress.value());
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(error.into()),
            },
        }
    }

    /// The id of a key's record.
    pub(crate) fn id(&self, key: &str) -> String {
        match &self.settings.key_prefix {
            Some(prefix) => format!("{prefix}#{key}"),
            None => key.to_owned(),
        }
    }

    /// The record of a claim whose work is done. It keeps the owner, so that a repeated completion finds its own.
    pub(crate) fn completed(&self, claim: Claim, data: Option<String>) -> Record {
        Record {
            id: claim.id,
            status: Status::Completed,
            expiration: self.now().saturating_add(self.settings.retention),
            in_progress_expiration: None,
            data,
            fingerprint: claim.fingerprint,
            owner: Some(claim.owner),
        }
    }

    /// Writes a record where none is in its way. It is made anew for every try, because its times are.
    pub(crate) async fn write_new(&self, record: impl Fn() -> Record) -> Result<Written, Error> {
        for _ in 0..ATTEMPTS {
            let record = record();
            let put = self.put(&record)?;
            let request = self
                .settings
                .client
                .put_item()
                .table_name(put.table_name)
                .set_item(Some(put.item))
                .set_condition_expression(put.condition_expression)
                .set_expression_attribute_names(put.expression_attribute_names)
                .set_expression_attribute_values(put.expression_attribute_values)
                .set_return_values_on_condition_check_failure(put.return_values_on_condition_check_failure)
                .return_values(ReturnValue::AllOld);
            let error = match request.send().await {
                Ok(written) => return Ok(Written::New { taken_over: self.is_abandoned(written.attributes.as_ref()) }),
                Err(error) => error,
            };
            let Some(PutItemError::ConditionalCheckFailedException(refusal)) = error.as_service_error() else {
                return Err(error.into());
            };
            let existing = match refusal.item() {
                Some(item) => Some(item.clone()),
                None => self.get(&record.id).await?,
            };
            let Some(item) = existing else { continue };
            let existing = Record::from_item(&item, &self.settings.schema)?;
            // The SDK repeats a request whose response was lost; then it is our own record that is in the way.
            if existing.owner == record.owner {
                return Ok(Written::New { taken_over: false });
            }
            return Ok(Written::Refused(existing));
        }
        Err(Error::Contended)
    }

    async fn get(&self, id: &str) -> Result<Option<Item>, Error> {
        let request = self.settings.client.get_item().table_name(&self.settings.table);
        let found = request.set_key(Some(self.settings.schema.key(id))).consistent_read(true).send().await?;
        Ok(found.item)
    }

    pub(crate) fn refused_by(&self, record: Record, fingerprint: &Fingerprint) -> Result<Claimed, Error> {
        if fingerprint.contradicts(&record.fingerprint) {
            return Err(Error::PayloadMismatch);
        }
        match record.status {
            Status::Completed => {
                (self.settings.observer)(Observation::Completed);
                let data = record.data.clone();
                self.settings.cache.insert(record);
                Ok(Claimed::Completed { data })
            }
            Status::InProgress => {
                (self.settings.observer)(Observation::InProgress);
                let until = record.in_progress_expiration;
                Ok(Claimed::InProgress { until: until.and_then(|until| UNIX_EPOCH.checked_add(until)) })
            }
        }
    }

    /// Whether a record that was replaced was a claim that expired before its work was completed.
    fn is_abandoned(&self, replaced: Option<&Item>) -> bool {
        let record = replaced.and_then(|item| Record::from_item(item, &self.settings.schema).ok());
        let now = self.now();
        record.is_some_and(|record| !record.is_expired(now) && record.is_abandoned(now))
    }

    /// A claim that is not written yet. With a prefix, DynamoDB would accept an empty key, and all work without a key would be the same work.
    pub(crate) fn new_claim(&self, key: &str, fingerprint: &Fingerprint) -> Result<Claim, Error> {
        if key.is_empty() {
            return Err(Error::EmptyKey);
        }
        Ok(Claim { id: self.id(key), owner: Uuid::new_v4().to_string(), fingerprint: fingerprint.clone() })
    }

    pub(crate) fn now(&self) -> Duration {
        since_epoch((self.settings.clock)())
    }
}

/// The outcome of writing a record.
pub(crate) enum Written {
    New {
        /// Whether the record that was there was a claim that expired before its work was completed.
        taken_over: bool,
    },
    Refused(Record),
}

/// A time before the epoch is a clock that was never set; it counts as the epoch.
pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl fmt::Debug for IdempotencyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyStore").field("settings", &self.settings).finish()
    }
}

/// The client has no short form, and closures have none at all.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("table", &self.table)
            .field("key_prefix", &self.key_prefix)
            .field("retention", &self.retention)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
