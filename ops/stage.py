"""A stage: where it is, what its functions are called, and what they logged."""

import os
import sys
import tomllib
from pathlib import Path

import boto3
from botocore.exceptions import ClientError
from samcli.yamlhelper import yaml_parse

# Python's SDK looks at the one name of this variable only, others at the other.
if "AWS_REGION" in os.environ:
    os.environ.setdefault("AWS_DEFAULT_REGION", os.environ["AWS_REGION"])

ROOT = Path(__file__).resolve().parents[1]
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
        self.parameters = assignments(config["deploy"]["parameters"]["parameter_overrides"])

    def stack(self):
        """The stack as it is deployed, or None."""
        try:
            return boto3.client("cloudformation").describe_stacks(StackName=self.stack_name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" in error.response["Error"]["Message"]:
                return None
            raise

    def function(self, name):
        """What a function is called on this stage; its queue has the same name."""
        stack = self.stack()
        if stack is None:
            sys.exit(f"the stack {self.stack_name} is not deployed in {boto3.session.Session().region_name}")
        outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
        return outputs["FunctionPrefix"] + name

    def sqs(self):
        return boto3.client("sqs")

    def failures(self, function, since):
        """What a function logged of its failures since then, in milliseconds, the oldest line first."""
        # Those with a reason, whatever it is.
        # https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-json-log-events.html
        pattern = "{ $.reason = * }"
        pages = boto3.client("logs").get_paginator("filter_log_events")
        pages = pages.paginate(logGroupName=f"/aws/lambda/{function}", startTime=since, filterPattern=pattern)
        events = [event for page in pages for event in page["events"]]
        return [event["message"] for event in sorted(events, key=lambda event: event["timestamp"])]

    def follow(self, function):
        """Shows a function's log until interrupted."""
        sam = Path(sys.executable).with_name("sam")
        os.execv(sam, ["sam", "logs", "--tail", "--cw-log-group", f"/aws/lambda/{function}"])


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

    def failures(self, function, since):
        log = self.log(function)
        return log.read_text(errors="replace").splitlines() if log.exists() else []

    def follow(self, function):
        log = self.log(function)
        if not log.exists():
            sys.exit(f"{log} is not there: `make run` writes it as soon as {function} has something to say")
        os.execvp("tail", ["tail", "-n", "100", "-F", str(log)])

    def log(self, function):
        return Path(os.environ.get("DATA_DIR", ROOT / "target/data")) / "logs" / f"{function}.log"


def stage(name, or_local=True):
    """The stage of this name, or an end with what there is."""
    if name == "local" and or_local:
        return Local()
    if name not in CONFIG_ENVS:
        sys.exit(f"STAGE={name}: there are {', '.join([*CONFIG_ENVS, *(['local'] if or_local else [])])}")
    return Stage(name)


def assignments(texts):
    """`Name=value` texts as a dictionary; the last of a name counts."""
    for text in texts:
        if "=" not in text:
            sys.exit(f"{text}: a parameter is given as Name=value")
    return dict(text.split("=", 1) for text in texts)


def chosen_function(names):
    """The function that FN names, or an end with what there is."""
    name = os.environ.get("FN", "")
    if name not in names:
        sys.exit(f"FN={name}: there are {', '.join(names)}" if name else f"say which, as FN=…: there are {', '.join(names)}")
    return name
