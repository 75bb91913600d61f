//! Event ids of three forms, which sort together.

use order_events::EventId;
use proptest::prelude::*;

#[track_caller]
fn check(text: &str, canonical: &str, time: &str) {
    let id = EventId::parse(text).unwrap();
    assert_eq!(id.to_string(), canonical);
    assert_eq!(id.time().to_string(), time);
}

#[test]
fn all_three_forms_of_event_ids_are_read() {
    check("0000019ca9450a07-0242ac1200080001", "0000019ca9450a07-0242ac1200080001", "2026-03-01T12:00:00.007Z");
    check("0000019CA9450A07-0242AC1200080001", "0000019ca9450a07-0242ac1200080001", "2026-03-01T12:00:00.007Z");
    check("019ca945-0a07-7242-ac12-000800010203", "019ca9450a077242-ac12000800010203", "2026-03-01T12:00:00.007Z");
    // The example of the ULID specification.
    check("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01563e3ab5d3d676-4c61efb99302bd5b", "2016-07-30T23:54:10.259Z");
    check("01arz3ndektsv4rrffq69g5fav", "01563e3ab5d3d676-4c61efb99302bd5b", "2016-07-30T23:54:10.259Z");
    check("000000e3c7a73400-0000000000000000", "000000e3c7a73400-0000000000000000", "2001-01-01T00:00:00.000Z");
    check("000003bb2cc3d7ff-ffffffffffffffff", "000003bb2cc3d7ff-ffffffffffffffff", "2099-12-31T23:59:59.999Z");
}

#[test]
fn other_forms_of_event_ids_are_refused() {
    let refused = [
        "",
        "42",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479", // version 4: random
        "1ec9414c-232a-6b00-b3c8-9e6bdeced846", // version 6: another epoch
        "019ca945-0a07-7242-2c12-000800010203", // not the RFC's variant
        "019ca9450a077242ac12000800010203",
        "0000019ca9450a0-70242ac1200080001",
        "0000019ca9450a07_0242ac1200080001",
        "+000019ca9450a07-0242ac1200080001",
        "0000019ca9450a0g-0242ac1200080001",
        "81ARZ3NDEKTSV4RRFFQ69G5FAV", // over 128 bits
        "01ARZ3NDEKTSV4RRFFQ69G5FAU", // U is no digit
        "01ARZ3NDEKTSV4RRFFQ69G5FÄ",
        "000000e3c7a733ff-ffffffffffffffff", // 2000
        "000003bb2cc3d800-0000000000000000", // 2100
        "0000000000000001-0000000000000002",
        "ffffffffffffffff-ffffffffffffffff",
    ];
    for text in refused {
        assert!(EventId::parse(text).is_err(), "{text}");
    }
}

/// The two halves of an id of any form.
fn parts() -> impl Strategy<Value = (u64, u64)> {
    let millis = 978_307_200_000..4_102_444_800_000_u64;
    let of_uuid_or_ulid = (millis.clone(), any::<u16>()).prop_map(|(millis, rest)| millis << 16 | u64::from(rest));
    (prop_oneof![millis, of_uuid_or_ulid], any::<u64>())
}

proptest! {
    #[test]
    fn ids_sort_the_same_as_text_and_as_number(one in parts(), other in parts()) {
        let text = |(upper, lower): (u64, u64)| format!("{upper:016x}-{lower:016x}");
        let id = |parts| EventId::parse(&text(parts)).unwrap();
        prop_assert_eq!(id(one).cmp(&id(other)), text(one).cmp(&text(other)));
        prop_assert_eq!(id(one).cmp(&id(other)), one.cmp(&other));
        prop_assert_eq!(EventId::parse(&id(one).to_string()).unwrap(), id(one));
    }

    #[test]
    fn no_text_causes_a_panic(text in "\\PC{0,40}") {
        let _ = EventId::parse(&text);
    }
}
