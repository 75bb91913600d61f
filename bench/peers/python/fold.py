"""Folds files of the archive into views, as `bench/fold-loop` does: the same facets, watermarks, marks and sets, in dictionaries.

A line on standard input is a task, `{"file": …}`; when it is done, a line on standard output says so. A file is read from the disk
with the first task that names it.
"""

import gzip
import json
import re
import sys
from email.utils import parsedate_to_datetime
from pathlib import Path

EVENT_ID = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")
WORD = re.compile(r"\w+")
DAY = 24 * 60 * 60 * 1000


def created(event_id, millis, own_id, payload):
    details = payload["orderDetails"]
    names = [item["name"] for item in details["lineItems"]] + [payload["restaurantName"]]
    return [
        (
            "wd",
            {
                "consumerId": str(details["consumerId"]),
                "orderCreationTime": millis,
                "restaurantId": details["restaurantId"],
                "restaurantName": payload["restaurantName"],
                "lineItems": [
                    {key: item[key] for key in ("menuItemId", "name", "price", "quantity")} for item in details["lineItems"]
                ],
                "keywords": sorted({word.casefold() for name in names for word in WORD.findall(name)}),
            },
        ),
        ("ws", {"status": "APPROVAL_PENDING"}),
        ("wt", {"orderTotal": details["orderTotal"]}),
        ("wa", {"deliveryAddress": payload.get("deliveryAddress")}),
    ]


def scheduled(event_id, millis, own_id, payload):
    schedule = {key: payload[key] for key in ("courierId", "estimatedPickupTime", "estimatedDeliveryTime")}
    return [("wv", {"delivery": "SCHEDULED"}), ("wc", {"schedule": schedule})]


def located(event_id, millis, own_id, payload):
    location = {"latitude": payload["latitude"], "longitude": payload["longitude"], "at": millis}
    return [("wl", {"location": location})]


def paid(status):
    def payment(event_id, millis, own_id, payload):
        details = {key: payload[key] for key in ("amount", "currency", "chargeId") if key in payload}
        return [("wp", {"payment": {"status": status, "paymentIntentId": own_id, **details}})]

    return payment


def writes(watermark, attribute, value):
    return lambda event_id, millis, own_id, payload: [(watermark, {attribute: value})]


EFFECTS = {
    "OrderCreated": created,
    "OrderAuthorized": writes("ws", "status", "APPROVED"),
    "TicketCreated": writes("wk", "ticket", "AWAITING_ACCEPTANCE"),
    "TicketAccepted": lambda event_id, millis, own_id, payload: [
        ("wk", {"ticket": "ACCEPTED"}),
        ("wr", {"readyBy": payload["readyBy"]}),
    ],
    "DeliveryScheduled": scheduled,
    "DeliveryPickedUp": writes("wv", "delivery", "PICKED_UP"),
    "DeliveryLocationUpdated": located,
    "DeliveryDelivered": writes("wv", "delivery", "DELIVERED"),
    "PaymentIntentChargeRequested": paid("CHARGE_REQUESTED"),
    "PaymentIntentCharged": paid("CHARGED"),
}


def fold(views, line):
    message = json.loads(line)
    headers, payload = message["headers"], json.loads(message["payload"])
    event_id, own_id = headers["ID"], headers["event-aggregate-id"]
    if not EVENT_ID.fullmatch(event_id):
        raise ValueError("ID")
    millis = int(event_id[:16], 16)
    if abs(parsedate_to_datetime(headers["DATE"]).timestamp() * 1000 - millis) > DAY:
        raise ValueError("DATE")
    event_type = headers["event-type"].rsplit(".", 1)[-1].removesuffix("Event")
    aggregate = headers["event-aggregate-type"].rsplit(".", 1)[-1]
    order_id = str(payload["orderId"]) if "orderId" in payload else own_id
    view = views.get(order_id)
    if view is None:
        view = views[order_id] = {"facets": {}, "marks": {}, "timeline": set()}
    mark = aggregate + own_id
    if view["marks"].get(mark, "") < event_id:
        view["marks"][mark] = event_id
    if event_type != "DeliveryLocationUpdated":
        view["timeline"].add(f"{event_id} {event_type}")
    for watermark, attributes in EFFECTS[event_type](event_id, millis, own_id, payload):
        written = view["facets"].get(watermark)
        if written is None or written[0] < event_id:
            view["facets"][watermark] = (event_id, attributes)


def main():
    files = {}
    for task in sys.stdin:
        name = json.loads(task)["file"]
        if name not in files:
            files[name] = Path(name).read_bytes()
        views = {}
        for line in gzip.decompress(files[name]).splitlines():
            fold(views, line)
        print("done", flush=True)


if __name__ == "__main__":
    main()
