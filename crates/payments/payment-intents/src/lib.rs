#![doc = include_str!("../README.md")]

mod intent;
mod invalid;
mod outcome;
mod state;
mod value;

pub use intent::{Change, IntentFields, NewIntent, PaymentIntent};
pub use invalid::{Invalid, WrongState};
pub use outcome::{Decline, Outcome};
pub use state::{RequestedCharge, State, StateName};
pub use value::{Amount, ChargeId, ChargeKey, Currency, PaymentIntentId};
