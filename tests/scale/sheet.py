"""Writes the tables of docs/scale.md: `python3 tests/scale/sheet.py`. A test compares them with what is in the document."""

import math
import re
from pathlib import Path

import formulas
from formulas import DAY, MONTH, Parameters

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/scale.md"
# Names in the document that are AWS's, not ours.
AWS_NAMES = """ApproximateAgeOfOldestMessage WriteThrottleEvents IteratorAge MaximumConcurrency ParallelizationFactor PublishBatch
ConcurrentExecutions WarmThroughput ProvisionedPollerConfig MaximumPollers MinimumPollers BatchWriteItem CreateLogStream ImportTable
NumberOfMessagesPublished"""


def number(value):
    """At most three digits that say something, with commas; small ones with decimals."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        digits = max(0, math.floor(math.log10(abs(value))) - 2)
        value = round(value / 10**digits) * 10**digits
        return f"{value:,.0f}"
    return f"{value:.3g}"


def money(value):
    return f"${value:,.2f}" if value < 10 else f"${number(value)}"


def size(byte_count):
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if byte_count >= factor:
            return f"{number(byte_count / factor)} {unit}"
    return f"{number(byte_count)} B"


def time(seconds):
    for unit, factor in (("days", 2 * DAY), ("h", 7_200), ("min", 120)):
        if seconds >= factor:
            return f"{number(seconds / {'days': DAY, 'h': 3_600, 'min': 60}[unit])} {unit}"
    return f"{number(seconds)} s"


def table(header, rows):
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def event(p):
    """What one event takes."""
    units = p.units
    batch = p["settings.batch_size"]
    rows = [
        [
            "events of an order",
            f"{p.events_per_order}, of which {p['order.location_events']} are locations of the courier",
            "assumed",
        ],
        ["share of the busiest event type", f"{p.busiest_share:.0%}", "assumed"],
        ["requests for an order, of clients", str(p["order.queries"]), "assumed"],
        ["one invocation, 1 event", f"{formulas.duration(p, 1) * 1e3:.1f} ms", "[benchmarks](benchmarks/README.md)"],
        ["one invocation, 10 events", f"{formulas.duration(p, batch) * 1e3:.1f} ms", "[benchmarks](benchmarks/README.md)"],
        ["DynamoDB requests of an event", number(p["measured.requests_of_ten"]), "[benchmarks](benchmarks/README.md)"],
        ["write units of an event: idempotency records", number(units["records"]), "measured"],
        ["write units of an event: view's table", number(units["orders"]), "measured"],
        ["write units of an event: view's index", number(units["index"]), "measured; a courier's location is not in the index"],
        [
            "bytes of an order's item, index entry, record",
            f"{p['item.item_bytes']:,}, {p['item.entry_bytes']}, {p['item.record_bytes']}",
            "measured",
        ],
        [
            "log of an event, in batches of ten",
            f"{p['measured.log_bytes_of_ten']:.0f} bytes",
            "[benchmarks](benchmarks/README.md)",
        ],
    ]
    return table(["what", "value", "where from"], rows)


def limits(p):
    """AWS's numbers, with their links."""
    rows = []
    for name, limit in p.tree["limits"].items():
        rows.append(
            [f"[{limit['value']:,}][{name}]", limit["text"] + ("" if limit["checked"] else " (**from memory, check**)")]
        )
    links = "\n".join(f"[{name}]: {limit['url']}" for name, limit in p.tree["limits"].items())
    return f"{table(['number', 'of what'], rows)}\n\n{links}"


def first(p):
    """What is too small first."""
    rows = [[number(each.events), each.name, each.shows, each.raises] for each in formulas.bottlenecks(p)]
    return table(["from events/s", "what is too small", "how it shows", "what to raise"], rows)


