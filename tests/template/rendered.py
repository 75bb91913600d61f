"""Renders the parts of template.yaml and payments.yaml that the code uses to crates/dev/local/template.json and payments.json, which
Rust reads without Python.

`rendered.py` writes the files; `rendered.py --check` fails if a file does not agree with its template.
"""

import json
import re
import sys

from template import ORDER_HISTORY, PAYMENTS, ROOT

FOLDER = ROOT / "crates/dev/local"


def order_history(stack):
    """The settings in template.yaml. All event types have the same, with ${EventType} for the name."""
    names = queue_names(stack)
    queues = {queue["QueueName"]: queue_settings(queue, names) for queue in stack.of_type("AWS::SQS::Queue").values()}
    subscriptions = {each["queue"]: each for each in map(subscription(names), stack.of_type("AWS::SNS::Subscription").values())}
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    sources = {alias_of(mapping["FunctionName"]): mapping for mapping in mappings}
    machines = stack.of_type("AWS::StepFunctions::StateMachine").values()
    started = {name for machine in machines for name in re.findall(r"<(\w+?)Version\w+>", json.dumps(machine))}
    of_types, archive, others = {}, {}, []
    for logical_id, function in stack.of_type("AWS::Lambda::Function").items():
        settings = function_settings(function, stack)
        mapping = sources.get(logical_id)
        if mapping is None:
            # Step Functions starts these; the local system does not.
            others += [settings] if logical_id not in started else []
            continue
        queue = queues.pop(names[mapping["EventSourceArn"]])
        of_queue = {
            "queue": queue,
            "deadLetterQueue": queues.pop(queue["deadLetterQueue"]),
            "subscription": subscriptions[queue["name"]],
        }
        batch = {"batchSize": mapping["BatchSize"]}
        if logical_id == "Archiver":
            window = {"batchingWindow": int(mapping["MaximumBatchingWindowInSeconds"])}
            archive = of_queue | {"archiver": settings} | batch | window
        else:
            of_types[function["Handler"]] = of_queue | {"handler": settings} | batch
    (query_api,) = others
    if queues:
        sys.exit(f"no function reads from {', '.join(queues)}")
    return {
        "tables": table_requests(stack),
        "projection": alike(of_types),
        "archive": archive,
        "http": {"queryApi": query_api, "routes": routes(stack)},
    }


def payments(stack):
    """The settings in payments.yaml. The function names are in camel case: payment-api is paymentApi."""
    names = queue_names(stack)
    keys = {logical_id: logical_id[0].lower() + logical_id[1:] for logical_id in stack.of_type("AWS::Lambda::Function")}
    mappings = list(stack.of_type("AWS::Lambda::EventSourceMapping").values())
    streams = {f"<{name}.StreamArn>": table["TableName"] for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    return {
        "tables": table_requests(stack),
        "functions": {
            keys[name]: function_settings(function, stack) for name, function in stack.of_type("AWS::Lambda::Function").items()
        },
        "queues": [queue_settings(queue, names) for queue in stack.of_type("AWS::SQS::Queue").values()],
        "subscriptions": list(map(subscription(names), stack.of_type("AWS::SNS::Subscription").values())),
        "queueMappings": [
            {
                "function": keys[alias_of(mapping["FunctionName"])],
                "queue": names[mapping["EventSourceArn"]],
                "batchSize": mapping["BatchSize"],
            }
            for mapping in mappings
            if mapping["EventSourceArn"] in names
        ],
        "streamMappings": [
            {
                "function": keys[alias_of(mapping["FunctionName"])],
                "table": streams[mapping["EventSourceArn"]],
                "startingPosition": mapping["StartingPosition"],
                "batchSize": mapping["BatchSize"],
                "filters": [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]],
                "reportBatchItemFailures": "ReportBatchItemFailures" in mapping["FunctionResponseTypes"],
                "bisectBatchOnFunctionError": mapping["BisectBatchOnFunctionError"],
                "maximumRetryAttempts": mapping["MaximumRetryAttempts"],
                "maximumRecordAgeInSeconds": mapping["MaximumRecordAgeInSeconds"],
                "onFailureQueue": names[mapping["DestinationConfig"]["OnFailure"]["Destination"]],
            }
            for mapping in mappings
            if mapping["EventSourceArn"] in streams
        ],
        "schedules": [
            {"function": keys[alias_of(target["Arn"])], "expression": rule["ScheduleExpression"]}
            for rule in stack.of_type("AWS::Events::Rule").values()
            for target in rule["Targets"]
        ],
        "routes": routes(stack),
    }


def alike(of_types):
    """The settings of every event type, with ${EventType} for the name. Everything else must be equal."""
    texts = {json.dumps(of_type).replace(name, "${EventType}") for name, of_type in of_types.items()}
    if len(texts) != 1:
        sys.exit("the event types differ in more than their names")
    return json.loads(texts.pop())


def queue_names(stack):
    """The names of the queues, by their ARNs."""
    return {f"<{name}.Arn>": queue["QueueName"] for name, queue in stack.of_type("AWS::SQS::Queue").items()}


def alias_of(reference):
    """The logical id of the function whose alias this refers to."""
    return reference.strip("<>").removesuffix("Aliaslive")


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


def subscription(names):
    """Returns a function that converts a subscription into its settings."""
    return lambda properties: {
        "queue": names[properties["Endpoint"]],
        "filterPolicy": properties.get("FilterPolicy"),
        "rawMessageDelivery": properties["RawMessageDelivery"],
        "deadLetterQueue": names[properties["RedrivePolicy"]["deadLetterTargetArn"]],
    }


def function_settings(function, stack):
    names = {name: table["TableName"] for name, table in stack.of_type("AWS::DynamoDB::Table").items()}
    names |= {name: bucket["BucketName"] for name, bucket in stack.of_type("AWS::S3::Bucket").items()}
    return {
        "name": function["FunctionName"],
        "handler": function["Handler"],
        "code": function["Code"]["S3Key"].rstrip("/"),
        "timeout": function["Timeout"],
        "memorySize": int(function["MemorySize"]),
        "environment": {
            variable: names.get(str(value).strip("<>"), value)
            for variable, value in function["Environment"]["Variables"].items()
        },
    }


def table_requests(stack):
    """The requests CreateTable and UpdateTimeToLive, without backups and encryption, which exist only on AWS."""
    members = [
        "TableName",
        "BillingMode",
        "AttributeDefinitions",
        "KeySchema",
        "GlobalSecondaryIndexes",
        "StreamSpecification",
        "TimeToLiveSpecification",
    ]
    tables = stack.of_type("AWS::DynamoDB::Table").values()
    return [{member: table[member] for member in members if member in table} for table in tables]


def routes(stack):
    return [
        {"key": route["RouteKey"], "authorization": route["AuthorizationType"]}
        for route in stack.of_type("AWS::ApiGatewayV2::Route").values()
    ]


def main(is_check):
    for template, render, name in [(ORDER_HISTORY, order_history, "template.json"), (PAYMENTS, payments, "payments.json")]:
        file = FOLDER / name
        text = json.dumps(render(template.with_parameters()), indent=2) + "\n"
        if not is_check:
            file.write_text(text)
            print(f"wrote {name}")
        elif file.exists() and file.read_text() == text:
            print(f"{name} agrees with {template.file.name}")
        else:
            sys.exit(f"{name} does not agree with {template.file.name}: run make generated")


if __name__ == "__main__":
    main(sys.argv[1:] == ["--check"])
