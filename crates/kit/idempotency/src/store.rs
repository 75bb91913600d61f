//! The protocol: claim, complete, release.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::{PutItemError, PutItemOutput};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure as OnFailure};
use uuid::Uuid;

use crate::cache::Cache;
use crate::record::{Item, Record, Status, millis, seconds};
use crate::{Attributes, Claim, Claimed, Error, Fingerprint, Observation, StoreBuilder};

const ABSENT: &str = "attribute_not_exists(#id)";
const EXPIRED: &str = "#expiration < :now_seconds";
const ABANDONED: &str = "#status = :in_progress AND #in_progress_expiration < :now_millis";
const SAME_PAYLOAD: &str = "(attribute_not_exists(#validation) OR #validation = :validation)";
const OURS: &str = "#owner = :owner";
const IN_PROGRESS: &str = "#status = :in_progress";

const SET_COMPLETED: &str = "#status = :completed";
const SET_EXPIRATION: &str = "#expiration = :expiration";
const SET_DATA: &str = "#data = :data";
const REMOVE_IN_PROGRESS: &str = "REMOVE #in_progress_expiration";

/// A record can only vanish between a claim and the look at it if it is released just then.
const CLAIM_ATTEMPTS: usize = 5;

/// Idempotency records in one DynamoDB table. Clones are cheap and share everything.
#[derive(Clone)]
pub struct IdempotencyStore {
    pub(crate) settings: Arc<Settings>,
    pub(crate) deadline: Option<SystemTime>,
}

pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) key_prefix: Option<String>,
    pub(crate) retention: Duration,
    pub(crate) in_progress_for: Duration,
    pub(crate) attributes: Attributes,
    pub(crate) cache: Cache,
    pub(crate) clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    pub(crate) observer: Box<dyn Fn(Observation) + Send + Sync>,
}

impl IdempotencyStore {
    /// A store in this table, which [`create_table`](crate::create_table) or your deployment has created.
    pub fn builder(client: Client, table: impl Into<String>) -> StoreBuilder {
        StoreBuilder::new(client, table.into())
    }

