"""The loop of `bench/lock-loop` in Python: python_dynamodb_lock, which follows AWS's lock client for Java.

Its release is a request of its own, and nothing in the write of the item can check the lock.
"""

import datetime
import json
import os
import sys
import time

import boto3
from python_dynamodb_lock.python_dynamodb_lock import DynamoDBLockClient

# The average retry interval of `bench/lock-loop`.
PAUSE = datetime.timedelta(milliseconds=20)
PATIENCE = datetime.timedelta(seconds=30)

dynamodb = boto3.resource("dynamodb")
items = dynamodb.Table(os.environ["ITEMS_TABLE"])
locks = DynamoDBLockClient(dynamodb, table_name=os.environ["LOCKS_TABLE"])

for line in sys.stdin:
    task = json.loads(line)
    for number in range(task["times"]):
        lock = locks.acquire_lock(task["key"], retry_period=PAUSE, retry_timeout=PATIENCE)
        if task["work_millis"]:
            time.sleep(task["work_millis"] / 1000)
        items.put_item(Item={"id": task["key"], "value": number})
        lock.release(best_effort=False)
    print("done", flush=True)
