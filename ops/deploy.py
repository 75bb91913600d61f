"""`make deploy` and `make plan`: a build, and `sam deploy` of each service's stack of $STAGE, with its parameters from samconfig.toml and those
of $PARAMETERS. sam gets both, because parameters on its command line replace samconfig's whole list.

The stacks are order-history and payments, or the one that $STACK names. Payments takes from the order history's stack the topic, the HTTP
API that serves the page, and the issuer of its user pool if it has one.

A plan is a change set that is not executed, so that AWS's own transforms have run. It is deleted afterwards. The packages stay in a
separate folder until `make delete`.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import boto3
import checks
from botocore.exceptions import BotoCoreError, ClientError, WaiterError
from stage import ORDER_HISTORY, PAYMENTS, ROOT, SAM, Stage, chosen_stages, confirmed, outputs, parameters
from terminal import say, series, stop

# What a change does to a resource, and the word for it in the summary. Changes that may lose data come first, and unknown ones before them.
KINDS = {
    "remove": "removed",
    "replace": "replaced",
    "may replace": "perhaps replaced",
    "modify": "modified",
    "import": "imported",
    "add": "added",
}


def main(command):
    stages = chosen_stages(or_local=False)
    architecture = os.environ["ARCH"]
    run = {"deploy": deploy, "plan": plan}[command]
    try:
        check(stages, command)
        if subprocess.run([ROOT / "ops/build", architecture], stdout=sys.stderr).returncode != 0:
            stop("the build failed: see the messages above")
        for stage in stages:
            given = taken_over(stage, command, stages) | stage.parameters | {"Architecture": architecture}
            overrides = [override(name, value) for name, value in given.items()]
            run(stage, ["--config-env", stage.config_env, *stage.options, "--parameter-overrides", *overrides])
    except (BotoCoreError, ClientError) as error:
        stop(f"{command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def check(stages, command):
    """Stops before the build, and before anything is deployed, if a deployment would fail."""
    issuers = {}
    for stage in stages:
        known = stage.service.parameters
        stack = stage.stack()
        if stack and (problem := checks.stack_problem(stage, stack["StackStatus"])):
            stop(advice(stage, stack, problem))
        # An existing stack keeps the parameters that are not given.
        is_new = stack is None or stack["StackStatus"] == "REVIEW_IN_PROGRESS"
        deployed = {} if is_new else parameters(stack)
        defaults = {name: parameter["Default"] for name, parameter in known.items() if "Default" in parameter}
        taken = taken_over(stage, "plan", stages)
        values = defaults | deployed | taken | stage.parameters
        # They may be empty only if the stack creates its own issuer.
        needed = [] if values.get("UserPool") == "true" else ["JwtIssuer", "JwtAudience"]
        if missing := [name for name in known if name not in values or (name in needed and not values[name])]:
            stop(needs(stage, missing, command, len(stages) > 1))
        if is_new and (problem := checks.tables_problem(stage, stage.service.table_names(values["Prefix"]))):
            stop(problem)
        if is_new and stage.service is ORDER_HISTORY and (problem := checks.bucket_problem(values)):
            stop(problem)
        served = values.get("ServedTable")
        if served and not served.startswith(f"{values['Prefix']}-v"):
            stop(f"ServedTable={served}: the query function can read only tables whose names begin with {values['Prefix']}-v")
        issuer = values["JwtIssuer"]
        if issuer and issuer not in [deployed.get("JwtIssuer"), taken.get("JwtIssuer")]:
            issuers[issuer] = stage
    if not os.environ.get("SKIP_ISSUER_CHECK"):
        for issuer in issuers:
            if problem := checks.issuer_problem(issuer):
                stop(problem)


def needs(stage, missing, command, is_one_of_several):
    """The message about missing parameters, and how to give them."""
    given_so = " ".join(f"{name}=…" for name in missing)
    how = f'make {command} STAGE={stage.name} PARAMETERS="{given_so}", or put them into samconfig.toml'
    text = f"{stage.stack_name} needs {series(missing)}: {how}"
    if "DomainEventsTopicArn" in missing:
        text += (
            f"\nTo take the topic from the stack of the order history, deploy both: make {command} STAGE={stage.name} STACK=all"
        )
    if stage.service is PAYMENTS and is_one_of_several:
        text += f"\nTo leave out Payments: make {command} STAGE={stage.name} STACK={ORDER_HISTORY.name}"
    return text


def taken_over(stage, command, stages):
    """The parameters that Payments takes from the order history's stack: the topic, the HTTP API that serves the page, and the issuer of
    its user pool if it has one.

    Before that stack is deployed they are unknown. A plan needs some value, and the ARN of the topic can be computed.
    """
    if stage.beside:
        return of_first(stage)
    if stage.service is not PAYMENTS:
        return {}
    histories = [each for each in stages if each.service is ORDER_HISTORY]
    [history] = histories or [Stage(stage.name, ORDER_HISTORY)]
    stack = history.stack()
    found = outputs(stack)
    if histories and command == "plan":
        defaults = {name: parameter.get("Default") for name, parameter in ORDER_HISTORY.parameters.items()}
        found = expected(defaults | parameters(stack) | history.parameters) | found
    names = {
        "DomainEventsTopicArn": "TopicArn",
        "FrontApiId": "HttpApiId",
        "JwtIssuer": "UserPoolIssuer",
        "JwtAudience": "UserPoolClientId",
    }
    return {name: found[output] for name, output in names.items() if output in found}


def of_first(stage):
    """The parameters of a stack beside another: those of the first stack except names, with its topic, archive and issuer."""
    first = stage.first
    stack = first.stack()
    if stack is None:
        stop(f"{first.not_deployed()}. Deploy it before a stack beside it: {first.make('deploy')}")
    given, found = parameters(stack), outputs(stack)
    if "ArchiveBucket" not in found:
        stop(
            f"the stack {first.stack_name} has no archive to build a view from. Deploy it first, and wait until events are archived: {first.make('deploy')}"
        )
    own = ["TopicName", "DomainName", "CertificateArn", "HostedZoneId", "ServedTable", "UserPool"]
    taken = {name: value for name, value in given.items() if name in stage.service.parameters and name not in own}
    issuer = (
        {"JwtIssuer": found["UserPoolIssuer"], "JwtAudience": found["UserPoolClientId"]} if "UserPoolIssuer" in found else {}
    )
    archive = {"Archive": "false", "ArchiveBucket": found["ArchiveBucket"]}
    topic = {"DomainEventsTopicArn": found["TopicArn"]}
    return taken | issuer | archive | topic | {"Prefix": f"{first.prefix(stack)}-{stage.beside}"}


def expected(values):
    """The outputs that an order history's stack with these parameters would have, as far as Payments needs them."""
    found = {"TopicArn": values["DomainEventsTopicArn"] or topic_arn(values["TopicName"]), "HttpApiId": "notmadeyet"}
    if values["UserPool"] == "true":
        found |= {"UserPoolIssuer": "https://not-made-yet.invalid", "UserPoolClientId": "not-made-yet"}
    return found


