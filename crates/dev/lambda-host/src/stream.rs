//! An event source mapping: the changes of a DynamoDB table invoke a function, batch by batch.
//!
//! It does what Lambda does with a stream of DynamoDB:
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>.

mod batch;
mod settings;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use embedded_dynamodb::Stream;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use self::batch::{Batch, Condition, Record, Step};
pub use self::settings::{Settings, StartingPosition};
use crate::lambda::{self, InvokeError, InvokeResult, PAYLOAD_LIMIT};
use crate::pool::Pool;
use crate::processes::Processes;
use crate::queues::Queue;
use crate::{ACCOUNT, REGION};

/// How often a stream without new records is read. Lambda reads four times a second.
const POLL: Duration = Duration::from_millis(50);

/// The wait after a failed read.
const PAUSE: Duration = Duration::from_secs(1);

/// The wait before the first retry of a batch. It doubles with each retry, up to the longest.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const MAX_RETRY: Duration = Duration::from_secs(5);

/// The function's idle processes end after this time without records.
const IDLE_TIME: Duration = Duration::from_secs(20);

/// The largest number of records of one read: <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html>.
const MAX_READ: usize = 1_000;

/// An event without records: its length counts in every event.
const EMPTY_EVENT: &str = r#"{"Records":[]}"#;

/// A stream and the function that its records invoke. Both the polling and the function's processes end with this value.
#[derive(Debug)]
pub struct StreamMapping {
    done: watch::Receiver<u64>,
    processes: Processes,
    _poller: JoinSet<()>,
}

impl StreamMapping {
    /// Starts reading the stream.
    ///
    /// A stream has one shard here, and a shard one batch at a time: a batch that fails blocks the following ones until it
    /// succeeds or is discarded. For discarded records, `on_failure` gets a message in the format of Lambda's destinations.
    ///
    /// The sequence number of the last record that succeeded or was discarded is stored in the file `position`, if given. The
    /// next start continues after it, and invokes the function again with records that were in progress.
    pub fn start(
        stream: Stream,
        function: lambda::Settings,
        settings: Settings,
        on_failure: Option<Queue>,
        position: Option<PathBuf>,
    ) -> Result<Self, StreamError> {
        let stored = position.as_deref().map_or(Ok(None), stored_position)?;
        let last_read = match (stored, settings.starting_position) {
            (Some(stored), _) => Some(stored),
            (None, StartingPosition::TrimHorizon) => None,
            (None, StartingPosition::Latest) => stream.latest()?,
        };
        let (counter, done) = watch::channel(0);
        let function_arn = lambda::arn(&function.name);
        let function = Pool::new(function);
        let processes = Processes::new(&function);
        let shard = Shard {
            arn: arn(stream.arn()),
            stream,
            function_arn,
            function,
            settings,
            on_failure,
            position,
            last_read,
            read_ahead: VecDeque::new(),
            idle_since: Instant::now(),
            done: counter,
        };
        let mut poller = JoinSet::new();
        poller.spawn(shard.run());
        Ok(Self { done, processes, _poller: poller })
    }

    /// The function's processes.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Waits until this many records have succeeded or been discarded since the start. Records that no filter matches do not
    /// count.
    pub async fn done(&self, records: u64) {
        // This fails only if the poller has ended, and it ends only with this value.
        let _ = self.done.clone().wait_for(|done| *done >= records).await;
    }
}

