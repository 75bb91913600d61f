//! The sections on locks and payments.

use std::fmt::Write as _;

use super::{by_operation, dynamodb, mib, paces, spread};
use crate::locks::{CONTENDERS, Uncontended, WORK_MILLIS};
use crate::results::Results;
use crate::svg::number;

pub(super) fn locks(results: &Results) -> String {
    let Some(ours) = results.locks.first() else { return String::new() };
    let mut made_of = String::new();
    for locking in &results.locks {
        let _ = writeln!(made_of, "- **{}**: {}", locking.name, locking.made_of);
    }
    let mut section = format!(
        "## Locks
A lock is taken, one item is written, and the lock is released. `dynamodb-locks` does it in three ways, the peer in one:

{made_of}
A transaction costs more: DynamoDB charges two write units instead of one. In return it fails if the lock was lost
meanwhile. The peer reads the lock before it writes it, and its writes succeed even without the lock.

**Without contention.**

| | CPU, stub (µs) | times as much | CPU, engine (µs) | requests | of which | write units | read units |
|---|---|---|---|---|---|---|---|
"
    );
    for locking in &results.locks {
        let Uncontended { stub, engine, per_grant } = &locking.alone;
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            locking.name,
            spread(stub.cpu_micros.spread()),
            spread(stub.cpu_micros.times(&ours.alone.stub.cpu_micros)),
            spread(engine.cpu_micros.spread()),
            number(per_grant.all_requests()),
            by_operation(per_grant),
            number(per_grant.written.sum()),
            number(per_grant.read.sum()),
        );
    }
    let _ = write!(
        section,
        "
**{CONTENDERS} contenders**, each in its own process, want the same lock at the same time, hold it for {WORK_MILLIS} ms and commit, on the engine. \
Both libraries retry about 20 ms after a failed try, ours with jitter. Numbers are per grant, for all processes together. A failed conditional write \
costs a write unit, as in DynamoDB: we try by writing, which is one request if the lock is free; the peer tries by reading. \
The elapsed time is longer than on separate machines, because the processes share the cores of this one.

| | CPU (µs) | times as much | elapsed (ms) | times as much | requests | write units | read units |
|---|---|---|---|---|---|---|---|
"
    );
    for locking in &results.locks {
        let (contended, base) = (&locking.contended, &ours.contended);
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            locking.name,
            spread(contended.pace.cpu_micros.spread()),
            spread(contended.pace.cpu_micros.times(&base.pace.cpu_micros)),
            spread(contended.wall_millis().spread()),
            spread(contended.wall_millis().times(&base.wall_millis())),
            spread(contended.requests.spread()),
            spread(contended.written.spread()),
            spread(contended.read.spread()),
        );
    }
    section
}

pub(super) fn payments(results: &Results) -> String {
    if results.payments.is_empty() {
        return String::new();
    }
    let mut section = "## Payments
The steps of a payment: `payment-api` in saga mode (`CHARGE_MODE=saga`) with API Gateway's events, then the charge handler
and the relay in batches of ten. New intents, each command with its idempotency key, whose record is part of the command's transaction.
Numbers are per request, message or event. The handler also calls the gateway once; gateway and topic respond at once.

| | CPU, stub (µs) | CPU, engine (µs) | requests/s, stub | requests/s, engine | peak memory (MB) |
|---|---|---|---|---|---|
"
    .to_owned();
    for step in &results.payments {
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} |",
            step.question,
            paces(&step.stub, &step.engine, |pace| &pace.cpu_micros),
            paces(&step.stub, &step.engine, |pace| &pace.per_second),
            number(mib(step.peak_memory)),
        );
    }
    section += "
| | requests | of which | write units: intents, guards, events, locks | records | index | read units |
|---|---|---|---|---|---|---|
";
    for step in &results.payments {
        let _ = writeln!(section, "| {} | {} |", step.question, dynamodb(&step.per_request));
    }
    section
}
