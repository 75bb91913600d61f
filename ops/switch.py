"""`make switch TABLE=…`: makes the query function of $STAGE read another table, or with TABLE=own its stack's own table.

Nothing else changes: CloudFormation uses the deployed template and the deployed parameters, except ServedTable. So the functions that
write keep their code, and you can switch back. A gradual rollout (parameter Rollout) also applies here, and is rolled back if the new
version fails.
"""

import os
import sys

import boto3
import checks
from botocore.exceptions import BotoCoreError, ClientError, WaiterError
from stage import ORDER_HISTORY, chosen_stages, confirmed, outputs, parameters
from terminal import say, stop, typed


def main():
    [stage] = [stage for stage in chosen_stages(or_local=False) if stage.service is ORDER_HISTORY] or [None]
    if stage is None:
        stop(f"STACK={os.environ['STACK']}: only {ORDER_HISTORY.name} has a table to switch")
    try:
        switch(stage, os.environ.get("TABLE", ""))
    except (BotoCoreError, ClientError) as error:
        stop(f"switch: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def switch(stage, table):
    stack = stage.deployed()
    own, served, given = outputs(stack).get("OrderHistoryTable"), outputs(stack).get("ServedTable"), parameters(stack)
    if "ServedTable" not in given:
        stop(
            f"the stack {stage.stack_name} does not have the parameter ServedTable yet. Deploy it first: {stage.make('deploy')}"
        )
    if not table:
        stop(
            f"TABLE is missing: set it to a table such as {own}-v2, or to own, which means {own}. The query function now reads {served}"
        )
    if problem := checks.stack_problem(stage, stack["StackStatus"]):
        stop(f"the stack {stage.stack_name} is {stack['StackStatus']}: {problem}")
    wanted = own if table == "own" else table
    if wanted == served:
        say(f"the query function already reads {served}")
        return
    if wanted != own and (problem := table_problem(wanted, given)):
        stop(f"TABLE={wanted}: {problem}")
    if given.get("Stage") == "production" and not confirmed(stage.stack_name):
        say(
            f"The query function of {stage.stack_name} will read {wanted} instead of {served} (rollout {given.get('Rollout')})."
        )
        if typed("Type the name of the stack to confirm:") != stage.stack_name:
            stop(f"nothing was changed: the answer is not {stage.stack_name}")
    update(stage, given | {"ServedTable": "" if wanted == own else wanted}, given)
    say(f"the query function of {stage.stack_name} reads {outputs(stage.stack()).get('ServedTable')}")
    say(f"to switch back: {stage.make('switch')} TABLE={'own' if served == own else served}")


def table_problem(name, given):
    """Why the query function could not read this table."""
    if not name.startswith(f"{given['Prefix']}-v"):
        return f"the query function can read only tables whose names begin with {given['Prefix']}-v"
    client = boto3.client("dynamodb")
    try:
        table = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return "this table does not exist"
    wanted = given["ServedIndex"]
    # An emulator may not return the status of an index.
    states = {index["IndexName"]: index.get("IndexStatus", "ACTIVE") for index in table.get("GlobalSecondaryIndexes", [])}
    if states.get(wanted) != "ACTIVE":
        return f"its index {wanted} is {states.get(wanted, 'missing')}, and lists are read from it"
    return None


def update(stage, wanted, given):
    """Updates the stack with its own template, and waits. Unchanged parameters are not sent."""
    cloudformation = boto3.client("cloudformation")
    kept = [{"ParameterKey": name, "UsePreviousValue": True} for name in given if wanted[name] == given[name]]
    changed = [{"ParameterKey": name, "ParameterValue": wanted[name]} for name in given if wanted[name] != given[name]]
    stack_id = cloudformation.update_stack(
        StackName=stage.stack_name,
        UsePreviousTemplate=True,
        Parameters=[*kept, *changed],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )["StackId"]
    say("CloudFormation is updating the stack. A gradual rollout takes some minutes")
    try:
        waiter = cloudformation.get_waiter("stack_update_complete")
        waiter.wait(StackName=stack_id, WaiterConfig={"Delay": 5, "MaxAttempts": 720})
    except WaiterError:
        stop(f"the switch failed and was rolled back. First failure: {checks.first_failure(stage.stack())}")
    except KeyboardInterrupt:
        say(
            f"CloudFormation continues the update. To cancel it: aws cloudformation cancel-update-stack --stack-name {stage.stack_name}"
        )
        raise


if __name__ == "__main__":
    main()
