//! The two writes of the protocol, as parts that a request of their own and a caller's transaction share.

use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValuesOnConditionCheckFailure as OnFailure, Update};

use crate::record::{Record, Status, millis, seconds};
use crate::{Error, IdempotencyStore};

const ABSENT: &str = "attribute_not_exists(#id)";
const EXPIRED: &str = "#expiration < :now_seconds";
const ABANDONED: &str = "#status = :in_progress AND #in_progress_expiration < :now_millis";
const SAME_PAYLOAD: &str = "(attribute_not_exists(#validation) OR #validation = :validation)";
pub(crate) const OURS: &str = "#owner = :owner";
pub(crate) const IN_PROGRESS: &str = "#status = :in_progress";

const SET_COMPLETED: &str = "#status = :completed";
const SET_EXPIRATION: &str = "#expiration = :expiration";
const SET_DATA: &str = "#data = :data";
const REMOVE_IN_PROGRESS: &str = "REMOVE #in_progress_expiration";

impl IdempotencyStore {
    /// The record, unless its result makes it larger than an item may be.
    pub(crate) fn fitting(&self, record: Record) -> Result<Record, Error> {
        if record.fits_an_item(&self.settings.schema) { Ok(record) } else { Err(Error::ResultTooLarge) }
    }

    /// Puts the record where none is in its way: there is none, or it has expired, or it is an abandoned claim for the
    /// same payload.
    pub(crate) fn put(&self, record: &Record) -> Result<Put, Error> {
        let names = &self.settings.schema.attributes;
        let now = self.now();
        let mut put = Put::builder();
        // A record without a fingerprint replaces any claim, and an expression must use every name and value it is given.
        let abandoned = if let Some(validation) = record.fingerprint.as_text() {
            put = put
                .expression_attribute_names("#validation", &names.validation)
                .expression_attribute_values(":validation", AttributeValue::S(validation.to_owned()));
            [ABANDONED, SAME_PAYLOAD].join(" AND ")
        } else {
            ABANDONED.to_owned()
        };
        let put = put
            .table_name(&self.settings.table)
            .set_item(Some(record.to_item(&self.settings.schema)))
            .condition_expression(format!("{ABSENT} OR {EXPIRED} OR ({abandoned})"))
            .expression_attribute_names("#id", &names.id)
            .expression_attribute_names("#status", &names.status)
            .expression_attribute_names("#expiration", &names.expiration)
            .expression_attribute_names("#in_progress_expiration", &names.in_progress_expiration)
            .expression_attribute_values(":in_progress", Status::InProgress.value())
            .expression_attribute_values(":now_seconds", seconds(now))
            .expression_attribute_values(":now_millis", millis(now))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        Ok(put.build()?)
    }

    /// Completes the record if it is still its owner's.
    pub(crate) fn update(&self, record: &Record) -> Result<Update, Error> {
        let names = &self.settings.schema.attributes;
        let owner = record.owner.clone().unwrap_or_default();
        let mut sets = vec![SET_COMPLETED, SET_EXPIRATION];
        let mut update = Update::builder();
        if let Some(data) = &record.data {
            sets.push(SET_DATA);
            update = update
                .expression_attribute_names("#data", &names.data)
                .expression_attribute_values(":data", AttributeValue::S(data.clone()));
        }
        let update = update
            .table_name(&self.settings.table)
            .set_key(Some(self.settings.schema.key(&record.id)))
            .update_expression(format!("SET {} {REMOVE_IN_PROGRESS}", sets.join(", ")))
            .condition_expression(OURS)
            .expression_attribute_names("#status", &names.status)
            .expression_attribute_names("#expiration", &names.expiration)
            .expression_attribute_names("#in_progress_expiration", &names.in_progress_expiration)
            .expression_attribute_names("#owner", &names.owner)
            .expression_attribute_values(":completed", Status::Completed.value())
            .expression_attribute_values(":expiration", seconds(record.expiration))
            .expression_attribute_values(":owner", AttributeValue::S(owner))
            .return_values_on_condition_check_failure(OnFailure::AllOld);
        Ok(update.build()?)
    }
}
