//! The cost sheet: measured units and times, multiplied by the list prices of `bench/prices.json`.

use serde::Deserialize;

use crate::Result;
use crate::dynamodb::DISTANCE;
use crate::logs::Logged;
use crate::projection::{InBatches, PerEvent};
use crate::query::RequestCost;

/// List prices in US dollars, and the memory of the functions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The AWS region of the prices.
    pub region: String,
    /// The month in which the prices were read.
    pub as_of: String,
    /// A million write request units, on demand.
    pub dynamodb_million_write_units: f64,
    /// A million read request units, on demand.
    pub dynamodb_million_read_units: f64,
    /// A second of a gigabyte.
    pub lambda_gb_second: f64,
    /// The processor architecture of that price.
    pub lambda_architecture: String,
    /// A million invocations.
    pub lambda_million_requests: f64,
    /// A million requests to a standard queue.
    pub sqs_million_requests: f64,
    /// A gigabyte imported into a new table (<https://aws.amazon.com/dynamodb/pricing/on-demand/>).
    pub dynamodb_import_gb: f64,
    /// A thousand objects put, or listings, in the standard class (<https://aws.amazon.com/s3/pricing/>).
    pub s3_thousand_puts: f64,
    /// A thousand objects read.
    pub s3_thousand_gets: f64,
    /// The cost of a million events in batches of ten on this sheet. The plan of a rebuild compares its cost with it.
    pub queues_million_events: f64,
    /// A million messages published to a topic.
    pub sns_million_publishes: f64,
    /// A million requests to an HTTP API.
    pub http_api_million_requests: f64,
    /// A gigabyte ingested by CloudWatch Logs, standard class: the first 10 TB of a month, above which Lambda's logs are cheaper.
    pub logs_gb: f64,
    /// A custom metric for a month: each of the first 10,000. It is charged for the hours in which it is published.
    pub metric_month: f64,
    /// A million traces recorded by X-Ray.
    pub xray_million_traces: f64,
    /// A handler's memory, as in `template.yaml`.
    pub handler_memory_mb: f64,
    /// The query Lambda's memory, as in `template.yaml`.
    pub query_memory_mb: f64,
    /// Which invocations are traced, as in `template.yaml`.
    pub tracing: Tracing,
}

/// Which invocations of a function X-Ray traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Tracing {
    /// A sample of them.
    Active,
    /// Those that the caller decided to trace. No caller of ours does.
    PassThrough,
}

/// The share of invocations that are traced, in addition to the first of every second.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html>
const TRACED: f64 = 0.05;

/// The seconds of a month of 30 days.
const SECONDS_OF_A_MONTH: f64 = 30.0 * 24.0 * 60.0 * 60.0;

/// The cost of a million events or queries, in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bill {
    /// Units of DynamoDB.
    pub dynamodb: f64,
    /// Lambda's time.
    pub lambda_time: f64,
    /// Lambda's invocations.
    pub lambda_requests: f64,
    /// The source: topic and queue, or the HTTP API.
    pub around: f64,
    /// The function's log output.
    pub logs: f64,
    /// Traces, without the first of every second.
    pub traces: f64,
}

impl Bill {
    /// The total, in dollars.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.dynamodb + self.lambda_time + self.lambda_requests + self.around + self.logs + self.traces
    }
}

/// A function has a whole core from this much memory on, and less in proportion.
/// <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
const MEMORY_OF_A_CORE_MB: f64 = 1769.0;

impl Prices {
    /// Reads `bench/prices.json`.
    pub fn read() -> Result<Self> {
        Ok(serde_json::from_str(include_str!("../prices.json"))?)
    }

