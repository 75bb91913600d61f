//! The states an order, its ticket, its delivery and its payment can be in.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As stored and shown.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::ALL.iter().copied().find(|status| status.as_str() == text).ok_or(Invalid::Status)
            }
        }
    )*};
}

statuses! {
    /// Where an order stands.
    OrderStatus {
        /// Created, not yet authorized.
        ApprovalPending = "APPROVAL_PENDING",
        /// Authorized, or revised with success.
        Approved = "APPROVED",
        /// Not authorized.
        Rejected = "REJECTED",
        /// Cancelled by the consumer.
        Cancelled = "CANCELLED",
        /// A revision is being checked.
        RevisionPending = "REVISION_PENDING",
    }
    /// Where the kitchen stands.
    TicketStatus {
        /// The restaurant has not said yes yet.
        AwaitingAcceptance = "AWAITING_ACCEPTANCE",
        /// The restaurant will cook it.
        Accepted = "ACCEPTED",
        /// It is being cooked.
        Preparing = "PREPARING",
        /// It waits for the courier.
        ReadyForPickup = "READY_FOR_PICKUP",
        /// The courier has it.
        PickedUp = "PICKED_UP",
        /// The kitchen will not cook it.
        Cancelled = "CANCELLED",
    }
    /// Where the delivery stands.
    DeliveryStatus {
        /// A courier is assigned.
        Scheduled = "SCHEDULED",
        /// The courier is on the way to the consumer.
        PickedUp = "PICKED_UP",
        /// The consumer has it.
        Delivered = "DELIVERED",
    }
    /// Where the payment stands.
    PaymentStatus {
        /// The charge is asked for.
        ChargeRequested = "CHARGE_REQUESTED",
        /// The money is there.
        Charged = "CHARGED",
        /// The charge was refused.
        ChargeFailed = "CHARGE_FAILED",
    }
}
