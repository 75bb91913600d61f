//! The log: one JSON object per line, on standard output.

use std::error::Error;
use std::fmt::Write;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

use crate::Environment;

/// Logs as JSON, at the level of `LOG_LEVEL`, else of `AWS_LAMBDA_LOG_LEVEL` (Lambda sets it from the function's logging
/// configuration), else `INFO`. A variable whose value is not a level is ignored, and a warning says so if the level
/// allows warnings.
///
/// The level applies to `ours`, a list of crate names as `tracing` targets have them (with underscores). A name also selects
/// every crate whose name begins with it. All other crates log only
/// warnings and errors: the SDK's debug lines can contain the data of your users.
///
/// A second call changes nothing.
pub fn log_as_json(environment: &Environment<'_>, ours: &[&str]) {
    let variables = ["LOG_LEVEL", "AWS_LAMBDA_LOG_LEVEL"];
    let set = variables.into_iter().filter_map(|variable| Some((variable, environment.get(variable)?)));
    let levels: Vec<_> = set.map(|(variable, name)| (variable, level(&name))).collect();
    let level = levels.iter().find_map(|(_, level)| *level).unwrap_or(LevelFilter::INFO);
    let targets = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        // It repeats the error that a handler returned, without the request id: handlers log their own errors. For a panic it only
        // reports that there was one: the message of the panic is on standard error.
        .with_target("lambda_runtime::layers::panic", LevelFilter::OFF)
        .with_targets(ours.iter().map(|target| (*target, level)));
    let json = layer().json().flatten_event(true).with_current_span(false).with_span_list(false).with_target(false);
    if tracing_subscriber::registry().with(targets).with(json).try_init().is_err() {
        return;
    }
    for (variable, _) in levels.iter().filter(|(_, level)| level.is_none()) {
        tracing::warn!(variable, "the variable is ignored: expected TRACE, DEBUG, INFO, WARN, ERROR or FATAL");
    }
}

/// One of Lambda's level names. `tracing` knows all but `FATAL`.
fn level(name: &str) -> Option<LevelFilter> {
    if name == "FATAL" { Some(LevelFilter::ERROR) } else { name.parse().ok() }
}

/// Whether lines of this level are logged. Ask before you print a [`Line`](crate::Line) without metrics.
///
/// With the feature `release_max_level_info` of `tracing`, its macros do not log at `DEBUG` in release builds: the SDK's debug lines
/// are then not part of the binary, and neither are your own. A [`Line`](crate::Line) is logged nevertheless.
#[must_use]
pub fn is_logged(level: Level) -> bool {
    LevelFilter::current() >= level
}

/// The maximum length of one text in a log line, in bytes. A text from outside can be as large as a message, and logs are paid by the byte.
const MAX_LOGGED: usize = 1_024;

/// The beginning of a text, at most 1,024 bytes, cut between two characters. Use it for texts that your program did not write.
#[must_use]
pub fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LOGGED)]
}

/// An error and its causes in one line, separated by colons, [`cut`] at 1,024 bytes.
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
