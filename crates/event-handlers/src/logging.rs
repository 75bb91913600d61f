//! Log lines: one JSON object each, on standard output.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

/// Logs as JSON, at the level of `AWS_LAMBDA_LOG_LEVEL` (Lambda sets it from the function's logging configuration),
/// else `INFO`.
///
/// The level is for our own lines. Of the libraries only warnings are shown: the SDK's finer lines can hold what
/// customers wrote.
pub fn log_as_json() {
    let level =
        std::env::var("AWS_LAMBDA_LOG_LEVEL").ok().and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::INFO);
    let ours = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target(env!("CARGO_CRATE_NAME"), level)
        .with_target("event_handler", level);
    let json = layer().json().flatten_event(true).with_current_span(false).with_span_list(false).with_target(false);
    // A second call, as in tests, changes nothing.
    let _ = tracing_subscriber::registry().with(ours).with(json).try_init();
}
