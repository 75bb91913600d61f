"""Renders what the code must agree on with template.yaml to rendered.json, which Rust tests read without Python.

`rendered.py` writes the file; `rendered.py --check` fails if it is not what the template says.
"""

import json
import sys
from pathlib import Path

from template import Expanded

FILE = Path(__file__).with_name("rendered.json")


def render(stack):
    queues = stack.of_type("AWS::SQS::Queue")
    functions = stack.of_type("AWS::Lambda::Function")
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping")
    names = {f"<{name}.Arn>": queue["QueueName"] for name, queue in queues.items()}
    tables = {name: table["TableName"] for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    return {
        "tables": [table_request(table) for table in stack.of_type("AWS::DynamoDB::Table").values()],
        "queues": [
            {
                "name": queue["QueueName"],
                "visibilityTimeout": queue.get("VisibilityTimeout", 30),
                "messageRetentionPeriod": queue["MessageRetentionPeriod"],
                **dead_letters(queue, names),
            }
            for queue in queues.values()
        ],
        "functions": [
            {
                "name": function["FunctionName"],
                "handler": function["Handler"],
                "code": function["Code"]["S3Key"].rstrip("/"),
                "timeout": function["Timeout"],
                "memorySize": function["MemorySize"],
                "environment": {
                    variable: tables.get(str(value).strip("<>"), value)
                    for variable, value in function["Environment"]["Variables"].items()
                },
                **source(f"<{logical_id}Aliaslive>", mappings, names),
            }
            for logical_id, function in functions.items()
        ],
        "routes": [
            {"route": route["RouteKey"], "authorization": route["AuthorizationType"]}
            for route in stack.of_type("AWS::ApiGatewayV2::Route").values()
        ],
    }


def table_request(table):
    """As CreateTable and UpdateTimeToLive have it; what only AWS knows (backups, encryption) is left out."""
    members = [
        "TableName",
        "BillingMode",
        "AttributeDefinitions",
        "KeySchema",
        "GlobalSecondaryIndexes",
        "TimeToLiveSpecification",
    ]
    return {member: table[member] for member in members if member in table}


def dead_letters(queue, names):
    policy = queue.get("RedrivePolicy")
    if policy is None:
        return {}
    return {
        "deadLetterQueue": names[policy["deadLetterTargetArn"]],
        "maxReceiveCount": policy["maxReceiveCount"],
    }


def source(alias, mappings, names):
    for mapping in mappings.values():
        if mapping["FunctionName"] == alias:
            return {
                "queue": names[mapping["EventSourceArn"]],
                "batchSize": mapping["BatchSize"],
                "maximumConcurrency": int(mapping["ScalingConfig"]["MaximumConcurrency"]),
                "functionResponseTypes": mapping["FunctionResponseTypes"],
            }
    return {}


if __name__ == "__main__":
    text = json.dumps(render(Expanded()), indent=2) + "\n"
    if sys.argv[1:] == ["--check"]:
        if not FILE.exists() or FILE.read_text() != text:
            sys.exit(f"{FILE.name} is not what template.yaml says: tests/template/run --render makes it anew")
        print(f"{FILE.name} is what template.yaml says")
    else:
        FILE.write_text(text)
        print(f"wrote {FILE.name}")