def rows_of(p, rate):
    """(limit, allowed, its key in parameters.toml if it is one of AWS's, needed, what to raise) at a rate."""
    batch, units, share = p["settings.batch_size"], p.units, p.busiest_share
    queries = rate * p["order.queries"] / p.events_per_order
    busiest = formulas.concurrency(p, rate * share, batch)
    alone = formulas.concurrency(p, rate, 1)
    new, quota = p["limits.table_new_writes"], p["limits.table_quota"]
    slots = max(p["settings.HandlerConcurrency"], math.ceil(2 * busiest / 10) * 10)
    payment = rate * p["order.payment_events"] / p.events_per_order
    charging = (
        rate * p["order.charges"] / p.events_per_order / batch * (p["assumed.gateway_seconds"] + formulas.duration(p, batch))
    )
    charged = math.ceil(2 * charging / 10) * 10
    in_flight = rate * share * (formulas.duration(p, batch) + p["assumed.poll_millis"] / 1e3)
    failing = formulas.failing_throughput(p)
    keys = (2 * alone + p["settings.event_types"] + 1) / p["limits.key_reuse_seconds"]

    def tables(name):
        need = 2 * rate * units[name]
        first = "quota *Table-level write throughput limit*, then " if need > quota else ""
        return f"{first}warm throughput {number(need)}"

    invocations = p["limits.lambda_concurrency"] * p["limits.lambda_requests_per_execution"]
    full = formulas.concurrency(p, rate, batch)
    files = max(rate / p["assumed.archive_batch_events"], 1 / 300)
    return [
        (
            "requests of clients/s, `RequestRate`",
            p["settings.RequestRate"],
            None,
            queries,
            f"`RequestRate={math.ceil(2 * queries)}`",
        ),
        ("requests of clients/s, account", p["limits.gateway_requests"], "gateway_requests", queries, "quota *Throttle rate*"),
        ("idempotency table, new, units/s", new, "table_new_writes", rate * units["records"], tables("records")),
        ("view's table, new, units/s", new, "table_new_writes", rate * units["orders"], tables("orders")),
        ("view's index, new, units/s", new, "table_new_writes", rate * units["index"], tables("index")),
        ("executions of the busiest type", p["settings.HandlerConcurrency"], None, busiest, f"`HandlerConcurrency={slots}`"),
        (
            "executions of the charge function",
            p["settings.ChargeConcurrency"],
            None,
            charging,
            f"`ChargeConcurrency={charged}`, if the gateway allows it",
        ),
        (
            "archived events/s",
            p["assumed.archive_events_per_second"],
            None,
            rate,
            "`MaximumConcurrency` of `ArchiverQueue` (edit template.yaml), measure",
        ),
        (
            "events/s through the relay",
            formulas.relay_throughput(p),
            None,
            payment,
            "`ParallelizationFactor` of `RelayStreamMapping` (edit payments.yaml)",
        ),
        ("events/s published", p["limits.sns_publish"], "sns_publish", rate, "quota *Messages published per second*"),
        (
            "executions, account, full batches",
            p["limits.lambda_concurrency"],
            "lambda_concurrency",
            full,
            "quota *Concurrent executions*",
        ),
        (
            "executions, account, batches of one",
            p["limits.lambda_concurrency"],
            "lambda_concurrency",
            alone,
            "`BatchingWindow=1`, then the quota",
        ),
        (
            "invocations/s, full batches",
            invocations,
            "lambda_requests_per_execution",
            rate / batch,
            "quota *Concurrent executions*",
        ),
        (
            "invocations/s, batches of one",
            invocations,
            "lambda_requests_per_execution",
            rate,
            "`BatchingWindow=1`, then the quota",
        ),
        (
            "in flight, busiest queue, without failures",
            p["limits.sqs_in_flight"],
            "sqs_in_flight",
            in_flight,
            "a support request for the queue",
        ),
        (
            "messages/s that may fail, busiest queue, if all do",
            failing,
            "sqs_in_flight",
            rate * share,
            "nothing: remove the cause, then wait",
        ),
        (
            "read units/s of clients, new table",
            p["limits.table_new_reads"],
            "table_new_reads",
            queries * p["measured.query_units"],
            "warm throughput, reads",
        ),
        ("KMS requests/s, with `KmsKeyArn`", p["limits.kms_requests"], "kms_requests", keys, "nothing"),
        ("files/s of the archive", p["limits.s3_puts"], "s3_puts", files, "nothing"),
    ]


