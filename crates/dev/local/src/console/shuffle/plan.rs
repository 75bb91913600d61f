//! In which order the events are sent.

use super::report::Delivery;
use crate::console::dice::Dice;

/// Each event once, in the order of the story.
pub(super) fn in_order(events: usize) -> Vec<Delivery> {
    (0..events).map(|event| Delivery::new(event, 1)).collect()
}

/// Each event, and about a third of them twice, in an order that the dice decide. `facets` are the facets that each event writes: in one of
/// them at least, an event comes after a later one, or there would be nothing to see.
pub(super) fn shuffled(facets: &[Vec<&str>], dice: &mut Dice) -> Vec<Delivery> {
    let mut events: Vec<usize> = (0..facets.len()).collect();
    loop {
        dice.shuffle(&mut events);
        let twice = events[..facets.len().div_ceil(3)].to_vec();
        let mut sent = [events.as_slice(), &twice].concat();
        dice.shuffle(&mut sent);
        if is_late_somewhere(facets, &sent) {
            return numbered(&sent);
        }
    }
}

fn is_late_somewhere(facets: &[Vec<&str>], sent: &[usize]) -> bool {
    let pairs =
        sent.iter().enumerate().flat_map(|(place, later)| sent[place + 1..].iter().map(move |event| (later, event)));
    let mut pairs = pairs.filter(|(later, event)| later > event);
    pairs.any(|(later, event)| facets[*event].iter().any(|facet| facets[*later].contains(facet)))
}

fn numbered(sent: &[usize]) -> Vec<Delivery> {
    let copy = |place: usize, event: &usize| if sent[..place].contains(event) { 2 } else { 1 };
    sent.iter().enumerate().map(|(place, event)| Delivery::new(*event, copy(place, event))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_sent_and_a_third_twice_and_some_late() {
        let facets = [vec!["state"], vec!["state"], vec!["total"], vec![], vec!["ticket"], vec!["ticket"]];
        for seed in 0..200 {
            let sent = shuffled(&facets, &mut Dice(seed));
            let places: Vec<_> = sent.iter().map(|delivery| delivery.event).collect();
            assert!((0..facets.len()).all(|event| places.contains(&event)), "{places:?}");
            assert_eq!(sent.iter().filter(|delivery| delivery.copy == 2).count(), 2, "{places:?}");
            assert_eq!(sent.len(), 8);
            assert!(is_late_somewhere(&facets, &places), "{places:?}");
        }
    }

    #[test]
    fn a_seed_repeats_its_order() {
        let facets = [vec!["state"], vec!["state"], vec!["state"], vec!["state"]];
        let order = |seed| shuffled(&facets, &mut Dice(seed)).iter().map(|delivery| delivery.event).collect::<Vec<_>>();
        assert_eq!(order(7), order(7));
        assert!((0..20).any(|seed| order(seed) != order(7)));
    }
}
