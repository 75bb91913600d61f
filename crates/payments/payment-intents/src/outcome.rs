//! What the payment gateway decided.

use crate::ChargeId;

/// What the payment gateway decided about a charge, for certain. An answer that is lost, or is not definite, is not an
/// outcome: the charge stays requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The money is there.
    Charged {
        /// The gateway's name for the charge.
        charge_id: ChargeId,
    },
    /// The charge was refused; no money has moved.
    Declined(Decline),
}

/// Why a charge was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decline {
    charge_id: Option<ChargeId>,
    code: String,
    message: Option<String>,
}

/// The most characters of a gateway's text that are kept: it becomes part of an item, an event and an answer.
const MAX_CHARACTERS: usize = 500;

impl Decline {
    /// A refusal as the gateway gives it. Texts are cut after 500 characters, control characters become spaces, and an empty code
    /// becomes `declined`.
    pub fn new(charge_id: Option<ChargeId>, code: &str, message: Option<&str>) -> Self {
        let code = if code.is_empty() { "declined" } else { code };
        Self { charge_id, code: cut(code), message: message.filter(|message| !message.is_empty()).map(cut) }
    }

    /// The gateway's name for the charge, if it came to one.
    #[must_use]
    pub fn charge_id(&self) -> Option<&ChargeId> {
        self.charge_id.as_ref()
    }

    /// Why, for programs: never empty, such as `card_declined`.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Why, for people: at most 500 characters, as the gateway wrote it.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

/// Control characters, and two that SQS does not take, become spaces: the texts go to consumers, and into events.
fn cut(text: &str) -> String {
    let is_unfit = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if is_unfit(c) { ' ' } else { c }).take(MAX_CHARACTERS).collect()
}
