"""The arithmetic of docs/scale.md, in closed form. simulation.py checks it."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIFECYCLE = [
    "OrderCreated",
    "PaymentIntentChargeRequested",
    "PaymentIntentCharged",
    "OrderAuthorized",
    "TicketCreated",
    "TicketAccepted",
    "TicketPreparationStarted",
    "TicketPreparationCompleted",
    "DeliveryScheduled",
    "TicketPickedUp",
    "DeliveryPickedUp",
    "DeliveryDelivered",
]
LOCATION = "DeliveryLocationUpdated"
DAY = 86_400
MONTH = 30 * DAY


def write_units(size):
    """DynamoDB counts started kilobytes."""
    return max(1, math.ceil(size / 1024))


class Parameters:
    """The values of parameters.toml, by their path: `parameters["order.queries"]`; of a limit, its value."""

    def __init__(self, tree):
        self.tree = tree

    @classmethod
    def load(cls):
        return cls(tomllib.loads(Path(HERE, "parameters.toml").read_text()))

    def __getitem__(self, path):
        found = self.tree
        for name in path.split("."):
            found = found[name]
        return found["value"] if isinstance(found, dict) else found

    def changed(self, changes):
        """A copy in which some values are others."""
        copy = Parameters(tomllib.loads(Path(HERE, "parameters.toml").read_text()))
        for path, value in changes.items():
            *parents, last = path.split(".")
            found = copy.tree
            for name in parents:
                found = found[name]
            if isinstance(found[last], dict):
                found[last]["value"] = value
            else:
                found[last] = value
        return copy

    @property
    def events_per_order(self):
        return self["order.lifecycle_events"] + self["order.location_events"]

    @property
    def busiest_share(self):
        """The share of the busiest event type."""
        return max(self["order.location_events"], 1) / self.events_per_order

    @property
    def units(self):
        """Write units of an event, on average, of each table and of the index."""
        return {
            "records": self["item.record_units_per_event"],
            "orders": self["item.item_units"] / self.events_per_order,
            "index": self["item.index_units"] / self.events_per_order,
        }


def duration(parameters, messages):
    """Seconds of an invocation with so many messages: waiting, and CPU on the share of a core that comes with the memory."""
    core = parameters["settings.HandlerMemory"] / parameters["limits.lambda_core_mb"]
    alone = parameters["measured.wait_millis_alone"] / 1e3 + parameters["measured.cpu_micros_alone"] / 1e6 / core
    full = parameters["settings.batch_size"]
    of_ten = parameters["measured.wait_millis_of_ten"] / 1e3 + full * parameters["measured.cpu_micros_of_ten"] / 1e6 / core
    return alone + (of_ten - alone) * (messages - 1) / (full - 1)


def concurrency(parameters, rate, messages):
    """Little's law: what runs at once is what starts in a second, times how long it lasts."""
    return rate / messages * duration(parameters, messages)


def queue_throughput(parameters, slots):
    """Events per second of one queue whose mapping runs so many invocations at once, all with full batches."""
    return slots * parameters["settings.batch_size"] / duration(parameters, parameters["settings.batch_size"])


def ramp_seconds(parameters, slots):
    """How long a mapping with enough messages takes from its start to so many concurrent invocations."""
    return max(0, slots - parameters["limits.mapping_start"]) * 60 / parameters["limits.mapping_per_minute"]


def warm_seconds(parameters, units):
    """How long an on-demand table, new and always used to the full, takes to so many write units per second, if it doubles only
    every 30 minutes. That is the worst that AWS documents."""
    doublings = max(0, math.ceil(math.log2(units / parameters["limits.table_new_writes"])))
    return doublings * parameters["limits.doubling_minutes"] * 60


def drain_seconds(rate, outage_seconds, capacity):
    """How long the backlog of an outage takes, while new events arrive at the same rate as before."""
    return rate * outage_seconds / (capacity - rate) if capacity > rate else math.inf


def failing_throughput(parameters):
    """Messages per second that one queue hands out when all of them fail: each is in flight for the visibility timeout."""
    return parameters["limits.sqs_in_flight"] / parameters["settings.visibility_timeout"]


def hot_order(parameters):
    """Events per second that one order takes: they are all writes of one item, in one partition."""
    return parameters["limits.partition_writes"] / write_units(parameters["item.item_bytes"])


def hot_consumer(parameters):
    """Lifecycle events per second of all orders of one consumer: their index entries have one partition key, and the newest are
    neighbours, so that a split of the partition does not help."""
    return parameters["limits.partition_writes"] / write_units(parameters["item.entry_bytes"])


def relay_throughput(parameters):
    """Events per second of the outbox's relay: one invocation at a time for each shard, and a shard for each partition."""
    core = parameters["settings.HandlerMemory"] / parameters["limits.lambda_core_mb"]
    batch = parameters["settings.batch_size"]
    seconds = parameters["assumed.relay_wait_millis"] / 1e3 + batch * parameters["measured.relay_cpu_micros"] / 1e6 / core
    shards = parameters["limits.table_new_writes"] / parameters["limits.partition_writes"]
    return shards * batch / seconds


