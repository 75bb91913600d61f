//! `fold` and `merge` make the same view for any sequence, grouping and repetition of the events.

use order_events::Event;
use order_view::fold;
use projection::State;
use proptest::prelude::*;
use sample_events::arbitrary as events;

fn view<'a>(events: impl IntoIterator<Item = &'a Event>) -> State {
    let mut folded = fold(events).unwrap();
    assert_eq!(folded.contradictions, [], "an id belongs to one event");
    folded.states.remove("99").unwrap_or_default()
}

fn merged(mut one: State, other: State) -> State {
    assert_eq!(one.merge(other), [], "an id belongs to one event");
    one
}

/// Views whose events come from one history, so that an id belongs to one event.
fn three_views() -> impl Strategy<Value = [State; 3]> {
    (events(40), proptest::collection::vec(1_u8..8, 40)).prop_map(|(events, seen_by)| {
        [1, 2, 4]
            .map(|who| view(events.iter().zip(&seen_by).filter(|(_, seen)| *seen & who != 0).map(|(event, _)| event)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn fold_does_not_depend_on_sequence_and_duplicates(
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
        prop_assert_eq!(merged(a.clone(), b.clone()), merged(b, a));
    }

    #[test]
    fn merge_is_associative([a, b, c] in three_views()) {
        prop_assert_eq!(merged(merged(a.clone(), b.clone()), c.clone()), merged(a, merged(b, c)));
    }

    #[test]
    fn merge_is_idempotent([a, b, _] in three_views()) {
        prop_assert_eq!(merged(a.clone(), a.clone()), a.clone());
        let both = merged(a, b.clone());
        prop_assert_eq!(merged(both.clone(), b), both);
    }

    #[test]
    fn merged_views_are_equal_to_the_fold_of_all_their_events(events in events(40), at in 0..40_usize) {
        let at = at.min(events.len());
        let (some, others) = events.split_at(at);
        prop_assert_eq!(merged(view(some), view(others)), view(&events));
    }
}
