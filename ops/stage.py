"""The services, and their stages: where a stage is, the names of its functions and queues, and their logs."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from samcli.yamlhelper import yaml_parse
from terminal import stop

# Python's SDK reads only this name of the variable, other SDKs the other name.
if "AWS_REGION" in os.environ:
    os.environ.setdefault("AWS_DEFAULT_REGION", os.environ["AWS_REGION"])

ROOT = Path(__file__).resolve().parents[1]
SAM = Path(sys.executable).with_name("sam")

# Those that a service's stack may have; `local` is a running `make run`.
STAGES = ["development", "staging", "production"]


class Service:
    """A service: its template, its sections of samconfig.toml, its functions and queues."""

    def __init__(self, name, file, config_envs):
        self.name = name
        self.file = ROOT / file
        self.template = yaml_parse(self.file.read_text())
        # A stage is a section of samconfig.toml for sam; without --config-env sam uses the section default.
        self.config_envs = dict(zip(STAGES, config_envs, strict=True))
        # The allowed values of FN.
        self.functions = []
        # Functions with queues: the queue of each, or None, and the queue with its failed messages.
        self.queues = {}

    @property
    def parameters(self):
        return self.template["Parameters"]

    @property
    def default_prefix(self):
        return self.parameters["Prefix"]["Default"]

    def table_names(self, prefix):
        """The names of the template's tables."""
        resources = [resource for resource in self.template["Resources"].values() if isinstance(resource, dict)]
        names = [table["Properties"]["TableName"] for table in resources if table["Type"] == "AWS::DynamoDB::Table"]
        return [name.get("Fn::Sub", "${Prefix}").replace("${Prefix}", prefix) for name in names]


ORDER_HISTORY = Service("order-history", "template.yaml", ["default", "staging", "production"])
EVENT_TYPES = ORDER_HISTORY.template["Resources"]["Fn::ForEach::EventTypes"][1]
STEPS = [f"rebuild-{step}" for step in ORDER_HISTORY.template["Resources"]["Fn::ForEach::RebuildSteps"][1]]
ORDER_HISTORY.functions = [*EVENT_TYPES, "query-api", "archiver", *STEPS]
ORDER_HISTORY.queues = {event_type: (event_type, f"{event_type}-dlq") for event_type in EVENT_TYPES}
ORDER_HISTORY.queues["archiver"] = ("archive", "archive-dlq")

PAYMENTS = Service("payments", "payments.yaml", ["payments", "payments-staging", "payments-production"])
PAYMENTS.functions = [function["Name"] for function in PAYMENTS.template["Mappings"]["Functions"].values()]
# The relay reads a stream. Events that it could not publish are still in the outbox.
PAYMENTS.queues = {"charge": ("charge", "charge-dlq"), "relay": (None, "relay-failed")}

# In the order in which they are deployed: Payments publishes to the topic of the order history's stack.
SERVICES = [ORDER_HISTORY, PAYMENTS]

# Parameters that must differ between the stacks, because names would clash.
PARAMETERS_OF_ONE = ["Prefix", "DomainName"]


