//! A payment intent and its item.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use order_events::{EventId, Timestamp};
use payment_intents::{
    Amount, ChargeId, Decline, IntentFields, PaymentIntent, PaymentIntentId, RequestedCharge, State, StateName,
};

use crate::Error;
use crate::attribute::{
    AMOUNT, CHARGE_ID, CHARGE_KEY, CHARGE_REQUESTED_AT, CONSUMER_ID, CREATED_AT, CURRENCY, ERROR_CODE, ERROR_MESSAGE,
    Item, LAST_EVENT_ID, OPEN_CHARGE_SHARD, ORDER_ID, PK, STATE, UPDATED_AT, VERSION, number, optional, required, text,
};
use crate::store::Shard;

/// An intent that was read from its item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIntent {
    /// The intent in the version that was read.
    pub intent: PaymentIntent,
    /// The last event of the order's intents when this item was written. The next event gets a higher id.
    pub last_event_id: Option<EventId>,
}

const PREFIX: &str = "PaymentIntent#";

/// The partition key of an intent, and the key of its lock.
pub(crate) fn key(id: PaymentIntentId) -> String {
    format!("{PREFIX}{id}")
}

/// The intent that a partition key names.
pub(crate) fn id_in(key: &str) -> Result<PaymentIntentId, Error> {
    let id = key.strip_prefix(PREFIX).and_then(|id| id.parse().ok());
    id.ok_or(Error::Corrupt { attribute: PK })
}

impl StoredIntent {
    /// The write that stores a change, on condition that the intent has not changed since it was read: `self` is the intent after the
    /// change, `before` the one that was read.
    pub(crate) fn write(&self, before: Option<&Self>, table: &str) -> Result<TransactWriteItem, Error> {
        Ok(match before {
            None => TransactWriteItem::builder().put(self.put(table)?).build(),
            Some(before) => TransactWriteItem::builder().update(self.update(before, table)?).build(),
        })
    }

    fn put(&self, table: &str) -> Result<Put, Error> {
        let put = Put::builder().table_name(table).set_item(Some(self.to_item()));
        let put = put.condition_expression("attribute_not_exists(#pk)").expression_attribute_names("#pk", PK);
        Ok(put.build()?)
    }

    /// Writes only the attributes that differ, and keeps attributes that this version does not know.
    fn update(&self, before: &Self, table: &str) -> Result<Update, Error> {
        let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (before.to_item().into_iter().collect(), self.to_item().into_iter().collect());
        let set = new.iter().filter(|(name, value)| old.get(*name) != Some(value));
        let remove = old.keys().filter(|name| !new.contains_key(*name));
        let mut update = Update::builder().table_name(table).key(PK, text(key(self.intent.id())));
        let mut clauses = Vec::new();
        for (name, value) in set {
            clauses.push(format!("#{name} = :{name}"));
            update = update
                .expression_attribute_names(format!("#{name}"), name)
                .expression_attribute_values(format!(":{name}"), value.clone());
        }
        let mut removed = Vec::new();
        for name in remove {
            removed.push(format!("#{name}"));
            update = update.expression_attribute_names(format!("#{name}"), name);
        }
        let remove = if removed.is_empty() { String::new() } else { format!(" REMOVE {}", removed.join(", ")) };
        let expression = format!("SET {}{remove}", clauses.join(", "));
        let update = update
            .update_expression(expression)
            .condition_expression("#version = :was_version AND #state = :was_state")
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_names("#state", STATE)
            .expression_attribute_values(":was_version", number(before.intent.version()))
            .expression_attribute_values(":was_state", text(before.intent.state().name()));
        Ok(update.build()?)
    }

    fn to_item(&self) -> Item {
        let Self { intent, last_event_id } = self;
        let IntentFields { id, order_id, consumer_id, amount, currency, state, version, created_at, updated_at } =
            intent.fields();
        let requested = state.requested();
        let decline = match state {
            State::ChargeFailed { decline, .. } => Some(decline),
            State::Created | State::ChargeRequested(_) | State::Charged { .. } => None,
        };
        let is_open = state.name() == StateName::ChargeRequested;
        let attributes: [(&str, Option<AttributeValue>); 16] = [
            (PK, Some(text(key(*id)))),
            (ORDER_ID, Some(text(order_id))),
            (CONSUMER_ID, Some(text(consumer_id))),
            (AMOUNT, Some(number(amount))),
            (CURRENCY, Some(text(currency))),
            (STATE, Some(text(state.name()))),
            (VERSION, Some(number(version))),
            (CREATED_AT, Some(number(created_at.as_millis()))),
            (UPDATED_AT, Some(number(updated_at.as_millis()))),
            (CHARGE_KEY, requested.map(|requested| text(&requested.charge_key))),
            (CHARGE_REQUESTED_AT, requested.map(|requested| number(requested.at.as_millis()))),
            (CHARGE_ID, state.charge_id().map(text)),
            (ERROR_CODE, decline.map(|decline| text(decline.code()))),
            (ERROR_MESSAGE, decline.and_then(Decline::message).map(text)),
            (LAST_EVENT_ID, last_event_id.map(text)),
            (OPEN_CHARGE_SHARD, is_open.then(|| text(Shard::of(*id)))),
        ];
        attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    pub(crate) fn from_item(item: &Item) -> Result<Self, Error> {
        let id = id_in(&required::<String>(item, PK)?)?;
        let amount = Amount::parse(required(item, AMOUNT)?).map_err(|_| Error::Corrupt { attribute: AMOUNT })?;
        let fields = IntentFields {
            id,
            order_id: required(item, ORDER_ID)?,
            consumer_id: required(item, CONSUMER_ID)?,
            amount,
            currency: required(item, CURRENCY)?,
            state: state(item)?,
            version: required(item, VERSION)?,
            created_at: time(item, CREATED_AT)?,
            updated_at: time(item, UPDATED_AT)?,
        };
        Ok(Self { intent: PaymentIntent::restore(fields), last_event_id: optional(item, LAST_EVENT_ID)? })
    }
}

fn state(item: &Item) -> Result<State, Error> {
    let requested = || {
        Ok::<_, Error>(RequestedCharge {
            charge_key: required(item, CHARGE_KEY)?,
            at: time(item, CHARGE_REQUESTED_AT)?,
        })
    };
    Ok(match required::<StateName>(item, STATE)? {
        StateName::Created => State::Created,
        StateName::ChargeRequested => State::ChargeRequested(requested()?),
        StateName::Charged => {
            State::Charged { requested: requested()?, charge_id: required::<ChargeId>(item, CHARGE_ID)? }
        }
        StateName::ChargeFailed => {
            let message: Option<String> = optional(item, ERROR_MESSAGE)?;
            let code: String = required(item, ERROR_CODE)?;
            let decline = Decline::new(optional(item, CHARGE_ID)?, &code, message.as_deref());
            State::ChargeFailed { requested: requested()?, decline }
        }
    })
}

pub(crate) fn time(item: &Item, name: &'static str) -> Result<Timestamp, Error> {
    Timestamp::from_millis(required(item, name)?).ok_or(Error::Corrupt { attribute: name })
}
