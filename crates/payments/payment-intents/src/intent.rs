//! The aggregate: what may happen to a payment intent.

use order_events::payload::{PaymentIntentChargeFailed, PaymentIntentChargeRequested, PaymentIntentCharged};
use order_events::{ConsumerId, OrderId, Payload, Timestamp};

use crate::{Amount, ChargeKey, Currency, Outcome, PaymentIntentId, Requested, State, WrongState};

/// A consumer pays for an order. It never changes itself: a command returns a [`Change`], which a store makes take effect or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentIntent(Stored);

/// All that there is to an intent, for those who store it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The intent's name, also at the gateway; never changes.
    pub id: PaymentIntentId,
    /// The order paid for; never changes.
    pub order_id: OrderId,
    /// Who pays; never changes.
    pub consumer_id: ConsumerId,
    /// How much: what is charged is what is stored here.
    pub amount: Amount,
    /// In which currency; never changes.
    pub currency: Currency,
    /// Where it is in its life.
    pub state: State,
    /// 1 when it is created, and one more with every change.
    pub version: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed; never before `created_at`.
    pub updated_at: Timestamp,
}

/// What a new intent needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIntent {
    /// An id that no other intent has.
    pub id: PaymentIntentId,
    /// The order to pay for.
    pub order_id: OrderId,
    /// The consumer who pays, and whose intent it is.
    pub consumer_id: ConsumerId,
    /// The amount to charge, in the currency's minor units; it may change until the charge is requested.
    pub amount: Amount,
    /// The currency of the amount; it never changes.
    pub currency: Currency,
}

/// What a command does to an intent: takes effect as a whole, with its event, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a change has no effect until it is stored"]
pub struct Change {
    /// The intent that the command was decided on; none if it is new.
    pub before: Option<PaymentIntent>,
    /// The intent afterwards; its version is one above the one before.
    pub after: PaymentIntent,
    /// What to publish. Orders hear of charges only, not of new intents and other amounts.
    pub event: Option<Payload>,
}

impl PaymentIntent {
    /// A new intent, in version 1.
    pub fn create(new: NewIntent, now: Timestamp) -> Change {
        let NewIntent { id, order_id, consumer_id, amount, currency } = new;
        let (state, version) = (State::Created, 1);
        let intent =
            Stored { id, order_id, consumer_id, amount, currency, state, version, created_at: now, updated_at: now };
        Change { before: None, after: Self(intent), event: None }
    }

    /// Changes the amount; allowed only in `CREATED`.
    pub fn change_amount(&self, amount: Amount, now: Timestamp) -> Result<Change, WrongState> {
        match self.0.state {
            State::Created => Ok(self.changed(now, None, |intent| intent.amount = amount)),
            State::ChargeRequested(_) | State::Charged { .. } | State::ChargeFailed { .. } => Err(self.wrong_state()),
        }
    }

    /// Requests the charge of what is stored; allowed only in `CREATED`, so that it is requested once.
    pub fn request_charge(&self, now: Timestamp) -> Result<Change, WrongState> {
        match self.0.state {
            State::Created => {
                let event = Payload::PaymentIntentChargeRequested(PaymentIntentChargeRequested {
                    order_id: self.0.order_id.clone(),
                    amount: self.0.amount.minor_units(),
                    currency: self.0.currency.to_string(),
                });
                let state = State::ChargeRequested(Requested { charge_key: ChargeKey::of(self.0.id), at: now });
                Ok(self.changed(now, Some(event), |intent| intent.state = state))
            }
            State::ChargeRequested(_) | State::Charged { .. } | State::ChargeFailed { .. } => Err(self.wrong_state()),
        }
    }

    /// Notes what the gateway decided; allowed only in `CHARGE_REQUESTED`, so that a second answer never overwrites the first.
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

    fn changed(&self, now: Timestamp, event: Option<Payload>, change: impl FnOnce(&mut Stored)) -> Change {
        let mut after = self.0.clone();
        change(&mut after);
        after.version += 1;
        // Another host's clock may be behind.
        after.updated_at = now.max(after.updated_at);
        Change { before: Some(self.clone()), after: Self(after), event }
    }

    fn wrong_state(&self) -> WrongState {
        WrongState { state: self.0.state.name() }
    }
}

/// For those who store and show an intent.
impl PaymentIntent {
    /// An intent as a store has it.
    #[must_use]
    pub fn restore(stored: Stored) -> Self {
        Self(stored)
    }

    /// All of it, for a store.
    #[must_use]
    pub fn stored(&self) -> &Stored {
        &self.0
    }

    /// The intent's name; it never changes.
    #[must_use]
    pub fn id(&self) -> PaymentIntentId {
        self.0.id
    }

    /// The order paid for.
    #[must_use]
    pub fn order_id(&self) -> &OrderId {
        &self.0.order_id
    }

    /// The consumer who pays, and whose intent it is.
    #[must_use]
    pub fn consumer_id(&self) -> &ConsumerId {
        &self.0.consumer_id
    }

    /// The amount in minor units. It changes only in `CREATED`: from then on it is what is charged.
    #[must_use]
    pub fn amount(&self) -> Amount {
        self.0.amount
    }

    /// The currency of the amount; it never changes.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.0.currency
    }

    /// Where it is in its life.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.0.state
    }

    /// 1 when it is created, and one more with every change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.version
    }
}
