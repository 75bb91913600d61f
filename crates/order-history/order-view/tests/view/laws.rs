//! `fold` and `merge` give the same view whatever the order, the grouping and the repetition.

use order_events::{Event, OrderId};
use order_view::{OrderView, fold};
use proptest::prelude::*;
use sample_events::arbitrary as events;

fn view<'a>(events: impl IntoIterator<Item = &'a Event>) -> OrderView {
    let order_id = OrderId::parse("99").unwrap();
    fold(events).remove(&order_id).unwrap_or_else(|| OrderView::empty(order_id))
}

/// Views whose events come from one history, as all views of an order do: an id stands for one event.
fn three_views() -> impl Strategy<Value = [OrderView; 3]> {
    (events(40), proptest::collection::vec(1_u8..8, 40)).prop_map(|(events, seen_by)| {
        [1, 2, 4]
            .map(|who| view(events.iter().zip(&seen_by).filter(|(_, seen)| *seen & who != 0).map(|(event, _)| event)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn fold_is_blind_to_order_and_duplicates(
        (events, again) in events(40).prop_flat_map(|events| {
            let again = proptest::sample::subsequence(events.clone(), 0..=events.len()).prop_shuffle();
            (Just(events), again)
        })
    ) {
        let mut in_order = events.clone();
        in_order.sort_by_key(|event| event.id);
        let expected = view(&in_order);
        prop_assert_eq!(&view(&events), &expected);
        prop_assert_eq!(&view(events.iter().chain(&again)), &expected);
        prop_assert_eq!(&view(again.iter().chain(&events)), &expected);
    }

    #[test]
    fn merge_is_commutative([a, b, _] in three_views()) {
        prop_assert_eq!(a.clone().merge(b.clone()), b.merge(a));
    }

    #[test]
    fn merge_is_associative([a, b, c] in three_views()) {
        prop_assert_eq!(a.clone().merge(b.clone()).merge(c.clone()), a.merge(b.merge(c)));
    }

    #[test]
    fn merge_is_idempotent([a, b, _] in three_views()) {
        prop_assert_eq!(a.clone().merge(a.clone()), a.clone());
        let both = a.merge(b.clone());
        prop_assert_eq!(both.clone().merge(b), both);
    }

    #[test]
    fn merging_views_is_folding_all_their_events(events in events(40), at in 0..40_usize) {
        let at = at.min(events.len());
        let (some, others) = events.split_at(at);
        prop_assert_eq!(view(some).merge(view(others)), view(&events));
    }
}