class Stage:
    """A service's stage on AWS: one stack, or the one beside it that `beside` names.

    A stack beside the first, such as v2, writes events of the same topic into its own table. docs/rebuild.md explains why.
    """

    def __init__(self, name, service, given=None, beside=""):
        self.name = name
        self.service = service
        self.beside = beside
        self.config_env = service.config_envs[name]
        config = tomllib.loads((ROOT / "samconfig.toml").read_text())[self.config_env]
        self.stack_name = config["global"]["parameters"]["stack_name"]
        self.s3_prefix = config["deploy"]["parameters"]["s3_prefix"]
        # Where `make plan` puts its packages. It is not a prefix of the other.
        self.plan_prefix = f"{self.s3_prefix}-plan"
        # Those of samconfig.toml, and those that are given.
        self.parameters = assignments(config["deploy"]["parameters"]["parameter_overrides"])
        # Options that select another stack than samconfig.toml.
        self.options = []
        if beside:
            self.stack_name, self.s3_prefix = f"{self.stack_name}-{beside}", f"{self.s3_prefix}-{beside}"
            self.plan_prefix = f"{self.s3_prefix}-plan"
            self.options = ["--stack-name", self.stack_name, "--s3-prefix", self.s3_prefix]
            # The first one's names are taken.
            for name_of_first in ["Prefix", "TopicName"]:
                self.parameters.pop(name_of_first, None)
        self.parameters |= given or {}

    @property
    def first(self):
        """The stage that this one is beside."""
        return Stage(self.name, self.service)

    @property
    def region(self):
        return boto3.session.Session().region_name

    def make(self, command):
        """The make command for this stack alone."""
        return f"make {command} STAGE={self.name} STACK={self.service.name}{f' BESIDE={self.beside}' if self.beside else ''}"

    def stack(self):
        """The stack as it is deployed, or None."""
        return stack_called(self.stack_name)

    def resources(self, resource_type):
        """The physical ids of the stack's resources of this type."""
        pages = boto3.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.stack_name)
        found = [resource for page in pages for resource in page["StackResourceSummaries"]]
        found = [resource for resource in found if resource["ResourceType"] == resource_type]
        # After a failed deployment, the list has resources that were deleted or never created.
        exist = [resource for resource in found if resource["ResourceStatus"] != "DELETE_COMPLETE"]
        return [resource["PhysicalResourceId"] for resource in exist if resource.get("PhysicalResourceId")]

    def called(self, name):
        """The full name of a function or a queue of this stage."""
        return f"{self.prefix(self.deployed())}-{name}"

    def deployed(self):
        """The stack. Stops if there is none."""
        stack = self.stack()
        if stack is None:
            stop(self.not_deployed())
        return stack

    def not_deployed(self):
        return f"the stack {self.stack_name} is not deployed in {self.region}"

    def prefix(self, stack):
        """The prefix of names of the stack or, if there is none, of the one that would be deployed."""
        if found := parameters(stack).get("Prefix") or self.parameters.get("Prefix"):
            return found
        return f"{self.first.prefix(self.first.stack())}-{self.beside}" if self.beside else self.service.default_prefix

    def queues(self, stack):
        """Those of the service's queues that the stack has: of several on one topic, one has the archive."""
        has_archive = parameters(stack).get("Archive") == "true"
        return {name: pair for name, pair in self.service.queues.items() if name != "archiver" or has_archive}

    def sqs(self):
        return boto3.client("sqs")

    def failures(self, function, windows):
        """The failures that a function logged in these time spans (in milliseconds), the oldest first."""
        # Lines with any reason.
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
        """The lines of a function's log, as they arrive."""
        return lines([SAM, "logs", "--tail", "--cw-log-group", f"/aws/lambda/{function}"])


class Local:
    """A service in a running `make run`."""

    name = "local"

    def __init__(self, service):
        self.service = service

    def called(self, name):
        return f"{self.service.default_prefix}-{name}"

    def stack(self):
        """Not None, like the stack of a deployed stage."""
        return {}

    def queues(self, _):
        return self.service.queues

    def sqs(self):
        return boto3.client(
            "sqs",
            endpoint_url=f"http://127.0.0.1:{os.environ.get('SQS_PORT', '9324')}",
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
            # A system that is not running does not start during retries.
            config=Config(retries={"total_max_attempts": 1}),
        )

    def failures(self, function, windows):
        log = self.log(function)
        return log.read_text(errors="replace").splitlines() if log.exists() else []

    def follow(self, function):
        log = self.log(function)
        if not log.exists():
            stop(f"{log} does not exist: `make run` creates it when {function} writes its first log line")
        return lines(["tail", "-n", "100", "-F", log])

    def log(self, function):
        return self.data / "logs" / f"{function}.log"

    @property
    def data(self):
        return Path(os.environ.get("DATA_DIR", ROOT / "target/data"))

    def archive(self):
        """The folder with the archive: that of its bucket."""
        return self.data / "archive" / "ftgo-order-history-archive"


def reason(error):
    """Why a request failed; if it did not reach `make run`, also what to do."""
    if isinstance(error, EndpointConnectionError) and os.environ.get("STAGE") == Local.name:
        return f"{error}. Start `make run` in another terminal. If its SQS_PORT is not 9324, set SQS_PORT here too"
    return str(error)


def chosen_services():
    """The services in STACK, in the order of deployment. Stops with the allowed values if STACK is wrong."""
    name = os.environ.get("STACK") or "all"
    found = [service for service in SERVICES if name in [service.name, "all"]]
    if not found:
        stop(f"STACK={name}: must be one of {', '.join([*(service.name for service in SERVICES), 'all'])}")
    if os.environ.get("BESIDE") and ORDER_HISTORY not in found:
        stop(f"BESIDE is for a second stack of {ORDER_HISTORY.name}: {name} cannot have one")
    return [ORDER_HISTORY] if os.environ.get("BESIDE") else found


