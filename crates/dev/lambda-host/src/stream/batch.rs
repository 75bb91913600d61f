//! Decides the next step for a batch of a stream: invoke, retry, split or discard. No I/O here.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::Settings;
use crate::REGION;

/// A record of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) sequence_number: String,
    pub(super) created: SystemTime,
    /// The record in the function's event.
    pub(super) event: Value,
}

impl Record {
    /// Makes a record from what `GetRecords` returns.
    pub(super) fn new(mut event: Value, stream_arn: &str) -> Self {
        event["eventSourceARN"] = json!(stream_arn);
        event["awsRegion"] = json!(REGION);
        let stream_record = &mut event["dynamodb"];
        let seconds = stream_record["ApproximateCreationDateTime"].as_f64().unwrap_or_default();
        let created = SystemTime::UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let sequence_number = stream_record["SequenceNumber"].as_str().unwrap_or_default().to_owned();
        Self { sequence_number, created, event }
    }
}

/// The records that are not finished, in their order.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    settings: &'a Settings,
    /// The function is invoked with the first part. The other parts were split off.
    parts: VecDeque<Part>,
}

#[derive(Debug, Default)]
struct Part {
    records: Vec<Record>,
    /// How often the part's first record failed, without failures that led to a split.
    failures: u32,
    /// How often the function could not be invoked.
    not_invoked: u32,
}

/// The next thing to do.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Invoke the function. `retry` counts the earlier tries with these records, also those in which it could not be started.
    Invoke { retry: u32 },
    /// These records are not retried.
    Discard(Condition, Vec<Record>),
}

/// Why records are discarded, in Lambda's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    RetryAttemptsExhausted,
    RecordAgeExceeded,
}

impl<'a> Batch<'a> {
    pub(super) fn new(records: Vec<Record>, settings: &'a Settings) -> Self {
        Self { settings, parts: VecDeque::from([Part { records, ..Part::default() }]) }
    }

    /// The next step, or `None` if all records are finished.
    pub(super) fn next_step(&mut self, now: SystemTime) -> Option<Step> {
        while self.parts.front()?.records.is_empty() {
            self.parts.pop_front();
        }
        let part = self.parts.front_mut()?;
        if let Some(oldest) = self.settings.maximum_record_age_in_seconds {
            let oldest = Duration::from_secs(oldest.into());
            let is_too_old = |record: &Record| now.duration_since(record.created).is_ok_and(|age| age > oldest);
            let too_old = part.records.iter().take_while(|record| is_too_old(record)).count();
            if too_old > 0 {
                let records = part.records.drain(..too_old).collect();
                return Some(Step::Discard(Condition::RecordAgeExceeded, records));
            }
        }
        if self.settings.maximum_retry_attempts.is_some_and(|most| part.failures > most) {
            let records = std::mem::take(&mut part.records);
            return Some(Step::Discard(Condition::RetryAttemptsExhausted, records));
        }
        Some(Step::Invoke { retry: part.failures + part.not_invoked })
    }

    /// The number of records in the next invocation.
    pub(super) fn len(&self) -> usize {
        self.parts.front().map_or(0, |part| part.records.len())
    }

    /// The event of the next invocation.
    pub(super) fn event(&self) -> Value {
        let records = self.parts.iter().take(1).flat_map(|part| &part.records);
        json!({"Records": records.map(|record| &record.event).collect::<Vec<_>>()})
    }

    /// The number of records before the first failed one, according to the function's response. The retry starts at the lowest
    /// sequence number. If the response is not a batch response, or names a record that is not in the batch, all records failed.
    /// Without failures in the response, none failed: <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>.
    pub(super) fn first_failure(&self, response: &Value) -> usize {
        let failures = match response {
            Value::Null => return self.len(),
            Value::Object(response) => match response.get("batchItemFailures") {
                None | Some(Value::Null) => return self.len(),
                Some(Value::Array(failures)) => failures,
                Some(_) => return 0,
            },
            _ => return 0,
        };
        let index = |failure: &Value| {
            let number = failure.get("itemIdentifier")?.as_str()?;
            self.parts.front()?.records.iter().position(|record| record.sequence_number == number)
        };
        failures.iter().map(|failure| index(failure).unwrap_or(0)).min().unwrap_or(self.len())
    }

