//! Who takes the messages.

use std::sync::Arc;

use crate::{Error, EventRow};

/// The most rows that are given to a [`Publisher`] at once, as many as a `PublishBatch` of SNS takes.
/// <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>
pub const BATCH_SIZE: usize = 10;

/// Takes messages, for good: SNS, or whatever else has subscribers.
pub trait Publisher: Send + Sync {
    /// Publishes the messages of 1 to [`BATCH_SIZE`] rows. There is one answer for each row, in their order.
    ///
    /// `Ok` means that the message is where it will not be lost, for the row is deleted then. An error that
    /// [is the row's own](Error::is_poison) leaves the row in the table and holds up no other; any other error is taken for a failure of
    /// the publisher, and the row is tried again.
    fn publish(&self, rows: &[EventRow]) -> impl Future<Output = Vec<Result<(), Error>>> + Send;
}

impl<P: Publisher> Publisher for Arc<P> {
    fn publish(&self, rows: &[EventRow]) -> impl Future<Output = Vec<Result<(), Error>>> + Send {
        P::publish(self, rows)
    }
}
