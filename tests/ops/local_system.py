"""Starts `make run` for one test, and runs `make` targets on it."""

import contextlib
import os
import re
import subprocess
import tempfile
import time
import unittest.mock
from pathlib import Path

from stage import ORDER_HISTORY, Local

ROOT = Path(__file__).resolve().parents[2]

# The line in which the local system prints its endpoints.
PLACES = {
    "DYNAMODB_PORT": "DynamoDB",
    "SQS_PORT": "SQS",
    "SNS_PORT": "SNS",
    "S3_PORT": "S3",
    "GATEWAY_PORT": "the payment gateway",
}


def make(*arguments, stdin="", **environment):
    """Runs `make` with these arguments, and returns its output as bytes and its exit code."""
    environment = os.environ | environment
    ran = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env=environment,
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return ran.stdout, ran.returncode


class LocalSystem:
    def __init__(self, ports, data):
        self.environment = ports | {"DATA_DIR": data, "STAGE": "local"}
        with unittest.mock.patch.dict(os.environ, self.environment):
            self.sqs = Local(ORDER_HISTORY).sqs()

    def url(self, queue):
        """The URL of a queue of the order history, or of the queue with this full name."""
        name = queue if queue.startswith("ftgo-") else f"ftgo-order-history-{queue}"
        return self.sqs.get_queue_url(QueueName=name)["QueueUrl"]

    def send(self, queue, body, **attributes):
        texts = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        return self.sqs.send_message(QueueUrl=self.url(queue), MessageBody=body, MessageAttributes=texts)["MessageId"]

    def size(self, queue):
        members = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.url(queue), AttributeNames=members)["Attributes"]
        return sum(int(found[member]) for member in members)

    def until(self, is_so):
        for _ in range(600):
            if is_so():
                return
            time.sleep(0.1)
        raise AssertionError("it did not come to be within a minute")

    def make(self, *arguments):
        return make(*arguments, **self.environment)


@contextlib.contextmanager
def local_system():
    with tempfile.TemporaryDirectory() as data:
        ports = dict.fromkeys(["HTTP_PORT", *PLACES], "0")
        # A message that fails is in the dead-letter queue after five seconds.
        environment = os.environ | ports | {"DATA_DIR": data, "DEMO": "0", "VISIBILITY_TIMEOUT": "1"}
        with Path(data, "stderr").open("w") as errors:
            command = [ROOT / "target/debug/local"]
            system = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            for line in system.stdout:
                found = {name: re.search(rf"{place} at http://127\.0\.0\.1:(\d+)", line) for name, place in PLACES.items()}
                if all(found.values()):
                    yield LocalSystem({name: match[1] for name, match in found.items()}, data)
                    break
            else:
                raise AssertionError(f"the local system did not start: {Path(data, 'stderr').read_text()}")
        finally:
            system.terminate()
            system.stdout.close()
            system.wait()
