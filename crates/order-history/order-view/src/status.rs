//! The states an order, its ticket, its delivery and its payment can be in.

use std::str::FromStr;

use order_events::Invalid;
use serde::{Deserialize, Serialize};

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        ///
        /// It parses only from a text of [`ALL`](Self::ALL); it is read back from a view whatever it is.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
        #[allow(missing_docs)] // They are what they say.
        pub enum $name {
            $(#[serde(rename = $text)] $variant,)*
            /// One that a newer version wrote, passed on as it is.
            #[serde(untagged)]
            Newer(String),
        }

        impl $name {
            /// Every one that this version writes.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As stored and shown.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Newer(text) => text,
                }
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::ALL.iter().find(|status| status.as_str() == text).cloned().ok_or(Invalid::Status)
            }
        }
    )*};
}

statuses! {
    /// Where an order stands.
    OrderStatus {
        ApprovalPending = "APPROVAL_PENDING",
        Approved = "APPROVED",
        Rejected = "REJECTED",
        Cancelled = "CANCELLED",
        RevisionPending = "REVISION_PENDING",
    }
    /// Where the kitchen stands.
    TicketStatus {
        AwaitingAcceptance = "AWAITING_ACCEPTANCE",
        Accepted = "ACCEPTED",
        Preparing = "PREPARING",
        ReadyForPickup = "READY_FOR_PICKUP",
        PickedUp = "PICKED_UP",
        Cancelled = "CANCELLED",
    }
    /// Where the delivery stands.
    DeliveryStatus {
        Scheduled = "SCHEDULED",
        PickedUp = "PICKED_UP",
        Delivered = "DELIVERED",
    }
    /// Where the payment stands.
    PaymentStatus {
        ChargeRequested = "CHARGE_REQUESTED",
        Charged = "CHARGED",
        ChargeFailed = "CHARGE_FAILED",
    }
}