def topic_arn(name):
    """The ARN of a topic of this account and region."""
    session = boto3.session.Session()
    account = session.client("sts").get_caller_identity()["Account"]
    return f"arn:{session.get_partition_for_region(session.region_name)}:sns:{session.region_name}:{account}:{name}"


def override(name, value):
    """A parameter as `sam deploy --parameter-overrides` reads it: only in quotes may a value be empty, or have spaces."""
    value = str(value)
    # SAM's parser reads these two as the end of the value, or as other parameters.
    if "\\" in value or value.startswith("ParameterKey="):
        stop(f"{name}: a value must not contain a backslash, and must not begin with ParameterKey=")
    quoted = value.replace('"', '\\"')
    return f'{name}="{quoted}"'


def advice(stage, stack, problem):
    failed = checks.first_failure(stack)
    cause = f"\nFirst failure: {failed}" if failed else ""
    return f"the stack {stage.stack_name} is {stack['StackStatus']}: {problem}{cause}"


def deploy(stage, arguments):
    # If samconfig.toml requires a confirmation, `YES=<stack name>` confirms in advance.
    options = ["--no-confirm-changeset"] if confirmed(stage.stack_name) else []
    deployed = subprocess.run([SAM, "deploy", *arguments, *options])
    if deployed.returncode != 0:
        stack = stage.stack()
        problem = stack and checks.stack_problem(stage, stack["StackStatus"])
        stop(advice(stage, stack, problem) if problem else "sam deploy failed")