def linked(value, limit):
    return f"[{number(value)}][{limit}]" if limit else number(value)


def scale(p, rate):
    rows = []
    for name, allowed, limit, need, raised in rows_of(p, rate):
        headroom = allowed / need
        shown = f"{number(headroom)} times" if headroom >= 2 else f"**{number(headroom)} times**"
        rows.append([name, linked(allowed, limit), number(need), shown, raised if headroom < 2 else ""])
    return table(["limit", "allowed", "needed", "headroom", "raise"], rows)


def month(p):
    """What a month of each rate stores and costs."""
    rows = []
    for rate in (10, 1_000, 100_000):
        events = rate * MONTH
        records = rate * p["assumed.retention_days"] * DAY * (p["item.record_bytes"] + p["limits.item_overhead"])
        logs = events * (p["measured.log_bytes_of_ten"] + 26 * p["measured.log_lines_of_ten"])
        # So few events come one by one.
        million = p["prices.events_million_of_one"] if rate < 100 else p["prices.events_million_of_ten"]
        cost = events / 1e6 * (million + p["prices.archive_million"])
        rows.append(
            [
                number(rate),
                f"{number(events / 1e6)} million",
                money(cost),
                f"{size(records)}, {money(records / 1e9 * p['prices.dynamodb_gb_month'])}",
                f"{size(logs)}, {money(logs / 1e9 * p['prices.logs_gb'])}",
                size(events * p["assumed.archived_bytes"]),
            ]
        )
    return table(
        ["events/s", "events", "events and archive", "idempotency records, 28 days", "logs", "added to the archive"], rows
    )


def keys(p):
    """What one key, one queue and one mapping bear."""
    raised = 240
    rows = [
        [
            "events/s of one order",
            number(formulas.hot_order(p)),
            f"{p['limits.partition_writes']:,} units of a partition / {formulas.write_units(p['item.item_bytes'])} units of its item",
        ],
        [
            "lifecycle events/s of all orders of one consumer",
            number(formulas.hot_consumer(p)),
            f"{p['limits.partition_writes']:,} units of a partition / {formulas.write_units(p['item.entry_bytes'])} unit of an index entry",
        ],
        [
            "events/s of one type, by `HandlerConcurrency=10`",
            number(formulas.queue_throughput(p, 10)),
            f"10 executions x 10 events / {formulas.duration(p, 10) * 1e3:.1f} ms",
        ],
        [
            "messages/s of one queue, if all fail",
            number(formulas.failing_throughput(p)),
            f"{p['limits.sqs_in_flight']:,} in flight / {p['settings.visibility_timeout']} s of visibility timeout",
        ],
        [
            f"from 5 to {raised} executions of one type",
            time(formulas.ramp_seconds(p, raised)),
            f"({raised} - 5) / {p['limits.mapping_per_minute']} per minute",
        ],
        [
            "a new table, to its quota of 40,000 units/s",
            time(formulas.warm_seconds(p, 40_000)),
            "30 min x log2(40,000 / 4,000), rounded up; AWS is often faster, and promises no more",
        ],
        [
            "a new table, to 200,000 units/s",
            time(formulas.warm_seconds(p, 200_000)),
            "30 min x log2(200,000 / 4,000), rounded up",
        ],
        [
            "a message that always fails, to the dead-letter queue",
            time(p["settings.max_receives"] * p["settings.visibility_timeout"]),
            f"{p['settings.max_receives']} receives x {p['settings.visibility_timeout']} s",
        ],
    ]
    return table(["what", "how much", "arithmetic"], rows)


