//! The arguments. The comments are the commands' help texts.
#![allow(clippy::doc_markdown)]

use std::collections::BTreeSet;
use std::convert::Infallible;

use archive::Location;
use clap::{Args, Parser, Subcommand, ValueEnum};
use order_events::{EventType, OrderId, Timestamp};

use super::Failure;
use crate::filter::Filter;
use crate::plan::SnapshotChoice;
use crate::verify::Sample;

/// Rebuilds the order history from the archive of all events, while the old table is in use.
#[derive(Debug, Parser)]
#[command(name = "rebuild", version, after_help = EXIT_CODES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    /// Print results as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

const EXIT_CODES: &str = "Exit codes: 0 success, 1 failed, 2 invalid arguments, 3 some lines or orders were left out, 4 some files are damaged, \
                          130 interrupted (a run can be resumed).\nRegion, credentials and endpoints come from the AWS CLI's \
                          environment variables and profiles. After a single sign-on, use `aws configure export-credentials \
                          --format env`.";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Estimate what a run would read and write, its cost and its duration; write nothing
    Plan(PlanArguments),
    /// Fold the archive and merge the views into a table, or write them as files for an import
    Run(Box<Run>),
    /// Show the progress of a run
    Status(Status),
    /// Compare a table with another table or with the archive; exit code 1 if they differ
    Verify(Verify),
    /// Fold the archive into a snapshot from which later runs start
    Snapshot(Snapshot),
    /// Fold event lines and item lines from standard input into one item line per order (for Spark's `pipe`)
    Fold(Fold),
}

/// The source and the target.
#[derive(Debug, Args)]
pub(super) struct PlanArguments {
    /// The archive: s3://bucket/prefix or a folder
    #[arg(long, value_parser = location, value_name = "ARCHIVE")]
    pub(super) from: Location,
    /// The table to write
    #[arg(long, value_name = "TABLE")]
    pub(super) into: Option<String>,
    /// Use only events of this time or later, such as 2026-03-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(super) since: Option<Timestamp>,
    /// Use only events before this time
    #[arg(long, value_name = "TIME")]
    pub(super) until: Option<Timestamp>,
    /// Use only events of these types, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "TYPES")]
    pub(super) types: Vec<EventType>,
    /// Use only events of these orders, separated by commas; or @FILE with one id per line
    #[arg(long, value_name = "ORDERS")]
    pub(super) orders: Option<String>,
    /// The snapshot to start from
    #[arg(long, value_enum, default_value_t = SnapshotChoice::Latest)]
    pub(super) snapshot: SnapshotChoice,
    /// The largest number of write units per second
    #[arg(long, value_name = "UNITS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rate: Option<u32>,
    /// The memory for views, in MB
    #[arg(long, value_name = "MB", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) memory: u32,
    /// The largest part of the archive to read for the estimate, in MB
    #[arg(long, value_name = "MB", default_value_t = 64)]
    pub(super) sample: u32,
}

#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) what: PlanArguments,
    /// The target of the views
    #[arg(long, value_enum, default_value_t = SinkChoice::Table)]
    pub(super) sink: SinkChoice,
    /// With --sink files: the folder or bucket for the files (default: runs/<id>/import in the archive)
    #[arg(long, value_parser = location, value_name = "PLACE")]
    pub(super) out: Option<Location>,
    /// Create the table if it is missing
    #[arg(long)]
    pub(super) create: bool,
    /// Only estimate, like `plan`: write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Continue this run, with its original arguments
    #[arg(long, value_name = "RUN", conflicts_with_all = ["into", "since", "until", "types", "orders", "sink", "out", "snapshot", "dry_run"])]
    pub(super) resume: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Status {
    /// The run's id
    pub(super) run: String,
    /// The archive: s3://bucket/prefix or a folder
    #[arg(long, value_parser = location, value_name = "ARCHIVE")]
    pub(super) from: Location,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The reference table
    #[arg(long, value_name = "TABLE")]
    pub(super) left: String,
    /// The table or archive to compare with it (an archive is s3://bucket/prefix, or a folder with a slash in its name)
    #[arg(long, value_name = "TABLE|ARCHIVE")]
    pub(super) right: String,
    /// Compare only this share of the orders, such as 1%
    #[arg(long, value_name = "SHARE")]
    pub(super) sample: Option<Sample>,
    /// The number of segments of a table that are read in parallel
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) segments: u32,
    /// The pause before different orders are compared again (default: 5 s for a table, 330 s for an archive)
    #[arg(long, value_name = "SECONDS")]
    pub(super) pause: Option<u64>,
    /// The snapshot to read instead of the files that it includes
    #[arg(long, value_enum, default_value_t = SnapshotChoice::Latest)]
    pub(super) snapshot: SnapshotChoice,
    /// The memory for views, in MB
    #[arg(long, value_name = "MB", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) memory: u32,
}

#[derive(Debug, Args)]
pub(super) struct Snapshot {
    /// The archive: s3://bucket/prefix or a folder
    #[arg(long, value_parser = location, value_name = "ARCHIVE")]
    pub(super) from: Location,
    /// Also include the items of this table, for events from before the archive existed
    #[arg(long, value_name = "TABLE")]
    pub(super) from_table: Option<String>,
    /// Fold all files again, instead of starting from the latest snapshot
    #[arg(long, conflicts_with = "resume")]
    pub(super) full: bool,
    /// Continue this run
    #[arg(long, value_name = "RUN")]
    pub(super) resume: Option<String>,
    /// The number of segments of the table that are read in parallel
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) segments: u32,
    /// The memory for views, in MB
    #[arg(long, value_name = "MB", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) memory: u32,
}

#[derive(Debug, Args)]
pub(super) struct Fold {
    /// The memory for views, in MB; if it is used up, partial views are written, and an order has several lines
    #[arg(long, value_name = "MB", default_value_t = 1_024, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) memory: u32,
    /// Fail if the memory is used up, so that every order has one line
    #[arg(long)]
    pub(super) whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SinkChoice {
    /// Merge them into the table
    Table,
    /// Write them as lines of DynamoDB JSON, for an import into a new table
    Files,
}

impl PlanArguments {
    /// Which events are used.
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        Ok(Filter {
            since: self.since,
            until: self.until,
            types: self.types.iter().copied().collect(),
            orders: self.orders.as_deref().map(orders).transpose()?.unwrap_or_default(),
        })
    }

    pub(super) fn memory(&self) -> usize {
        megabytes(self.memory)
    }
}

pub(super) fn megabytes(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(1 << 20)
}

fn orders(argument: &str) -> Result<BTreeSet<OrderId>, Failure> {
    let text = match argument.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::Usage(format!("--orders @{path}: the file cannot be read: {error}")))?,
        None => argument.to_owned(),
    };
    let ids = text.split([',', '\n']).map(str::trim).filter(|id| !id.is_empty());
    let ids: Result<BTreeSet<_>, _> = ids.map(OrderId::parse).collect();
    let ids = ids.map_err(|invalid| Failure::Usage(format!("--orders: an order's id {invalid}")))?;
    if ids.is_empty() {
        return Err(Failure::Usage("--orders is empty: omit it to use all orders".to_owned()));
    }
    Ok(ids)
}

fn location(text: &str) -> Result<Location, Infallible> {
    text.parse()
}
