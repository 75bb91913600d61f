"""Expands a template as CloudFormation does: loops unrolled, SAM's resources expanded, names and conditions resolved.

Both transforms are AWS's own code, from the package aws-sam-cli. `template.py payments.yaml` prints the expanded template with
every option on.
"""

import copy
import json
import logging
import re
import sys
from pathlib import Path

from boto3 import Session
from samcli.lib.cfn_language_extensions.sam_integration import expand_language_extensions
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

# The log messages of the transforms are not needed.
logging.disable(logging.WARNING)

ROOT = Path(__file__).resolve().parents[2]

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::StackName": "ftgo-stack",
    "AWS::URLSuffix": "amazonaws.com",
}

# All options that both templates have and that are off by default.
EVERY_OPTION = {
    "Stage": "production",
    "AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:alarms",
    "Rollout": "Canary10Percent10Minutes",
    "KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/1234",
    "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/boundary",
    "Tracing": "Active",
    "LogLevel": "DEBUG",
    "HandlerMemory": "512",
    "DomainName": "api.ftgo.example",
    "CertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/1234",
    "HostedZoneId": "Z123",
    "RunbookUrl": "https://wiki.example/runbook",
}


class Template:
    """A template of this repository."""

    def __init__(self, file, required, every_option):
        self.file = ROOT / file
        self.source = yaml_parse(self.file.read_text())
        # The parameters of every deployment. The others have their defaults.
        self.required = required
        self.every_option = EVERY_OPTION | every_option

    def with_parameters(self, **parameters):
        return Expanded(self, **parameters)


ORDER_HISTORY = Template(
    "template.yaml",
    {"JwtIssuer": "https://issuer.example", "JwtAudience": "ftgo"},
    {
        "UserPool": "true",
        "JwtIssuer": "",
        "JwtAudience": "",
        "BatchingWindow": "300",
        "HandlerConcurrency": "50",
        "MaxWaitSeconds": "3",
        "QueryReservedConcurrency": "50",
        "ArchiveWindow": "60",
        "ArchiveColdAfterDays": "90",
        "RebuildConcurrency": "1000",
        "RebuildMemory": "4096",
        "Currency": "EUR",
    },
)

PAYMENTS = Template(
    "payments.yaml",
    {
        "JwtIssuer": "https://issuer.example",
        "JwtAudience": "ftgo",
        # The Lambda host's region and account.
        "DomainEventsTopicArn": "arn:aws:sns:us-east-1:000000000000:domain-events",
        "GatewayUrl": "https://gateway.example",
        "GatewaySecretArn": "arn:aws:secretsmanager:us-east-1:000000000000:secret:gateway-AbCdEf",
    },
    {
        "ChargeMode": "locked",
        "ChargeConcurrency": "50",
        "ApiReservedConcurrency": "50",
        "ReconcileSchedule": "rate(1 minute)",
        "SweepSchedule": "rate(5 minutes)",
        "ReconcileAfterSeconds": "600",
        "SweepAfterSeconds": "60",
        "FrontApiId": "a1b2c3d4e5",
    },
)

TEMPLATES = [ORDER_HISTORY, PAYMENTS]


def with_subs(value):
    """Puts each text with a reference into an Fn::Sub again; the transform removes it together with the references that it resolves."""
    if isinstance(value, str):
        return {"Fn::Sub": value} if re.search(r"\$\{\w", value) else value
    if isinstance(value, list):
        return [with_subs(item) for item in value]
    if isinstance(value, dict) and "Fn::Sub" not in value:
        # A state machine's references use its DefinitionSubstitutions.
        return {name: item if name == "DefinitionString" else with_subs(item) for name, item in value.items()}
    return value


class NoValue:
    """AWS::NoValue."""