/// Why a mapping did not start.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The stream cannot be read.
    #[error(transparent)]
    Stream(#[from] embedded_dynamodb::StreamError),
    /// The file with the position cannot be read.
    #[error("cannot read the position in {}", path.display())]
    Position {
        /// The file that was given as `position`.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

fn stored_position(path: &std::path::Path) -> Result<Option<String>, StreamError> {
    match fs::read_to_string(path) {
        // The engine would reject every read after an invalid sequence number.
        Ok(text) => Ok(Some(text).filter(|text| text.len() >= 21 && text.bytes().all(|byte| byte.is_ascii_digit()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StreamError::Position { path: path.to_owned(), source }),
    }
}

/// A stream's ARN with the region and the account of this host.
fn arn(of_engine: &str) -> String {
    let resource = of_engine.splitn(6, ':').last().unwrap_or_default();
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:{resource}")
}

/// Reads one stream, which has one shard.
struct Shard {
    stream: Stream,
    arn: String,
    function: Arc<Pool>,
    function_arn: String,
    settings: Settings,
    on_failure: Option<Queue>,
    position: Option<PathBuf>,
    /// The sequence number of the last record that was read.
    last_read: Option<String>,
    /// Records that were read and not processed yet.
    read_ahead: VecDeque<Record>,
    idle_since: Instant,
    done: watch::Sender<u64>,
}

/// The invocations with a batch, and the result of the last one.
#[derive(Debug, Clone, Default)]
struct Attempts {
    invocations: u32,
    request_id: Option<String>,
    /// Whether the whole function failed, not only some records.
    function_failed: bool,
}

impl Shard {
    async fn run(mut self) {
        loop {
            let records = self.gather().await;
            self.process(records).await;
        }
    }

    /// The records of the next batch.
    async fn gather(&mut self) -> Vec<Record> {
        let window = Duration::from_secs(self.settings.maximum_batching_window_in_seconds);
        let (mut records, mut length, mut gathered_by) = (Vec::new(), EMPTY_EVENT.len(), None);
        loop {
            while let Some(record) = self.read_ahead.pop_front() {
                length += record.event.to_string().len() + ",".len();
                if length > PAYLOAD_LIMIT && !records.is_empty() {
                    self.read_ahead.push_front(record);
                    return records;
                }
                records.push(record);
                if records.len() >= self.settings.batch_size {
                    return records;
                }
            }
            if !records.is_empty() && Instant::now() >= *gathered_by.get_or_insert_with(|| Instant::now() + window) {
                return records;
            }
            let has_read = self.read().await;
            if has_read && records.is_empty() && self.read_ahead.is_empty() {
                // No filter has matched.
                self.store_position(self.last_read.clone());
            }
        }
    }

    /// Reads new records, or waits a moment if there are none. Returns whether there were new records.
    async fn read(&mut self) -> bool {
        let (stream, after) = (self.stream.clone(), self.last_read.clone());
        let read = tokio::task::spawn_blocking(move || stream.records(after.as_deref(), MAX_READ)).await;
        let records = match read {
            Ok(Ok(records)) => records,
            Ok(Err(error)) => return self.cannot_read(error).await,
            Err(error) => return self.cannot_read(error).await,
        };
        if records.is_empty() {
            if self.idle_since.elapsed() >= IDLE_TIME {
                self.function.stop_idle();
            }
            tokio::time::sleep(POLL).await;
            return false;
        }
        self.idle_since = Instant::now();
        for event in records {
            let record = Record::new(event, &self.arn);
            self.last_read = Some(record.sequence_number.clone());
            let filters = &self.settings.filters;
            if filters.is_empty() || filters.iter().any(|filter| filter.matches(&record.event)) {
                self.read_ahead.push_back(record);
            }
        }
        true
    }

    async fn cannot_read(&self, error: impl std::error::Error + Send + 'static) -> bool {
        tracing::warn!(stream = self.arn, error = &error as &dyn std::error::Error, "cannot read the stream");
        tokio::time::sleep(PAUSE).await;
        false
    }

    /// Invokes the function with these records, in order, until each has succeeded or was discarded.
    async fn process(&self, records: Vec<Record>) {
        let mut batch = Batch::new(records, &self.settings);
        let mut attempts = Attempts::default();
        while let Some(step) = batch.next_step(SystemTime::now()) {
            match step {
                Step::Discard(condition, records) => self.discard(&records, condition, &attempts).await,
                Step::Invoke { retry } => {
                    if retry == 0 {
                        attempts = Attempts::default();
                    } else {
                        let wait = FIRST_RETRY.saturating_mul(1 << (retry - 1).min(16));
                        tokio::time::sleep(wait.min(MAX_RETRY)).await;
                    }
                    attempts.invocations += 1;
                    let request_id = Uuid::new_v4().to_string();
                    let result = self.function.invoke_with_id(request_id.clone(), batch.event()).await;
                    attempts.request_id = Some(request_id);
                    attempts.function_failed = result.is_err();
                    let succeeded = self.apply_result(&mut batch, result);
                    self.finish(&succeeded);
                }
            }
        }
    }

    /// Returns the records that succeeded.
    fn apply_result(&self, batch: &mut Batch, result: InvokeResult) -> Vec<Record> {
        let (stream, of) = (self.arn.as_str(), batch.len());
        match result {
            Ok(response) if self.settings.report_batch_item_failures => {
                let succeeded = batch.first_failure(&response);
                if succeeded < of {
                    tracing::warn!(stream, failed = of - succeeded, of, "records failed and will be retried");
                }
                batch.succeeded(succeeded)
            }
            Ok(_) => batch.succeeded(of),
            Err(error) => {
                let was_invoked = !matches!(error, InvokeError::NotStarted(_));
                let error = error.shortened();
                tracing::warn!(
                    stream,
                    error = &error as &dyn std::error::Error,
                    of,
                    "a batch failed and will be retried"
                );
                batch.failed(was_invoked);
                Vec::new()
            }
        }
    }

    async fn discard(&self, records: &[Record], condition: Condition, attempts: &Attempts) {
        tracing::warn!(stream = self.arn, discarded = records.len(), ?condition, "records are discarded");
        if let Some(queue) = &self.on_failure
            && let Some(message) = self.failure(records, condition, attempts)
            && let Err(error) = queue.send(message.to_string()).await
        {
            let error = &error as &dyn std::error::Error;
            tracing::error!(stream = self.arn, error, "cannot report discarded records to the on-failure queue");
        }
        self.finish(records);
    }

    /// The message for the on-failure queue:
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>.
    fn failure(&self, records: &[Record], condition: Condition, attempts: &Attempts) -> Option<Value> {
        let (first, last) = (records.first()?, records.last()?);
        let mut message = json!({
            "requestContext": {
                "requestId": attempts.request_id.clone().unwrap_or_else(|| Uuid::new_v4().to_string()),
                "functionArn": self.function_arn,
                "condition": format!("{condition:?}"),
                "approximateInvokeCount": attempts.invocations,
            },
            "version": "1.0",
            "timestamp": rfc3339(SystemTime::now()),
            "DDBStreamBatchInfo": {
                "shardId": self.stream.shard_id(),
                "startSequenceNumber": first.sequence_number,
                "endSequenceNumber": last.sequence_number,
                "approximateArrivalOfFirstRecord": rfc3339(first.created),
                "approximateArrivalOfLastRecord": rfc3339(last.created),
                "batchSize": records.len(),
                "streamArn": self.arn,
            },
        });
        if attempts.invocations > 0 {
            message["responseContext"] = json!({"statusCode": 200, "executedVersion": "$LATEST"});
            if attempts.function_failed {
                message["responseContext"]["functionError"] = json!("Unhandled");
            }
        }
        Some(message)
    }

    /// Stores the position after these records, and counts them as done.
    fn finish(&self, records: &[Record]) {
        if let Some(last) = records.last() {
            self.store_position(Some(last.sequence_number.clone()));
            self.done.send_modify(|done| *done += records.len() as u64);
        }
    }

    /// If the position cannot be stored, the next start invokes the function again with records that succeeded. Lambda may do
    /// this too.
    fn store_position(&self, position: Option<String>) {
        if let (Some(path), Some(position)) = (&self.position, position) {
            // A rename, so that the file is never half written.
            let part = path.with_extension("part");
            if let Err(error) = fs::write(&part, position).and_then(|()| fs::rename(&part, path)) {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(stream = self.arn, error, "cannot store the position in the stream");
            }
        }
    }
}

fn rfc3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    // Lambda uses milliseconds.
    let time = time.replace_millisecond(time.millisecond()).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}
