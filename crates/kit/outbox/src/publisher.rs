//! Where the messages go.

use std::sync::Arc;

use crate::{Error, EventRow};

/// The maximum number of rows in one call of a [`Publisher`]: the limit of a `PublishBatch` of SNS.
/// <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>
pub const BATCH_SIZE: usize = 10;

/// Publishes messages: SNS, or another system that stores them for subscribers.
pub trait Publisher: Send + Sync {
    /// Publishes the messages of 1 to [`BATCH_SIZE`] rows. Returns one result for each row, in the same order.
    ///
    /// `Ok` means that the message is stored and will not be lost: the row is deleted then. After an error that
    /// [concerns only this row](Error::is_poison), the row stays in the table and the other rows continue. Any other error counts as a failure
    /// of the publisher, and the row is retried.
    fn publish(&self, rows: &[EventRow]) -> impl Future<Output = Vec<Result<(), Error>>> + Send;
}

impl<P: Publisher> Publisher for Arc<P> {
    fn publish(&self, rows: &[EventRow]) -> impl Future<Output = Vec<Result<(), Error>>> + Send {
        P::publish(self, rows)
    }
}
