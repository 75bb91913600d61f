//! An event source mapping: what happens to the items of a DynamoDB table invokes a function, batch by batch.
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
use crate::lambda::{self, Answer, InvokeError, PAYLOAD_LIMIT};
use crate::pool::Pool;
use crate::processes::Processes;
use crate::queues::Queue;
use crate::{ACCOUNT, REGION};

/// How often a stream without new records is read. Lambda reads four times a second.
const POLL: Duration = Duration::from_millis(50);

/// How long a stream that cannot be read is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// The wait before the first retry of a batch. It doubles with each further one, up to the longest.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// How long a stream is silent before the function's idle processes end.
const SILENCE: Duration = Duration::from_secs(20);

/// The most records of one read: <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html>.
const LARGEST_READ: usize = 1_000;

/// What an event has beside its records.
const FRAME: &str = r#"{"Records":[]}"#;

/// A stream and the function that its records invoke. Both the polling and the function's processes end with this value.
#[derive(Debug)]
pub struct StreamMapping {
    done: watch::Receiver<u64>,
    processes: Processes,
    _poller: JoinSet<()>,
}

impl StreamMapping {
    /// Starts to read.
    ///
    /// A stream has one shard here, and a shard one batch at a time: one that fails holds up what follows, until it
    /// succeeds or is discarded. What is discarded is told to `on_failure`, in the form of Lambda's destinations.
    ///
    /// The number of the last record that succeeded or was discarded is kept in the file `position`, if there is one. The next
    /// start goes on after it, and invokes the function again with what was under way.
    pub fn start(
        stream: Stream,
        function: lambda::Settings,
        settings: Settings,
        on_failure: Option<Queue>,
        position: Option<PathBuf>,
    ) -> Result<Self, StreamError> {
        let kept = position.as_deref().map_or(Ok(None), kept_position)?;
        let seen = match (kept, settings.starting_position) {
            (Some(kept), _) => Some(kept),
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
            seen,
            ahead: VecDeque::new(),
            silent_since: Instant::now(),
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

    /// Waits until so many records have succeeded or been discarded since the start. Records that no filter matches do not
    /// count.
    pub async fn done(&self, records: u64) {
        // The error would be that the poller has ended, which it never does by itself.
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
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn kept_position(path: &std::path::Path) -> Result<Option<String>, StreamError> {
    match fs::read_to_string(path) {
        // What is no sequence number would be refused at each read.
        Ok(text) => Ok(Some(text).filter(|text| text.len() >= 21 && text.bytes().all(|byte| byte.is_ascii_digit()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StreamError::Position { path: path.to_owned(), source }),
    }
}

/// A stream's ARN with the region and the account of all others.
fn arn(of_engine: &str) -> String {
    let resource = of_engine.splitn(6, ':').last().unwrap_or_default();
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:{resource}")
}

/// The reading of one stream, which has one shard.
struct Shard {
    stream: Stream,
    arn: String,
    function: Arc<Pool>,
    function_arn: String,
    settings: Settings,
    on_failure: Option<Queue>,
    position: Option<PathBuf>,
    /// The number of the last record that was read.
    seen: Option<String>,
    /// What was read and not handled yet.
    ahead: VecDeque<Record>,
    silent_since: Instant,
    done: watch::Sender<u64>,
}

/// How often a batch was tried, and what came of it last.
#[derive(Debug, Clone, Default)]
struct Tried {
    invocations: u32,
    request_id: Option<String>,
    /// Whether the function failed, and not only records of it.
    function_failed: bool,
}

impl Shard {
    async fn run(mut self) {
        loop {
            let records = self.gather().await;
            self.work_off(records).await;
        }
    }

    /// The records of the next batch.
    async fn gather(&mut self) -> Vec<Record> {
        let window = Duration::from_secs(self.settings.maximum_batching_window_in_seconds);
        let (mut records, mut length, mut gathered_by) = (Vec::new(), FRAME.len(), None);
        loop {
            while let Some(record) = self.ahead.pop_front() {
                length += record.event.to_string().len() + ",".len();
                if length > PAYLOAD_LIMIT && !records.is_empty() {
                    self.ahead.push_front(record);
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
            if has_read && records.is_empty() && self.ahead.is_empty() {
                // No filter has matched.
                self.keep_position(self.seen.clone());
            }
        }
    }

    /// Reads on, or waits a moment if there is nothing new. Gives whether there was.
    async fn read(&mut self) -> bool {
        let (stream, after) = (self.stream.clone(), self.seen.clone());
        let read = tokio::task::spawn_blocking(move || stream.records(after.as_deref(), LARGEST_READ)).await;
        let records = match read {
            Ok(Ok(records)) => records,
            Ok(Err(error)) => return self.cannot_read(error).await,
            Err(error) => return self.cannot_read(error).await,
        };
        if records.is_empty() {
            if self.silent_since.elapsed() >= SILENCE {
                self.function.let_idle_go();
            }
            tokio::time::sleep(POLL).await;
            return false;
        }
        self.silent_since = Instant::now();
        for event in records {
            let record = Record::new(event, &self.arn);
            self.seen = Some(record.sequence_number.clone());
            let filters = &self.settings.filters;
            if filters.is_empty() || filters.iter().any(|filter| filter.matches(&record.event)) {
                self.ahead.push_back(record);
            }
        }
        true
    }

    async fn cannot_read(&self, error: impl std::error::Error + Send + 'static) -> bool {
        tracing::warn!(stream = self.arn, error = &error as &dyn std::error::Error, "cannot read the stream");
        tokio::time::sleep(PAUSE).await;
        false
    }

    /// Invokes the function with these records, in order, until each of them has succeeded or was discarded.
    async fn work_off(&self, records: Vec<Record>) {
        let mut batch = Batch::new(records, &self.settings);
        let mut tried = Tried::default();
        while let Some(step) = batch.next_step(SystemTime::now()) {
            match step {
                Step::Discard(condition, records) => self.discard(&records, condition, &tried).await,
                Step::Invoke { retry } => {
                    if retry == 0 {
                        tried = Tried::default();
                    } else {
                        let wait = FIRST_RETRY.saturating_mul(1 << (retry - 1).min(16));
                        tokio::time::sleep(wait.min(LONGEST_RETRY)).await;
                    }
                    tried.invocations += 1;
                    let request_id = Uuid::new_v4().to_string();
                    let answer = self.function.invoke_as(request_id.clone(), batch.event()).await;
                    tried.request_id = Some(request_id);
                    tried.function_failed = answer.is_err();
                    let succeeded = self.settle(&mut batch, answer);
                    self.finish(&succeeded);
                }
            }
        }
    }

    /// Gives the records that succeeded.
    fn settle(&self, batch: &mut Batch, answer: Answer) -> Vec<Record> {
        let (stream, of) = (self.arn.as_str(), batch.len());
        match answer {
            Ok(answer) if self.settings.report_batch_item_failures => {
                let succeeded = batch.first_failure(&answer);
                if succeeded < of {
                    tracing::warn!(stream, failed = of - succeeded, of, "records will be retried");
                }
                batch.succeeded(succeeded)
            }
            Ok(_) => batch.succeeded(of),
            Err(error) => {
                let was_invoked = !matches!(error, InvokeError::NotStarted(_));
                let error = error.shortened();
                tracing::warn!(stream, error = &error as &dyn std::error::Error, of, "a batch will be retried");
                batch.failed(was_invoked);
                Vec::new()
            }
        }
    }

    async fn discard(&self, records: &[Record], condition: Condition, tried: &Tried) {
        tracing::warn!(stream = self.arn, discarded = records.len(), ?condition, "records are discarded");
        if let Some(queue) = &self.on_failure
            && let Some(message) = self.failure(records, condition, tried)
            && let Err(error) = queue.send(message.to_string()).await
        {
            let error = &error as &dyn std::error::Error;
            tracing::error!(stream = self.arn, error, "cannot tell the destination what was discarded");
        }
        self.finish(records);
    }

    /// What the destination is told:
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>.
    fn failure(&self, records: &[Record], condition: Condition, tried: &Tried) -> Option<Value> {
        let (first, last) = (records.first()?, records.last()?);
        let mut message = json!({
            "requestContext": {
                "requestId": tried.request_id.clone().unwrap_or_else(|| Uuid::new_v4().to_string()),
                "functionArn": self.function_arn,
                "condition": format!("{condition:?}"),
                "approximateInvokeCount": tried.invocations,
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
        if tried.invocations > 0 {
            message["responseContext"] = json!({"statusCode": 200, "executedVersion": "$LATEST"});
            if tried.function_failed {
                message["responseContext"]["functionError"] = json!("Unhandled");
            }
        }
        Some(message)
    }

    /// These records are done.
    fn finish(&self, records: &[Record]) {
        if let Some(last) = records.last() {
            self.keep_position(Some(last.sequence_number.clone()));
            self.done.send_modify(|done| *done += records.len() as u64);
        }
    }

    /// A position that cannot be kept lets the next start invoke the function again with records that succeeded, which Lambda
    /// may do too.
    fn keep_position(&self, position: Option<String>) {
        if let (Some(path), Some(position)) = (&self.position, position) {
            // Renamed, so that it is there as a whole or not at all.
            let part = path.with_extension("part");
            if let Err(error) = fs::write(&part, position).and_then(|()| fs::rename(&part, path)) {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(stream = self.arn, error, "cannot keep the position");
            }
        }
    }
}

fn rfc3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    // In milliseconds, as Lambda has it.
    let time = time.replace_millisecond(time.millisecond()).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}
