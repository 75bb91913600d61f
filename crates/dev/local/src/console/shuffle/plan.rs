//! The sequence in which the events are sent.

use super::report::LaneMessage;
use crate::console::random::Random;

/// Each event once, in the story's sequence.
pub(super) fn in_order(events: usize) -> Vec<LaneMessage> {
    (0..events).map(|event| LaneMessage::new(event, 1)).collect()
}

/// Each event once, and about a third of them a second time, in random sequence. `facets` has the facets that each
/// event writes. For at least one facet, an event is sent after a later one, so that the shuffle shows a late event.
pub(super) fn shuffled(facets: &[Vec<&str>], random: &mut Random) -> Vec<LaneMessage> {
    let mut events: Vec<usize> = (0..facets.len()).collect();
    loop {
        random.shuffle(&mut events);
        let duplicates = events[..facets.len().div_ceil(3)].to_vec();
        let mut sent = [events.as_slice(), &duplicates].concat();
        random.shuffle(&mut sent);
        if has_late_event(facets, &sent) {
            return numbered(&sent);
        }
    }
}

fn has_late_event(facets: &[Vec<&str>], sent: &[usize]) -> bool {
    let pairs =
        sent.iter().enumerate().flat_map(|(index, later)| sent[index + 1..].iter().map(move |event| (later, event)));
    let mut pairs = pairs.filter(|(later, event)| later > event);
    pairs.any(|(later, event)| facets[*event].iter().any(|facet| facets[*later].contains(facet)))
}

fn numbered(sent: &[usize]) -> Vec<LaneMessage> {
    let copy = |index: usize, event: &usize| if sent[..index].contains(event) { 2 } else { 1 };
    sent.iter().enumerate().map(|(index, event)| LaneMessage::new(*event, copy(index, event))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_sent_a_third_of_them_twice_and_some_late() {
        let facets = [vec!["state"], vec!["state"], vec!["total"], vec![], vec!["ticket"], vec!["ticket"]];
        for seed in 0..200 {
            let sent = shuffled(&facets, &mut Random(seed));
            let positions: Vec<_> = sent.iter().map(|message| message.event).collect();
            assert!((0..facets.len()).all(|event| positions.contains(&event)), "{positions:?}");
            assert_eq!(sent.iter().filter(|message| message.copy == 2).count(), 2, "{positions:?}");
            assert_eq!(sent.len(), 8);
            assert!(has_late_event(&facets, &positions), "{positions:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence() {
        let facets = [vec!["state"], vec!["state"], vec!["state"], vec!["state"]];
        let order = |seed| shuffled(&facets, &mut Random(seed)).iter().map(|message| message.event).collect::<Vec<_>>();
        assert_eq!(order(7), order(7));
        assert!((0..20).any(|seed| order(seed) != order(7)));
    }
}
