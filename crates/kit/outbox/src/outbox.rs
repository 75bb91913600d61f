//! The table, as its writers see it.

use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem};

use crate::row::PK;
use crate::{Error, EventRow};

/// The outbox table, to which events are written in the transaction that makes them true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    table: String,
}

impl Outbox {
    /// The outbox in this table, which [`create_table`](crate::create_table) or your deployment has created.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// The event, to be written in the caller's own transaction together with what it tells of: both happen, or neither.
    ///
    /// The transaction is refused if the aggregate has an unpublished event of this version already. The reason at this item's
    /// place is then `ConditionalCheckFailed`, with the row that is there.
    ///
    /// An event that could never be published is [`Error::MalformedRow`] or [`Error::MessageTooLarge`], and so not committed.
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
