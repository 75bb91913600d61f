"""The same work with python_dynamodb_lock: take a lock, commit a write under it, release it.

The library has no check of a lock inside a transaction. So the commit is guarded by hand, with a condition check on the lock's
record version number, and the release is a request of its own.

Usage: AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 python locks.py [ROUNDS] [CONTENDERS]

Prints a JSON document: for the uncontended and the contended part the rounds, the process's CPU time and the wall time in milliseconds,
the requests by operation, and how many commits were refused.
"""

import collections
import datetime
import json
import sys
import threading
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLockClient

LOCKS = "peer-locks"
DATA = "peer-data"
# As long as the lease of ours, whose heartbeats come every third of it.
LEASE = datetime.timedelta(seconds=10)
HEARTBEAT = datetime.timedelta(seconds=3)
RETRY = datetime.timedelta(milliseconds=25)
PATIENCE = datetime.timedelta(minutes=10)


class Worker:
    """One caller with a client, and so with an identity, of its own."""

    def __init__(self):
        resource = boto3.resource("dynamodb", config=Config(retries={"mode": "standard"}))
        self.requests = collections.Counter()
        self.refused = 0
        self.dynamodb = resource.meta.client
        self.dynamodb.meta.events.register("before-send.dynamodb", self.count)
        self.locks = DynamoDBLockClient(
            resource, table_name=LOCKS, lease_duration=LEASE, heartbeat_period=HEARTBEAT, safe_period=LEASE - HEARTBEAT
        )

    def count(self, request, **_):
        self.requests[request.headers["X-Amz-Target"].decode().rpartition(".")[2]] += 1

    def round(self, key, value):
        lock = self.locks.acquire_lock(key, retry_period=RETRY, retry_timeout=PATIENCE)
        check = {
            "TableName": LOCKS,
            "Key": {"lock_key": lock.partition_key, "sort_key": lock.sort_key},
            "ConditionExpression": "record_version_number = :rvn",
            "ExpressionAttributeValues": {":rvn": lock.record_version_number},
        }
        put = {"TableName": DATA, "Item": {"id": key, "value": value}}
        try:
            self.dynamodb.transact_write_items(TransactItems=[{"ConditionCheck": check}, {"Put": put}])
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise
            self.refused += 1
        lock.release(best_effort=False)

    def rounds(self, key, count):
        for value in range(count):
            self.round(key, value)


def create_tables():
    client = boto3.client("dynamodb")
    known = client.list_tables()["TableNames"]
    for table, names in {LOCKS: ["lock_key", "sort_key"], DATA: ["id"]}.items():
        if table not in known:
            client.create_table(
                TableName=table,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
                KeySchema=[
                    {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ["HASH", "RANGE"], strict=False)
                ],
            )
            client.get_waiter("table_exists").wait(TableName=table)


def measure(workers, key, rounds):
    # The first round connects, and is not measured.
    for number, worker in enumerate(workers):
        worker.round(f"{key}-warm-{number}", 0)
        worker.requests.clear()
    threads = [threading.Thread(target=worker.rounds, args=(key, rounds)) for worker in workers]
    cpu, wall = time.process_time(), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    requests = sum((worker.requests for worker in workers), collections.Counter())
    for worker in workers:
        worker.locks.close()
    return {
        "contenders": len(workers),
        "rounds": rounds * len(workers),
        "cpu_ms": round(cpu * 1000, 1),
        "wall_ms": round(wall * 1000, 1),
        "requests": dict(requests),
        "refused": sum(worker.refused for worker in workers),
    }


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    contenders = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    create_tables()
    results = {
        "uncontended": measure([Worker()], "uncontended", rounds),
        "contended": measure([Worker() for _ in range(contenders)], "contended", max(1, rounds // contenders)),
    }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
