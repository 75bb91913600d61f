//! An EventBridge rule with a rate: it invokes a function at regular intervals.

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use uuid::Uuid;

use crate::lambda::Settings;
use crate::pool::Pool;
use crate::processes::Processes;
use crate::{ACCOUNT, REGION};

/// How often a rule invokes its target: `rate(1 minute)`, `rate(5 minutes)`, `rate(2 hours)`, `rate(1 day)`.
///
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub Duration);

/// A schedule expression that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid rate {0:?}; expected for example rate(1 minute) or rate(5 minutes)")]
pub struct RateError(String);

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(expression: &str) -> Result<Self, RateError> {
        let rate = || {
            let (number, unit) = expression.strip_prefix("rate(")?.strip_suffix(')')?.split_once(' ')?;
            let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
            let unit = if number == 1 { unit } else { unit.strip_suffix('s')? };
            let minutes = match unit {
                "minute" => 1,
                "hour" => 60,
                "day" => 24 * 60,
                _ => return None,
            };
            Some(Self(Duration::from_secs(60 * minutes) * number))
        };
        rate().ok_or_else(|| RateError(expression.to_owned()))
    }
}

/// A rule and the function that it invokes. Both end with this value.
#[derive(Debug)]
pub struct Schedule {
    done: watch::Receiver<u64>,
    processes: Processes,
    _timer: JoinSet<()>,
}

impl Schedule {
    /// Invokes the function with the event of this rule. The first invocation comes after one period.
    ///
    /// An invocation that takes longer than the period delays the next one. A failed invocation is logged and
    /// not retried before the next one is due.
    #[must_use]
    pub fn start(rule: &str, function: Settings, rate: Rate) -> Self {
        let (counter, done) = watch::channel(0);
        let mut timer = JoinSet::new();
        let function = Pool::new(function);
        let processes = Processes::new(&function);
        timer.spawn(run(rule.to_owned(), function, rate.0, counter));
        Self { done, processes, _timer: timer }
    }

    /// The function's processes.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Waits until this many invocations have succeeded since the start.
    pub async fn done(&self, invocations: u64) {
        // This fails only if the timer has ended, and it ends only with this value.
        let _ = self.done.clone().wait_for(|done| *done >= invocations).await;
    }
}

async fn run(rule: String, function: Arc<Pool>, period: Duration, done: watch::Sender<u64>) {
    let mut timer = tokio::time::interval_at(Instant::now() + period, period);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        timer.tick().await;
        match function.invoke(event(&rule, SystemTime::now())).await {
            Ok(_) => done.send_modify(|done| *done += 1),
            Err(error) => {
                let error = error.shortened();
                tracing::warn!(rule, error = &error as &dyn std::error::Error, "a scheduled invocation failed");
            }
        }
    }
}

/// The function's event:
/// <https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-events.html#events-ref-scheduled-event>.
fn event(rule: &str, now: SystemTime) -> Value {
    let now = OffsetDateTime::from(now).replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    json!({
        "version": "0",
        "id": Uuid::new_v4().to_string(),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": now.format(&Rfc3339).unwrap_or_default(),
        "region": REGION,
        "resources": [format!("arn:aws:events:{REGION}:{ACCOUNT}:rule/{rule}")],
        "detail": {},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_number_and_a_unit() {
        let rate = |minutes: u64| Ok(Rate(Duration::from_secs(60 * minutes)));
        assert_eq!("rate(1 minute)".parse(), rate(1));
        assert_eq!("rate(5 minutes)".parse(), rate(5));
        assert_eq!("rate(2 hours)".parse(), rate(120));
        assert_eq!("rate(1 day)".parse(), rate(1440));
        for wrong in ["rate(0 minutes)", "rate(1 minutes)", "rate(5 minute)", "rate(5)", "cron(0 * * * ? *)", ""] {
            assert_eq!(wrong.parse::<Rate>(), Err(RateError(wrong.to_owned())), "{wrong}");
        }
    }
}
