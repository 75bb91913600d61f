//! Value types. Their fields are private and `parse` checks the input, so every value is valid.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::Invalid;

/// The id of a payment intent: a UUID. Its only text form is lower case with hyphens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaymentIntentId(Uuid);

impl PaymentIntentId {
    /// Creates a new id.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Reads an id. Other text forms of a UUID are refused.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let id = Uuid::try_parse(text).map(Self).map_err(|_| Invalid::PaymentIntentId)?;
        // `Uuid` also reads other forms, but an intent must not have two ids.
        if id.to_string() == text { Ok(id) } else { Err(Invalid::PaymentIntentId) }
    }
}

impl fmt::Display for PaymentIntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for PaymentIntentId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// An amount in the currency's minor units (cents), from 1 to [`MAX`](Self::MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(i64);

impl Amount {
    /// The largest amount that payment gateways accept: eight digits
    /// (<https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts>).
    pub const MAX: i64 = 99_999_999;

    /// Checks a number of minor units.
    pub fn parse(minor_units: i64) -> Result<Self, Invalid> {
        if (1..=Self::MAX).contains(&minor_units) { Ok(Self(minor_units)) } else { Err(Invalid::Amount) }
    }

    /// The number of minor units.
    #[must_use]
    pub fn minor_units(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A currency: three upper-case letters (ISO 4217). The gateway decides whether it accepts the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Reads a currency code. Does not check whether the currency exists.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let letters: [u8; 3] = text.as_bytes().try_into().map_err(|_| Invalid::Currency)?;
        if letters.iter().all(u8::is_ascii_uppercase) { Ok(Self(letters)) } else { Err(Invalid::Currency) }
    }

    /// The code: three upper-case letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // `parse` has checked that they are ASCII letters.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Currency {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident, $is_valid:ident, $invalid:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks the text.
            pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
                let text = text.into();
                let characters = text.chars().count();
                let is_valid = (1..=MAX_CHARACTERS).contains(&characters) && text.chars().all($is_valid);
                if is_valid { Ok(Self(text)) } else { Err(Invalid::$invalid) }
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::parse(text)
            }
        }
    )*};
}

/// For charge keys (Stripe's limit, <https://docs.stripe.com/api/idempotent_requests>) and charge ids.
const MAX_CHARACTERS: usize = 255;

texts! {
    /// The `Idempotency-Key` of a charge at the payment gateway: 1 to 255 visible ASCII characters. It never changes, and the gateway
    /// makes at most one charge for each key.
    ChargeKey, is_visible_ascii, ChargeKey;
    /// The payment gateway's id of a charge: 1 to 255 characters without white space or control characters.
    ChargeId, is_visible, ChargeId;
}

impl ChargeKey {
    /// The key of an intent's charge is the intent's id, because an intent is charged once. An intent that was restored from a backup has
    /// the same key, and is not charged twice while the gateway remembers the key.
    #[must_use]
    pub fn of(id: PaymentIntentId) -> Self {
        Self(id.to_string())
    }
}

fn is_visible_ascii(c: char) -> bool {
    c.is_ascii_graphic()
}

fn is_visible(c: char) -> bool {
    !c.is_whitespace() && !c.is_control()
}
