"""`make status`: how $STAGE is doing: its last deployment, its queues, its alarms."""

import datetime
import os
import signal
import sys

import boto3
import checks
import queues
from botocore.exceptions import BotoCoreError, ClientError
from stage import EVENT_TYPES, stage
from terminal import count, say, stop

# SQS writes a queue's metrics every minute, some minutes late.
RECENTLY = datetime.timedelta(minutes=10)


def main():
    # Ends quietly when its reader does, as in `make status | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    chosen = stage(os.environ.get("STAGE", "development"))
    try:
        if chosen.name == "local":
            sqs = chosen.sqs()
            say(f"make run, SQS at {sqs.meta.endpoint_url}")
            show_queues(sqs, chosen.function(""), {})
        else:
            stack = chosen.deployed()
            show_stack(chosen, stack)
            if stack["StackStatus"] == "REVIEW_IN_PROGRESS":
                return
            prefix = chosen.prefix(stack) + "-"
            show_queues(chosen.sqs(), prefix, ages(prefix))
            show_alarms(chosen, prefix)
    except (BotoCoreError, ClientError) as error:
        stop(f"status: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def show_stack(stage, stack):
    say(f"{stage.stack_name} in {stage.region}: {stack['StackStatus']}")
    say(f"last deployment {(stack.get('LastUpdatedTime') or stack['CreationTime']).isoformat(timespec='seconds')}")
    if problem := checks.stack_problem(stage, stack["StackStatus"]):
        for line in problem.split("\n"):
            say(line)
        if failed := checks.first_failure(stack):
            say(f"what failed first: {failed}")


def show_queues(sqs, prefix, ages):
    """A line for each event type: its queue and its dead-letter queue."""
    names = [prefix + event_type for event_type in EVENT_TYPES]
    try:
        sizes = queues.sizes(sqs, [queue for name in names for queue in [name, f"{name}-dlq"]])
    except sqs.exceptions.QueueDoesNotExist as error:
        say(f"some queues do not exist: {error}")
        return
    say()
    say(f"{'':<30}{'waiting':>9}{'in flight':>11}{'oldest':>9}{'dead letters':>14}{'oldest':>9}")
    for event_type, name in zip(EVENT_TYPES, names, strict=True):
        (waiting, in_flight), dead = sizes[name], sum(sizes[f"{name}-dlq"])
        oldest, oldest_dead = (
            age(ages.get(queue), size) for queue, size in [(name, waiting + in_flight), (f"{name}-dlq", dead)]
        )
        say(f"{event_type:<30}{waiting:>9}{in_flight:>11}{oldest:>9}{dead:>14}{oldest_dead:>9}")
    waiting, dead = (sum(sum(sizes[name + suffix]) for name in names) for suffix in ["", "-dlq"])
    say(f"{count(waiting, 'message')} in queues, {count(dead, 'dead letter')}")


def ages(prefix):
    """The age in seconds of the oldest message of each queue that has one; what SQS tells of it are metrics only."""
    names = [prefix + event_type + suffix for event_type in EVENT_TYPES for suffix in ["", "-dlq"]]
    wanted = [
        {
            "Id": f"q{n}",
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/SQS",
                    "MetricName": "ApproximateAgeOfOldestMessage",
                    "Dimensions": [{"Name": "QueueName", "Value": name}],
                },
                "Period": 60,
                "Stat": "Maximum",
            },
        }
        for n, name in enumerate(names)
    ]
    now = datetime.datetime.now(datetime.UTC)
    pages = boto3.client("cloudwatch").get_paginator("get_metric_data")
    pages = pages.paginate(MetricDataQueries=wanted, StartTime=now - RECENTLY, EndTime=now, ScanBy="TimestampDescending")
    results = [result for page in pages for result in page["MetricDataResults"]]
    return {names[int(result["Id"][1:])]: result["Values"][0] for result in results if result["Values"]}


def age(seconds, size):
    """An age to read: `40 s`, `12 min`, `3 h`, `2 d`; a question mark where nothing is known."""
    if not size:
        return "-"
    if seconds is None:
        return "?"
    for unit, length in [("d", 86400), ("h", 3600), ("min", 60)]:
        if seconds >= 2 * length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"


def show_alarms(stage, prefix):
    # By the stack, because the names of another stage may begin with the same text.
    ours = set(stage.resources("AWS::CloudWatch::Alarm"))
    say()
    if not ours:
        say("the stack has no alarms")
        return
    pages = boto3.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix, StateValue="ALARM")
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"] if alarm["AlarmName"] in ours]
    say(f"{len(alarms)} of {count(len(ours), 'alarm')} in ALARM")
    for alarm in alarms:
        say(
            f"  {alarm['AlarmName']} since {alarm['StateUpdatedTimestamp'].isoformat(timespec='seconds')}: {alarm.get('StateReason')}"
        )
        say(f"    {alarm.get('AlarmDescription', '')}")


if __name__ == "__main__":
    main()
