"""Queues: their sizes and messages."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

# How many seconds a shown message is hidden from other receivers, if it is not returned before.
LOOK_SECONDS = 60

# The maximum number of messages to show.
MOST_SHOWN = 1000


def url(sqs, name):
    return sqs.get_queue_url(QueueName=name)["QueueUrl"]


def arn(sqs, name):
    return attributes(sqs, name, "QueueArn")["QueueArn"]


def attributes(sqs, name, *names):
    return sqs.get_queue_attributes(QueueUrl=url(sqs, name), AttributeNames=names)["Attributes"]


def sizes(sqs, names):
    """How many messages wait in each of the queues, and how many are in flight: received, and not deleted yet."""
    members = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]

    def size(name):
        found = attributes(sqs, name, *members)
        return tuple(int(found[member]) for member in members)

    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(size, names), strict=True))


@contextlib.contextmanager
def messages(sqs, url):
    """The messages of a queue, the oldest first. They stay in it; nobody else receives them until this ends."""
    seen = {}
    try:
        while len(seen) < MOST_SHOWN:
            # Only a long poll asks all of SQS's servers, so only then an empty result means an empty queue.
            received = sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                VisibilityTimeout=LOOK_SECONDS,
                WaitTimeSeconds=1,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=[
                    "SentTimestamp",
                    "ApproximateReceiveCount",
                    "ApproximateFirstReceiveTimestamp",
                ],
            ).get("Messages", [])
            news = [message for message in received if message["MessageId"] not in seen]
            seen |= {message["MessageId"]: message for message in received}
            if not news:
                break
        yield sorted(seen.values(), key=lambda message: int(message["Attributes"]["SentTimestamp"]))
    finally:
        # In groups of ten. A message that is gone by now fails alone, which does not matter.
        handles = [message["ReceiptHandle"] for message in seen.values()]
        for start in range(0, len(handles), 10):
            some = enumerate(handles[start : start + 10])
            entries = [{"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": 0} for n, handle in some]
            sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