def plan(stage, arguments, template=None):
    # Like Ctrl-C: a cancelled job in GitHub must not leave a change set.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cloudformation = boto3.client("cloudformation")
    before = change_sets(cloudformation, stage)
    options = ["--no-execute-changeset", "--no-confirm-changeset", "--output", "json"]
    created = None
    try:
        with tempfile.TemporaryDirectory() as work:
            packages = packaged(stage, template or stage.service.file, Path(work, "template.yaml"))
            planned = subprocess.run([SAM, "deploy", *arguments, *packages, *options], capture_output=True, text=True)
        result = last_result(planned.stdout)
        created = result.get("changeset_id")
        if created:
            pages = cloudformation.get_paginator("describe_change_set").paginate(ChangeSetName=created)
            show(stage, [change["ResourceChange"] for page in pages for change in page["Changes"]])
        elif result.get("status") == "no_changes":
            say(f"{stage.stack_name} in {stage.region}: no changes")
        else:
            stop(f"sam deploy failed: {result.get('error', {}).get('message') or planned.stderr}")
    finally:
        clean_up(cloudformation, stage, before, created)


def packaged(stage, template, output):
    """The options with which `sam deploy` plans the template, with packages in the folder for plans.

    sam names a package by the hash of its files and does not upload one that exists. A pull request, which may plan, must not be able
    to put another package there before a deployment. So the role for plans cannot write where deployments read.
    """
    config = ["--config-file", ROOT / "samconfig.toml"]
    folder = ["--resolve-s3", "--s3-prefix", stage.plan_prefix]
    options = ["--language-extensions", "--template-file", template, "--output-template-file", output]
    made = subprocess.run([SAM, "package", *config, *folder, *options], capture_output=True, text=True)
    if made.returncode != 0:
        stop(f"sam package failed: {made.stderr}")
    # With the folder of deployments in the template, so that unchanged code is not a change. A change set does not read the packages.
    output.write_text(output.read_text().replace(f"/{stage.plan_prefix}/", f"/{stage.s3_prefix}/"))
    return [*config, *folder, "--template-file", output]


def last_result(output):
    """The result that sam prints with `--output json`: one of its lines, each a JSON object."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    results = [line for line in lines if line.get("type") == "result"]
    return results[-1] if results else {}


def show(stage, changes):
    say(f"{stage.stack_name} in {stage.region}:")
    order = list(KINDS)
    rows = [(kind(change), change) for change in changes]
    rows.sort(key=lambda row: order.index(row[0]) if row[0] in order else -1)
    for word, change in rows:
        targets = [detail["Target"] for detail in change.get("Details", [])]
        names = sorted({target.get("Name") or target["Attribute"] for target in targets})
        # Such as Retain: what happens to the old resource.
        policy = [f"old resource: {change['PolicyAction']}"] if "PolicyAction" in change else []
        remarks = "; ".join([*([", ".join(names)] if names else []), *policy])
        say(f"  {word:<11}  {change['ResourceType']:<32}  {change['LogicalResourceId']}{f'  ({remarks})' if remarks else ''}")
    words = Counter(word for word, _ in rows)
    say(f"Plan: {', '.join(f'{number} {KINDS.get(word, word)}' for word, number in words.items())}. Nothing was changed.")


def kind(change):
    """What the change does to its resource: one of KINDS, or an action that is new in CloudFormation."""
    action = change["Action"].lower()
    replacements = {"True": "replace", "Conditional": "may replace"}
    return replacements.get(change.get("Replacement"), action) if action == "modify" else action


def change_sets(cloudformation, stage):
    """The stack's change sets, by id."""
    if stage.stack() is None:
        return {}
    pages = cloudformation.get_paginator("list_change_sets").paginate(StackName=stage.stack_name)
    return {found["ChangeSetId"]: found for page in pages for found in page["Summaries"]}


def clean_up(cloudformation, stage, before, created):
    """Deletes the plan's change set, and the stack if there was none.

    sam does not print the name of a change set that has no changes, failed or was interrupted. Then this deletes every change set that
    did not exist before the plan, also one that somebody else created meanwhile, unless it is being executed.
    """
    after = change_sets(cloudformation, stage)
    idle = [found for found in after if after[found]["ExecutionStatus"] in ["UNAVAILABLE", "AVAILABLE"]]
    ours = {created} if created else {found for found in idle if found not in before}
    for change_set in ours:
        # A change set that is being created cannot be deleted. One that could not be created ends the wait.
        # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DeleteChangeSet.html
        with contextlib.suppress(WaiterError):
            made = cloudformation.get_waiter("change_set_create_complete")
            made.wait(ChangeSetName=change_set, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
        cloudformation.delete_change_set(ChangeSetName=change_set)
    stack = stage.stack()
    if stack and stack["StackStatus"] == "REVIEW_IN_PROGRESS" and not after.keys() - ours:
        cloudformation.delete_stack(StackName=stage.stack_name)
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName=stack["StackId"], WaiterConfig={"Delay": 1, "MaxAttempts": 120})


if __name__ == "__main__":
    main(sys.argv[1])
