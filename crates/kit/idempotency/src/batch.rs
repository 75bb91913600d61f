//! Completing many claims at once.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};

use crate::record::Record;
use crate::{Claim, Error, IdempotencyStore};

/// The most items one request may write.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html>
const BATCH_SIZE: usize = 25;

/// The pause before each try, in milliseconds.
const PAUSES: [u64; 5] = [0, 25, 50, 100, 200];

impl IdempotencyStore {
    /// Records that the work of all these claims is done, with one request for 25 claims, **whoever owns the records
    /// by now**.
    ///
    /// That is allowed only where both hold:
    /// - the work of every claim *is* done, with all its effects, and stays done, and
    /// - it leaves no result, or none that anyone reads: a result stored by another caller is overwritten.
    ///
    /// Then `COMPLETED` is true no matter who writes it. A caller that took one of the claims over gets
    /// [`Error::ClaimLost`] when it completes its own. Anything else must use [`complete`](Self::complete), which
    /// checks the owner.
    ///
    /// If a request fails, the others are still sent. The error is that of the first request that failed, and
    /// this call may be repeated with all claims.
    pub async fn complete_all(&self, claims: Vec<Claim>) -> Result<(), Error> {
        // One request may not write a key twice, and two claims of one key differ only in their owner.
        let records: HashMap<String, Record> =
            claims.into_iter().map(|claim| (claim.id.clone(), self.completed(claim, None))).collect();
        let records: Vec<Record> = records.into_values().collect();
        let mut remaining = 0;
        let mut failure = None;
        for batch in records.chunks(BATCH_SIZE) {
            match self.write(batch).await {
                Ok(0) => batch.iter().for_each(|record| self.settings.cache.insert(record.clone())),
                Ok(unprocessed) => remaining += unprocessed,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        match (failure, remaining) {
            (Some(error), _) => Err(error),
            (None, 0) => Ok(()),
            (None, remaining) => Err(Error::Unprocessed { remaining }),
        }
    }

    /// Writes a batch, and again what DynamoDB leaves of it. Returns how many records it has still left in the end.
    async fn write(&self, batch: &[Record]) -> Result<usize, Error> {
        let mut pending = batch.iter().map(|record| self.put_request(record)).collect::<Result<Vec<_>, _>>()?;
        for pause in PAUSES {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let response =
                self.settings.client.batch_write_item().request_items(&self.settings.table, pending).send().await?;
            pending = response.unprocessed_items.into_iter().flat_map(HashMap::into_values).flatten().collect();
            if pending.is_empty() {
                break;
            }
        }
        Ok(pending.len())
    }

    fn put_request(&self, record: &Record) -> Result<WriteRequest, Error> {
        let item = record.to_item(&self.settings.schema);
        let put = PutRequest::builder().set_item(Some(item)).build()?;
        Ok(WriteRequest::builder().put_request(put).build())
    }
}
