"""`make logs`, `make dlq`, `make drop` and `make redrive`: operate the function $FN of $STAGE.

A function's name shows which service it belongs to. FN=all selects all functions of both services, or of the one in $STACK.
"""

import datetime
import json
import os
import signal
import sys
import time
from typing import NamedTuple

import queues
from botocore.exceptions import BotoCoreError, ClientError
from stage import chosen_function, chosen_stages, reason, stage_of
from terminal import count, say, stop

# How long after its first receive a function may still log why a message fails: the five receives of template.yaml, each with
# a visibility timeout of at most eight minutes, and some more time for a queue that is behind.
FAILING_MILLISECONDS = 60 * 60 * 1000


class Watched(NamedTuple):
    """A function of a stage, by its full name; its queue, or None if it has none; the queue with its failed messages."""

    stage: object
    function: str
    queue: str | None
    failed: str


def main(command):
    # Ends without an error when its reader ends, as in `make dlq | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    commands = {"logs": logs, "dlq": dlq, "drop": drop, "redrive": redrive}
    try:
        commands[command]()
    except (BotoCoreError, ClientError) as error:
        stop(f"{command}: {reason(error)}")
    except KeyboardInterrupt:
        sys.exit(130)


def logs():
    service, name = chosen_function(lambda service: service.functions)
    stage = stage_of(service)
    for line in stage.follow(stage.called(name)):
        say(line)


def dlq():
    """Shows the messages in the dead-letter queue, and why they failed."""
    for watched in chosen():
        sqs = watched.stage.sqs()
        # Counted before they are received, because receiving makes them in flight.
        waiting, in_flight = queues.sizes(sqs, [watched.failed])[watched.failed]
        with queues.messages(sqs, queues.url(sqs, watched.failed)) as messages:
            total = max(waiting + in_flight, len(messages))
            rest = f"; {len(messages)} of them are shown" if messages and len(messages) < total else ""
            say(f"{watched.failed}: {count(total, 'message')}, {in_flight} in flight{rest}")
            reasons = why(watched.stage, watched.function, messages)
        for message in messages:
            say()
            show(message, reasons)


def drop():
    """Deletes one message of the dead-letter queue, and prints it completely, so that it can be sent again."""
    service, name = chosen_function(lambda service: service.queues)
    [watched] = watched_on(stage_of(service), [name])
    wanted = os.environ.get("MESSAGE", "")
    if not wanted:
        stop("MESSAGE is missing: set it to a message id that `make dlq` shows")
    sqs = watched.stage.sqs()
    url = queues.url(sqs, watched.failed)
    with queues.messages(sqs, url) as messages:
        found = [message for message in messages if message["MessageId"] == wanted]
        if not found:
            stop(f"{watched.failed} has no message {wanted} among the {len(messages)} that can be received at the moment")
        [message] = found
        show(message, why(watched.stage, watched.function, found))
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    say()
    say(f"deleted  {wanted} from {watched.failed}. Its body and its attributes, as JSON strings:")
    say(json.dumps(message["Body"]))
    say(json.dumps(message.get("MessageAttributes", {}), default=lambda binary: binary.hex()))


def redrive():
    """Moves the messages of dead-letter queues back to their queues. A queue that fails does not stop the others."""
    rate = os.environ.get("RATE", "")
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
    if rate and not (rate.isascii() and rate.isdigit() and 1 <= int(rate) <= 500):
        stop(f"RATE={rate}: must be a number of messages per second, 1 to 500")
    limit = {"MaxNumberOfMessagesPerSecond": int(rate)} if rate else {}
    failed = []
    for watched in chosen():
        if watched.queue is None:
            # These are Lambda's notes. With FN=all this is not an error.
            say(f"{watched.failed}: nothing to move: the rows are still in the outbox, and the sweeper publishes them")
            continue
        sqs = watched.stage.sqs()
        try:
            if not moved(sqs, watched.failed, watched.queue, limit):
                failed.append(watched.function)
        except ClientError as error:
            # For example, another move of this queue is already running.
            say(f"{watched.failed}: {error}")
            failed.append(watched.function)
    if failed:
        stop(f"some messages were not moved: {', '.join(failed)}")


