"""Renders what the code must agree on with template.yaml to crates/dev/local/template.json, which Rust reads without Python.

`rendered.py` writes the file; `rendered.py --check` fails if it is not what the template says.
"""

import json
import sys

from template import ROOT, Expanded

FILE = ROOT / "crates/dev/local/template.json"


def render(stack):
    queues = stack.of_type("AWS::SQS::Queue")
    functions = stack.of_type("AWS::Lambda::Function")
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping")
    names = {f"<{name}.Arn>": queue["QueueName"] for name, queue in queues.items()}
    tables = {name: table["TableName"] for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    sources = {mapping["FunctionName"]: mapping for mapping in mappings.values()}
    by_name = {queue["QueueName"]: queue_settings(queue, names) for queue in queues.values()}
    of_types, others = {}, []
    for logical_id, function in functions.items():
        settings = function_settings(function, tables)
        mapping = sources.get(f"<{logical_id}Aliaslive>")
        if mapping is None:
            others.append(settings)
            continue
        queue = by_name.pop(names[mapping["EventSourceArn"]])
        dead_letter_queue = by_name.pop(queue["deadLetterQueue"])
        of_types[function["Handler"]] = {
            "queue": queue,
            "deadLetterQueue": dead_letter_queue,
            "handler": settings,
            "batchSize": mapping["BatchSize"],
        }
    (query_api,) = others
    if by_name:
        sys.exit(f"nobody takes from {', '.join(by_name)}")
    return {
        "tables": [table_request(table) for table in stack.of_type("AWS::DynamoDB::Table").values()],
        "projection": alike(of_types),
        "http": {
            "queryApi": query_api,
            "routes": [
                {"key": route["RouteKey"], "authorization": route["AuthorizationType"]}
                for route in stack.of_type("AWS::ApiGatewayV2::Route").values()
            ],
        },
    }


def alike(of_types):
    """What every event type has, with ${EventType} for its name; they must differ in nothing else."""
    texts = {json.dumps(of_type).replace(name, "${EventType}") for name, of_type in of_types.items()}
    if len(texts) != 1:
        sys.exit("the event types differ in more than their names")
    return json.loads(texts.pop())


def queue_settings(queue, names):
    settings = {
        "name": queue["QueueName"],
        "visibilityTimeout": queue.get("VisibilityTimeout", 30),
        "messageRetentionPeriod": queue["MessageRetentionPeriod"],
    }
    policy = queue.get("RedrivePolicy")
    if policy is not None:
        settings["deadLetterQueue"] = names[policy["deadLetterTargetArn"]]
        settings["maxReceiveCount"] = policy["maxReceiveCount"]
    return settings


def function_settings(function, tables):
    return {
        "name": function["FunctionName"],
        "handler": function["Handler"],
        "code": function["Code"]["S3Key"].rstrip("/"),
        "timeout": function["Timeout"],
        "memorySize": int(function["MemorySize"]),
        "environment": {
            variable: tables.get(str(value).strip("<>"), value)
            for variable, value in function["Environment"]["Variables"].items()
        },
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


if __name__ == "__main__":
    text = json.dumps(render(Expanded()), indent=2) + "\n"
    if sys.argv[1:] == ["--check"]:
        if not FILE.exists() or FILE.read_text() != text:
            sys.exit(f"{FILE.name} is not what template.yaml says: make generated makes it anew")
        print(f"{FILE.name} is what template.yaml says")
    else:
        FILE.write_text(text)
        print(f"wrote {FILE.name}")
