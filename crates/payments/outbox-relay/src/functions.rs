//! One invocation of each function: calls `outbox`, and logs a line with the metrics.

use std::time::SystemTime;

use lambda_boot::{Line, is_logged, with_causes};
use lambda_runtime::Diagnostic;
use outbox::{BatchResponse, End, Metric, Publisher, Relay, StreamBatch, Sweeper};
use tracing::Level;

use crate::Role;

/// No row of a batch was published, although the rows are valid.
///
/// Lambda counts a partial batch response as a success. This is therefore reported as the function's error, so that alarms see it.
/// Lambda retries all records in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NothingPublished;

/// Why a run of the sweeper ended early.
#[derive(Debug, thiserror::Error)]
pub enum SweepFailed {
    /// The table cannot be read.
    #[error(transparent)]
    Unreadable(#[from] outbox::Error),
    /// The topic accepted none of many rows.
    #[error("the topic accepted none of the rows")]
    NothingPublished,
    /// None of many published rows could be deleted.
    #[error("none of the published rows could be deleted")]
    NothingDeleted,
}

/// Publishes the new rows of a batch of stream records. The response names the first record that Lambda must retry.
pub async fn relay<P: Publisher>(
    relay: &Relay<P>,
    batch: &StreamBatch,
    metrics_namespace: &str,
    request_id: &str,
    deadline: SystemTime,
) -> Result<BatchResponse, NothingPublished> {
    let relayed = relay.handle(batch, deadline).await;
    print(line(Role::Relay, metrics_namespace, request_id, &relayed.metrics()));
    if relayed.failed > 0 && relayed.published == 0 { Err(NothingPublished) } else { Ok(relayed.response()) }
}

/// Publishes old rows until there are no more, or the time is up.
pub async fn sweep<P: Publisher>(
    sweeper: &Sweeper<P>,
    metrics_namespace: &str,
    request_id: &str,
    deadline: SystemTime,
) -> Result<(), SweepFailed> {
    let swept = sweeper.sweep(deadline).await;
    let line = line(Role::Sweep, metrics_namespace, request_id, &swept.metrics());
    match swept.end {
        End::Done => {
            print(line);
            Ok(())
        }
        End::Deadline => {
            print(line.with("cut_short", true));
            Ok(())
        }
        End::PublisherFails => {
            print(line);
            Err(SweepFailed::NothingPublished)
        }
        End::DeletionFails => {
            print(line);
            Err(SweepFailed::NothingDeleted)
        }
        End::Unreadable(error) => {
            print(line);
            let reason = error.code();
            tracing::error!(request_id, reason, error = with_causes(&error), "outbox not swept");
            Err(error.into())
        }
    }
}

fn line(role: Role, metrics_namespace: &str, request_id: &str, metrics: &[Metric]) -> Line {
    let line = Line::new(Level::INFO, SystemTime::now()).in_namespace(metrics_namespace, &[("Function", role.name())]);
    // CloudWatch charges for a metric even if it is 0.
    let line = metrics
        .iter()
        .filter(|metric| metric.value > 0)
        .fold(line, |line, Metric { name, unit, value, .. }| line.metric(name, unit, *value));
    if is_logged(Level::INFO) { line.with("message", "outbox processed").with("request_id", request_id) } else { line }
}

fn print(line: impl std::fmt::Display) {
    println!("{line}");
}

impl From<NothingPublished> for Diagnostic {
    fn from(NothingPublished: NothingPublished) -> Self {
        Self {
            error_type: "NothingPublished".to_owned(),
            error_message: "no event of the batch was published: see the log for the reasons".to_owned(),
        }
    }
}

impl From<SweepFailed> for Diagnostic {
    fn from(failed: SweepFailed) -> Self {
        Self { error_type: "SweepFailed".to_owned(), error_message: with_causes(&failed) }
    }
}
