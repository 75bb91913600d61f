//! Values that are valid because they exist: private fields, and one `parse`.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::Invalid;

/// Names a payment intent: a UUID, as text in lower case with hyphens, and in no other form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaymentIntentId(Uuid);

impl PaymentIntentId {
    /// A new id that nobody else has.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Reads an id in the one form that it has.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let id = Uuid::try_parse(text).map(Self).map_err(|_| Invalid::PaymentIntentId)?;
        // `Uuid` also reads other forms; one intent must not have two names.
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

/// How much, in the currency's minor units (cents): from 1 to [`MAX`](Self::MAX).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(i64);

impl Amount {
    /// The largest amount: eight digits, which is what payment gateways take
    /// (<https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts>).
    pub const MAX: i64 = 99_999_999;

    /// Takes a number of minor units.
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

/// A currency: three upper-case letters (ISO 4217). Whether a gateway takes it, the gateway knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Reads a currency code; whether there is such a currency is not checked.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let letters: [u8; 3] = text.as_bytes().try_into().map_err(|_| Invalid::Currency)?;
        if letters.iter().all(u8::is_ascii_uppercase) { Ok(Self(letters)) } else { Err(Invalid::Currency) }
    }

    /// The code: three upper-case letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // They are ASCII letters: `parse` has checked.
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
            /// Checks and takes the text.
            pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
                let text = text.into();
                let characters = text.chars().count();
                let is_valid = (1..=MAX_CHARACTERS).contains(&characters) && text.chars().all($is_valid);
                if is_valid { Ok(Self(text)) } else { Err(Invalid::$invalid) }
            }

            /// As it is stored and sent.
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

/// Of a charge's key (Stripe's limit, <https://docs.stripe.com/api/idempotent_requests>) and of a charge's id.
const MAX_CHARACTERS: usize = 255;

texts! {
    /// The `Idempotency-Key` of a charge at the payment gateway: 1 to 255 visible ASCII characters. An intent gets one when its
    /// charge is requested, and keeps it: the gateway charges once for each key.
    ChargeKey, is_visible_ascii, ChargeKey;
    /// The payment gateway's name for a charge: 1 to 255 characters without white space or control characters.
    ChargeId, is_solid, ChargeId;
}

impl ChargeKey {
    /// The key of an intent's charge: its id, for an intent is charged once. An intent that was lost and restored has the same
    /// key again, and is not charged a second time for as long as the gateway remembers the key.
    #[must_use]
    pub fn of(id: PaymentIntentId) -> Self {
        Self(id.to_string())
    }
}

fn is_visible_ascii(c: char) -> bool {
    c.is_ascii_graphic()
}

fn is_solid(c: char) -> bool {
    !c.is_whitespace() && !c.is_control()
}
