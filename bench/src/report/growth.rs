//! The sections on growth, and on the time until an order is visible.

use std::fmt::Write as _;

use super::spread;
use crate::growth::Point;
use crate::results::Results;
use crate::statistics::Rounds;
use crate::svg::number;
use crate::visibility::Visibility;

pub(super) fn growth(results: &Results) -> String {
    let growth = &results.growth;
    let mut section = "## Growth
**As an item ages.** An order that is revised many times gets a timeline entry with every event and a revision with every second
one, so it needs another write unit for each kilobyte; an order whose courier moves does not grow. The number of requests stays the same:
one update, one record. Write units are those of the item and its record.

![An item ages](item-ages.svg)

![CPU as an item ages](item-ages-cpu.svg)

| events | bytes, revised | write units | CPU (µs) | bytes, courier moving | write units | CPU (µs) |
|---|---|---|---|---|---|---|
"
    .to_owned();
    let bytes = |point: &Point| {
        number(point.item_bytes.and_then(|bytes| u32::try_from(bytes).ok()).map_or(f64::NAN, f64::from))
    };
    let units = |point: &Point| number(point.each.written.orders + point.each.written.records);
    let shown = [1, 2, 3, 4, 5, 10, 20, 30, 40];
    for (revised, moving) in growth.revised.iter().zip(&growth.moving).filter(|(point, _)| shown.contains(&point.size))
    {
        let cells =
            [revised, moving].map(|point| [bytes(point), units(point), spread(point.cpu_micros.spread())].join(" | "));
        let _ = writeln!(section, "| {} | {} |", revised.size, cells.join(" | "));
    }
    section += "
**As a history grows.** A page is one query for the 21 newest orders in the index, for any size of the history. A consumer with ten
orders gets half a page, which costs less.

![A history grows](history-grows.svg)

| orders of the consumer | CPU per page (µs) | requests | read units |
|---|---|---|---|
";
    for point in &growth.history {
        let (requests, units) = (number(point.each.all_requests()), number(point.each.read.sum()));
        let _ = writeln!(
            section,
            "| {} | {} | {requests} | {units} |",
            number(point.size.into()),
            spread(point.cpu_micros.spread())
        );
    }
    section += "
**As a batch grows.** The events of a batch share the cost of an invocation, and the request that completes up to 25 records.

![A batch grows](batch-grows.svg)

| messages in a batch | CPU per event (µs) | requests per event | write units per event |
|---|---|---|---|
";
    for point in &growth.batch {
        let (requests, units) = (number(point.each.all_requests()), units(point));
        let _ = writeln!(
            section,
            "| {} | {} | {requests} | {units} |",
            number(point.size.into()),
            spread(point.cpu_micros.spread())
        );
    }
    section
}

pub(super) fn visibility(visibility: &Visibility) -> String {
    let Visibility { polled, waited } = visibility;
    let row = |name: &str, times: &Rounds| {
        let [half, most] = [50, 99].map(|percent| number(times.percentile(percent)));
        format!("| {name} | {half} | {most} |\n")
    };
    format!(
        "## Time until an order is visible
Milliseconds from the moment a client sends an `OrderCreated` to the queue (`SendMessage`) to the moment an HTTP response shows the order. The
functions of the release build run in the local system of `make run`: queue, event source mapping, handler, DynamoDB engine, query Lambda and
the client share this machine. {} orders each, one at a time, with warm functions and no batching window. On AWS, SNS, SQS, its pollers and the
network add their own latency, and a batching window adds up to its length.

| | half of them within | 99 % within |
|---|---|---|
{}{}",
        number(u32::try_from(polled.0.len()).map_or(f64::NAN, f64::from)),
        row("`GET /orders/{id}` repeated 1 ms after each response, without a token", polled),
        row("one `GET /orders/{id}` with a `Consistency-Token` and `Prefer: wait=5`", waited),
    )
}
