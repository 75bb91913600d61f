//! The next events of an order, in each of the services. Payments are made on the page.

use order_events::payload::{
    DeliveryLocationUpdated, DeliveryScheduled, Nothing, OrderReference, OrderRevised, OrderRevision, RevisedLineItem,
    TicketAccepted,
};
use order_events::{EventType, Invalid, Money, Payload, Timestamp};
use order_view::{DeliveryStatus, OrderStatus, OrderView, TicketStatus};
use serde::Serialize;

use crate::console::problem::Problem;

use EventType::{
    DeliveryDelivered, DeliveryLocationUpdated as Moved, DeliveryPickedUp, DeliveryScheduled as Scheduled,
    OrderAuthorized, OrderCancelled, OrderRejected, OrderRevised as Revised, OrderRevisionProposed,
    TicketAccepted as Accepted, TicketCancelled, TicketCreated, TicketPickedUp, TicketPreparationCompleted,
    TicketPreparationStarted,
};

/// An event that can happen next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::console) struct NextEvent {
    pub(in crate::console) event_type: EventType,
    text: &'static str,
}

/// The order's status in each service.
#[derive(Debug)]
pub(super) struct OrderStatuses<'a> {
    order: Option<&'a OrderStatus>,
    ticket: Option<&'a TicketStatus>,
    delivery: Option<&'a DeliveryStatus>,
}

impl<'a> OrderStatuses<'a> {
    pub(super) fn of(view: &'a OrderView) -> Self {
        Self { order: view.state.as_ref(), ticket: view.ticket.as_ref(), delivery: view.delivery.as_ref() }
    }

    /// The next events: first of the order, then of the kitchen, then of the delivery.
    pub(super) fn next(&self) -> Vec<NextEvent> {
        let events = self.of_order().iter().chain(self.of_ticket()).chain(self.of_delivery());
        events.map(|&(event_type, text)| NextEvent { event_type, text }).collect()
    }

    fn of_order(&self) -> &'static [(EventType, &'static str)] {
        match self.order {
            Some(OrderStatus::ApprovalPending) => {
                &[(OrderAuthorized, "The order is approved"), (OrderRejected, "The order is rejected")]
            }
            // An order cannot be cancelled after the meal has left the kitchen.
            Some(OrderStatus::Approved) if self.has_left_the_kitchen() => &[],
            Some(OrderStatus::Approved) => &[
                (OrderRevisionProposed, "The consumer asks for one more of the first dish"),
                (OrderCancelled, "The consumer cancels the order"),
            ],
            Some(OrderStatus::RevisionPending) => &[(Revised, "The restaurant agrees to one more of the first dish")],
            Some(OrderStatus::Rejected | OrderStatus::Cancelled | OrderStatus::Newer(_)) | None => &[],
        }
    }

    fn of_ticket(&self) -> &'static [(EventType, &'static str)] {
        const CANCELLED: (EventType, &str) = (TicketCancelled, "The kitchen cancels its ticket");
        if self.is_over() {
            return match self.ticket {
                Some(TicketStatus::AwaitingAcceptance | TicketStatus::Accepted | TicketStatus::Preparing) => {
                    &[CANCELLED]
                }
                _ => &[],
            };
        }
        match self.ticket {
            None => &[(TicketCreated, "The kitchen gets a ticket")],
            Some(TicketStatus::AwaitingAcceptance) => &[(Accepted, "The kitchen accepts the order"), CANCELLED],
            Some(TicketStatus::Accepted) => &[(TicketPreparationStarted, "The kitchen starts cooking")],
            Some(TicketStatus::Preparing) => &[(TicketPreparationCompleted, "The meal is ready")],
            Some(TicketStatus::ReadyForPickup) => &[(TicketPickedUp, "The kitchen hands the meal to the courier")],
            Some(TicketStatus::PickedUp | TicketStatus::Cancelled | TicketStatus::Newer(_)) => &[],
        }
    }

    fn of_delivery(&self) -> &'static [(EventType, &'static str)] {
        const MOVED: (EventType, &str) = (Moved, "The courier moves");
        match self.delivery {
            _ if self.is_over() => &[],
            None if self.is_accepted() => &[(Scheduled, "A courier is assigned")],
            Some(DeliveryStatus::Scheduled) if self.has_left_the_kitchen() => {
                &[(DeliveryPickedUp, "The courier has the meal"), MOVED]
            }
            Some(DeliveryStatus::Scheduled) => &[MOVED],
            Some(DeliveryStatus::PickedUp) => &[MOVED, (DeliveryDelivered, "The courier delivers the meal")],
            None | Some(DeliveryStatus::Delivered | DeliveryStatus::Newer(_)) => &[],
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.order, Some(OrderStatus::Rejected | OrderStatus::Cancelled))
    }

    fn is_accepted(&self) -> bool {
        use TicketStatus::{Accepted, PickedUp, Preparing, ReadyForPickup};
        matches!(self.ticket, Some(Accepted | Preparing | ReadyForPickup | PickedUp))
    }

    fn has_left_the_kitchen(&self) -> bool {
        matches!(self.ticket, Some(TicketStatus::PickedUp))
    }
}

