//! The version of the rules changes with the rules.

use order_view::{RULES, VIEW, fold};
use projection::write_line;
use sample_events::story;

/// For each version of the rules, the digest of the states of the sample events.
const DIGESTS: &[(u32, u64)] = &[(1, 0x409e_3e07_93a6_48e9)];

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_change_of_the_rules_needs_a_new_version() {
    // Each event alone, so that no later one hides it, and all of them together.
    let story = story();
    let mut lines = Vec::new();
    for events in story.chunks(1).chain([&story[..]]) {
        for (order, state) in &fold(events).unwrap().states {
            write_line(&VIEW, order, state, &mut lines);
        }
    }
    let digest = digest(&lines);
    assert_eq!(
        DIGESTS.last(),
        Some(&(RULES, digest)),
        "The sample events make other views than before, although RULES is still {RULES}. If a rule has changed, raise \
         order_view::RULES by one and append ({}, {digest:#x}) to DIGESTS: snapshots of the old rules are then ignored. \
         If only the samples in events/ have changed, replace the last digest with {digest:#x}.",
        RULES + 1,
    );
}
