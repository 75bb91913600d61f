//! The rebuild on AWS Step Functions: one Lambda binary whose `_HANDLER` is `Plan`, `Fold` or `Report`.
//!
//! The state machine is `Plan` → `Map` (DISTRIBUTED, one `Fold` for each line of `batches.jsonl`) → `Report`. All shapes are JSON;
//! members that are not named here are refused.
//!
//! **Plan** takes the request. Always pass `run`: with the execution's name, a repeated start finds the same run.
//! ```json
//! {"run": "exec-1", "into": "ftgo-order-history-2", "since": "2026-03-01T00:00:00Z", "until": null,
//!  "types": ["OrderCreated"], "orders": ["99"], "snapshot": "latest", "rate": 1000}
//! ```
//! The default of `run` is a new id, filters are optional, `snapshot` is `none` or `latest` (the
//! default), `rate` is in write units per second for each worker. It returns
//! ```json
//! {"run": "exec-1", "into": "ftgo-order-history-2", "bucket": "ftgo-archive", "key": "runs/exec-1/batches.jsonl",
//!  "batches": 31, "files": 9000, "bytes": 1550000000}
//! ```
//! `bucket` and `key` are for the `ItemReader`'s `Parameters` (`Bucket.$`, `Key.$`) with `InputType` `JSONL`. If `batches` is 0 the
//! file is empty: skip the map.
//!
//! **Fold** takes the run and an unchanged line of `batches.jsonl`: `{"run.$": "$.run", "batch.$": "$$.Map.Item.Value"}`.
//! ```json
//! {"run": "exec-1",
//!  "batch": {"id": "00000", "day": "2026-03-01", "bytes": 512, "files": [{"key": "events/dt=2026-03-01/hh=12/a.ndjson.gz", "size": 512}]}}
//! ```
//! It returns `{"run", "batch", "events", "views", "quarantined", "damaged", "already_done"}`. If the batch already has a result, it returns that at
//! once. Retry errors of the types `OutOfTime` (30 s before the deadline; all stored views are kept), `Throttled` and `Unavailable`;
//! the others (`Failed`, `Invalid`) need a correction by a person.
//!
//! **Report** takes `{"run": "exec-1"}` (other members are ignored, so the whole state may be passed), and returns
//! `{"run", "batches", "files", "bytes", "events", "views", "quarantined", "damaged", "too_large", "corrupt", "contradictions", "clean"}`.
//! If batches have no result, it fails with the type `Unfinished` and names them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use archive::Store;
use lambda_boot::{Clock, Environment, Line, Missing, with_causes};
use lambda_runtime::Diagnostic;
use order_store::METRICS_NAMESPACE;
use projection::dynamodb::Error as TableError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;
use tracing::Level;

use crate::batch::{Meter, Processor, Sink};
use crate::error::Error;
use crate::filter::Filter;
use crate::plan::{Batch, SnapshotChoice, Work};
use crate::run::{BatchResult, Plan, Report, Run, Target};
use crate::table::TableSink;

/// The three functions of the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Lists the archive and writes the batches.
    Plan,
    /// Processes a batch.
    Fold,
    /// Sums the results.
    Report,
}

/// A function's settings. The SDK reads region, credentials and endpoints itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The function's `Handler`.
    pub role: Role,
    /// The archive's bucket.
    pub archive_bucket: String,
    /// The `CloudWatch` namespace of the metrics.
    pub metrics_namespace: String,
    /// The function's memory in bytes.
    pub memory: usize,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The function's `Handler` is none of the three.
    #[error("the function's Handler (_HANDLER) must be Plan, Fold or Report")]
    Handler,
}

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let handler = environment.needed("_HANDLER", "Plan, Fold or Report (in Lambda: the function's Handler)")?;
        let megabytes = environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE").and_then(|size| size.parse().ok());
        let config = Self {
            role: match handler.as_str() {
                "Plan" => Role::Plan,
                "Fold" => Role::Fold,
                "Report" => Role::Report,
                _ => return Err(ConfigError::Handler),
            },
            archive_bucket: environment.needed("ARCHIVE_BUCKET", "the name of the archive's bucket")?,
            metrics_namespace: environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned()),
            memory: megabytes.unwrap_or(512_usize) << 20,
        };
        environment.check_lambda()?;
        Ok(config)
    }
}

/// The request of `Plan`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)] // See the module.
pub struct PlanRequest {
    pub run: Option<String>,
    pub into: Option<String>,
    pub since: Option<order_events::Timestamp>,
    pub until: Option<order_events::Timestamp>,
    pub types: Vec<String>,
    pub orders: Vec<order_events::OrderId>,
    pub snapshot: SnapshotChoice,
    pub rate: Option<u32>,
}