def moved(sqs, dead_letter_queue, queue, limit):
    source = queues.arn(sqs, dead_letter_queue)
    # By name, because SQS does not know the origin of a message that the topic could not deliver.
    started = sqs.start_message_move_task(SourceArn=source, DestinationArn=queues.arn(sqs, queue), **limit)
    try:
        while True:
            tasks = sqs.list_message_move_tasks(SourceArn=source, MaxResults=1)["Results"]
            if not tasks:
                say(
                    f"{dead_letter_queue}: SQS does not list the move that was started; make status shows how many messages remain"
                )
                return False
            [task] = tasks
            if task["Status"] not in ["RUNNING", "CANCELLING"]:
                break
            time.sleep(1)
    except KeyboardInterrupt:
        say(
            f"SQS continues to move messages. To stop it: aws sqs cancel-message-move-task --task-handle {started['TaskHandle']}"
        )
        raise
    number = task.get("ApproximateNumberOfMessagesMoved", 0)
    say(f"{count(number, 'message')} moved from {dead_letter_queue} to {queue}")
    if task["Status"] == "COMPLETED":
        return True
    say(f"the move is {task['Status'].lower()}: {task.get('FailureReason', 'SQS gives no reason')}")
    return False


def chosen():
    """The function in FN; with FN=all, those that have dead letters."""
    if os.environ.get("FN") != "all":
        service, name = chosen_function(lambda service: service.queues, "all")
        return watched_on(stage_of(service), [name])
    stages = chosen_stages()
    there = [stage for stage in stages if stage.stack() is not None]
    if not there:
        stop("\n".join(stage.not_deployed() for stage in stages))
    all_of_them = [watched for stage in there for watched in watched_on(stage, stage.queues(stage.stack()))]
    sizes = queues.sizes(there[0].sqs(), [watched.failed for watched in all_of_them])
    full = [watched for watched in all_of_them if any(sizes[watched.failed])]
    if not full:
        say(f"all {len(all_of_them)} dead-letter queues are empty")
    return full


def watched_on(stage, names):
    """These functions of a stage."""
    prefix = stage.called("")
    pairs = [(name, *stage.service.queues[name]) for name in names]
    return [Watched(stage, prefix + name, queue and prefix + queue, prefix + failed) for name, queue, failed in pairs]


def show(message, reasons):
    attributes = message["Attributes"]
    sent = datetime.datetime.fromtimestamp(int(attributes["SentTimestamp"]) / 1000, datetime.UTC)
    say(f"message  {message['MessageId']}")
    say(f"sent     {sent.isoformat(timespec='milliseconds')}, receive count {attributes['ApproximateReceiveCount']}")
    say(f"event    {event(message['Body'])}")
    unknown = "unknown: the function logged no reason. It crashed, or did not receive the message"
    say(f"why      {reasons.get(message['MessageId']) or given_up(message['Body']) or unknown}")
    for name, value in message.get("MessageAttributes", {}).items():
        say(f"with     {name}: {value.get('StringValue', value.get('BinaryValue'))}")
    say(f"body     {message['Body']}")


def why(stage, function, messages):
    """The last logged failure of each message, by message id."""
    reasons = {}
    for line in stage.failures(function, windows(messages)):
        said = parsed(line)
        if isinstance(said, dict) and "message_id" in said and "error" in said:
            reasons[said["message_id"]] = f"{said.get('reason')}: {said['error']}"
    return reasons


def windows(messages):
    """The spans of time, in milliseconds, in which the function may have failed on these messages. None overlap."""
    spans = []
    for message in messages:
        attributes = message["Attributes"]
        sent = int(attributes["SentTimestamp"])
        # A message that the topic could not deliver was received now for the first time, by us.
        received = int(attributes.get("ApproximateFirstReceiveTimestamp", 0))
        spans.append([sent, max(sent, received) + FAILING_MILLISECONDS])
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def event(body):
    """The type and id of the event in a message, or how many rows of a stream it is about, as far as they can be read."""
    try:
        content = parsed(body)
        if rows := content.get("DDBStreamBatchInfo"):
            return (
                f"{count(rows['batchSize'], 'row')} of the outbox, the first written {rows['approximateArrivalOfFirstRecord']}"
            )
        # Inside an SNS notification or an EventBridge event.
        content = parsed(content["Message"]) if "Message" in content else content.get("detail", content)
        headers = content["headers"]
        return f"{headers.get('event-type')} {headers.get('ID')}"
    except (TypeError, KeyError, AttributeError):
        return "unreadable"


def given_up(body):
    """Why Lambda stopped retrying records of a stream, or None if the message is not such a note.

    https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-create-package.html
    """
    try:
        content = parsed(body)
        condition, times = (content["requestContext"][name] for name in ["condition", "approximateInvokeCount"])
        return (
            f"{condition} after {count(times, 'invocation')}; the rows are still in the outbox, and the sweeper publishes them"
        )
    except (TypeError, KeyError, AttributeError):
        return None


def parsed(text):
    """The JSON value of a text, or None if it is not JSON or nested too deep for Python."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


if __name__ == "__main__":
    main(sys.argv[1])
