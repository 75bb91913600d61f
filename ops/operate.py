"""`make logs`, `make dlq` and `make redrive`: look after the function $FN of $STAGE."""

import contextlib
import datetime
import json
import os
import signal
import sys
import time

from botocore.exceptions import BotoCoreError, ClientError
from stage import EVENT_TYPES, chosen_function, stage

# How long a message that is being looked at is hidden from others, if it is not given back before.
LOOK_SECONDS = 60

# Nobody reads more than this at once.
MOST_SHOWN = 1000


def main(command):
    # Ends quietly when its reader does, as in `make dlq | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    commands = {"logs": logs, "dlq": dlq, "redrive": redrive}
    try:
        commands[command](stage(os.environ.get("STAGE", "development")))
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"{command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def logs(stage):
    stage.follow(stage.function(chosen_function([*EVENT_TYPES, "query-api"])))


def dlq(stage):
    """Shows what is in the dead-letter queue, and why."""
    function = stage.function(chosen_function(EVENT_TYPES))
    sqs = stage.sqs()
    messages = look(sqs, queue_url(sqs, f"{function}-dlq"))
    print(f"{function}-dlq: {len(messages)} message{'' if len(messages) == 1 else 's'}")
    reasons = why(stage, function, messages)
    for message in messages:
        attributes = message["Attributes"]
        sent = datetime.datetime.fromtimestamp(int(attributes["SentTimestamp"]) / 1000, datetime.UTC)
        print()
        print(f"message  {message['MessageId']}")
        print(f"sent     {sent.isoformat(timespec='milliseconds')}, receive count {attributes['ApproximateReceiveCount']}")
        print(f"event    {event(message['Body'])}")
        print(f"why      {reasons.get(message['MessageId'], 'the function has not said: it crashed, or never got it')}")
        print(f"body     {message['Body'] if message['Body'].isprintable() else json.dumps(message['Body'])}")


def redrive(stage):
    """Moves what is in the dead-letter queue back to its queue."""
    function = stage.function(chosen_function(EVENT_TYPES))
    sqs = stage.sqs()
    source = queue_arn(sqs, f"{function}-dlq")
    # By name, because SQS does not know where a message came from that the topic could not deliver.
    sqs.start_message_move_task(SourceArn=source, DestinationArn=queue_arn(sqs, function))
    while True:
        task = sqs.list_message_move_tasks(SourceArn=source, MaxResults=1)["Results"][0]
        if task["Status"] not in ["RUNNING", "CANCELLING"]:
            break
        time.sleep(1)
    moved = task.get("ApproximateNumberOfMessagesMoved", 0)
    print(f"{moved} message{'' if moved == 1 else 's'} moved from {function}-dlq to {function}")
    if task["Status"] != "COMPLETED":
        sys.exit(f"the move is {task['Status'].lower()}: {task.get('FailureReason', 'SQS does not say why')}")


def look(sqs, url):
    """The messages of a queue, the oldest first. They stay in it, and can be received again when this returns."""
    seen = {}
    try:
        while len(seen) < MOST_SHOWN:
            # A long poll asks all of SQS's servers; only then is no message none.
            received = sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                VisibilityTimeout=LOOK_SECONDS,
                WaitTimeSeconds=1,
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            ).get("Messages", [])
            news = [message for message in received if message["MessageId"] not in seen]
            seen |= {message["MessageId"]: message for message in received}
            if not news:
                break
    finally:
        # In tens; one that is gone by now fails alone, and nobody needs to know.
        handles = [message["ReceiptHandle"] for message in seen.values()]
        for start in range(0, len(handles), 10):
            some = enumerate(handles[start : start + 10])
            entries = [{"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": 0} for n, handle in some]
            sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)
    return sorted(seen.values(), key=lambda message: int(message["Attributes"]["SentTimestamp"]))


def why(stage, function, messages):
    """What the function last said of each message, by the message's id."""
    reasons = {}
    if messages:
        for line in stage.failures(function, int(messages[0]["Attributes"]["SentTimestamp"])):
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                if "message_id" in said and "error" in said:
                    reasons[said["message_id"]] = f"{said['reason']}: {said['error']}"
    return reasons


def event(body):
    """The type and id of the event in a message, as far as they can be read."""
    try:
        content = json.loads(body)
        # Inside an SNS notification or an EventBridge event.
        content = json.loads(content["Message"]) if "Message" in content else content.get("detail", content)
        headers = content["headers"]
        return f"{headers.get('event-type')} {headers.get('ID')}"
    except (ValueError, TypeError, KeyError, AttributeError):
        return "cannot be read"


def queue_url(sqs, name):
    return sqs.get_queue_url(QueueName=name)["QueueUrl"]


def queue_arn(sqs, name):
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url(sqs, name), AttributeNames=["QueueArn"])
    return attributes["Attributes"]["QueueArn"]


if __name__ == "__main__":
    main(sys.argv[1])
