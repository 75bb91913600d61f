"""`make delete`: deletes the stacks of $STAGE, Payments first, or the one that $STACK names, and offers to delete empty tables that they left.

Asks for each stack's name. YES=<the names of the stacks> answers in advance, and TABLES=empty answers the second question.
"""

import contextlib
import os
import sys

import boto3
import checks
import queues
from botocore.exceptions import BotoCoreError, ClientError, WaiterError
from stage import chosen_stages, confirmed, parameters, stack_called
from terminal import count, say, series, stop, typed

# The stack of sam's own bucket, which has the packages.
SAM_STACK = "aws-sam-cli-managed-default"


def main():
    # Payments publishes to the topic of the order history's stack, so it is deleted first.
    stages = chosen_stages(or_local=False)[::-1]
    try:
        stacks = [(stage, stage.stack()) for stage in stages]
        unnamed = [stage.stack_name for stage, stack in stacks if stack and not confirmed(stage.stack_name)]
        if os.environ.get("YES") and unnamed:
            stop(f"nothing was deleted: YES does not name {series(unnamed)}. Name every stack, or select one with STACK=…")
        for stage, stack in stacks:
            names = stage.service.table_names(stage.prefix(stack))
            if stack:
                delete(stage, stack, names)
            else:
                say(f"there is no stack {stage.stack_name} in {stage.region}")
            delete_empty_tables(stage, names)
    except (BotoCoreError, ClientError) as error:
        stop(f"delete: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def delete(stage, stack, names):
    if stack["StackStatus"].endswith("_IN_PROGRESS") and stack["StackStatus"] != "REVIEW_IN_PROGRESS":
        stop(f"the stack {stage.stack_name} is {stack['StackStatus']}: {checks.stack_problem(stage, stack['StackStatus'])}")
    if stack.get("EnableTerminationProtection"):
        protection = f"aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name {stage.stack_name}"
        stop(f"the stack {stage.stack_name} is protected from deletion. To delete it anyway, first run: {protection}")
    # A deployment that failed because the names were taken has no tables.
    found = {name: checks.left_table(name) for name in names}
    ours = {name: table for name, table in found.items() if table and table["owner"] == stage.stack_name}
    is_production = parameters(stack).get("Stage") == "production"
    if not is_production and (protected := [name for name, table in ours.items() if table["protected"]]):
        stop(f"the tables {series(protected)} are protected from deletion: deploy with DeletionProtection=false first")
    say(f"This deletes the stack {stage.stack_name} in {stage.region}, {stack['StackStatus']}:")
    say(f"  functions, API, alarms, logs, and queues with {in_queues(stage, stack)}")
    if ours:
        say(f"  tables: {series(ours)} {'are kept' if is_production else 'are deleted'}, with their items")
    for topic in stage.resources("AWS::SNS::Topic"):
        name = topic.rpartition(":")[2]
        say(f"  the topic {name} is deleted, with all its subscriptions, including those of other services")
    buckets = stage.resources("AWS::S3::Bucket")
    for bucket in buckets:
        say(f"  the bucket {bucket} is {'kept' if is_production else 'deleted'}, with the archive of all events")
    for pool in stage.resources("AWS::Cognito::UserPool"):
        say(f"  the user pool {pool} is {'kept' if is_production else 'deleted'}, with its users")
    if not confirmed(stage.stack_name) and typed("Type the name of the stack to delete it:") != stage.stack_name:
        stop(f"nothing was deleted: the answer is not {stage.stack_name}")
    if not is_production:
        stop_archiver(stage, stack)
        for bucket in buckets:
            empty(bucket)
    cloudformation = boto3.client("cloudformation")
    cloudformation.delete_stack(StackName=stage.stack_name)
    try:
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName=stack["StackId"], WaiterConfig={"Delay": 5, "MaxAttempts": 720})
    except WaiterError:
        stop(f"the stack {stage.stack_name} could not be deleted. First failure: {checks.first_failure(stack)}")
    delete_packages(stage)
    say(f"the stack {stage.stack_name} is deleted")


def stop_archiver(stage, stack):
    """Stops writes to the bucket: S3 does not delete a bucket that has objects or versions of objects."""
    client = boto3.client("lambda")
    function = f"{stage.prefix(stack)}-archiver:live"
    with contextlib.suppress(client.exceptions.ResourceNotFoundException):
        for mapping in client.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]:
            client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)


def empty(bucket):
    """Deletes all versions of all objects, twice, because the archiver may finish a batch meanwhile."""
    for _ in range(2):
        boto3.resource("s3").Bucket(bucket).object_versions.delete()


def in_queues(stage, stack):
    """How many messages will be lost, as a text."""
    prefix = stage.prefix(stack)
    sqs = stage.sqs()
    try:
        waiting, dead = (
            sum(map(sum, queues.sizes(sqs, [f"{prefix}-{name}" for name in names if name]).values()))
            for names in zip(*stage.queues(stack).values(), strict=True)
        )
    except sqs.exceptions.QueueDoesNotExist:
        # A failed deployment has not created all of them.
        return "their messages"
    return f"{count(waiting, 'message')} and {count(dead, 'dead letter')}"


def delete_packages(stage):
    """Deletes the stack's packages from sam's bucket, all versions."""
    stack = stack_called(SAM_STACK)
    if stack is None:
        return
    [bucket] = [output["OutputValue"] for output in stack["Outputs"] if output["OutputKey"] == "SourceBucket"]
    for prefix in [stage.s3_prefix, stage.plan_prefix]:
        boto3.resource("s3").Bucket(bucket).object_versions.filter(Prefix=f"{prefix}/").delete()


def delete_empty_tables(stage, names):
    """Offers to delete the empty tables that a deleted stack left, because their names block the next deployment. It never deletes a table
    with items, or a table that this stage's stack did not create: stages may use the same table names."""
    found = {name: checks.left_table(name) for name in names}
    left = {}
    for name, table in found.items():
        if table is None or table["owner"]:
            continue
        if table["made_by"] != stage.stack_name:
            say(f"the table {name} is kept: {checks.maker(table)}")
            continue
        left[name] = table
        say(f"the table {name} still exists{' and is empty' if table['empty'] else ' and has items: it is kept'}")
    empty = [name for name, table in left.items() if table["empty"]]
    if not empty:
        return
    if os.environ.get("YES"):
        if os.environ.get("TABLES") != "empty":
            say(f"to delete the empty tables as well: {stage.make('delete')} YES={stage.stack_name} TABLES=empty")
            return
        if not confirmed(stage.stack_name):
            stop(f"nothing was deleted: YES does not name {stage.stack_name}")
    elif typed("Type `empty` to delete the empty tables, or press Enter to keep them:") != "empty":
        return
    dynamodb = boto3.client("dynamodb")
    for name in empty:
        if left[name]["protected"]:
            dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
            dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 2, "MaxAttempts": 60})
        dynamodb.delete_table(TableName=name)
        dynamodb.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 2, "MaxAttempts": 60})
        say(f"the table {name} is deleted")


if __name__ == "__main__":
    main()
