//! A state is the same whatever the order, the grouping and the repetition of what it takes in, even where two events have one id.

use std::collections::BTreeSet;

use projection::{Effect, Folded, Piece, State};
use proptest::prelude::*;

use crate::pieces::pieces;

fn state(pieces: &[Piece]) -> State {
    let mut state = State::default();
    state.apply(pieces.iter().cloned());
    state
}

fn merged(mut one: State, other: State) -> State {
    one.merge(other);
    one
}

/// The facets, by watermark and id, of which several contents are among the pieces, where no later event hides them.
fn contradicted(pieces: &[Piece]) -> BTreeSet<(String, String)> {
    let facets: Vec<_> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Facet { watermark, by, attributes } => Some((watermark, by, attributes)),
            Piece::Mark { .. } | Piece::Element { .. } => None,
        })
        .collect();
    facets
        .iter()
        .filter(|(watermark, by, _)| !facets.iter().any(|(other, later, _)| other == watermark && later > by))
        .filter(|(watermark, by, content)| {
            facets.iter().any(|(other, same, different)| other == watermark && same == by && different != content)
        })
        .map(|(watermark, by, _)| (watermark.to_string(), by.to_string()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn apply_gives_the_same_state_for_any_order_and_duplicates(
        (pieces, shuffled, again) in pieces(40).prop_flat_map(|pieces| {
            let again = proptest::sample::subsequence(pieces.clone(), 0..=pieces.len()).prop_shuffle();
            (Just(pieces.clone()), Just(pieces).prop_shuffle(), again)
        })
    ) {
        let expected = state(&pieces);
        prop_assert_eq!(&state(&shuffled), &expected);
        prop_assert_eq!(&state(&[pieces, again.clone()].concat()), &expected);
        prop_assert_eq!(&state(&[again, shuffled].concat()), &expected);
    }

    #[test]
    fn merge_is_commutative(a in pieces(20), b in pieces(20)) {
        let (a, b) = (state(&a), state(&b));
        prop_assert_eq!(merged(a.clone(), b.clone()), merged(b, a));
    }

    #[test]
    fn merge_is_associative(a in pieces(20), b in pieces(20), c in pieces(20)) {
        let (a, b, c) = (state(&a), state(&b), state(&c));
        prop_assert_eq!(merged(merged(a.clone(), b.clone()), c.clone()), merged(a, merged(b, c)));
    }

    #[test]
    fn merge_is_idempotent(a in pieces(20), b in pieces(20)) {
        let (a, b) = (state(&a), state(&b));
        prop_assert_eq!(merged(a.clone(), a.clone()), a.clone());
        let both = merged(a, b.clone());
        prop_assert_eq!(merged(both.clone(), b), both);
    }

    #[test]
    fn merging_states_is_applying_all_their_pieces(pieces in pieces(40), at in 0..40_usize) {
        let (some, others) = pieces.split_at(at.min(pieces.len()));
        prop_assert_eq!(merged(state(some), state(others)), state(&pieces));
    }

    #[test]
    fn what_is_applied_is_not_news(pieces in pieces(40)) {
        let state = state(&pieces);
        for piece in &pieces {
            prop_assert!(!state.is_news(piece), "{:?}", piece);
        }
    }

    #[test]
    fn a_contradiction_that_shows_is_reported_in_any_order(pieces in pieces(40).prop_shuffle()) {
        let mut folded = Folded::default();
        for piece in &pieces {
            folded.add(Effect { key: "1".to_owned(), pieces: vec![piece.clone()] });
        }
        let reported: BTreeSet<_> = folded
            .contradictions
            .iter()
            .map(|(_, contradiction)| (contradiction.watermark.to_string(), contradiction.by.to_string()))
            .collect();
        prop_assert!(reported.is_superset(&contradicted(&pieces)), "{:?}", reported);
    }

    #[test]
    fn a_snapshot_reads_back(pieces in pieces(40)) {
        let state = state(&pieces);
        let snapshot = serde_json::to_string(&state).unwrap();
        prop_assert_eq!(serde_json::from_str::<State>(&snapshot).unwrap(), state);
    }
}
