"""Tells schemathesis what the OpenAPI document cannot express.

A startKey belongs to one consumer and filter, a Consistency-Token to one order, and a keyword must contain a word. Generated
values that only match their schemas are correctly rejected, so valid requests have no startKey and no Consistency-Token, and a
plain word as keyword. Invalid requests are sent unchanged. crates/order-history/query-api tests the real values.

An Idempotency-Key is new for each command, and If-Match is the version that was read: a repeated key or a version that does not
exist is correctly rejected. crates/payments/payment-api tests the real values.
"""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if not case.meta or not case.meta.generation.mode.is_positive:
        return
    headers = case.headers or {}
    headers.pop("Consistency-Token", None)
    headers.pop("If-Match", None)
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = f'"{uuid.uuid4()}"'
    (case.query or {}).pop("startKey", None)
    if "keywords" in (case.query or {}):
        case.query["keywords"] = ["vindaloo", "Br\u00fbl\u00e9e"]
