//! Prints results, as text or as JSON.

use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::estimate::Estimate;
use crate::run::Report;
use crate::text::{bytes, count, dollars, duration};

/// Prints a value as JSON on one line.
pub(super) fn json_line(value: &impl Serialize) -> Result<(), Error> {
    println!("{}", serde_json::to_string(value).map_err(Error::Write)?);
    Ok(())
}

/// Prints rows of a name and a value.
pub(super) fn rows(rows: &[(&str, String)]) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, value) in rows {
        println!("{name:width$}  {value}");
    }
}

pub(super) fn estimate(estimate: &Estimate, as_json: bool) -> Result<(), Error> {
    if as_json {
        return json_line(estimate);
    }
    let Estimate { cost, .. } = estimate;
    let about = if estimate.is_exact { "" } else { "about " };
    let basis = if estimate.is_exact {
        "exact: all files were read".to_owned()
    } else {
        format!("{} of {} were read; raise --sample to read more", bytes(estimate.bytes_read), bytes(estimate.bytes))
    };
    rows(&[
        (
            "reads",
            format!(
                "{} files, {}, in {} batches",
                count(estimate.files),
                bytes(estimate.bytes),
                count(estimate.batches)
            ),
        ),
        ("events", format!("{about}{}", count(estimate.events))),
        (
            "left out",
            format!(
                "{} events by filters, {} events of unknown types",
                count(estimate.filtered),
                count(estimate.unknown_types)
            ),
        ),
        ("unreadable", format!("{} lines, {} damaged files", count(estimate.quarantined), count(estimate.damaged))),
        (
            "writes",
            format!(
                "{about}{} views in {} requests, {} write units, {} of items",
                count(estimate.views),
                count(estimate.requests),
                count(estimate.write_units),
                bytes(estimate.item_bytes)
            ),
        ),
        (
            "costs",
            format!("{about}{} (DynamoDB {}, S3 {})", dollars(cost.total), dollars(cost.dynamodb), dollars(cost.s3)),
        ),
        (
            "instead",
            format!(
                "{} with --sink files and an import into a new table; {} with a replay through the queues",
                dollars(cost.import_table),
                dollars(cost.queues)
            ),
        ),
        ("takes", format!("{about}{} at {} write units per second", duration(estimate.seconds), count(estimate.rate))),
        ("estimate", format!("{basis}. It assumes that the table contains none of these orders.")),
    ]);
    Ok(())
}

pub(super) fn report(report: &Report, place: &str, as_json: bool) -> Result<(), Error> {
    if as_json {
        return json_line(&json!({"message": "done", "run": report.run, "clean": report.is_clean(), "report": report}));
    }
    let Report { summary, stored, .. } = report;
    let mut lines = vec![
        ("run", format!("{} is done; its folder is {place}", report.run)),
        (
            "read",
            format!("{} files, {}, in {} batches", count(report.files), bytes(report.bytes), count(report.batches)),
        ),
        ("events", count(summary.events)),
        (
            "stored",
            format!(
                "{} views in {} requests, {} write units",
                count(stored.views),
                count(stored.requests),
                count(stored.milliunits.div_ceil(1_000))
            ),
        ),
    ];
    lines.extend(problem_rows(report));
    rows(&lines);
    Ok(())
}

/// Prints the problems, if there are any.
pub(super) fn problems(report: &Report) {
    rows(&problem_rows(report));
}

fn problem_rows(Report { summary, stored, .. }: &Report) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut add_if_any = |name: &'static str, number: u64, what: &str| {
        if number > 0 {
            lines.push((name, format!("{}{what}", count(number))));
        }
    };
    add_if_any("from snapshot", summary.items, " views");
    add_if_any("filtered", summary.filtered, " events left out by filters");
    add_if_any("unknown types", summary.unknown_types, " events of types that the view does not use");
    add_if_any(
        "quarantined",
        summary.lines_quarantined(),
        " lines could not be read: see quarantine/ in the run's folder",
    );
    add_if_any("damaged", summary.damaged.len() as u64, " files are damaged: restore them, then start a new run");
    add_if_any("too large", stored.too_large.len() as u64, " orders would exceed 400 KB: their items were not changed");
    add_if_any(
        "not changed",
        stored.corrupt.len() as u64,
        " items have attributes that this version did not write: they were not changed",
    );
    add_if_any(
        "contradictions",
        summary.contradictions,
        " event ids were used for two different events: check the publisher",
    );
    lines
}