    /// The first `records` succeeded and are returned. The others failed.
    pub(super) fn succeeded(&mut self, records: usize) -> Vec<Record> {
        let bisect = self.settings.bisect_batch_on_function_error;
        let Some(part) = self.parts.front_mut() else { return Vec::new() };
        let succeeded: Vec<Record> = part.records.drain(..records).collect();
        if part.records.is_empty() {
        } else if succeeded.is_empty() {
            self.failed(true);
        } else {
            // The part now starts with another record. A split at this record does not count as a retry.
            (part.failures, part.not_invoked) = (u32::from(!bisect), 0);
        }
        succeeded
    }

    /// All records failed. If the function could not be invoked, this does not count as a retry.
    pub(super) fn failed(&mut self, was_invoked: bool) {
        let Some(part) = self.parts.front_mut() else { return };
        if !was_invoked {
            part.not_invoked += 1;
        } else if self.settings.bisect_batch_on_function_error && part.records.len() > 1 {
            let half = part.records.len().div_ceil(2);
            let rest = Part { records: part.records.split_off(half), ..Part::default() };
            self.parts.insert(1, rest);
        } else {
            part.failures += 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failed unwrap fails the test.
mod tests {
    use super::*;

    #[test]
    fn a_response_without_failures_means_success() {
        for response in [json!(null), json!({}), json!({"batchItemFailures": null}), json!({"batchItemFailures": []})] {
            check(&response, 3);
        }
    }

    #[test]
    fn a_response_that_is_not_a_batch_response_fails_the_whole_batch() {
        let of = |failures: Value| json!({"batchItemFailures": failures});
        for response in [json!([]), json!("done"), json!(true), of(json!({})), of(json!("2")), of(json!(["2"]))] {
            check(&response, 0);
        }
        for item in [json!({"itemIdentifier": ""}), json!({"itemIdentifier": null}), json!({"itemIdentifer": "2"})] {
            check(&of(json!([item])), 0);
            check(&of(json!([{"itemIdentifier": "3"}, item])), 0);
        }
        check(&of(json!([{"itemIdentifier": "of another batch"}])), 0);
    }

    #[test]
    fn the_retry_starts_at_the_lowest_failed_sequence_number() {
        check(&json!({"batchItemFailures": [{"itemIdentifier": "3"}]}), 2);
        check(&json!({"batchItemFailures": [{"itemIdentifier": "3"}, {"itemIdentifier": "2"}]}), 1);
    }

    #[test]
    fn only_records_older_than_the_maximum_age_are_discarded() {
        let settings = Settings { maximum_record_age_in_seconds: Some(60), ..Settings::default() };
        let mut batch = Batch::new(records(), &settings);
        let created = batch.parts[0].records[2].created;
        batch.parts[0].records[0].created -= Duration::from_secs(2);
        batch.parts[0].records[1].created -= Duration::from_secs(1);
        assert_eq!(batch.next_step(created + Duration::from_secs(58)), Some(Step::Invoke { retry: 0 }));
        let Some(Step::Discard(Condition::RecordAgeExceeded, discarded)) =
            batch.next_step(created + Duration::from_secs(59))
        else {
            panic!("the first record should be discarded");
        };
        assert_eq!(discarded.iter().map(|record| record.sequence_number.as_str()).collect::<Vec<_>>(), ["1"]);
        assert_eq!(batch.len(), 2);
    }

    #[test]
    fn after_a_partial_success_the_next_record_gets_all_its_retries() {
        let settings = Settings { maximum_retry_attempts: Some(1), ..Settings::default() };
        let mut batch = Batch::new(records(), &settings);
        let now = batch.parts[0].records[0].created;
        for (succeeded, next) in [(0, 1), (1, 1), (1, 1)] {
            assert_eq!(batch.succeeded(succeeded).len(), succeeded);
            assert_eq!(batch.next_step(now), Some(Step::Invoke { retry: next }));
        }
        batch.failed(true);
        assert!(matches!(batch.next_step(now), Some(Step::Discard(Condition::RetryAttemptsExhausted, _))));
        assert_eq!(batch.next_step(now), None);
    }

    #[track_caller]
    fn check(response: &Value, expected: usize) {
        let settings = Settings::default();
        assert_eq!(Batch::new(records(), &settings).first_failure(response), expected, "{response}");
    }

    fn records() -> Vec<Record> {
        let record = |number: u8| {
            let stream_record =
                json!({"SequenceNumber": number.to_string(), "ApproximateCreationDateTime": 1_700_000_000.0});
            Record::new(json!({"dynamodb": stream_record}), "arn")
        };
        (1..=3).map(record).collect()
    }
}