/// The payload of an event that happens to an order now.
pub(super) fn payload(order: &OrderView, event_type: EventType, now: Timestamp) -> Result<Payload, Problem> {
    let order_id = || order.order_id.clone();
    let minutes = |minutes: i64| Timestamp::from_millis(now.as_millis() + minutes * 60_000).ok_or(Invalid::Timestamp);
    Ok(match event_type {
        OrderAuthorized => Payload::OrderAuthorized(Nothing {}),
        OrderRejected => Payload::OrderRejected(Nothing {}),
        OrderCancelled => Payload::OrderCancelled(Nothing {}),
        OrderRevisionProposed => Payload::OrderRevisionProposed(revision(order)?),
        Revised => Payload::OrderRevised(revision(order)?),
        TicketCreated => Payload::TicketCreated(Nothing {}),
        Accepted => Payload::TicketAccepted(TicketAccepted { ready_by: minutes(20)? }),
        TicketPreparationStarted => Payload::TicketPreparationStarted(Nothing {}),
        TicketPreparationCompleted => Payload::TicketPreparationCompleted(Nothing {}),
        TicketPickedUp => Payload::TicketPickedUp(Nothing {}),
        TicketCancelled => Payload::TicketCancelled(Nothing {}),
        Scheduled => Payload::DeliveryScheduled(DeliveryScheduled {
            order_id: order_id(),
            courier_id: "7".parse()?,
            estimated_pickup_time: minutes(20)?,
            estimated_delivery_time: minutes(40)?,
        }),
        DeliveryPickedUp => Payload::DeliveryPickedUp(OrderReference { order_id: order_id() }),
        Moved => Payload::DeliveryLocationUpdated(moved(order)?),
        DeliveryDelivered => Payload::DeliveryDelivered(OrderReference { order_id: order_id() }),
        // `OrderStatuses::next` never returns these types.
        EventType::OrderCreated
        | EventType::PaymentIntentChargeRequested
        | EventType::PaymentIntentCharged
        | EventType::PaymentIntentChargeFailed => {
            return Err(Problem::bad_request(
                "the console cannot publish this event: create orders with the button, and pay on the page",
            ));
        }
    })
}

/// One more of the first dish.
fn revision(order: &OrderView) -> Result<OrderRevised, Invalid> {
    let total = order.total.as_ref().map_or_else(|| "0".parse(), |total| Ok(total.0.clone()))?;
    let first = order.line_items().and_then(|items| items.into_iter().next());
    let new_order_total = first.as_ref().map_or_else(|| Ok(total.clone()), |item| sum(&total, &item.price))?;
    let revised = first.map(|item| RevisedLineItem { menu_item_id: item.menu_item_id, quantity: item.quantity + 1 });
    let revised_order_line_items = revised.into_iter().collect();
    Ok(OrderRevised {
        order_revision: OrderRevision { delivery_information: None, revised_order_line_items },
        current_order_total: total,
        new_order_total,
    })
}

