"""Each of Powertools for Python and the crate `idempotency` sees the records of the other."""

import json
import subprocess
import sys
import warnings

import boto3
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyValidationError,
)

PREFIX = "interop"
PARTITION = "idempotency#interop"
HALF_A_MINUTE = 30_000
TWO_HOURS = 7_200


class Rust:
    """The crate, in a process that also serves the engine."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint:
            sys.exit("the engine did not start")

    def ask(self, do, **command):
        self.process.stdin.write(json.dumps({"do": do, **command}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the Rust side ended at {do} {command}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Context:
    """What Powertools asks of Lambda's context: how much time is left."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds

    def get_remaining_time_in_millis(self):
        return self.milliseconds


class Python:
    """Powertools on one table, with its default hash function."""

    def __init__(self, client, table, validates=False):
        self.client, self.table, self.validates = client, table, validates

    def call(self, key, payload=None, work=lambda: {"by": "Python"}, keeps=3_600, left=HALF_A_MINUTE):
        """Calls an idempotent handler. Returns what was seen of the record, and the handler's result."""
        config = IdempotencyConfig(
            event_key_jmespath="key",
            payload_validation_jmespath="payload" if self.validates else "",
            expires_after_seconds=keeps,
        )
        sort_key = {"sort_key_attr": "sk", "static_pk_value": PARTITION} if self.table == "sorted" else {}
        store = DynamoDBPersistenceLayer(table_name=self.table, boto3_client=self.client, **sort_key)
        ran = []

        @idempotent(persistence_store=store, config=config, key_prefix=PREFIX)
        def handler(event, context):
            ran.append(event)
            return work()

        try:
            result = handler({"key": key, "payload": payload}, Context(left))
        except IdempotencyAlreadyInProgressError:
            return "InProgress", None
        except IdempotencyValidationError:
            return "PayloadMismatch", None
        return ("New" if ran else "Completed"), result


class Table:
    """What was seen, one line each. A difference from what is expected fails the test."""

    def __init__(self):
        self.failures = 0
        print(f"{'table':<8}{'writes':<8}{'record':<38}{'reads':<8}{'saw'}")

    def row(self, table, writer, record, reader, saw, expected):
        verdict = "" if saw == expected else f"   EXPECTED {expected}"
        self.failures += saw != expected
        print(f"{table:<8}{writer:<8}{record:<38}{reader:<8}{saw}{verdict}")


def check_table(rust, client, table, seen):
    partition = {"partition": PARTITION} if table == "sorted" else {}

    def store(**settings):
        return {"table": table, **partition, **settings}

    def claim(key, payload=None, **settings):
        return rust.ask("claim", store=store(**settings), key=key, payload=payload)["saw"]

    def by_python(record, saw, expected):
        seen.row(table, "Python", record, "Rust", saw, expected)

    def by_rust(record, saw, expected):
        seen.row(table, "Rust", record, "Python", saw, expected)

    python = Python(client, table)
    validating = Python(client, table, validates=True)

    # Python writes, Rust reads.
    python.call("p-completed")
    response = rust.ask("claim", store=store(), key="p-completed")
    by_python("completed", f"{response['saw']} {response.get('data')}", "Completed {'by': 'Python'}")
    during = []
    python.call("p-in-progress", work=lambda: during.append(claim("p-in-progress")) or {})
    by_python("in progress", during[0], "InProgress")
    python.call("p-expired", keeps=-5)
    by_python("completed, expired", claim("p-expired"), "New")
    during = []
    python.call("p-abandoned", left=-1_000, work=lambda: during.append(claim("p-abandoned")) or {})
    by_python("in progress, its time is over", during[0], "New")
    try:
        python.call("p-failed", work=lambda: 1 / 0)
        saw = "no exception"
    except ZeroDivisionError:
        saw = claim("p-failed")
    by_python("removed after an exception", saw, "New")
    validating.call("p-payload", {"amount": 990, "note": "für Ann"})
    by_python("completed, the same payload", claim("p-payload", {"note": "für Ann", "amount": 990}), "Completed")
    by_python("completed, another payload", claim("p-payload", {"amount": 991}), "PayloadMismatch")
    python.call("p-none", work=lambda: None)
    response = rust.ask("claim", store=store(), key="p-none")
    by_python("completed, without a result", f"{response['saw']} {response.get('data')}", "Completed None")

    # Rust writes, Python reads.
    claim("r-completed")
    rust.ask("complete", store=store(), key="r-completed", result={"by": "Rust", "total": 9.5})
    saw, result = python.call("r-completed")
    by_rust("completed", f"{saw} {result}", "Completed {'by': 'Rust', 'total': 9.5}")
    claim("r-in-progress")
    by_rust("in progress", python.call("r-in-progress")[0], "InProgress")
    claim("r-expired", behind=TWO_HOURS)
    rust.ask("complete", store=store(behind=TWO_HOURS), key="r-expired", result=1)
    by_rust("completed, expired", python.call("r-expired")[0], "New")
    claim("r-abandoned", behind=60, limit=1_000)
    by_rust("in progress, its time is over", python.call("r-abandoned")[0], "New")
    response = rust.ask("complete", store=store(), key="r-abandoned", result=1)
    seen.row(table, "Python", "taken over from Rust, who completes", "Rust", response["saw"], "ClaimLost")
    claim("r-released")
    rust.ask("release", store=store(), key="r-released")
    by_rust("released", python.call("r-released")[0], "New")
    payload = {"note": "für Ann", "amount": 990}
    claim("r-payload", payload)
    rust.ask("complete", store=store(), key="r-payload", result={})
    by_rust("completed, the same payload", validating.call("r-payload", {"amount": 990, "note": "für Ann"})[0], "Completed")
    by_rust("completed, another payload", validating.call("r-payload", {"amount": 991})[0], "PayloadMismatch")


VALUES = [
    None, True, 0, -1, 2**63, 1.0, -0.0, 0.1, 2.5, 1e-4, 1e-5, 1.5e-7, 1e15, 1e16, 1.25e22, 5e-324, 1.7976931348623157e308,
    "", "a~ \"\\/", "\n\r\t\b\f\x00\x1f\x7f", "é€😀\u2028", [], {}, [1, [2, {}]], {"b": 1, "a": {"z": 1, "é": 2, "A": None}},
]  # fmt: skip


def check_hashed_text(rust, seen):
    """Keys and payloads are hashes of a text: it must be the same, to the byte."""
    store = DynamoDBPersistenceLayer(table_name="plain", boto3_client=boto3.client("dynamodb", region_name="us-east-1"))
    texts = []
    # Keeps what Powertools hashes.
    store.hash_function = lambda text: texts.append(text.decode()) or HASH
    for value in VALUES:
        store._generate_hash(value)
    same = sum(rust.ask("json", value=value)["text"] == text for value, text in zip(VALUES, texts, strict=True))
    seen.row("-", "Python", f"{len(VALUES)} values as the text to hash", "Rust", f"{same} the same", f"{len(VALUES)} the same")


class Hash:
    def hexdigest(self):
        return ""


HASH = Hash()


def main():
    # Powertools warns where the Lambda context is missing; here it never is.
    warnings.simplefilter("error")
    rust = Rust(sys.argv[1])
    client = boto3.client(
        "dynamodb",
        endpoint_url=rust.endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    seen = Table()
    for table in ["plain", "sorted"]:
        check_table(rust, client, table, seen)
    check_hashed_text(rust, seen)
    rust.close()
    print("as expected" if seen.failures == 0 else f"{seen.failures} not as expected")
    sys.exit(seen.failures != 0)


main()
