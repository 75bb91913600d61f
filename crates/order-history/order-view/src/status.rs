//! The states an order, its ticket, its delivery and its payment can be in.

use serde::{Deserialize, Serialize};

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
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

            /// The one that this version writes as `text`.
            #[must_use]
            pub fn known(text: &str) -> Option<Self> {
                Self::ALL.iter().find(|status| status.as_str() == text).cloned()
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