class Expanded:
    """A template with these parameters."""

    def __init__(self, template, **parameters):
        source = copy.deepcopy(template.source)
        defaults = {name: str(p["Default"]) for name, p in source["Parameters"].items() if "Default" in p}
        self.parameters = {**PSEUDO, **defaults, **template.required, **parameters}
        self.lists = {name for name, p in source["Parameters"].items() if p["Type"] == "CommaDelimitedList"}
        unrolled = expand_language_extensions(source, parameter_values=self.parameters, enabled=True).expanded_template
        for section in ["Resources", "Outputs"]:
            unrolled[section] = with_subs(unrolled[section])
        for resource in unrolled["Resources"].values():
            if resource["Type"] == "AWS::Serverless::Function":
                # The translator accepts no local path; a deployment has already uploaded the code.
                resource["Properties"]["CodeUri"] = f"s3://bucket/{resource['Properties']['CodeUri']}"
        session = Session(region_name=PSEUDO["AWS::Region"])
        translator = Translator(managed_policy_map={}, sam_parser=Parser(), boto_session=session)
        self.template = translator.translate(copy.deepcopy(unrolled), parameter_values=self.parameters)
        self.conditions = self.template.get("Conditions", {})
        self.mappings = self.template.get("Mappings", {})
        # The reasons why CloudFormation rejects these parameters.
        self.refusals = [
            assertion["AssertDescription"]
            for rule in source["Rules"].values()
            if self.holds(rule.get("RuleCondition", {"Fn::Equals": ["", ""]}))
            for assertion in rule["Assertions"]
            if not self.holds(assertion["Assert"])
        ]
        self.outputs = {
            name: self.resolve(output["Value"])
            for name, output in self.template["Outputs"].items()
            if "Condition" not in output or self.holds(output["Condition"])
        }
        # Every resource with these parameters, by its logical id.
        self.resources = {
            name: self.resolve(resource)
            for name, resource in self.template["Resources"].items()
            if "Condition" not in resource or self.holds(resource["Condition"])
        }

    def of_type(self, resource_type):
        """The properties of the resources of a type, by logical id."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self.resources.items()
            if resource["Type"] == resource_type
        }

    def resolve(self, value):
        """Resolves what is known before a deployment. A resource's Ref or attribute becomes `<Name>` or `<Name.Attribute>`."""
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not NoValue]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((function, argument),) = value.items()
            if function == "Ref":
                return self.ref(self.resolve(argument))
            if function == "Fn::Sub":
                text, values = (argument, {}) if isinstance(argument, str) else argument
                values = self.resolve(values)
                return re.sub(r"\$\{([^}]+)\}", lambda match: values.get(match[1]) or self.ref(match[1]), text)
            if function == "Fn::GetAtt":
                return f"<{'.'.join(map(self.resolve, argument))}>"
            if function == "Fn::If":
                return self.resolve(argument[1] if self.holds(argument[0]) else argument[2])
            if function == "Fn::FindInMap":
                first, second, third = map(self.resolve, argument)
                return self.mappings[first][second][third]
            if function == "Fn::Split":
                return self.resolve(argument[1]).split(argument[0])
            if function == "Fn::Select":
                return self.resolve(argument[1])[int(argument[0])]
            if function.startswith("Fn::"):
                raise NotImplementedError(function)
        resolved = {name: self.resolve(item) for name, item in value.items()}
        return {name: item for name, item in resolved.items() if item is not NoValue}

    def ref(self, name):
        if name == "AWS::NoValue":
            return NoValue
        if name in self.lists:
            return self.parameters[name].split(",")
        return self.parameters.get(name, f"<{name}>")

    def holds(self, condition):
        """Whether a condition holds, by name or as an expression."""
        if isinstance(condition, str):
            return self.holds(self.conditions[condition])
        ((function, argument),) = condition.items()
        match function:
            case "Condition":
                return self.holds(argument)
            case "Fn::Equals":
                return self.resolve(argument[0]) == self.resolve(argument[1])
            case "Fn::EachMemberEquals":
                return all(item == argument[1] for item in self.resolve(argument[0]))
            case "Fn::Not":
                return not self.holds(argument[0])
            case "Fn::And":
                return all(map(self.holds, argument))
            case "Fn::Or":
                return any(map(self.holds, argument))
        raise NotImplementedError(function)


if __name__ == "__main__":
    [chosen] = [template for template in TEMPLATES if template.file.name == sys.argv[1]]
    print(json.dumps(chosen.with_parameters(**chosen.every_option).template))
