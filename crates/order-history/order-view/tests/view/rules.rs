//! The effects of single events, and the view.

use order_events::{Event, EventType};
use order_view::facet::{Address, TIMELINE};
use order_view::{DeliveryStatus, OrderStatus, OrderView, PaymentStatus, TicketStatus, contains_event, effect, fold};
use projection::{Found, Piece, State};
use sample_events::story;

fn state(events: &[Event]) -> State {
    fold(events).unwrap().states.remove(events[0].order_id().as_str()).unwrap()
}

fn view(events: &[Event]) -> Option<OrderView> {
    OrderView::of(events[0].order_id(), Found { state: state(events), unreadable: Vec::new() })
}

#[test]
fn the_view_after_all_events_of_the_story_is_complete() {
    let view = view(&story()).unwrap();
    assert_eq!(view.consumer_id.as_str(), "1511300065921");
    assert_eq!(view.order_creation_time.to_string(), "2026-03-01T12:00:00.007Z");
    let details = view.details.unwrap();
    assert_eq!(details.consumer_id.as_str(), "1511300065921");
    assert_eq!(details.order_creation_time.to_string(), "2026-03-01T12:00:00.007Z");
    assert_eq!(view.state, Some(OrderStatus::Cancelled));
    assert_eq!(view.total.unwrap().0.as_str(), "35.29");
    let address = &view.address.unwrap();
    assert_eq!(address.delivery_address.as_ref().unwrap().city.as_deref(), Some("Berkeley"));
    assert_eq!(address.delivery_time.unwrap().to_string(), "2026-03-01T13:15:00.000Z");
    assert_eq!(view.ticket, Some(TicketStatus::PickedUp));
    assert_eq!(view.promise.unwrap().0.to_string(), "2026-03-01T12:30:00.000Z");
    assert_eq!(view.delivery, Some(DeliveryStatus::Delivered));
    assert_eq!(view.schedule.unwrap().courier_id.as_str(), "8", "the courier of the second delivery");
    assert_eq!(view.location.unwrap().latitude.to_string(), "37.8716");
    let payment = &view.payment.unwrap();
    assert_eq!(payment.status, PaymentStatus::Charged);
    assert_eq!(
        payment.error_code, None,
        "a facet is always written completely, so nothing of the first failure is left"
    );
    assert!(view.unreadable.is_empty());
    assert_eq!(state(&story()).marks().count(), 6, "one order, one ticket, two deliveries, two payment intents");
}

#[test]
fn later_revisions_replace_earlier_quantities_of_the_same_item() {
    let quantities: Vec<_> = view(&story()).unwrap().line_items().unwrap().iter().map(|item| item.quantity).collect();
    assert_eq!(quantities, [1, 1, 2], "ordered 2, 1, 4; revised to 3, then to 1 and 2");
}

#[test]
fn the_timeline_contains_all_events_except_the_couriers_moves() {
    let story = story();
    let expected: Vec<_> = story
        .iter()
        .map(Event::event_type)
        .filter(|event_type| *event_type != EventType::DeliveryLocationUpdated)
        .collect();
    let shown: Vec<_> = view(&story).unwrap().timeline.iter().map(|entry| entry.event_type).collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_timeline_entry_is_stored_without_its_time_because_the_id_contains_it() {
    let created = &story()[0];
    let elements: Vec<_> = effect(created)
        .unwrap()
        .pieces
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Element { element, .. } => Some(element),
            Piece::Mark { .. } | Piece::Facet { .. } => None,
        })
        .collect();
    assert_eq!(elements, ["0000019ca9450a07-0242ac1200080001 OrderCreated"]);
}

/// The form of versions before ADR 10.
fn with_time(event: &Event) -> String {
    format!("{} {} {}", event.id, event.event_type(), event.at())
}

/// The state of the story in a version before ADR 10.
fn old_state(events: &[Event]) -> State {
    let mut folded = fold([]).unwrap();
    for event in events {
        let mut effect = effect(event).unwrap();
        for piece in &mut effect.pieces {
            if let Piece::Element { set, element } = piece
                && *set == TIMELINE
            {
                *element = with_time(event);
            }
        }
        folded.add(effect);
    }
    folded.states.remove(events[0].order_id().as_str()).unwrap()
}

#[test]
fn an_entry_that_was_stored_with_its_time_is_shown_like_any_other() {
    let story = story();
    let old = old_state(&story);
    assert!(old.set(TIMELINE).any(|entry| *entry == with_time(&story[0])), "the test has old entries");
    for event in &story {
        assert!(contains_event(&old, event.event_type(), event.id), "{event:?}");
    }
    let shown = OrderView::of(story[0].order_id(), Found { state: old, unreadable: Vec::new() });
    assert_eq!(shown, view(&story));
}

#[test]
fn an_order_contains_only_the_events_that_were_processed() {
    let story = story();
    let state = old_state(&story[..1]);
    let contained = story.iter().filter(|event| contains_event(&state, event.event_type(), event.id));
    assert_eq!(contained.map(|event| event.id).collect::<Vec<_>>(), [story[0].id]);
}

/// A replayed event, or a rebuild that is merged into an item, adds the new text next to the old one.
#[test]
fn an_entry_that_is_stored_in_both_forms_is_shown_once() {
    let story = story();
    let (mut one, mut other) = (old_state(&story), state(&story));
    let entries = other.set(TIMELINE).count();
    assert_eq!(one.merge(state(&story)), [], "no contradiction");
    assert_eq!(other.merge(old_state(&story)), []);
    assert_eq!(one, other, "merge is commutative, whatever the form");
    assert_eq!(one.set(TIMELINE).count(), 2 * entries);
    let shown = OrderView::of(story[0].order_id(), Found { state: one, unreadable: Vec::new() });
    assert_eq!(shown, view(&story));
}

#[test]
fn events_before_order_created_are_kept() {
    let events = &story()[1..];
    assert_eq!(view(events), None);
    assert_eq!(state(events).facet(), Ok(Some(OrderStatus::Cancelled)));
}

#[test]
fn an_order_created_without_an_address_writes_an_empty_address() {
    let mut created = story().remove(0);
    let order_events::Payload::OrderCreated(payload) = &mut created.payload else {
        panic!("the story begins with OrderCreated");
    };
    payload.delivery_address = None;
    let none = Address { delivery_address: None, delivery_time: None };
    assert_eq!(view(&[created]).unwrap().address, Some(none));
}

#[test]
fn every_event_is_tracked_and_writes_at_least_one_facet() {
    for event in story() {
        let effect = effect(&event).unwrap();
        let tracked = effect.pieces.iter().filter(|piece| matches!(piece, Piece::Mark { .. })).count();
        let facets = effect.pieces.iter().filter(|piece| matches!(piece, Piece::Facet { .. })).count();
        assert_eq!(tracked, 1, "{}", event.event_type());
        assert!(facets >= 1, "{}", event.event_type());
    }
}

#[test]
fn no_attribute_is_used_by_two_facets() {
    assert_eq!(order_view::VIEW.check(), Ok(()));
}

#[test]
fn a_status_can_be_written_and_read() {
    for status in OrderStatus::ALL {
        assert_eq!(OrderStatus::known(status.as_str()).as_ref(), Some(status));
    }
    assert_eq!(OrderStatus::known("approved"), None);
}
