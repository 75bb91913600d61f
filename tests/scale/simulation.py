"""A discrete-event model of the way of an event: topic, queues, pollers, invocations, tables. It knows the rules of the parts. Of
formulas.py it takes only how long an invocation lasts; what comes out is compared with the rest.

What it leaves out: DynamoDB's burst capacity (five minutes of unused units, which AWS does not promise), cold starts (4 ms), and that
Lambda also reduces pollers when whole batches fail.
"""

import heapq
import random
from collections import deque
from dataclasses import dataclass, field

from formulas import duration

TICK = 0.01


class Bucket:
    """Tokens that come in at a rate; those of one second can be saved."""

    def __init__(self, rate):
        self.rate, self.tokens, self.at = rate, rate / 10, 0.0

    def has(self, now, units):
        self.tokens = min(self.rate, self.tokens + (now - self.at) * self.rate)
        self.at = now
        return self.tokens >= units


class Table:
    """An on-demand table or an index: partitions that share its units per second equally, and its quota."""

    def __init__(self, name, units_per_second, quota, of_partition):
        self.name = name
        partitions = max(1, -(-units_per_second // of_partition))
        self.partitions = [Bucket(min(of_partition, units_per_second / partitions)) for _ in range(int(partitions))]
        self.quota = Bucket(quota)
        self.throttled = self.written = 0

    def buckets(self, key):
        return self.partitions[key % len(self.partitions)], self.quota


def writes(now, requests):
    """Writes all of these (table, key, units), or nothing: a throttled write of an index throttles that of its table."""
    for table, key, units in requests:
        if not all(bucket.has(now, units) for bucket in table.buckets(key)):
            table.throttled += 1
            return False
    for table, key, units in requests:
        for bucket in table.buckets(key):
            bucket.tokens -= units
        table.written += units
    return True


@dataclass
class Queue:
    """A queue and its mapping. `visible` has groups of messages: when they came, how many, how often they were received before."""

    name: str
    share: float
    slots: int
    visible: deque = field(default_factory=deque)
    waiting: int = 0
    in_flight: int = 0
    running: int = 0
    owed: float = 0.0
    busy_since: float = None
    received: int = 0
    done: int = 0
    dead: int = 0

    def put(self, at, count, received):
        if count:
            self.visible.append([at, count, received])
            self.waiting += count

    def take(self, most):
        """Up to so many messages, as (count, received) pairs."""
        taken = []
        while most and self.visible:
            group = self.visible[0]
            count = min(most, group[1])
            group[1] -= count
            most -= count
            self.waiting -= count
            taken.append((count, group[2] + 1))
            if not group[1]:
                self.visible.popleft()
        return taken


class World:
    """`slots` is HandlerConcurrency; `tables` has the units per second of those tables that are not new; `orders` and `consumers` say how
    many different ones the events are of (1 makes a hot key); `broken` makes every message fail."""

    def __init__(self, parameters, rate, *, slots=None, tables=None, orders=10**9, consumers=10**9, window=0, broken=False):
        self.p, self.rate, self.window = parameters, rate, window
        self.orders, self.consumers = orders, consumers
        self.random = random.Random(1)
        self.broken = broken
        p = parameters
        slots = p["settings.HandlerConcurrency"] if slots is None else slots
        new, quota, partition = (p[f"limits.{name}"] for name in ("table_new_writes", "table_quota", "partition_writes"))
        warm = {"records": new, "orders": new, "index": new} | (tables or {})
        self.tables = {name: Table(name, units, quota, partition) for name, units in warm.items()}
        events = p.events_per_order
        self.queues = [Queue(f"lifecycle{n}", 1 / events, slots) for n in range(p["order.lifecycle_events"])]
        self.queues.append(Queue("location", p["order.location_events"] / events, slots))
        # The share of an order's events that find an item of at least a kilobyte, and pay two units.
        self.two_units = p["item.item_units"] / events - 1
        self.durations = [0.0] + [duration(p, messages) for messages in range(1, p["settings.batch_size"] + 1)]
        self.heap, self.number, self.now = [], 0, 0.0
        self.unpublished, self.running = 0.0, 0
        self.tokens = {}
        self.throttled_invocations = 0
        self.invocations = Bucket(p["limits.lambda_concurrency"] * p["limits.lambda_requests_per_execution"])
        self.area = self.measured_from = 0.0

    def later(self, seconds, what, *arguments):
        self.number += 1
        heapq.heappush(self.heap, (self.now + seconds, self.number, what, arguments))

    def run(self, seconds, *, until=None):
        """Goes on for so long, or until something is so; returns the time."""
        end = self.now + seconds
        if not self.heap:
            self.later(0, self.tick)
        while self.heap and self.heap[0][0] <= end:
            at, _, what, arguments = heapq.heappop(self.heap)
            self.area += (at - self.now) * self.running
            self.now = at
            what(*arguments)
            if until and what == self.tick and until(self):
                return self.now
        self.area += (end - self.now) * self.running
        self.now = end
        return end

    def measure(self):
        """Forgets what was before: from now on means are counted."""
        self.area, self.measured_from = 0.0, self.now
        for queue in self.queues:
            queue.received = queue.done = queue.dead = 0
        for table in self.tables.values():
            table.throttled = table.written = 0

    def fill(self, seconds):
        """Puts the backlog of an outage of so long into the queues."""
        for queue in self.queues:
            queue.put(self.now, int(self.rate * seconds * queue.share), 0)

    def saturated(self):
        """What is too small, by what a person would see: who throttles; or else the queues grow, and nobody does."""
        throttles = max(self.tables.values(), key=lambda table: table.throttled)
        if self.unpublished >= self.p["limits.sns_publish"] * TICK:
            return "topic"
        if throttles.throttled:
            return throttles.name
        if self.throttled_invocations:
            return "invocations"
        return "slots" if self.waiting > 0.15 * self.rate else None

    @property
    def mean_running(self):
        return self.area / (self.now - self.measured_from)

    @property
    def done(self):
        return sum(queue.done for queue in self.queues)

    @property
    def dead(self):
        return sum(queue.dead for queue in self.queues)

    @property
    def waiting(self):
        return sum(queue.waiting for queue in self.queues)

    @property
    def in_flight(self):
        return sum(queue.in_flight for queue in self.queues)

    def tick(self):
        """New events: the topic takes what its quota allows, the rest waits at the publishers."""
        self.unpublished += self.rate * TICK
        published = min(self.unpublished, self.p["limits.sns_publish"] * TICK)
        self.unpublished -= published
        for queue in self.queues:
            queue.owed += published * queue.share
            count = int(queue.owed) if queue.owed > 5 else self.poisson(queue.owed)
            queue.owed = queue.owed - count if queue.owed > 5 else 0.0
            queue.put(self.now, count, 0)
            self.dispatch(queue)
        self.later(TICK, self.tick)

    def poisson(self, mean):
        """How many events of a mean come in one tick."""
        threshold, count, product = 2.718281828459045**-mean, 0, self.random.random()
        while product > threshold:
            count += 1
            product *= self.random.random()
        return count

    def allowed(self, queue):
        """How many invocations the mapping may run: it starts with five, and adds 300 in a minute as long as there is more to do."""
        if queue.waiting == 0 and queue.running == 0:
            queue.busy_since = None
            return self.p["limits.mapping_start"]
        if queue.busy_since is None:
            queue.busy_since = self.now
        grown = (self.now - queue.busy_since) * self.p["limits.mapping_per_minute"] / 60
        return min(queue.slots, self.p["limits.mapping_start"] + int(grown))

    def dispatch(self, queue):
        batch = self.p["settings.batch_size"]
        while queue.waiting:
            if self.window and queue.waiting < batch and self.now - queue.visible[0][0] < self.window:
                return
            if queue.running >= self.allowed(queue) or queue.in_flight >= self.p["limits.sqs_in_flight"]:
                return
            if self.running >= self.p["limits.lambda_concurrency"] or not self.invocations.has(self.now, 1):
                self.throttled_invocations += 1
                return
            self.invocations.tokens -= 1
            taken = queue.take(min(batch, self.p["limits.sqs_in_flight"] - queue.in_flight))
            count = sum(messages for messages, _ in taken)
            queue.in_flight += count
            queue.received += count
            queue.running += 1
            self.running += 1
            # A batch: what is still to be written, what failed, and when it was received.
            self.attempt(queue, [received for messages, received in taken for _ in range(messages)], [], self.now, count, 1)

    def requests(self, queue):
        """The writes of one event: claim, update of the order and of its index entry, completion."""
        key = self.random.getrandbits(40)
        order, consumer = self.random.randrange(self.orders), self.random.randrange(self.consumers)
        found = [(self.tables["records"], key, 2)]
        found.append((self.tables["orders"], order, 2 if self.orders == 1 or self.random.random() < self.two_units else 1))
        if queue.name != "location":
            found.append((self.tables["index"], consumer, 1))
        return found

    def attempt(self, queue, left, failed, received_at, count, attempt):
        """One try of all messages of a batch that are not written yet. The SDK pauses before the next, if it still has tokens."""
        p = self.p
        throttled = left if self.broken else [each for each in left if not writes(self.now, self.requests(queue))]
        # An execution environment is a client of its own; which of the queue's it is does not matter.
        environment = (queue.name, self.random.randrange(max(1, queue.slots)))
        tokens = self.tokens.get(environment, p["assumed.retry_tokens"]) + len(left) - len(throttled)
        retried = 0
        if attempt < p["assumed.attempts"] and not self.broken:
            retried = min(len(throttled), tokens // p["assumed.retry_cost"])
        self.tokens[environment] = min(p["assumed.retry_tokens"], tokens - retried * p["assumed.retry_cost"])
        failed = failed + throttled[retried:]
        if retried:
            # The longest of so many random pauses.
            longest = self.random.random() ** (1 / retried)
            pause = longest * p["assumed.first_pause_seconds"] * 2 ** (attempt - 1)
            self.later(pause, self.attempt, queue, throttled[:retried], failed, received_at, count, attempt + 1)
        else:
            self.later(self.durations[count] * self.random.uniform(0.7, 1.3), self.end, queue, failed, received_at, count)

    def end(self, queue, failed, received_at, count):
        queue.running -= 1
        self.running -= 1
        queue.done += count - len(failed)
        queue.in_flight -= count - len(failed)
        if failed:
            visible_at = received_at + self.p["settings.visibility_timeout"]
            self.later(max(0.0, visible_at - self.now), self.visible_again, queue, failed)
        self.dispatch(queue)

    def visible_again(self, queue, failed):
        """What has been received too often goes to the dead-letter queue."""
        queue.in_flight -= len(failed)
        for received in failed:
            if received >= self.p["settings.max_receives"]:
                queue.dead += 1
            else:
                queue.put(self.now, 1, received)
        self.dispatch(queue)


def warm_up(parameters, wanted):
    """Minutes until a new on-demand table takes so many write units per second, if it is always used to the full: in each minute it
    takes double the highest minute of those that are at least 30 minutes old."""
    taken = []
    while True:
        old = taken[: max(0, len(taken) - parameters["limits.doubling_minutes"] + 1)]
        allowed = max([parameters["limits.table_new_writes"], *(2 * units for units in old)])
        if allowed >= wanted:
            return len(taken)
        taken.append(min(wanted, allowed))
