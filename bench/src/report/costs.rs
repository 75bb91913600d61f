//! The sections on costs and limits.

use std::fmt::Write as _;

use order_events::EventType;

use super::lambdas;
use crate::costs::{Bill, Prices, Tracing};
use crate::limits::Limit;
use crate::projection::BATCH;
use crate::results::Results;
use crate::svg::number;

pub(super) fn costs(results: &Results, prices: &Prices) -> String {
    let Prices { region, as_of, lambda_architecture, handler_memory_mb, query_memory_mb, tracing, .. } = prices;
    let [one, ten] = [1.0, 10.0].map(|size| prices.traces(size, Tracing::Active));
    let mut section = format!(
        "## Costs
Dollars at the list prices of {region}, as of {as_of}, without any free tier: [prices.json](../../bench/prices.json). Lambda on \
{lambda_architecture} with {handler_memory_mb} MB for a handler and {query_memory_mb} MB for the query Lambda, as in the template.

- *Lambda, time* is the time that a batch waits for a DynamoDB that takes 5 ms to respond, plus its CPU time on the share of a core that belongs \
to the memory size. Ours and Node send concurrent requests, so on a slow core they compute during a part of the wait; this is not subtracted.
- *Logs* are the bytes of the function's output in this run, plus CloudWatch's 26 bytes for each log event, at ${logs_gb:.2} per GB. Since May \
2025 the price of Lambda's logs falls above the first 10 TB of a month. All contenders have the template's logging \
configuration, in which Lambda itself logs nothing below WARN. A failure logs one more line.
- *Traces* are those of the template's default, {tracing:?}: none. With `Active`, X-Ray records 5 % of the invocations, ${one:.2} for a million \
events in batches of one and ${ten:.3} in batches of ten, and also the first invocation of every second, which costs at most ${first:.2} a month for each function.
- *Metrics* are the custom metrics that the function published in this run without failures, at ${metric:.2} each per month, for any number of \
events; so they are not in the sum. Ours are those of all {types} event types. A count of zero is not published; others, such as failures, cost \
only in the hours in which they are published. The peers publish none: with Powertools' metrics utility, the same metrics would cost the same.

Powertools' pattern has the same writes; the difference is waiting, computing and logging. Storage, transfer, alarms and the HTTP API's access log \
are not included. CPU is that of the machine above.

| a million events | messages in a batch | DynamoDB | Lambda, time | Lambda, requests | topic and queue | logs | traces | sum | metrics, a month |
|---|---|---|---|---|---|---|---|---|---|
",
        logs_gb = prices.logs_gb,
        first = prices.first_traces(),
        metric = prices.metric_month,
        types = EventType::ALL.len(),
    );
    for size in [1, BATCH] {
        for projection in lambdas(results) {
            let Some(batches) = projection.in_batches().find(|batches| batches.size == size) else { continue };
            let metrics = prices.metrics(projection.live_metrics);
            let cells = cells(&prices.events(batches));
            let _ = writeln!(
                section,
                "| {} | {size} | {cells} | {metrics:.2} ({}) |",
                projection.name, projection.live_metrics
            );
        }
    }
    section += "
| a million queries | DynamoDB | Lambda, time | Lambda, requests | HTTP API | logs | traces | sum |
|---|---|---|---|---|---|---|---|
";
    for answered in &results.answered {
        let _ = writeln!(section, "| {} | {} |", answered.question, cells(&prices.queries(answered)));
    }
    section
}

fn cells(bill: &Bill) -> String {
    let Bill { dynamodb, lambda_time, lambda_requests, around, logs, traces } = bill;
    [dynamodb, lambda_time, lambda_requests, around, logs, traces, &bill.sum()]
        .map(|part| format!("{part:.2}"))
        .join(" | ")
}

pub(super) fn promises(limits: &[Limit]) -> String {
    let mut table = "## Limits
`make bench` fails if one of them is exceeded.

| | at most | measured | |
|---|---|---|---|
"
    .to_owned();
    for limit in limits {
        let (most, measured, unit) = (number(limit.limit), number(limit.measured), limit.unit);
        let verdict = if limit.is_kept() { "ok" } else { "**missed**" };
        let _ = writeln!(table, "| {} | {most}{unit} | {measured}{unit} | {verdict} |", limit.what);
    }
    table
}
