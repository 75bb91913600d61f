//! The cost sheet: measured units and times by the list prices of `bench/prices.json`.

use serde::Deserialize;

use crate::Result;
use crate::dynamodb::DISTANCE;
use crate::projection::{PerEvent, Projection};
use crate::query::Answered;

/// List prices in US dollars, and the memory that the functions are given.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Where they hold.
    pub region: String,
    /// When they were noted.
    pub as_of: String,
    /// A million write request units, on demand.
    pub dynamodb_million_write_units: f64,
    /// A million read request units, on demand.
    pub dynamodb_million_read_units: f64,
    /// A second of a gigabyte.
    pub lambda_gb_second: f64,
    /// On which processors.
    pub lambda_architecture: String,
    /// A million invocations.
    pub lambda_million_requests: f64,
    /// A million requests to a standard queue.
    pub sqs_million_requests: f64,
    /// A million messages published to a topic.
    pub sns_million_publishes: f64,
    /// A million requests to an HTTP API.
    pub http_api_million_requests: f64,
    /// A handler's memory, as in `template.yaml`.
    pub handler_memory_mb: f64,
    /// The query Lambda's memory, as in `template.yaml`.
    pub query_memory_mb: f64,
}

/// What a million of something costs, in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bill {
    /// Units of DynamoDB.
    pub dynamodb: f64,
    /// Lambda's time.
    pub lambda_time: f64,
    /// Lambda's invocations.
    pub lambda_requests: f64,
    /// What brings it: topic and queue, or the HTTP API.
    pub around: f64,
}

impl Bill {
    /// All of it.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.dynamodb + self.lambda_time + self.lambda_requests + self.around
    }
}

/// A function has a whole core from this much memory on, and less in proportion.
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
const MEMORY_OF_A_CORE_MB: f64 = 1769.0;

/// How many messages a batch has, as measured.
const BATCH: f64 = 10.0;

impl Prices {
    /// Reads them.
    pub fn read() -> Result<Self> {
        Ok(serde_json::from_str(include_str!("../prices.json"))?)
    }

    /// A million events.
    #[must_use]
    pub fn events(&self, projection: &Projection) -> Bill {
        let cpu_millis = projection.stub.cpu_micros.median() / 1e3 * BATCH;
        let batch = self.lambda_time(projection.waiting_millis, cpu_millis, self.handler_memory_mb);
        Bill {
            dynamodb: self.dynamodb(&projection.per_event),
            lambda_time: batch / BATCH,
            lambda_requests: self.lambda_million_requests / BATCH,
            // Published once; sent to the queue, and a tenth of a receive and of a delete for each message.
            around: self.sns_million_publishes + self.sqs_million_requests * (1.0 + 2.0 / BATCH),
        }
    }

    /// A million queries.
    #[must_use]
    pub fn queries(&self, answered: &Answered) -> Bill {
        let waiting_millis = answered.per_request.all_requests() * DISTANCE.as_secs_f64() * 1e3;
        let cpu_millis = answered.stub.cpu_micros.median() / 1e3;
        Bill {
            dynamodb: self.dynamodb(&answered.per_request),
            lambda_time: self.lambda_time(waiting_millis, cpu_millis, self.query_memory_mb),
            lambda_requests: self.lambda_million_requests,
            around: self.http_api_million_requests,
        }
    }

    fn dynamodb(&self, each: &PerEvent) -> f64 {
        each.written.sum() * self.dynamodb_million_write_units + each.read.sum() * self.dynamodb_million_read_units
    }

    /// A million invocations that wait and compute so long, on the share of a core that comes with the memory. Lambda
    /// bills started milliseconds.
    fn lambda_time(&self, waiting_millis: f64, cpu_millis: f64, memory_mb: f64) -> f64 {
        let share = (memory_mb / MEMORY_OF_A_CORE_MB).min(1.0);
        let billed_millis = (waiting_millis + cpu_millis / share).ceil();
        billed_millis * 1e3 * (memory_mb / 1024.0) * self.lambda_gb_second
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use super::*;
    use crate::dynamodb::Units;

    #[track_caller]
    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} is not {right}");
    }

    fn prices() -> Prices {
        Prices { lambda_gb_second: 0.00001, dynamodb_million_write_units: 0.5, ..Prices::read().unwrap() }
    }

    #[test]
    fn time_is_billed_by_memory_in_started_milliseconds() {
        // A quarter of a core takes four times as long: 4 × 2 + 1.5, so 10 ms of half a gigabyte, a million times.
        let quarter = MEMORY_OF_A_CORE_MB / 4.0;
        close(prices().lambda_time(1.5, 2.0, quarter), 10.0 * 1e3 * quarter / 1024.0 * 0.00001);
        close(prices().lambda_time(0.0, 2.0, 2048.0), 2.0 * 1e3 * 2.0 * 0.00001);
    }

    #[test]
    fn units_are_billed_wherever_they_were_spent() {
        let written = Units { orders: 1.0, index: 2.0, records: 3.0 };
        close(prices().dynamodb(&PerEvent { written, ..PerEvent::default() }), 3.0);
    }
}