    /// The cost of a million events, in batches of this size.
    #[must_use]
    pub fn events(&self, events: &InBatches) -> Bill {
        let size = u32::try_from(events.size).map_or(f64::NAN, f64::from);
        let cpu_millis = events.stub.cpu_micros.median() / 1e3 * size;
        let batch = self.lambda_time(events.waiting_millis.median(), cpu_millis, self.handler_memory_mb);
        Bill {
            dynamodb: self.dynamodb(&events.per_event),
            lambda_time: batch / size,
            lambda_requests: self.lambda_million_requests / size,
            // A message is published once and sent to the queue once; a batch is received once and deleted once.
            around: self.sns_million_publishes + self.sqs_million_requests * (1.0 + 2.0 / size),
            logs: self.logs(&events.logged),
            traces: self.traces(size, self.tracing),
        }
    }

    /// The cost of a million queries.
    #[must_use]
    pub fn queries(&self, answered: &RequestCost) -> Bill {
        let waiting_millis = answered.per_request.all_requests() * DISTANCE.as_secs_f64() * 1e3;
        let cpu_millis = answered.stub.cpu_micros.median() / 1e3;
        Bill {
            dynamodb: self.dynamodb(&answered.per_request),
            lambda_time: self.lambda_time(waiting_millis, cpu_millis, self.query_memory_mb),
            lambda_requests: self.lambda_million_requests,
            around: self.http_api_million_requests,
            logs: self.logs(&answered.logged),
            traces: self.traces(1.0, self.tracing),
        }
    }

    /// The traces of a million events in batches of this size, without the first of every second.
    #[must_use]
    pub fn traces(&self, size: f64, tracing: Tracing) -> f64 {
        match tracing {
            Tracing::Active => self.xray_million_traces * TRACED / size,
            Tracing::PassThrough => 0.0,
        }
    }

    /// The most that tracing the first invocation of every second costs in a month, for each function.
    #[must_use]
    pub fn first_traces(&self) -> f64 {
        self.xray_million_traces * SECONDS_OF_A_MONTH / 1e6
    }

    /// The cost of this many custom metrics for a month.
    #[must_use]
    pub fn metrics(&self, live: usize) -> f64 {
        self.metric_month * u32::try_from(live).map_or(f64::NAN, f64::from)
    }

    /// The cost of a million times this log output.
    fn logs(&self, each: &Logged) -> f64 {
        each.ingested() * 1e6 / 1e9 * self.logs_gb
    }

    fn dynamodb(&self, each: &PerEvent) -> f64 {
        each.written.sum() * self.dynamodb_million_write_units + each.read.sum() * self.dynamodb_million_read_units
    }

    /// A million invocations that wait and compute for this long, on the share of a core that belongs to the memory size. Lambda
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
    fn an_event_in_a_batch_of_ten_pays_a_tenth_of_the_shared_cost() {
        let of = |size| {
            let logged = Logged { lines: 0.0, bytes: 100.0 };
            prices().events(&InBatches { size, logged, ..InBatches::default() })
        };
        let (one, ten) = (of(1), of(10));
        close(one.lambda_requests, 0.20);
        close(ten.lambda_requests, 0.02);
        close(one.around, 0.50 + 0.40 * 3.0);
        close(ten.around, 0.50 + 0.40 * 1.2);
        close(one.logs, 0.05);
        close(ten.logs, 0.05);
    }

    #[test]
    fn lines_metrics_and_traces_are_billed() {
        // A million lines of 74 bytes and 26 of CloudWatch's are a tenth of a gigabyte.
        close(prices().logs(&Logged { lines: 1.0, bytes: 74.0 }), 0.05);
        close(prices().metrics(38), 11.40);
        close(prices().traces(10.0, Tracing::PassThrough), 0.0);
        close(prices().traces(10.0, Tracing::Active), 0.025);
        close(prices().first_traces(), 12.96);
    }

    #[test]
    fn units_of_items_records_and_indexes_are_billed() {
        let written = Units { orders: 1.0, index: 2.0, records: 3.0 };
        close(prices().dynamodb(&PerEvent { written, ..PerEvent::default() }), 3.0);
    }
}
