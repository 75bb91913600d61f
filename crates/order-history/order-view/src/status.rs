//! The statuses of orders, tickets, deliveries and payments.

use serde::{Deserialize, Serialize};

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
        #[allow(missing_docs)] // The names are clear.
        pub enum $name {
            $(#[serde(rename = $text)] $variant,)*
            /// A status of a newer version, unchanged.
            #[serde(untagged)]
            Newer(String),
        }

        impl $name {
            /// Every status that this version writes.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The text in the table and in the API.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Newer(text) => text,
                }
            }

            /// The status with this text, if this version knows it.
            #[must_use]
            pub fn known(text: &str) -> Option<Self> {
                Self::ALL.iter().find(|status| status.as_str() == text).cloned()
            }
        }
    )*};
}

statuses! {
    /// The status of an order.
    OrderStatus {
        ApprovalPending = "APPROVAL_PENDING",
        Approved = "APPROVED",
        Rejected = "REJECTED",
        Cancelled = "CANCELLED",
        RevisionPending = "REVISION_PENDING",
    }
    /// The status of the kitchen's work.
    TicketStatus {
        AwaitingAcceptance = "AWAITING_ACCEPTANCE",
        Accepted = "ACCEPTED",
        Preparing = "PREPARING",
        ReadyForPickup = "READY_FOR_PICKUP",
        PickedUp = "PICKED_UP",
        Cancelled = "CANCELLED",
    }
    /// The status of the delivery.
    DeliveryStatus {
        Scheduled = "SCHEDULED",
        PickedUp = "PICKED_UP",
        Delivered = "DELIVERED",
    }
    /// The status of the payment.
    PaymentStatus {
        ChargeRequested = "CHARGE_REQUESTED",
        Charged = "CHARGED",
        ChargeFailed = "CHARGE_FAILED",
    }
}
