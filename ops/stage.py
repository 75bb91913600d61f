"""A stage: where it is, what its functions are called, and what they logged."""

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import boto3
from botocore.exceptions import ClientError
from samcli.yamlhelper import yaml_parse
from terminal import stop

# Python's SDK looks at the one name of this variable only, others at the other.
if "AWS_REGION" in os.environ:
    os.environ.setdefault("AWS_DEFAULT_REGION", os.environ["AWS_REGION"])

ROOT = Path(__file__).resolve().parents[1]
SAM = Path(sys.executable).with_name("sam")
TEMPLATE = yaml_parse((ROOT / "template.yaml").read_text())

EVENT_TYPES = TEMPLATE["Resources"]["Fn::ForEach::EventTypes"][1]

# sam knows a stage by a section of samconfig.toml; without --config-env it takes the one called default.
CONFIG_ENVS = {"development": "default", "staging": "staging", "production": "production"}


class Stage:
    """A stage on AWS."""

    def __init__(self, name):
        self.name = name
        self.config_env = CONFIG_ENVS[name]
        config = tomllib.loads((ROOT / "samconfig.toml").read_text())[self.config_env]
        self.stack_name = config["global"]["parameters"]["stack_name"]
        self.s3_prefix = config["deploy"]["parameters"]["s3_prefix"]
        # Where `make plan` puts its packages; no prefix of the other.
        self.plan_prefix = f"{self.s3_prefix}-plan"
        # Those of samconfig.toml and of $PARAMETERS.
        self.parameters = assignments(config["deploy"]["parameters"]["parameter_overrides"])
        self.parameters |= assignments(shlex.split(os.environ.get("PARAMETERS", "")))

    @property
    def region(self):
        return boto3.session.Session().region_name

    def stack(self):
        """The stack as it is deployed, or None."""
        return stack_called(self.stack_name)

    def resources(self, resource_type):
        """The physical ids of the stack's resources of this type."""
        pages = boto3.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.stack_name)
        found = [resource for page in pages for resource in page["StackResourceSummaries"]]
        found = [resource for resource in found if resource["ResourceType"] == resource_type]
        # After a deployment that failed, the list has resources that were deleted again or never made.
        exist = [resource for resource in found if resource["ResourceStatus"] != "DELETE_COMPLETE"]
        return [resource["PhysicalResourceId"] for resource in exist if resource.get("PhysicalResourceId")]

    def function(self, name):
        """What a function is called on this stage; its queue has the same name."""
        return self.prefix(self.deployed()) + "-" + name

    def deployed(self):
        """The stack, or an end where there is none."""
        stack = self.stack()
        if stack is None:
            stop(f"the stack {self.stack_name} is not deployed in {self.region}")
        return stack

    def prefix(self, stack):
        """What names begin with, of the stack or, if there is none, of the one that would be deployed."""
        return parameters(stack).get("Prefix") or self.parameters.get("Prefix") or TEMPLATE["Parameters"]["Prefix"]["Default"]

    def sqs(self):
        return boto3.client("sqs")

    def failures(self, function, windows):
        """What a function logged of its failures in these spans of time, in milliseconds, the oldest line first."""
        # Those with a reason, whatever it is.
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-json-log-events.html
        pattern = "{ $.reason = * }"
        paginator = boto3.client("logs").get_paginator("filter_log_events")
        events = []
        for start, end in windows:
            group = f"/aws/lambda/{function}"
            pages = paginator.paginate(logGroupName=group, startTime=start, endTime=end, filterPattern=pattern)
            events += [event for page in pages for event in page["events"]]
        return [event["message"] for event in sorted(events, key=lambda event: event["timestamp"])]

    def follow(self, function):
        """The lines of a function's log, as they come."""
        return lines([SAM, "logs", "--tail", "--cw-log-group", f"/aws/lambda/{function}"])


class Local:
    """A running `make run`."""

    name = "local"

    def function(self, name):
        return TEMPLATE["Parameters"]["Prefix"]["Default"] + "-" + name

    def sqs(self):
        return boto3.client(
            "sqs",
            endpoint_url=f"http://127.0.0.1:{os.environ.get('SQS_PORT', '9324')}",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )

    def failures(self, function, windows):
        log = self.log(function)
        return log.read_text(errors="replace").splitlines() if log.exists() else []

    def follow(self, function):
        log = self.log(function)
        if not log.exists():
            stop(f"{log} is not there: `make run` writes it as soon as {function} has something to say")
        return lines(["tail", "-n", "100", "-F", log])

    def log(self, function):
        return Path(os.environ.get("DATA_DIR", ROOT / "target/data")) / "logs" / f"{function}.log"


def stage(name, or_local=True):
    """The stage of this name, or an end with what there is."""
    if name == "local" and or_local:
        return Local()
    if name not in CONFIG_ENVS:
        stop(f"STAGE={name}: there are {', '.join([*CONFIG_ENVS, *(['local'] if or_local else [])])}")
    return Stage(name)


def stack_called(name):
    """The stack of this name or id, or None if there is none. A deleted one is found by its id only."""
    try:
        return boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"]["Message"]:
            return None
        raise


def parameters(stack):
    """The values that a stack was deployed with."""
    return {given["ParameterKey"]: given["ParameterValue"] for given in (stack or {}).get("Parameters", [])}


def table_names(prefix):
    """What the tables of template.yaml are called."""
    resources = [resource for resource in TEMPLATE["Resources"].values() if isinstance(resource, dict)]
    names = [table["Properties"]["TableName"] for table in resources if table["Type"] == "AWS::DynamoDB::Table"]
    return [name.get("Fn::Sub", "${Prefix}").replace("${Prefix}", prefix) for name in names]


def lines(command):
    """What a program writes, line by line, until it ends or is interrupted."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", env=environment) as program:
        for line in program.stdout:
            yield line.rstrip("\r\n")
    if program.returncode:
        sys.exit(program.returncode)


def assignments(texts):
    """`Name=value` texts as a dictionary; the last of a name counts."""
    for text in texts:
        if "=" not in text:
            stop(f"{text}: a parameter is given as Name=value")
    return dict(text.split("=", 1) for text in texts)


def chosen_function(names):
    """The function that FN names, or an end with what there is."""
    name = os.environ.get("FN", "")
    if name not in names:
        stop(f"FN={name}: there are {', '.join(names)}" if name else f"say which, as FN=…: there are {', '.join(names)}")
    return name