@dataclass
class Bottleneck:
    name: str
    # Events per second, of all types together, from which on it is too small.
    events: float
    shows: str
    raises: str


def bottlenecks(parameters):
    """What is too small first when load rises, with the templates' defaults and new tables, in that order."""
    p, units = parameters, parameters.units
    queries = p["order.queries"] / p.events_per_order
    charging = p["settings.ChargeConcurrency"] * p["settings.batch_size"]
    new, quota = p["limits.table_new_writes"], p["limits.table_quota"]
    # A new outbox row is a part of a transaction, 2 units; its deletion takes 1.
    outbox = p["order.payment_events"] / p.events_per_order * 3
    throttles = "DynamoDB `WriteThrottleEvents`; log `reason` "
    found = [
        Bottleneck(
            "the API's own rate",
            p["settings.RequestRate"] / queries,
            "API Gateway `4xx` on the dashboard; clients get 429. No alarm: this limit is intended",
            "`RequestRate`, `RequestBurst`",
        ),
        Bottleneck(
            "idempotency table, new",
            new / units["records"],
            throttles + "`record_throttled`; `<Prefix>-Idempotency-table-throttled`, `<Prefix>-<type>-late`, `-behind`",
            "warm throughput of the table",
        ),
        Bottleneck(
            "view's table, new",
            new / units["orders"],
            throttles + "`throttled`; `<Prefix>-OrderHistory-table-throttled`, and as above",
            "warm throughput of the table",
        ),
        Bottleneck(
            "view's index, new",
            new / units["index"],
            "DynamoDB `WriteThrottleEvents` of the index; the table's writes are throttled with it (`throttled`)",
            "warm throughput of the index",
        ),
        Bottleneck(
            "charge function",
            charging
            / (p["assumed.gateway_seconds"] + duration(p, p["settings.batch_size"]))
            / (p["order.charges"] / p.events_per_order),
            "`<Prefix>-charge-behind`, `-charges-overdue` of Payments",
            "`ChargeConcurrency`; the gateway's own limit first (`gateway_throttled`)",
        ),
        Bottleneck(
            "function of the busiest type",
            queue_throughput(p, p["settings.HandlerConcurrency"]) / p.busiest_share,
            "SQS `ApproximateAgeOfOldestMessage`; `<Prefix>-DeliveryLocationUpdated-behind`. Nothing fails",
            "`HandlerConcurrency`",
        ),
        Bottleneck(
            "archiver",
            p["assumed.archive_events_per_second"],
            "`<Prefix>-archive-behind`; nothing is lost for 7 days",
            "`MaximumConcurrency` of `ArchiverQueue` in template.yaml (it is not a parameter)",
        ),
        Bottleneck(
            "outbox table, new",
            new / outbox,
            "`<Prefix>-Outbox-table-throttled` of Payments; commands get 503 (`store_throttled`)",
            "warm throughput of the table",
        ),
        Bottleneck(
            "outbox relay",
            relay_throughput(p) / (p["order.payment_events"] / p.events_per_order),
            "Lambda `IteratorAge`; `<Prefix>-relay-behind` of Payments, then the sweeper helps",
            "`ParallelizationFactor` of `RelayStreamMapping` in payments.yaml, up to 10",
        ),
        Bottleneck(
            "idempotency table, quota",
            quota / units["records"],
            throttles + "`record_throttled`",
            "quota *Table-level write throughput limit*",
        ),
        Bottleneck(
            "API Gateway, account",
            p["limits.gateway_requests"] / queries,
            "API Gateway `4xx`; clients get 429 below `RequestRate`",
            "quota *Throttle rate*",
        ),
        Bottleneck(
            "view's table, quota",
            quota / units["orders"],
            throttles + "`throttled`",
            "quota *Table-level write throughput limit*",
        ),
        Bottleneck(
            "topic",
            p["limits.sns_publish"],
            "`topic_unavailable` in the relay's log, `<Prefix>-relay-behind`; other publishers get `Throttling`",
            "quota *Messages published per second*",
        ),
        Bottleneck(
            "view's index, quota",
            quota / units["index"],
            throttles + "`throttled`",
            "quota *Table-level write throughput limit*",
        ),
        Bottleneck(
            "Lambda invocations, full batches",
            p["limits.lambda_concurrency"] * p["limits.lambda_requests_per_execution"] * p["settings.batch_size"],
            "Lambda `Throttles`; `<Prefix>-throttled`",
            "quota *Concurrent executions*: each allows 10 invocations per second",
        ),
        Bottleneck(
            "Lambda concurrency, full batches",
            p["limits.lambda_concurrency"] * p["settings.batch_size"] / duration(p, p["settings.batch_size"]),
            "Lambda `Throttles`; `<Prefix>-throttled`",
            "quota *Concurrent executions*",
        ),
    ]
    return sorted(found, key=lambda each: each.events)