    /// The same store for one invocation: its claims refuse others until `deadline`, when Lambda ends the work.
    #[must_use]
    pub fn until(&self, deadline: SystemTime) -> Self {
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// Asks for the right to do the work for `key`.
    ///
    /// It is given if there is no record, or the record has expired, or its claim has and was made for the same payload.
    /// Whether DynamoDB's time to live has deleted an expired record makes no difference.
    ///
    /// With its prefix, a key may have
    /// [2,048 bytes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys)
    /// and not be empty, or it is [`Error::Rejected`]. Where keys can be longer, hash them.
    pub async fn claim(&self, key: &str, fingerprint: &Fingerprint) -> Result<Claimed, Error> {
        let id = match &self.settings.key_prefix {
            Some(prefix) => format!("{prefix}#{key}"),
            None => key.to_owned(),
        };
        if let Some(record) = self.settings.cache.get(&id, self.now()) {
            return self.refused_by(record, fingerprint);
        }
        let claim = Claim { id, owner: Uuid::new_v4().to_string(), fingerprint: fingerprint.clone() };
        for _ in 0..CLAIM_ATTEMPTS {
            let error = match self.put(&claim).await {
                Ok(written) if written.attributes.is_some() => {
                    return Ok(self.granted(claim, Observation::Expired));
                }
                Ok(_) => return Ok(self.granted(claim, Observation::New)),
                Err(error) => error,
            };
            let Some(PutItemError::ConditionalCheckFailedException(refusal)) = error.as_service_error() else {
                return Err(error.into());
            };
            let existing = match refusal.item() {
                Some(item) => Some(item.clone()),
                None => self.get(&claim.id).await?,
            };
            let Some(item) = existing else { continue };
            let record = Record::from_item(&item, &self.settings.attributes)?;
            // The SDK repeats a request whose answer was lost; then it is our own claim that stands in the way.
            if record.owner.as_ref() == Some(&claim.owner) {
                return Ok(self.granted(claim, Observation::New));
            }
            return self.refused_by(record, fingerprint);
        }
        Err(Error::Contended)
    }

    /// Records that the work is done, with its result as a JSON text.
    ///
    /// It fails with [`Error::ClaimLost`] if another caller has taken the claim over. An expired claim that nobody
    /// took over can still be completed. Completing twice is completing once.
    ///
    /// A result that does not fit the record is [`Error::ResultTooLarge`]; nothing is sent then, and a clone of the
    /// claim can be completed without it.
    pub async fn complete(&self, claim: Claim, result: Option<String>) -> Result<(), Error> {
        let names = &self.settings.attributes;
        let owner = AttributeValue::S(claim.owner.clone());
        let record = self.completed(claim, result);
        if !record.fits_an_item(names) {
            return Err(Error::ResultTooLarge);
        }
        let mut sets = vec![SET_COMPLETED, SET_EXPIRATION];
        let mut request = self
            .settings
            .client
            .update_item()
            .table_name(&self.settings.table)
            .key(&names.id, AttributeValue::S(record.id.clone()))
            .condition_expression(OURS)
            .expression_attribute_names("#status", &names.status)
            .expression_attribute_names("#expiration", &names.expiration)
            .expression_attribute_names("#in_progress_expiration", &names.in_progress_expiration)
            .expression_attribute_names("#owner", &names.owner)
            .expression_attribute_values(":completed", Status::Completed.value())
            .expression_attribute_values(":expiration", seconds(record.expiration))
            .expression_attribute_values(":owner", owner);
        if let Some(data) = &record.data {
            sets.push(SET_DATA);
            request = request
                .expression_attribute_names("#data", &names.data)
                .expression_attribute_values(":data", AttributeValue::S(data.clone()));
        }
        let update = format!("SET {} {REMOVE_IN_PROGRESS}", sets.join(", "));
        match request.update_expression(update).send().await {
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

    /// Gives the claim back, so that the work can be tried again at once.
    ///
    /// A claim that another caller has taken over, or that is completed, is left as it is: there is nothing to give
    /// back.
    pub async fn release(&self, claim: Claim) -> Result<(), Error> {
        let names = &self.settings.attributes;
        let request = self
            .settings
            .client
            .delete_item()
            .table_name(&self.settings.table)
            .key(&names.id, AttributeValue::S(claim.id))
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

    async fn put(&self, claim: &Claim) -> Result<PutItemOutput, SdkError<PutItemError>> {
        let names = &self.settings.attributes;
        let now = self.now();
        let until = match self.deadline {
            Some(deadline) => since_epoch(deadline),
            None => now.saturating_add(self.settings.in_progress_for),
        };
        let record = Record {
            id: claim.id.clone(),
            status: Status::InProgress,
            // A retention shorter than the work must not end the claim early.
            expiration: now.saturating_add(self.settings.retention).max(until),
            in_progress_expiration: Some(until),
            data: None,
            fingerprint: claim.fingerprint.clone(),
            owner: Some(claim.owner.clone()),
        };
        let mut request = self.settings.client.put_item();
        // A claim without a fingerprint takes over any other, and an expression must use every name and value it is given.
        let abandoned = if let Some(validation) = claim.fingerprint.as_text() {
            request = request
                .expression_attribute_names("#validation", &names.validation)
                .expression_attribute_values(":validation", AttributeValue::S(validation.to_owned()));
            [ABANDONED, SAME_PAYLOAD].join(" AND ")
        } else {
            ABANDONED.to_owned()
        };
        request
            .table_name(&self.settings.table)
            .set_item(Some(record.to_item(names)))
            .condition_expression(format!("{ABSENT} OR {EXPIRED} OR ({abandoned})"))
            .expression_attribute_names("#id", &names.id)
            .expression_attribute_names("#status", &names.status)
            .expression_attribute_names("#expiration", &names.expiration)
            .expression_attribute_names("#in_progress_expiration", &names.in_progress_expiration)
            .expression_attribute_values(":in_progress", Status::InProgress.value())
            .expression_attribute_values(":now_seconds", seconds(now))
            .expression_attribute_values(":now_millis", millis(now))
            .return_values(ReturnValue::AllOld)
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .send()
            .await
    }

    async fn get(&self, id: &str) -> Result<Option<Item>, Error> {
        let key = AttributeValue::S(id.to_owned());
        let found = self
            .settings
            .client
            .get_item()
            .table_name(&self.settings.table)
            .key(&self.settings.attributes.id, key)
            .consistent_read(true)
            .send()
            .await?;
        Ok(found.item)
    }

    fn granted(&self, claim: Claim, observation: Observation) -> Claimed {
        (self.settings.observer)(observation);
        Claimed::New(claim)
    }

    fn refused_by(&self, record: Record, fingerprint: &Fingerprint) -> Result<Claimed, Error> {
        if fingerprint.contradicts(&record.fingerprint) {
            return Err(Error::PayloadMismatch);
        }
        match record.status {
            Status::Completed => {
                (self.settings.observer)(Observation::Replayed);
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

    fn now(&self) -> Duration {
        since_epoch((self.settings.clock)())
    }
}

/// A time before the epoch is a clock that was never set; it counts as the epoch.
fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl fmt::Debug for IdempotencyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyStore").field("settings", &self.settings).field("deadline", &self.deadline).finish()
    }
}

/// The client has no short form, and closures have none at all.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("table", &self.table)
            .field("key_prefix", &self.key_prefix)
            .field("retention", &self.retention)
            .field("in_progress_for", &self.in_progress_for)
            .field("attributes", &self.attributes)
            .finish_non_exhaustive()
    }
}