/// The response of `Plan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // See the module.
pub struct PlanResponse {
    pub run: String,
    pub into: String,
    pub bucket: String,
    pub key: String,
    pub batches: u64,
    pub files: u64,
    pub bytes: u64,
}

/// The request of `Fold`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // See the module.
pub struct FoldRequest {
    pub run: String,
    pub batch: Batch,
}

/// The response of `Fold`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // See the module.
pub struct FoldResponse {
    pub run: String,
    pub batch: String,
    pub events: u64,
    pub views: u64,
    pub quarantined: u64,
    pub damaged: u64,
    pub already_done: bool,
}

/// The request of `Report`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)] // See the module.
pub struct ReportRequest {
    pub run: String,
}

/// The response of `Report`. The lists are in the run's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // See the module.
pub struct ReportResponse {
    pub run: String,
    pub batches: u64,
    pub files: u64,
    pub bytes: u64,
    pub events: u64,
    pub views: u64,
    pub quarantined: u64,
    pub damaged: u64,
    pub too_large: u64,
    pub corrupt: u64,
    pub contradictions: u64,
    pub clean: bool,
}

/// Why a function failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The function's time was up. All stored views are kept; the batch is repeated.
    #[error(
        "too little time is left before the function's timeout: retry; if it never succeeds, raise the timeout or the memory"
    )]
    OutOfTime,
    /// The request is invalid.
    #[error("the request is invalid: {0}")]
    Invalid(String),
    /// The rebuild stopped.
    #[error(transparent)]
    Stopped(#[from] Error),
}

impl Failure {
    /// The error name for a state machine's `Retry` and `Catch`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OutOfTime => "OutOfTime",
            Self::Invalid(_) => "Invalid",
            Self::Stopped(Error::Unfinished { .. }) => "Unfinished",
            Self::Stopped(Error::Table(TableError::Throttled(_))) => "Throttled",
            Self::Stopped(error) if error.is_retryable() => "Unavailable",
            Self::Stopped(_) => "Failed",
        }
    }
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Self { error_type: failure.name().to_owned(), error_message: with_causes(&failure) }
    }
}

/// The three functions.
#[derive(Clone)]
pub struct Worker {
    config: Config,
    archive: Store,
    dynamodb: aws_sdk_dynamodb::Client,
    clock: Clock,
}

/// The largest batch, in bytes of files, for a worker that writes `rate` units per second.
///
/// A batch that does not end before the worker's deadline is repeated, with the cost of all its writes, so it must end well before. 10 MB of
/// gzip are about 20,000 orders and 64,000 write units. With a rate, a batch takes about 400 seconds.
fn batch_bytes(rate: Option<u32>) -> u64 {
    const MAX: u64 = 10_000_000;
    const BYTES_PER_UNIT: u64 = MAX / 64_000;
    rate.map_or(MAX, |rate| (u64::from(rate) * 400 * BYTES_PER_UNIT).min(MAX))
}

/// Reserved before the deadline, to write the result and to answer.
const RESERVE: Duration = Duration::from_secs(30);

impl Worker {
    /// Creates the functions with these clients.
    #[must_use]
    pub fn new(config: Config, archive: Store, dynamodb: aws_sdk_dynamodb::Client, clock: Clock) -> Self {
        Self { config, archive, dynamodb, clock }
    }

    /// Lists the archive and writes the run's plan and batches. An existing plan is kept, even if the request differs.
    pub async fn plan(&self, request: PlanRequest) -> Result<PlanResponse, Failure> {
        let id = request.run.clone().unwrap_or_else(|| Run::new_id(self.clock.now()));
        let run = Run::new(&self.archive, &id)?;
        let plan = match run.find_plan().await? {
            Some(plan) => plan,
            None => self.begin(&run, request).await?,
        };
        let Target::Table(into) = plan.into else {
            return Err(Failure::Invalid(
                "this run writes files, not a table: finish it with the command line".to_owned(),
            ));
        };
        let (bucket, key) = (self.config.archive_bucket.clone(), run.key("batches.jsonl"));
        Ok(PlanResponse {
            run: plan.run,
            into,
            bucket,
            key,
            batches: plan.batches,
            files: plan.files,
            bytes: plan.bytes,
        })
    }

