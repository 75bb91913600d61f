"""`make status`: the state of $STAGE: the last deployment, the queues and the alarms of each stack, or of the one that $STACK names."""

import datetime
import signal
import sys

import boto3
import checks
import queues
from botocore.exceptions import BotoCoreError, ClientError
from stage import chosen_stages, outputs, reason
from terminal import count, say, stop

# SQS writes a queue's metrics every minute, some minutes late.
RECENTLY = datetime.timedelta(minutes=10)


def main():
    # Ends without an error when its reader ends, as in `make status | head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    stages = chosen_stages()
    try:
        if stages[0].name == "local":
            sqs = stages[0].sqs()
            say(f"make run, SQS at {sqs.meta.endpoint_url}")
            for stage in stages:
                show_queues(sqs, stage.queues({}), stage.called(""), {})
            return
        stacks = [(stage, stage.stack()) for stage in stages]
        if not any(stack for _, stack in stacks):
            stop("\n".join(stage.not_deployed() for stage in stages))
        for n, (stage, stack) in enumerate(stacks):
            if n:
                say()
            show(stage, stack)
    except (BotoCoreError, ClientError) as error:
        stop(f"status: {reason(error)}")
    except KeyboardInterrupt:
        sys.exit(130)


def show(stage, stack):
    if stack is None:
        say(stage.not_deployed())
        return
    show_stack(stage, stack)
    if stack["StackStatus"] != "REVIEW_IN_PROGRESS":
        prefix = stage.prefix(stack) + "-"
        of_stack = stage.queues(stack)
        show_queues(stage.sqs(), of_stack, prefix, ages(of_stack, prefix))
        show_alarms(stage, prefix)


def show_stack(stage, stack):
    say(f"{stage.stack_name} in {stage.region}: {stack['StackStatus']}")
    say(f"last deployment {(stack.get('LastUpdatedTime') or stack['CreationTime']).isoformat(timespec='seconds')}")
    if page := outputs(stack).get("PageUrl"):
        say(f"page {page}")
    if (served := outputs(stack).get("ServedTable")) and served != outputs(stack).get("OrderHistoryTable"):
        say(f"the query function reads the table {served} (ServedTable)")
    if problem := checks.stack_problem(stage, stack["StackStatus"]):
        for line in problem.split("\n"):
            say(line)
        if failed := checks.first_failure(stack):
            say(f"first failure: {failed}")


def show_queues(sqs, pairs, prefix, ages):
    """A line for each function that has queues: its waiting and its failed messages."""
    names = [prefix + queue for pair in pairs.values() for queue in pair if queue]
    try:
        sizes = queues.sizes(sqs, names)
    except sqs.exceptions.QueueDoesNotExist as error:
        say(f"some queues do not exist: {error}")
        return
    say()
    say(f"{'':<30}{'waiting':>9}{'in flight':>11}{'oldest':>9}{'dead letters':>14}{'oldest':>9}")
    total_waiting = total_dead = 0
    for function, (queue, dead_letter_queue) in pairs.items():
        waiting, in_flight = sizes[prefix + queue] if queue else (0, 0)
        dead = sum(sizes[prefix + dead_letter_queue])
        oldest = age(ages.get(f"{prefix}{queue}"), waiting + in_flight)
        oldest_dead = age(ages.get(prefix + dead_letter_queue), dead)
        say(f"{function:<30}{waiting:>9}{in_flight:>11}{oldest:>9}{dead:>14}{oldest_dead:>9}")
        total_waiting += waiting + in_flight
        total_dead += dead
    say(f"{count(total_waiting, 'message')} in queues, {count(total_dead, 'dead letter')}")


def ages(pairs, prefix):
    """The age in seconds of the oldest message of each queue that has one; SQS publishes it only as a metric."""
    names = [prefix + queue for pair in pairs.values() for queue in pair if queue]
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
    """An age to read: `40 s`, `12 min`, `3 h`, `2 d`; a question mark if it is unknown."""
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
