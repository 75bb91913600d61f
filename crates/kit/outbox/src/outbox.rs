//! Writing events to the table.

use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem};

use crate::row::PK;
use crate::{Error, EventRow};

/// The outbox table. Events are written to it in the transaction that makes the change which they describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    table: String,
}

impl Outbox {
    /// The outbox in this table, which [`create_table`](crate::create_table) or your deployment has created.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// Returns the write of an event, for the caller's transaction: the event and the change that it describes are written together, or not
    /// at all.
    ///
    /// The transaction is cancelled if the aggregate already has an unpublished event with this version. The cancellation reason of this
    /// item is then `ConditionalCheckFailed`, with the existing row.
    ///
    /// For an event that could never be published, the result is [`Error::MalformedRow`] or [`Error::MessageTooLarge`].
    pub fn put(&self, row: &EventRow) -> Result<TransactWriteItem, Error> {
        row.check()?;
        let put = Put::builder()
            .table_name(&self.table)
            .set_item(Some(row.to_item()))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", PK)
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .build()?;
        Ok(TransactWriteItem::builder().put(put).build())
    }
}
