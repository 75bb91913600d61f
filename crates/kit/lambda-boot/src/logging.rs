//! Log lines: one JSON object each, on standard output.

use std::error::Error;
use std::fmt::Write;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use crate::Environment;

/// Logs as JSON, at the level of `LOG_LEVEL`, else of `AWS_LAMBDA_LOG_LEVEL` (Lambda sets it from the function's logging
/// configuration), else `INFO`.
///
/// The level is for the lines of `ours`, a list of crates. Of the libraries only warnings are shown: the SDK's finer lines
/// can hold what customers wrote.
pub fn log_as_json(environment: &Environment<'_>, ours: &[&str]) {
    let level = ["LOG_LEVEL", "AWS_LAMBDA_LOG_LEVEL"]
        .into_iter()
        .find_map(|variable| environment.get(variable).and_then(|name| level(&name)))
        .unwrap_or(LevelFilter::INFO);
    let targets = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        // It repeats the error that a handler returned, without the request's id: handlers log their own. Of a panic it only
        // says that there was one: the panic's message is on standard error.
        .with_target("lambda_runtime::layers::panic", LevelFilter::OFF)
        .with_targets(ours.iter().map(|target| (*target, level)));
    let json = layer().json().flatten_event(true).with_current_span(false).with_span_list(false).with_target(false);
    // A second call, as in tests, changes nothing.
    let _ = tracing_subscriber::registry().with(targets).with(json).try_init();
}

/// One of Lambda's level names. `tracing` knows all but `FATAL`.
fn level(name: &str) -> Option<LevelFilter> {
    if name == "FATAL" { Some(LevelFilter::ERROR) } else { name.parse().ok() }
}

/// Whether lines of this level are logged, for who prints a [`Line`](crate::Line).
///
/// The macros of `tracing` do not log at `DEBUG` in our release builds: `release_max_level_info` leaves the SDK's finer lines out
/// of the binary, and ours with them.
#[must_use]
pub fn is_logged(level: Level) -> bool {
    LevelFilter::current() >= level
}

/// The most bytes of one text in a log line: what others write can be as large as a message, and every byte is paid for.
const MAX_LOGGED: usize = 1_024;

/// The beginning of a text of others that is short enough for a log line.
#[must_use]
pub fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LOGGED)]
}

/// An error and what caused it, in one line, [`cut`].
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a String cannot fail.
        let _ = write!(line, ": {error}");
        cause = error.source();
    }
    line.truncate(cut(&line).len());
    line
}
