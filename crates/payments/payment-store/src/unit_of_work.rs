//! Writes that take effect together or not at all.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem};
use uuid::Uuid;

use crate::Error;

/// Collects writes, each with what its refusal means, and commits them as one transaction. Nothing is written before
/// [`commit`](Self::commit); a unit that is dropped has no effect. Committing consumes it, so that nothing is written twice.
#[derive(Debug, Clone)]
#[must_use = "nothing is written until the unit is committed"]
pub struct UnitOfWork<R> {
    writes: Vec<(TransactWriteItem, R)>,
}

/// Why a unit of work had no effect; or, for [`Failed`](Self::Failed), why that is not known.
#[derive(Debug)]
pub enum Uncommitted<R> {
    /// A write's condition does not hold: what the first such write's refusal means, and DynamoDB's reason, which has the item as
    /// it is where the write asked for it.
    Refused(R, Box<CancellationReason>),
    /// Another transaction was writing one of the items at the same moment. The same unit may succeed a moment later.
    Conflict,
    /// The request failed. It may have taken effect.
    Failed(Error),
}

impl<R> UnitOfWork<R> {
    /// A unit without writes: committing it does nothing.
    pub fn new() -> Self {
        Self { writes: Vec::new() }
    }

    /// Adds a write; `refusal` is what it means if its condition does not hold.
    pub fn add(&mut self, write: TransactWriteItem, refusal: R) {
        self.writes.push((write, refusal));
    }

    /// The writes so far, with what their refusals mean.
    #[must_use]
    pub fn writes(&self) -> &[(TransactWriteItem, R)] {
        &self.writes
    }

    /// The writes, to become part of another unit.
    pub(crate) fn into_writes(self) -> Vec<(TransactWriteItem, R)> {
        self.writes
    }

    /// Makes all writes take effect, or none: one request. An empty unit needs none.
    ///
    /// The request has a token of its own, so that a repetition by the SDK, after a lost answer, is the same transaction and not
    /// a conflict with itself.
    pub async fn commit(self, client: &Client) -> Result<(), Uncommitted<R>> {
        if self.writes.is_empty() {
            return Ok(());
        }
        let (writes, refusals): (Vec<_>, Vec<_>) = self.writes.into_iter().unzip();
        let request = client.transact_write_items().client_request_token(Uuid::new_v4().to_string());
        let Err(error) = request.set_transact_items(Some(writes)).send().await else { return Ok(()) };
        let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error() else {
            return Err(Uncommitted::Failed(error.into()));
        };
        let mut conflict = false;
        for (reason, refusal) in cancelled.cancellation_reasons().iter().zip(refusals) {
            match reason.code() {
                Some("ConditionalCheckFailed") => {
                    return Err(Uncommitted::Refused(refusal, Box::new(reason.clone())));
                }
                Some("TransactionConflict") => conflict = true,
                _ => {}
            }
        }
        if conflict {
            return Err(Uncommitted::Conflict);
        }
        let throttled = ["ThrottlingError", "ProvisionedThroughputExceeded"];
        let is_throttled = |reason: &CancellationReason| reason.code().is_some_and(|code| throttled.contains(&code));
        let kind =
            if cancelled.cancellation_reasons().iter().any(is_throttled) { Error::Throttled } else { Error::Rejected };
        Err(Uncommitted::Failed(kind(error.into())))
    }
}

impl<R> Default for UnitOfWork<R> {
    fn default() -> Self {
        Self::new()
    }
}
