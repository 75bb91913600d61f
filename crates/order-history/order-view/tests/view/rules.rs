//! What single events do, and what is shown.

use order_events::{DeliveryStatus, Event, EventType, OrderStatus, PaymentStatus, TicketStatus};
use order_view::{Effect, OrderView, Piece, fold};
use sample_events::story;

fn view(events: &[Event]) -> OrderView {
    fold(events).remove(&events[0].order_id()).unwrap()
}

#[test]
fn the_whole_story_ends_as_it_should() {
    let view = view(&story());
    let details = view.details.as_ref().unwrap();
    assert_eq!(details.value.consumer_id.as_str(), "1511300065921");
    assert_eq!(details.value.order_creation_time.to_string(), "2026-03-01T12:00:00.007Z");
    assert_eq!(view.state.as_ref().unwrap().value, OrderStatus::Cancelled);
    assert_eq!(view.total.as_ref().unwrap().value.as_str(), "35.29");
    let address = &view.address.as_ref().unwrap().value;
    assert_eq!(address.delivery_address.city.as_deref(), Some("Berkeley"));
    assert_eq!(address.delivery_time.unwrap().to_string(), "2026-03-01T13:15:00.000Z");
    assert_eq!(view.ticket.as_ref().unwrap().value, TicketStatus::PickedUp);
    assert_eq!(view.promise.as_ref().unwrap().value.ready_by.to_string(), "2026-03-01T12:30:00.000Z");
    assert_eq!(view.delivery.as_ref().unwrap().value, DeliveryStatus::Delivered);
    assert_eq!(view.schedule.as_ref().unwrap().value.courier_id.as_str(), "8", "the second delivery's");
    assert_eq!(view.location.as_ref().unwrap().value.latitude.to_string(), "37.8716");
    let payment = &view.payment.as_ref().unwrap().value;
    assert_eq!(payment.status, PaymentStatus::Charged);
    assert_eq!(payment.error_code, None, "a facet is written whole: the first failure left nothing behind");
    assert_eq!(view.tracking.len(), 6, "one order, one ticket, two deliveries, two payment intents");
}

#[test]
fn later_revisions_win_and_others_stay() {
    let quantities: Vec<_> = view(&story()).summary().unwrap().line_items().iter().map(|item| item.quantity).collect();
    assert_eq!(quantities, [1, 1, 2], "ordered 2, 1, 4; revised to 3, then to 1 and 2");
}

#[test]
fn the_timeline_has_everything_but_the_couriers_moves() {
    let story = story();
    let expected: Vec<_> = story
        .iter()
        .map(Event::event_type)
        .filter(|event_type| *event_type != EventType::DeliveryLocationUpdated)
        .collect();
    let shown: Vec<_> = view(&story).timeline.iter().map(|entry| entry.event_type).collect();
    assert_eq!(shown, expected);
}

#[test]
fn an_order_can_be_known_before_it_is_created() {
    let view = view(&story()[1..]);
    assert!(view.details.is_none());
    assert_eq!(view.summary(), None);
    assert!(view.state.is_some());
}

#[test]
fn a_created_order_without_an_address_leaves_the_address_alone() {
    let mut created = story().remove(0);
    let order_events::Payload::OrderCreated(payload) = &mut created.payload else {
        panic!("the story begins with OrderCreated");
    };
    payload.delivery_address = None;
    let effect = Effect::of(&created);
    let writes_address = effect
        .pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Facet(facet) if facet.kind() == order_view::FacetKind::Address));
    assert!(!writes_address);
}

#[test]
fn every_event_is_tracked_and_writes_at_least_one_facet() {
    for event in story() {
        let effect = Effect::of(&event);
        let tracked = effect.pieces.iter().filter(|piece| matches!(piece, Piece::Tracking(_))).count();
        let facets = effect.pieces.iter().filter(|piece| matches!(piece, Piece::Facet(_))).count();
        assert_eq!(tracked, 1, "{}", event.event_type());
        assert!(facets >= 1, "{}", event.event_type());
    }
}
