//! The payment gateway's decision.

use crate::ChargeId;

/// The payment gateway's definite decision about a charge. A lost response, or one that is not definite, is not an outcome: the charge
/// stays requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The charge was made.
    Charged {
        /// The gateway's id of the charge.
        charge_id: ChargeId,
    },
    /// The charge was declined. No money has moved.
    Declined(Decline),
}

/// Why a charge was declined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decline {
    charge_id: Option<ChargeId>,
    code: String,
    message: Option<String>,
}

/// Longer texts of the gateway are cut, because they are stored in items, events and responses.
const MAX_CHARACTERS: usize = 500;

impl Decline {
    /// A decline with the gateway's texts. They are cut after 500 characters, control characters become spaces, and an empty code
    /// becomes `declined`.
    pub fn new(charge_id: Option<ChargeId>, code: &str, message: Option<&str>) -> Self {
        let code = if code.is_empty() { "declined" } else { code };
        Self { charge_id, code: cut(code), message: message.filter(|message| !message.is_empty()).map(cut) }
    }

    /// The gateway's id of the charge, if it has one.
    #[must_use]
    pub fn charge_id(&self) -> Option<&ChargeId> {
        self.charge_id.as_ref()
    }

    /// The reason for programs, such as `card_declined`. Never empty.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The reason for people, by the gateway: at most 500 characters.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

/// Cuts a text. Replaces control characters, and two characters that SQS does not accept, with spaces, because the text
/// is sent to consumers and in events.
fn cut(text: &str) -> String {
    let is_replaced = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if is_replaced(c) { ' ' } else { c }).take(MAX_CHARACTERS).collect()
}
