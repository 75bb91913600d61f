//! One invocation of each function: the kit's work, and a line with its metrics.

use std::time::SystemTime;

use lambda_boot::{Line, is_logged, with_causes};
use lambda_runtime::Diagnostic;
use outbox::{BatchResponse, End, Metric, Publisher, Relay, StreamBatch, Sweeper};
use tracing::Level;

use crate::Role;

/// Nothing of a batch was published, for reasons that are not the rows'.
///
/// A partial batch response counts as a success of the function, so that this is reported as the function's error instead: Lambda
/// tries all records again either way, and alarms on errors see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NothingPublished;

/// Why a run of the sweeper ended too soon.
#[derive(Debug, thiserror::Error)]
pub enum SweepFailed {
    /// The table cannot be read.
    #[error(transparent)]
    Unreadable(#[from] outbox::Error),
    /// The topic took none of many rows.
    #[error("the topic took none of the rows")]
    NothingPublished,
    /// None of many rows could be deleted after it was published.
    #[error("none of the published rows could be deleted")]
    NothingDeleted,
}

/// Publishes the new rows of a batch of stream records. The answer says from which record on Lambda must try again.
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

/// Publishes the rows that were left behind, until there are no more or the time is up.
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
    // A metric that is 0 costs as much as any other.
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
            error_message: "no event of the batch was published: see the log for why".to_owned(),
        }
    }
}

impl From<SweepFailed> for Diagnostic {
    fn from(failed: SweepFailed) -> Self {
        Self { error_type: "SweepFailed".to_owned(), error_message: with_causes(&failed) }
    }
}
