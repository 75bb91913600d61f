//! The aggregate: a payment intent and its commands.

use order_events::payload::{PaymentIntentChargeFailed, PaymentIntentChargeRequested, PaymentIntentCharged};
use order_events::{ConsumerId, OrderId, Payload, Timestamp};

use crate::{Amount, ChargeKey, Currency, Outcome, PaymentIntentId, RequestedCharge, State, WrongState};

/// A consumer pays for an order. The value is immutable: a command returns a [`Change`], which a store then stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentIntent(IntentFields);

/// All fields of an intent, for a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentFields {
    /// The intent's id, also at the gateway. It never changes.
    pub id: PaymentIntentId,
    /// The order that the intent pays for. It never changes.
    pub order_id: OrderId,
    /// The consumer who pays. It never changes.
    pub consumer_id: ConsumerId,
    /// The amount to charge, in minor units. It changes only in `CREATED`.
    pub amount: Amount,
    /// The currency of the amount. It never changes.
    pub currency: Currency,
    /// The state, with the data of that state.
    pub state: State,
    /// 1 for a new intent; each change adds one.
    pub version: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change, never before `created_at`.
    pub updated_at: Timestamp,
}

/// The fields of a new intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIntent {
    /// An id that no other intent has.
    pub id: PaymentIntentId,
    /// The order to pay for.
    pub order_id: OrderId,
    /// The consumer who pays, and who owns the intent.
    pub consumer_id: ConsumerId,
    /// The amount to charge, in the currency's minor units. It may change until the charge is requested.
    pub amount: Amount,
    /// The currency of the amount. It never changes.
    pub currency: Currency,
}

/// The effect of a command. It is stored together with its event, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a change has no effect until it is stored"]
pub struct Change {
    /// The intent before the command; none for a new intent.
    pub before: Option<PaymentIntent>,
    /// The intent after the command. Its version is higher by one.
    pub after: PaymentIntent,
    /// The event to publish. Only charges publish events, not new intents or changed amounts.
    pub event: Option<Payload>,
}

impl PaymentIntent {
    /// Creates an intent in version 1.
    pub fn create(new: NewIntent, now: Timestamp) -> Change {
        let NewIntent { id, order_id, consumer_id, amount, currency } = new;
        let (state, version) = (State::Created, 1);
        let intent = IntentFields {
            id,
            order_id,
            consumer_id,
            amount,
            currency,
            state,
            version,
            created_at: now,
            updated_at: now,
        };
        Change { before: None, after: Self(intent), event: None }
    }

    /// Changes the amount. Allowed only in `CREATED`.
    pub fn change_amount(&self, amount: Amount, now: Timestamp) -> Result<Change, WrongState> {
        match self.0.state {
            State::Created => Ok(self.changed(now, None, |intent| intent.amount = amount)),
            State::ChargeRequested(_) | State::Charged { .. } | State::ChargeFailed { .. } => Err(self.wrong_state()),
        }
    }

    /// Requests the charge of the stored amount. Allowed only in `CREATED`, so that it is requested once.
    pub fn request_charge(&self, now: Timestamp) -> Result<Change, WrongState> {
        match self.0.state {
            State::Created => {
                let event = Payload::PaymentIntentChargeRequested(PaymentIntentChargeRequested {
                    order_id: self.0.order_id.clone(),
                    amount: self.0.amount.minor_units(),
                    currency: self.0.currency.to_string(),
                });
                let state = State::ChargeRequested(RequestedCharge { charge_key: ChargeKey::of(self.0.id), at: now });
                Ok(self.changed(now, Some(event), |intent| intent.state = state))
            }
            State::ChargeRequested(_) | State::Charged { .. } | State::ChargeFailed { .. } => Err(self.wrong_state()),
        }
    }

    /// Stores the gateway's decision. Allowed only in `CHARGE_REQUESTED`, so that a second response never overwrites the first.
    pub fn settle(&self, outcome: Outcome, now: Timestamp) -> Result<Change, WrongState> {
        match &self.0.state {
            State::ChargeRequested(requested) => {
                let (requested, event) = (requested.clone(), self.settled_event(&outcome));
                let state = match outcome {
                    Outcome::Charged { charge_id } => State::Charged { requested, charge_id },
                    Outcome::Declined(decline) => State::ChargeFailed { requested, decline },
                };
                Ok(self.changed(now, Some(event), |intent| intent.state = state))
            }
            State::Created | State::Charged { .. } | State::ChargeFailed { .. } => Err(self.wrong_state()),
        }
    }

    fn settled_event(&self, outcome: &Outcome) -> Payload {
        let (order_id, amount) = (self.0.order_id.clone(), self.0.amount.minor_units());
        let currency = self.0.currency.to_string();
        match outcome {
            Outcome::Charged { charge_id } => {
                let charge_id = charge_id.to_string();
                Payload::PaymentIntentCharged(PaymentIntentCharged { order_id, amount, currency, charge_id })
            }
            Outcome::Declined(decline) => Payload::PaymentIntentChargeFailed(PaymentIntentChargeFailed {
                order_id,
                amount,
                currency,
                charge_id: decline.charge_id().map(ToString::to_string),
                error_code: decline.code().to_owned(),
                error_message: decline.message().map(str::to_owned),
            }),
        }
    }

    fn changed(&self, now: Timestamp, event: Option<Payload>, change: impl FnOnce(&mut IntentFields)) -> Change {
        let mut after = self.0.clone();
        change(&mut after);
        after.version += 1;
        // This host's clock may be behind the one that wrote `updated_at`.
        after.updated_at = now.max(after.updated_at);
        Change { before: Some(self.clone()), after: Self(after), event }
    }

    fn wrong_state(&self) -> WrongState {
        WrongState { state: self.0.state.name() }
    }
}

/// For a store and for the API.
impl PaymentIntent {
    /// An intent that was read from a store.
    #[must_use]
    pub fn restore(fields: IntentFields) -> Self {
        Self(fields)
    }

    /// All fields, for a store.
    #[must_use]
    pub fn fields(&self) -> &IntentFields {
        &self.0
    }

    /// The intent's id. It never changes.
    #[must_use]
    pub fn id(&self) -> PaymentIntentId {
        self.0.id
    }

    /// The order that the intent pays for.
    #[must_use]
    pub fn order_id(&self) -> &OrderId {
        &self.0.order_id
    }

    /// The consumer who pays, and who owns the intent.
    #[must_use]
    pub fn consumer_id(&self) -> &ConsumerId {
        &self.0.consumer_id
    }

    /// The amount in minor units. It changes only in `CREATED`.
    #[must_use]
    pub fn amount(&self) -> Amount {
        self.0.amount
    }

    /// The currency of the amount. It never changes.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.0.currency
    }

    /// The state, with the data of that state.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.0.state
    }

    /// 1 for a new intent; each change adds one.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.version
    }
}
