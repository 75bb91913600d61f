"""`make logs`, `make dlq`, `make drop` and `make redrive`: look after the function $FN of $STAGE."""

import datetime
import json
import os
import signal
import sys
import time

import queues
from botocore.exceptions import BotoCoreError, ClientError
from stage import EVENT_TYPES, chosen_function, stage
from terminal import count, say, stop

# How long after its first receive a function may still say why a message fails: the five receives of template.yaml, each with
# a visibility timeout of eight minutes at most, and some more for a queue that is behind.
FAILING_MILLISECONDS = 60 * 60 * 1000


def main(command):
    # Ends quietly when its reader does, as in `make dlq | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    commands = {"logs": logs, "dlq": dlq, "drop": drop, "redrive": redrive}
    try:
        commands[command](stage(os.environ.get("STAGE", "development")))
    except (BotoCoreError, ClientError) as error:
        stop(f"{command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def logs(stage):
    for line in stage.follow(stage.function(chosen_function([*EVENT_TYPES, "query-api"]))):
        say(line)


def dlq(stage):
    """Shows what is in the dead-letter queue, and why."""
    sqs = stage.sqs()
    for function in chosen(stage, sqs):
        # Before they are looked at, which makes them in flight.
        waiting, in_flight = queues.sizes(sqs, [f"{function}-dlq"])[f"{function}-dlq"]
        with queues.messages(sqs, queues.url(sqs, f"{function}-dlq")) as messages:
            total = max(waiting + in_flight, len(messages))
            rest = f"; {len(messages)} of them are shown" if messages and len(messages) < total else ""
            say(f"{function}-dlq: {count(total, 'message')}, {in_flight} in flight{rest}")
            reasons = why(stage, function, messages)
        for message in messages:
            say()
            show(message, reasons)


def drop(stage):
    """Deletes one message of the dead-letter queue, and prints all of it, so that it can be sent again."""
    function = stage.function(chosen_function(EVENT_TYPES))
    wanted = os.environ.get("MESSAGE", "")
    if not wanted:
        stop("MESSAGE is missing: `make dlq` shows the messages' ids")
    sqs = stage.sqs()
    url = queues.url(sqs, f"{function}-dlq")
    with queues.messages(sqs, url) as messages:
        found = [message for message in messages if message["MessageId"] == wanted]
        if not found:
            stop(f"{function}-dlq has no message {wanted} among the {len(messages)} that can be received now")
        [message] = found
        show(message, why(stage, function, found))
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    say()
    say(f"deleted  {wanted} of {function}-dlq; as JSON texts, its body and attributes were:")
    say(json.dumps(message["Body"]))
    say(json.dumps(message.get("MessageAttributes", {}), default=lambda binary: binary.hex()))


def redrive(stage):
    """Moves what is in the dead-letter queue back to its queue. One that fails does not stop the others."""
    rate = os.environ.get("RATE", "")
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
    if rate and not (rate.isascii() and rate.isdigit() and 1 <= int(rate) <= 500):
        stop(f"RATE={rate}: a number of messages a second, 1 to 500")
    limit = {"MaxNumberOfMessagesPerSecond": int(rate)} if rate else {}
    sqs = stage.sqs()
    failed = []
    for function in chosen(stage, sqs):
        try:
            if not moved(sqs, function, limit):
                failed.append(function)
        except ClientError as error:
            # Such as that another move of this queue runs already.
            say(f"{function}-dlq: {error}")
            failed.append(function)
    if failed:
        stop(f"not everything was moved: {', '.join(failed)}")


def moved(sqs, function, limit):
    source = queues.arn(sqs, f"{function}-dlq")
    # By name, because SQS does not know where a message came from that the topic could not deliver.
    started = sqs.start_message_move_task(SourceArn=source, DestinationArn=queues.arn(sqs, function), **limit)
    try:
        while True:
            tasks = sqs.list_message_move_tasks(SourceArn=source, MaxResults=1)["Results"]
            if not tasks:
                say(f"{function}-dlq: SQS does not list the move that it has started; make status shows what is left")
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
    say(f"{count(number, 'message')} moved from {function}-dlq to {function}")
    if task["Status"] == "COMPLETED":
        return True
    say(f"the move is {task['Status'].lower()}: {task.get('FailureReason', 'SQS does not say why')}")
    return False


def chosen(stage, sqs):
    """The functions that FN names; of all of them, those that have dead letters."""
    name = chosen_function([*EVENT_TYPES, "all"])
    if name != "all":
        return [stage.function(name)]
    functions = [stage.function("") + event_type for event_type in EVENT_TYPES]
    sizes = queues.sizes(sqs, [f"{function}-dlq" for function in functions])
    full = [function for function in functions if any(sizes[f"{function}-dlq"])]
    if not full:
        say(f"all {len(functions)} dead-letter queues are empty")
    return full


def show(message, reasons):
    attributes = message["Attributes"]
    sent = datetime.datetime.fromtimestamp(int(attributes["SentTimestamp"]) / 1000, datetime.UTC)
    say(f"message  {message['MessageId']}")
    say(f"sent     {sent.isoformat(timespec='milliseconds')}, receive count {attributes['ApproximateReceiveCount']}")
    say(f"event    {event(message['Body'])}")
    say(
        f"why      {reasons.get(message['MessageId'], 'unknown: the function logged no reason; it crashed, or did not receive the message')}"
    )
    for name, value in message.get("MessageAttributes", {}).items():
        say(f"with     {name}: {value.get('StringValue', value.get('BinaryValue'))}")
    say(f"body     {message['Body']}")


def why(stage, function, messages):
    """What the function last said of each message, by the message's id."""
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
        # A message that only the topic could not deliver was first received now, by us.
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
    """The type and id of the event in a message, as far as they can be read."""
    try:
        content = parsed(body)
        # Inside an SNS notification or an EventBridge event.
        content = parsed(content["Message"]) if "Message" in content else content.get("detail", content)
        headers = content["headers"]
        return f"{headers.get('event-type')} {headers.get('ID')}"
    except (TypeError, KeyError, AttributeError):
        return "cannot be read"


def parsed(text):
    """The JSON value of a text, or None: it may be no JSON, or nested deeper than Python reads."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


if __name__ == "__main__":
    main(sys.argv[1])
