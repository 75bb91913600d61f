"""Measures what one order weighs: starts the local system (`target/debug/local`), publishes the events of one order to its topic, and
prints the bytes of the order's item, its index entry and an idempotency record after each event, with their write units.

It is run by hand, after `cargo build` has built what `make run` runs. What it prints is in parameters.toml, in [item].
"""

import json
import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from formulas import LIFECYCLE, LOCATION, Parameters, write_units

ROOT = Path(__file__).resolve().parents[2]
TABLE = "ftgo-order-history"
INDEX = "ftgo-order-history-by-consumer-id-and-creation-time"
# The engine wants these headers, and does not check the signature.
SIGNED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/any/aws4_request, SignedHeaders=host, Signature=0",
    "X-Amz-Date": "20260101T000000Z",
}
# Nothing leaves this machine, whatever proxy it has.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def number_bytes(digits):
    """One byte for each two significant digits, and one more."""
    digits = re.sub(r"\D", "", digits).strip("0")
    return -(-len(digits) // 2) + 1


def value_bytes(value):
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html"""
    [(kind, content)] = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return number_bytes(content)
    if kind == "SS":
        return sum(len(text.encode()) for text in content)
    if kind == "L":
        return 3 + sum(1 + value_bytes(element) for element in content)
    if kind == "M":
        return 3 + item_bytes(content) + len(content)
    return 1


def item_bytes(item):
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def post(url, body, **headers):
    request = urllib.request.Request(url, body, SIGNED | {name.replace("_", "-"): text for name, text in headers.items()})
    try:
        with OPENER.open(request) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.read().decode()}") from error


class System:
    def __init__(self, output):
        for line in output:
            if line.startswith("DynamoDB at"):
                self.dynamodb = re.search(r"DynamoDB at (http://[\d.:]+)", line)[1]
                self.sns = re.search(r"SNS at (http://[\d.:]+)", line)[1]
                return
        raise SystemExit("the local system does not start")

    def ask(self, operation, **request):
        headers = {"X_Amz_Target": f"DynamoDB_20120810.{operation}", "Content_Type": "application/x-amz-json-1.0"}
        return json.loads(post(self.dynamodb, json.dumps(request).encode(), **headers))

    def publish(self, event_type, message):
        form = {
            "Action": "Publish",
            "Version": "2010-03-31",
            "TopicArn": "arn:aws:sns:us-east-1:000000000000:domain-events",
            "Message": message,
            "MessageAttributes.entry.1.Name": "event-type",
            "MessageAttributes.entry.1.Value.DataType": "String",
            "MessageAttributes.entry.1.Value.StringValue": event_type,
        }
        post(self.sns, urllib.parse.urlencode(form).encode(), Content_Type="application/x-www-form-urlencoded")

    def item(self):
        return self.ask("GetItem", TableName=TABLE, Key={"orderId": {"S": "99"}}, ConsistentRead=True).get("Item", {})

    def entry(self):
        """The index entry of the order, once its item is in the index."""
        consumer = self.item().get("consumerId")
        if consumer is None:
            return {}
        found = self.ask(
            "Query",
            TableName=TABLE,
            IndexName=INDEX,
            KeyConditionExpression="consumerId = :c",
            ExpressionAttributeValues={":c": consumer},
        )
        return found["Items"][0]

    def records(self):
        return self.ask("Scan", TableName=f"{TABLE}-idempotency")["Items"]


def message(event_type, number):
    """The sample of events/ for this type, with an id of its own."""
    sample = json.loads(Path(ROOT, "events", f"{event_type}.json").read_text())["Records"][0]["body"]
    body = json.loads(sample)
    millis = int(body["headers"]["ID"].split("-")[0], 16) + 1000 * number
    body["headers"]["ID"] = f"{millis:016x}-{number:016x}"
    del body["headers"]["DATE"]
    return json.dumps(body)


def until(is_so):
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    raise SystemExit("an event was not applied within 30 seconds")


def measure(system, types):
    print("event, item bytes, units, entry bytes, units")
    totals = {"item": 0, "index": 0}
    for number, event_type in enumerate(types):
        before, entry_before = system.item(), system.entry()
        system.publish(event_type, message(event_type, number))
        until(lambda before=before: system.item() != before)
        after, entry = system.item(), system.entry()
        units = write_units(max(item_bytes(before), item_bytes(after)))
        index_units = write_units(max(item_bytes(entry_before), item_bytes(entry))) if entry != entry_before else 0
        totals["item"] += units
        totals["index"] += index_units
        print(f"{event_type}, {item_bytes(after)}, {units}, {item_bytes(entry)}, {index_units}")
    until(lambda: all(record["status"]["S"] == "COMPLETED" for record in system.records()))
    record = max(item_bytes(record) for record in system.records())
    print(f"record: {record} bytes, written twice: {2 * write_units(record)} units")
    print(f"units of {len(types)} events: item {totals['item']}, index {totals['index']}")


def main():
    parameters = Parameters.load()
    events = LIFECYCLE[:-1] + [LOCATION] * parameters["order.location_events"] + LIFECYCLE[-1:]
    with tempfile.TemporaryDirectory() as data:
        ports = dict.fromkeys(["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT"], "0")
        system = subprocess.Popen(
            [ROOT / "target/debug/local"],
            env=os.environ | ports | {"DATA_DIR": data, "DEMO": "0"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            measure(System(system.stdout), events)
        finally:
            system.terminate()
            system.wait()


if __name__ == "__main__":
    main()
