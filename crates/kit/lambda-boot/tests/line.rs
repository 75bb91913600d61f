//! Lines with metrics, as CloudWatch's embedded metric format has them.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::time::{Duration, UNIX_EPOCH};

use lambda_boot::Line;
use serde_json::{Value, json};
use tracing::Level;

#[track_caller]
fn check(line: &Line, expected: &Value) {
    let text = line.to_string();
    assert!(!text.contains('\n'));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *expected);
}

fn line(level: Level) -> Line {
    Line::new(level, UNIX_EPOCH + Duration::from_micros(1_772_366_400_007_999))
}

#[test]
fn a_line_has_its_level_and_its_time_in_milliseconds() {
    let expected = json!({"level": "DEBUG", "timestamp": "2026-03-01T12:00:00.007Z", "order_id": "99"});
    check(&line(Level::DEBUG).with("order_id", "99"), &expected);
}

#[test]
fn a_metric_is_published_if_the_namespace_follows_it() {
    let dimensions = &[("Function", "example")];
    let line = || line(Level::INFO);
    let before = line().count("Applied", 2).in_namespace("example", dimensions);
    let after = line().in_namespace("example", dimensions).count("Applied", 2);
    check(&before, &serde_json::from_str(&after.to_string()).unwrap());
}

#[test]
fn a_line_of_metrics_declares_each_and_publishes_no_zero() {
    let line = line(Level::INFO)
        .in_namespace("example", &[("EventType", "OrderCreated")])
        .count("Applied", 2)
        .count("Late", 0)
        .metric("ProjectionLag", "Milliseconds", [7_i64, 8].as_slice())
        .with("request_id", "1");
    let expected = json!({
        "level": "INFO",
        "timestamp": "2026-03-01T12:00:00.007Z",
        "EventType": "OrderCreated",
        "Applied": 2,
        "ProjectionLag": [7, 8],
        "request_id": "1",
        "_aws": {
            "Timestamp": 1_772_366_400_007_u64,
            "CloudWatchMetrics": [{
                "Namespace": "example",
                "Dimensions": [["EventType"]],
                "Metrics": [
                    {"Name": "Applied", "Unit": "Count"},
                    {"Name": "ProjectionLag", "Unit": "Milliseconds"},
                ],
            }],
        },
    });
    check(&line, &expected);
}