    async fn begin(&self, run: &Run, request: PlanRequest) -> Result<Plan, Failure> {
        // To continue a run, only its id is given. This must not start a new run.
        let table = request.into.ok_or_else(|| {
            Failure::Invalid(format!("run {} does not exist: to start it, `into` must name the table", run.id()))
        })?;
        let types: Result<_, _> = request.types.iter().map(|name| name.parse()).collect();
        let filter = Filter {
            since: request.since,
            until: request.until,
            types: types
                .map_err(|unknown: order_events::UnknownEventType| Failure::Invalid(format!("`types` {unknown}")))?,
            orders: request.orders.into_iter().collect(),
        };
        let work = Work::list(&self.archive, &filter, request.snapshot, batch_bytes(request.rate)).await?;
        let Work { batches, snapshot, notes } = work;
        for note in notes {
            tracing::warn!(run = run.id(), "{note}");
        }
        let plan = Plan {
            snapshot,
            rate: request.rate,
            created: self.clock.now().into(),
            ..Plan::new(run.id(), Target::Table(table), filter)
        };
        Ok(run.begin(plan, batches).await?.0)
    }

    /// Processes a batch, unless it has a result.
    pub async fn fold(
        &self,
        request: FoldRequest,
        request_id: &str,
        deadline: SystemTime,
    ) -> Result<FoldResponse, Failure> {
        let left = deadline.duration_since(self.clock.now()).unwrap_or_default().saturating_sub(RESERVE);
        let (response, is_new) = timeout(left, self.fold_in_time(request)).await.map_err(|_| Failure::OutOfTime)??;
        if is_new {
            let line = Line::new(Level::INFO, self.clock.now())
                .in_namespace(&self.config.metrics_namespace, &[("Function", "rebuild")])
                .count("RebuiltEvents", response.events.try_into().unwrap_or(usize::MAX))
                .count("RebuiltViews", response.views.try_into().unwrap_or(usize::MAX))
                .count("RebuildQuarantined", response.quarantined.try_into().unwrap_or(usize::MAX))
                .count("RebuildDamaged", response.damaged.try_into().unwrap_or(usize::MAX))
                .with("message", "batch rebuilt")
                .with("run", response.run.as_str())
                .with("batch", response.batch.as_str())
                .with("request_id", request_id);
            println!("{line}");
        }
        Ok(response)
    }

    async fn fold_in_time(&self, FoldRequest { run, batch }: FoldRequest) -> Result<(FoldResponse, bool), Failure> {
        let run = Run::new(&self.archive, &run)?;
        if let Some(result) = run.result(&batch.id).await? {
            return Ok((FoldResponse::of(&run, &result, true), false));
        }
        let plan = run.plan().await?;
        plan.check_rules()?;
        let Target::Table(table) = &plan.into else {
            return Err(Failure::Invalid(
                "this run writes files, not a table: finish it with the command line".to_owned(),
            ));
        };
        let processor = Processor {
            archive: self.archive.clone(),
            filter: Arc::new(plan.filter),
            sink: Sink::Table(Arc::new(TableSink::new(self.dynamodb.clone(), table, plan.rate))),
            // The other half is for files, requests and code.
            memory: self.config.memory / 2,
            meter: Arc::new(Meter::default()),
        };
        let (result, quarantine) = processor.process(&batch).await?;
        run.finish(&result, &quarantine).await?;
        Ok((FoldResponse::of(&run, &result, false), true))
    }

    /// Sums the results of a run.
    pub async fn report(&self, ReportRequest { run }: ReportRequest) -> Result<ReportResponse, Failure> {
        Ok(Run::new(&self.archive, &run)?.report().await?.into())
    }

    /// Reads a request.
    pub fn read<T: DeserializeOwned>(request: Value) -> Result<T, Failure> {
        serde_json::from_value(request).map_err(|error| Failure::Invalid(error.to_string()))
    }
}

impl FoldResponse {
    fn of(run: &Run, result: &BatchResult, already_done: bool) -> Self {
        Self {
            run: run.id().to_owned(),
            batch: result.batch.clone(),
            events: result.summary.events,
            views: result.stored.views,
            quarantined: result.summary.lines_quarantined(),
            damaged: result.summary.damaged.len() as u64,
            already_done,
        }
    }
}

impl From<Report> for ReportResponse {
    fn from(report: Report) -> Self {
        let clean = report.is_clean();
        let Report { run, batches, files, bytes, summary, stored, took_ms: _ } = report;
        Self {
            run,
            batches,
            files,
            bytes,
            events: summary.events,
            views: stored.views,
            quarantined: summary.lines_quarantined(),
            damaged: summary.damaged.len() as u64,
            too_large: stored.too_large.len() as u64,
            corrupt: stored.corrupt.len() as u64,
            contradictions: summary.contradictions,
            clean,
        }
    }
}
