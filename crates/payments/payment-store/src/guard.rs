//! An order's guard: at most one open intent, at most one payment, and event ids that rise from one intent to the next.

use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use order_events::{EventId, OrderId};
use payment_intents::PaymentIntentId;

use crate::Error;
use crate::attribute::{Item, LAST_EVENT_ID, OPEN_INTENT, PAID_BY, PK, optional, text};

/// The guard of an order. An order without a guard never had an intent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    /// The order's open intent: in `CREATED` or `CHARGE_REQUESTED`.
    pub open_intent: Option<PaymentIntentId>,
    /// The intent that paid for the order.
    pub paid_by: Option<PaymentIntentId>,
    /// The last event of the order's intents.
    pub last_event_id: Option<EventId>,
}

pub(crate) fn key(order_id: &OrderId) -> String {
    format!("Order#{order_id}")
}

impl Guard {
    pub(crate) fn from_item(item: &Item) -> Result<Self, Error> {
        Ok(Self {
            open_intent: optional(item, OPEN_INTENT)?,
            paid_by: optional(item, PAID_BY)?,
            last_event_id: optional(item, LAST_EVENT_ID)?,
        })
    }

    /// The write that opens an intent, on condition that the guard has not changed since it was read: it has no open intent and no
    /// payment, and the same last event.
    pub(crate) fn open(
        &self,
        order_id: &OrderId,
        intent: PaymentIntentId,
        table: &str,
    ) -> Result<TransactWriteItem, Error> {
        let update = Update::builder()
            .table_name(table)
            .key(PK, text(key(order_id)))
            .update_expression("SET #openIntent = :intent")
            .expression_attribute_names("#openIntent", OPEN_INTENT)
            .expression_attribute_names("#paidBy", PAID_BY)
            .expression_attribute_names("#lastEventId", LAST_EVENT_ID)
            .expression_attribute_values(":intent", text(intent));
        let (last, update) = match self.last_event_id {
            None => ("attribute_not_exists(#lastEventId)", update),
            Some(last) => ("#lastEventId = :last", update.expression_attribute_values(":last", text(last))),
        };
        let free = "attribute_not_exists(#openIntent) AND attribute_not_exists(#paidBy)";
        let update = update.condition_expression(format!("{free} AND {last}"));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }

    /// The write that closes the order's open intent. It needs no condition: the write of the intent in the same transaction has one.
    pub(crate) fn close(
        order_id: &OrderId,
        paid_by: Option<PaymentIntentId>,
        event_id: EventId,
        table: &str,
    ) -> Result<TransactWriteItem, Error> {
        let update = Update::builder()
            .table_name(table)
            .key(PK, text(key(order_id)))
            .expression_attribute_names("#openIntent", OPEN_INTENT)
            .expression_attribute_names("#lastEventId", LAST_EVENT_ID)
            .expression_attribute_values(":last", text(event_id));
        let update = match paid_by {
            None => update.update_expression("SET #lastEventId = :last REMOVE #openIntent"),
            Some(intent) => update
                .update_expression("SET #lastEventId = :last, #paidBy = :intent REMOVE #openIntent")
                .expression_attribute_names("#paidBy", PAID_BY)
                .expression_attribute_values(":intent", text(intent)),
        };
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }
}