def chosen_beside():
    """The name in BESIDE of a stack beside the first, or nothing."""
    name = os.environ.get("BESIDE", "")
    # The roles of the first stack allow tables of such names.
    if name and not re.fullmatch(r"v[a-z0-9-]*", name):
        stop(f"BESIDE={name}: must begin with v, such as v2, and consist of lower-case letters, digits and hyphens")
    return name


def chosen_stages(or_local=True):
    """The stage in STAGE, of each service in STACK. Stops with the allowed values if one is wrong."""
    name = os.environ.get("STAGE") or "development"
    services = chosen_services()
    beside = chosen_beside()
    if name == "local" and or_local:
        if beside:
            stop("BESIDE is for stacks on AWS: on this machine, a second table is enough (INTO=…)")
        return [Local(service) for service in services]
    if name not in STAGES:
        stop(f"STAGE={name}: must be one of {', '.join([*STAGES, *(['local'] if or_local else [])])}")
    given = given_parameters(services)
    return [Stage(name, service, given[service.name], beside) for service in services]


def chosen_function(names_of, *more):
    """The service and the name of the function in FN. Stops with the allowed values if FN is wrong.

    `names_of` returns the names of a service; `more` are further allowed values for the message.
    """
    name = os.environ.get("FN", "")
    for service in SERVICES:
        if name in names_of(service):
            return service, name
    there_are = f"must be one of {', '.join([*(name for service in SERVICES for name in names_of(service)), *more])}"
    stop(f"FN={name}: {there_are}" if name else f"FN is missing: it {there_are}")


def stage_of(service):
    """The stage in STAGE, of this service. Stops if STACK excludes the service."""
    if service not in chosen_services():
        stop(f"STACK={os.environ['STACK']} excludes FN={os.environ['FN']}, which is a function of {service.name}")
    [found] = [stage for stage in chosen_stages() if stage.service is service]
    return found


def stack_called(name):
    """The stack of this name or id, or None. A deleted stack is found only by its id."""
    try:
        return boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"]["Message"]:
            return None
        raise


def parameters(stack):
    """The values that a stack was deployed with."""
    return {given["ParameterKey"]: given["ParameterValue"] for given in (stack or {}).get("Parameters", [])}


def outputs(stack):
    """The outputs of a stack."""
    return {output["OutputKey"]: output["OutputValue"] for output in (stack or {}).get("Outputs", [])}


def given_parameters(services):
    """The parameters in $PARAMETERS for each of these services.

    `Name=value` is for every service that has such a parameter. `payments.Name=value` is only for that service, and has priority. Parameters
    of other services are ignored, so that the same $PARAMETERS can be used for both.
    """
    common, own = {}, {service.name: {} for service in SERVICES}
    try:
        words = shlex.split(os.environ.get("PARAMETERS", ""))
    except ValueError as error:
        stop(f"PARAMETERS is not valid ({error}): put a value that has spaces or quotation marks into quotation marks")
    for name, value in assignments(words).items():
        scope, dot, rest = name.rpartition(".")
        if dot and scope not in own:
            stop(f"{name}: the part before the dot must be {' or '.join(own)}")
        (own[scope] if dot else common)[rest] = value
    known = {service.name: set(service.parameters) for service in SERVICES}
    unknown = [name for name in common if not any(name in names for names in known.values())]
    unknown += [f"{scope}.{name}" for scope in own for name in own[scope] if name not in known[scope]]
    if unknown:
        lists = [f"{service.file.name} ({service.name}) has {', '.join(service.parameters)}" for service in SERVICES]
        stop("\n".join([f"no template has a parameter {', '.join(unknown)}", *lists]))
    if len(services) > 1 and (clashes := [name for name in PARAMETERS_OF_ONE if name in common]):
        ways = " ".join(f"{service.name}.{name}=…" for name in clashes for service in services)
        stop(f"{' and '.join(clashes)} cannot be the same for both stacks: set {ways}, or select one stack with STACK=…")
    return {
        service.name: {name: value for name, value in common.items() if name in known[service.name]} | own[service.name]
        for service in services
    }


def confirmed(stack_name):
    """Whether $YES, one or more names of stacks, confirms the operation on this stack."""
    return stack_name in re.split(r"[\s,]+", os.environ.get("YES", ""))


def lines(command):
    """The output of a program, line by line, until it ends or is interrupted."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace", env=environment) as program:
        for line in program.stdout:
            yield line.rstrip("\r\n")
    if program.returncode:
        sys.exit(program.returncode)


def assignments(texts):
    """`Name=value` texts as a dictionary. The last value of a name counts."""
    for text in texts:
        if "=" not in text:
            stop(f"{text}: a parameter must have the form Name=value")
    return dict(text.split("=", 1) for text in texts)
