//! The stream of a table, read inside this process: the engine does not serve the Streams API over HTTP.

use dynoxide::Database;
use dynoxide::actions::describe_stream::{DescribeStreamRequest, StreamDescription};
use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use dynoxide::actions::list_streams::ListStreamsRequest;
use serde_json::Value;

/// The stream of one table.
///
/// It differs from a stream of DynamoDB: it has one shard, records are never trimmed, and an update that changes nothing also makes a
/// record.
///
/// A read locks the engine and blocks the thread. An engine in memory searches all records at each read: about half a
/// millisecond with 1,000 records. An engine with a file uses an index.
#[derive(Clone)]
pub struct Stream {
    database: Database,
    arn: String,
    shard_id: String,
}

/// Why a stream could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// There is no table with this name, or it has no stream.
    #[error("table {0} has no stream")]
    NoStream(String),
    /// The engine refused the request.
    #[error("the engine cannot read the stream")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Stream {
    pub(crate) fn open(database: Database, table: &str) -> Result<Self, StreamError> {
        let request = ListStreamsRequest { table_name: Some(table.to_owned()), ..ListStreamsRequest::default() };
        let streams = database.list_streams(request).map_err(engine)?.streams;
        let arn = streams.into_iter().next().map(|stream| stream.stream_arn);
        let arn = arn.ok_or_else(|| StreamError::NoStream(table.to_owned()))?;
        let StreamDescription { shards, .. } = describe(&database, &arn)?;
        let shard_id = shards.into_iter().next().map(|shard| shard.shard_id);
        let shard_id = shard_id.ok_or_else(|| StreamError::NoStream(table.to_owned()))?;
        Ok(Self { database, arn, shard_id })
    }

    /// The stream's ARN: `arn:aws:dynamodb:<region>:<account>:table/<table>/stream/<label>`.
    #[must_use]
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// The id of the only shard.
    #[must_use]
    pub fn shard_id(&self) -> &str {
        &self.shard_id
    }

    /// The sequence number of the newest record, or none if there is no record.
    pub fn latest(&self) -> Result<Option<String>, StreamError> {
        let shards = describe(&self.database, &self.arn)?.shards;
        Ok(shards.into_iter().find_map(|shard| shard.sequence_number_range.ending_sequence_number))
    }

    /// Up to `most` records (1,000 is the limit), the oldest first, as `GetRecords` returns them. With a sequence number, the records
    /// after it; without one, the records from the beginning.
    ///
    /// `ApproximateCreationDateTime` is in seconds since 1970.
    pub fn records(&self, after: Option<&str>, most: usize) -> Result<Vec<Value>, StreamError> {
        let kind = if after.is_some() { "AFTER_SEQUENCE_NUMBER" } else { "TRIM_HORIZON" };
        let request = GetShardIteratorRequest {
            stream_arn: self.arn.clone(),
            shard_id: self.shard_id.clone(),
            shard_iterator_type: kind.to_owned(),
            sequence_number: after.map(str::to_owned),
        };
        let iterator = self.database.get_shard_iterator(request).map_err(engine)?.shard_iterator;
        let request = GetRecordsRequest { shard_iterator: iterator.unwrap_or_default(), limit: Some(most) };
        let records = self.database.get_records(request).map_err(engine)?.records;
        records.into_iter().map(|record| serde_json::to_value(record).map_err(engine)).collect()
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("arn", &self.arn).finish_non_exhaustive()
    }
}

fn describe(database: &Database, arn: &str) -> Result<StreamDescription, StreamError> {
    let request = DescribeStreamRequest { stream_arn: arn.to_owned(), ..DescribeStreamRequest::default() };
    Ok(database.describe_stream(request).map_err(engine)?.stream_description)
}

fn engine(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StreamError {
    StreamError::Engine(error.into())
}