def drain(p):
    """How long the backlog of one hour takes."""
    rows = []
    units = p.units
    for rate in (10, 1_000, 100_000):
        ways = [
            (p["settings.HandlerConcurrency"], p["limits.table_new_writes"]),
            (p["settings.HandlerConcurrency"], p["limits.table_quota"]),
        ]
        for times in (2, 4):
            slots = math.ceil(times * formulas.concurrency(p, rate * p.busiest_share, p["settings.batch_size"]))
            ways.append(
                (
                    max(p["settings.HandlerConcurrency"], slots),
                    max(p["limits.table_new_writes"], times * rate * units["records"]),
                )
            )
        cells = []
        for slots, written in ways:
            capacity = min(formulas.queue_throughput(p, slots) / p.busiest_share, written / max(units.values()))
            seconds = formulas.drain_seconds(rate, 3_600, capacity)
            cells.append("never, it grows" if math.isinf(seconds) else time(seconds))
        rows.append([number(rate), number(rate * 3_600), *cells])
    header = ["events/s", "backlog", "defaults, new tables", "defaults, tables at their quota"]
    return table([*header, "raised for twice the rate", "for four times"], rows)


def orders(p):
    """What a billion orders are."""
    count, overhead = 1e9, p["limits.item_overhead"]
    items, entries = count * (p["item.item_bytes"] + overhead), count * (p["item.entry_bytes"] + overhead)
    events = count * p.events_per_order
    item_units = count * formulas.write_units(p["item.item_bytes"])
    units = item_units + count * formulas.write_units(p["item.entry_bytes"])
    gb = p["prices.dynamodb_gb_month"] + p["prices.recovery_gb_month"]
    fold = events / p["assumed.fold_events_per_second"] / p["settings.RebuildConcurrency"]
    rows = [
        ["events", number(events), f"{time(events / 1_000)} at 1,000 events/s, {time(events / 100_000)} at 100,000"],
        [
            "view's table",
            f"{size(items)}, {number(items / 1e9 / p['limits.partition_gb'])} partitions or more",
            f"{money(items / 1e9 * gb)} a month with point-in-time recovery",
        ],
        ["view's index", size(entries), f"{money(entries / 1e9 * p['prices.dynamodb_gb_month'])} a month"],
        [
            "archive",
            size(events * p["assumed.archived_bytes"]),
            f"{money(events * p['assumed.archived_bytes'] / 1e9 * p['prices.s3_gb_month'])} a month; `ArchiveColdAfterDays` for less",
        ],
        [
            "a rebuild, writing",
            f"{number(units)} write units or more, {money(units / 1e6 * p['prices.dynamodb_million_write_units'])}",
            # RATE counts the units of the index too; the index has a quota of its own, and needs fewer units than the table.
            f"{time(units / p['limits.table_new_writes'])} at `RATE=4000`, {time(item_units / p['limits.table_quota'])} at the table's quota",
        ],
        [
            "a rebuild, folding",
            f"{time(fold)} with `RebuildConcurrency={p['settings.RebuildConcurrency']}`",
            "less than writing takes",
        ],
        [
            "a second index (a new listed facet)",
            f"{number(count)} write units, {money(count / 1e6 * p['prices.dynamodb_million_write_units'])}",
            f"{time(count / p['limits.table_new_writes'])} at 4,000 units/s; give the new index warm throughput",
        ],
    ]
    return table(["what", "how much", "what it means"], rows)


TABLES = {
    "event": event,
    "limits": limits,
    "keys": keys,
    "first": first,
    "scale 10": lambda p: scale(p, 10),
    "scale 1000": lambda p: scale(p, 1_000),
    "scale 100000": lambda p: scale(p, 100_000),
    "month": month,
    "drain": drain,
    "orders": orders,
}


def rendered(document, parameters):
    """The document with its tables made anew. Each stands between `<!-- table: name -->` and `<!-- end -->`."""
    left = set(TABLES)

    def fill(found):
        left.remove(found[1])
        return f"<!-- table: {found[1]} -->\n{TABLES[found[1]](parameters)}\n<!-- end -->"

    filled = re.sub(r"<!-- table: ([\w ]+) -->\n.*?<!-- end -->", fill, document, flags=re.DOTALL)
    if left:
        raise ValueError(f"the document has no place for {sorted(left)}")
    return filled


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(DOCUMENT.read_text(), Parameters.load()))
