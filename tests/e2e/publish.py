"""Publishes messages to the topic of a deployment: a JSON array of {"eventType", "body"} on standard input."""

import json
import os
import sys

import boto3

topic = boto3.resource("sns").Topic(os.environ["E2E_TOPIC_ARN"])
for message in json.load(sys.stdin):
    attribute = {"DataType": "String", "StringValue": message["eventType"]}
    topic.publish(Message=message["body"], MessageAttributes={"event-type": attribute})
