//! A rule that invokes a real function process (`examples/echo.rs`), which this test answers.

use std::time::{Duration, Instant};

use lambda_host::schedule::{Rate, Schedule};
use serde_json::json;
use tokio::time::timeout;

use crate::echo::{Handler, TIMEOUT, settings};

#[tokio::test]
async fn a_rule_invokes_its_function_once_per_period_also_after_a_failure() {
    let mut function = settings();
    let handler = Handler::of(&mut function).await;
    let (started, period) = (Instant::now(), Duration::from_millis(300));
    let schedule = Schedule::start("sweep", function, Rate(period));
    let first = handler.invocation().await;
    assert!(started.elapsed() >= period, "the first invocation was too early");
    let mut event = first.event();
    assert_eq!(event["id"].take().as_str().unwrap().len(), 36);
    let time = event["time"].take();
    assert!(time.as_str().unwrap().len() == 20 && time.as_str().unwrap().ends_with('Z'), "{time}");
    assert_eq!(
        event,
        json!({
            "version": "0",
            "id": null,
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": "000000000000",
            "time": null,
            "region": "us-east-1",
            "resources": ["arn:aws:events:us-east-1:000000000000:rule/sweep"],
            "detail": {},
        })
    );
    first.fail().await;
    handler.invocation().await.exit().await;
    handler.invocation().await.succeed().await;
    timeout(TIMEOUT, schedule.done(1)).await.expect("no invocation succeeded");
    assert!(started.elapsed() >= 3 * period);
}

#[tokio::test]
async fn an_invocation_that_takes_longer_than_a_period_delays_the_next_one() {
    let mut function = settings();
    let handler = Handler::of(&mut function).await;
    let period = Duration::from_millis(50);
    let _schedule = Schedule::start("sweep", function, Rate(period));
    let slow = handler.invocation().await;
    handler.assert_is_idle(6 * period).await;
    slow.succeed().await;
    handler.invocation().await.succeed().await;
}
