"""The same job in Python: boto3, and Powertools for AWS Lambda's batch, idempotency and logger utilities as documented.

The events of `bench/src/messages.rs` are projected by the same conditional UpdateItem as ours. The idempotency key is
the event's id. It logs a line for each batch and one for each failure, as ours does.
"""

import json
import os
import re

import boto3
from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

TABLE = os.environ["ORDER_HISTORY_TABLE"]
DAYS_28 = 28 * 24 * 60 * 60

# One client, and so one pool of connections, for the view and the records.
dynamodb = boto3.client("dynamodb")
logger = Logger(service="order-history")
processor = BatchProcessor(event_type=EventType.SQS)
records = DynamoDBPersistenceLayer(table_name=os.environ["IDEMPOTENCY_TABLE"], boto3_client=dynamodb)
config = IdempotencyConfig(event_key_jmespath="headers.ID", expires_after_seconds=DAYS_28)


@logger.inject_lambda_context
def handler(event, context):
    config.register_lambda_context(context)
    response = process_partial_response(event=event, record_handler=handle, processor=processor, context=context)
    logger.info("projected", messages=len(event["Records"]), failed=len(response["batchItemFailures"]))
    return response


def handle(record: SQSRecord):
    try:
        project(message=json.loads(record.body))
    except Exception:
        logger.exception("not projected", message_id=record.message_id)
        raise


@idempotent_function(data_keyword_argument="message", config=config, persistence_store=records)
def project(message):
    headers = message["headers"]
    event_type = headers["event-type"].rpartition(".")[2].removesuffix("Event")
    event_id = headers["ID"]
    payload = json.loads(message["payload"])

    sets, conditions, names = [], [], {}
    values = {":eventId": {"S": event_id}}

    def stamp(alias, attribute):
        names[alias] = attribute
        conditions.append(f"(attribute_not_exists({alias}) OR {alias} < :eventId)")
        sets.append(f"{alias} = :eventId")

    stamp("#tracking", headers["event-aggregate-type"].rpartition(".")[2] + headers["event-aggregate-id"])
    for watermark, attributes in EFFECTS[event_type](headers, payload).items():
        stamp(f"#{watermark}", watermark)
        for name, value in attributes.items():
            names[f"#{name}"] = name
            values[f":{name}"] = value
            sets.append(f"#{name} = :{name}")
    names["#timeline"] = "timeline"
    values[":timeline"] = {"SS": [f"{event_id} {event_type}"]}

    dynamodb.update_item(
        TableName=TABLE,
        Key={"orderId": {"S": str(payload.get("orderId") or headers["event-aggregate-id"])}},
        UpdateExpression=f"SET {', '.join(sets)} ADD #timeline :timeline",
        ConditionExpression=" AND ".join(conditions),
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=values,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )


def order_created(headers, payload):
    details = payload["orderDetails"]
    line_items = details["lineItems"]
    text = " ".join([payload["restaurantName"], *(item["name"] for item in line_items)])
    address = payload["deliveryAddress"]
    return {
        "wd": {
            "consumerId": {"S": str(details["consumerId"])},
            "orderCreationTime": {"N": str(int(headers["ID"][:16], 16))},
            "restaurantId": {"N": str(details["restaurantId"])},
            "restaurantName": {"S": payload["restaurantName"]},
            "lineItems": {"L": [{"M": line_item(item)} for item in line_items]},
            "keywords": {"SS": sorted(set(re.findall(r"\w+", text.casefold())))},
        },
        "ws": {"status": {"S": "APPROVAL_PENDING"}},
        "wt": {"orderTotal": {"S": details["orderTotal"]}},
        "wa": {"deliveryAddress": {"M": {name: {"S": value} for name, value in address.items()}}},
    }


def line_item(item):
    return {
        "menuItemId": {"S": item["menuItemId"]},
        "name": {"S": item["name"]},
        "price": {"S": item["price"]},
        "quantity": {"N": str(item["quantity"])},
    }


def order_authorized(headers, payload):
    return {"ws": {"status": {"S": "APPROVED"}}}


def ticket_created(headers, payload):
    return {"wk": {"ticket": {"S": "AWAITING_ACCEPTANCE"}}}


def ticket_accepted(headers, payload):
    return {"wk": {"ticket": {"S": "ACCEPTED"}}, "wr": {"readyBy": {"S": payload["readyBy"] + ".000Z"}}}


def payment_intent_charged(headers, payload):
    payment = {
        "status": {"S": "CHARGED"},
        "paymentIntentId": {"S": headers["event-aggregate-id"]},
        "amount": {"N": str(payload["amount"])},
        "currency": {"S": payload["currency"]},
        "chargeId": {"S": payload["chargeId"]},
    }
    return {"wp": {"payment": {"M": payment}}}


EFFECTS = {
    "OrderCreated": order_created,
    "OrderAuthorized": order_authorized,
    "TicketCreated": ticket_created,
    "TicketAccepted": ticket_accepted,
    "PaymentIntentCharged": payment_intent_charged,
}
