//! Several writes in one transaction.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem};
use uuid::Uuid;

use crate::Error;

/// Collects writes, each with the meaning of its refusal, and commits them as one transaction. Nothing is written before
/// [`commit`](Self::commit), and a unit that is dropped has no effect. A commit consumes the unit, so nothing is written twice.
#[derive(Debug, Clone)]
#[must_use = "nothing is written until the unit is committed"]
pub struct UnitOfWork<R> {
    writes: Vec<(TransactWriteItem, R)>,
}

/// Why a unit of work was not committed. After [`Failed`](Self::Failed), it may have been committed.
#[derive(Debug)]
pub enum Uncommitted<R> {
    /// The condition of a write failed: the meaning of the first such refusal, and DynamoDB's reason. The reason contains the item if
    /// the write requested it.
    Refused(R, Box<CancellationReason>),
    /// Another transaction is writing one of the items. The same unit may succeed a moment later.
    Conflict,
    /// The request failed. It may have taken effect.
    Failed(Error),
}

impl<R> UnitOfWork<R> {
    /// Creates a unit without writes. Its commit sends no request.
    pub fn new() -> Self {
        Self { writes: Vec::new() }
    }

    /// Adds a write. `refusal` is the meaning of a failed condition.
    pub fn add(&mut self, write: TransactWriteItem, refusal: R) {
        self.writes.push((write, refusal));
    }

    /// The writes so far, each with the meaning of its refusal.
    #[must_use]
    pub fn writes(&self) -> &[(TransactWriteItem, R)] {
        &self.writes
    }

    /// The writes, for another unit.
    pub(crate) fn into_writes(self) -> Vec<(TransactWriteItem, R)> {
        self.writes
    }

    /// Commits all writes, or none: one request. An empty unit sends no request.
    ///
    /// The request has its own token. A retry by the SDK after a lost response is therefore the same transaction, and does not
    /// conflict with the first attempt.
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