/// Some streets further from the restaurant in Oakland.
fn moved(order: &OrderView) -> Result<DeliveryLocationUpdated, Invalid> {
    let (latitude, longitude) = order.location.as_ref().map_or((37.8044, -122.2712), |location| {
        (location.latitude.as_f64() + 0.0019, location.longitude.as_f64() + 0.0023)
    });
    Ok(DeliveryLocationUpdated {
        order_id: order.order_id.clone(),
        latitude: order_events::Latitude::parse(latitude)?,
        longitude: order_events::Longitude::parse(longitude)?,
    })
}

/// The sum of two amounts. It is computed with integers, because binary fractions would round.
pub(in crate::console) fn sum(one: &Money, other: &Money) -> Result<Money, Invalid> {
    let fraction = |amount: &Money| amount.as_str().split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let places = fraction(one).max(fraction(other));
    let units = |amount: &Money| -> Result<i128, Invalid> {
        let missing = "0".repeat(places - fraction(amount));
        format!("{}{missing}", amount.as_str().replace('.', "")).parse().map_err(|_| Invalid::Money)
    };
    let sum = units(one)? + units(other)?;
    let (sign, digits) = (if sum < 0 { "-" } else { "" }, format!("{:0width$}", sum.abs(), width = places + 1));
    let (whole, fraction) = digits.split_at(digits.len() - places);
    Money::parse(if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::needless_pass_by_value)] // So that a case is one line.
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        order: OrderStatus,
        ticket: Option<TicketStatus>,
        delivery: Option<DeliveryStatus>,
        expected: &[EventType],
    ) {
        let (order, ticket, delivery) = (Some(&order), ticket.as_ref(), delivery.as_ref());
        let next = OrderStatuses { order, ticket, delivery }.next();
        assert_eq!(next.iter().map(|next| next.event_type).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_order_goes_through_kitchen_and_delivery() {
        use OrderStatus::{ApprovalPending, Approved, RevisionPending};
        use TicketStatus as Ticket;
        let may_change = [OrderRevisionProposed, OrderCancelled];
        let with = |events: &[EventType]| [&may_change, events].concat();
        check(ApprovalPending, None, None, &[OrderAuthorized, OrderRejected, TicketCreated]);
        check(Approved, Some(Ticket::AwaitingAcceptance), None, &with(&[Accepted, TicketCancelled]));
        check(Approved, Some(Ticket::Accepted), None, &with(&[TicketPreparationStarted, Scheduled]));
        check(RevisionPending, Some(Ticket::Accepted), None, &[Revised, TicketPreparationStarted, Scheduled]);
        let scheduled = || Some(DeliveryStatus::Scheduled);
        check(Approved, Some(Ticket::Preparing), scheduled(), &with(&[TicketPreparationCompleted, Moved]));
        check(Approved, Some(Ticket::ReadyForPickup), scheduled(), &with(&[TicketPickedUp, Moved]));
        check(Approved, Some(Ticket::PickedUp), scheduled(), &[DeliveryPickedUp, Moved]);
        check(Approved, Some(Ticket::PickedUp), Some(DeliveryStatus::PickedUp), &[Moved, DeliveryDelivered]);
        check(Approved, Some(Ticket::PickedUp), Some(DeliveryStatus::Delivered), &[]);
    }

    #[test]
    fn a_finished_order_has_no_next_events() {
        check(OrderStatus::Rejected, None, None, &[]);
        check(
            OrderStatus::Cancelled,
            Some(TicketStatus::Accepted),
            Some(DeliveryStatus::Scheduled),
            &[TicketCancelled],
        );
        check(OrderStatus::Cancelled, Some(TicketStatus::Cancelled), None, &[]);
    }

    #[test]
    fn amounts_add_up_digit_by_digit() {
        let check = |one: &str, other: &str, expected: &str| {
            assert_eq!(sum(&one.parse().unwrap(), &other.parse().unwrap()).unwrap().as_str(), expected);
        };
        check("0.1", "0.2", "0.3");
        check("28.18", "12.34", "40.52");
        check("0", "12.345", "12.345");
        check("7", "8", "15");
        check("-0.50", "0.25", "-0.25");
    }
}
