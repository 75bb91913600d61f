//! Money, timestamps, angles and ids.

use std::time::{Duration, SystemTime};

use order_events::{Latitude, Longitude, Money, OrderId, Timestamp};
use proptest::prelude::*;

#[test]
fn money_is_an_exact_decimal_text() {
    for text in ["0", "12.34", "-0.01", "61.70", "100000000000000000000.0000001"] {
        assert_eq!(Money::parse(text).unwrap().to_string(), text);
    }
    for text in ["", ".", "1.", ".5", "+1", "1e3", "1,5", "--1", "1.2.3", "NaN", " 1", "١"] {
        assert!(Money::parse(text).is_err(), "{text:?}");
    }
    assert!(Money::parse("1".repeat(33)).is_err(), "too long");
}

#[track_caller]
fn check_moment(json: &str, expected: &str) {
    let moment: Timestamp = serde_json::from_str(json).unwrap();
    assert_eq!(moment.to_string(), expected);
}

#[test]
fn a_timestamp_is_rfc_3339_or_a_form_of_java() {
    check_moment(r#""2026-03-01T12:30:00Z""#, "2026-03-01T12:30:00.000Z");
    check_moment(r#""2026-03-01T12:30:00+02:00""#, "2026-03-01T10:30:00.000Z");
    check_moment(r#""2026-03-01T12:30:00""#, "2026-03-01T12:30:00.000Z");
    check_moment(r#""2026-03-01T12:30""#, "2026-03-01T12:30:00.000Z");
    check_moment(r#""2026-03-01T12:30:00.123456789""#, "2026-03-01T12:30:00.123Z");
    check_moment("[2026,3,1,12,30]", "2026-03-01T12:30:00.000Z");
    check_moment("[2026,3,1,12,30,15]", "2026-03-01T12:30:15.000Z");
    check_moment("[2026,3,1,12,30,15,123456789]", "2026-03-01T12:30:15.123Z");
}

#[test]
fn invalid_timestamps_are_refused() {
    for text in
        ["", "now", "2026-03-01", "2026-02-30T00:00:00", "12:30", "9999-12-31T23:59:59-01:00", "1969-12-31T23:59:59Z"]
    {
        assert!(Timestamp::parse(text).is_err(), "{text}");
    }
    for json in ["[]", "[2026,3,1,12]", "[2026,2,30,0,0]", "[2026,3,1,0,0,0,0,0]", "[2026,3,1,24,0]"] {
        assert!(serde_json::from_str::<Timestamp>(json).is_err(), "{json}");
    }
}

#[test]
fn an_http_date_is_read() {
    for text in ["Sun, 1 Mar 2026 12:30:00 GMT", "Sun, 01 Mar 2026 12:30:00 GMT"] {
        let moment = Timestamp::parse_http_date(text).unwrap();
        assert_eq!(moment.to_string(), "2026-03-01T12:30:00.000Z");
    }
}

#[test]
fn the_time_of_a_clock_that_was_never_set_becomes_the_start_of_1970() {
    let epoch = SystemTime::UNIX_EPOCH;
    assert_eq!(Timestamp::from(epoch + Duration::from_micros(1_772_368_200_123_456)).as_millis(), 1_772_368_200_123);
    let year_10000 = Duration::from_hours(70_389_528);
    for wrong in [epoch - Duration::from_millis(1), epoch + year_10000] {
        assert_eq!(Timestamp::from(wrong), Timestamp::EPOCH);
    }
}

#[test]
fn angles_out_of_range_are_refused() {
    assert_eq!(Latitude::parse(-90.0).unwrap().to_string(), "-90");
    assert_eq!(Longitude::parse(-122.271_200_04).unwrap().to_string(), "-122.2712");
    for off in [90.000_000_1, -91.0, f64::NAN, f64::INFINITY] {
        assert!(Latitude::parse(off).is_err(), "{off}");
    }
    assert!(Longitude::parse(90.000_000_1).is_ok());
}

#[test]
fn an_id_is_a_text_or_a_whole_number() {
    let id: OrderId = serde_json::from_str("99").unwrap();
    assert_eq!(id, serde_json::from_str(r#""99""#).unwrap());
    for json in ["null", "1.5", "true", r#""""#, r#""a b""#, r#""a\u0000""#] {
        assert!(serde_json::from_str::<OrderId>(json).is_err(), "{json}");
    }
}

proptest! {
    /// Near the first and the last date, a zone can lead out of the range.
    #[test]
    fn no_timestamp_causes_a_panic(
        year in prop_oneof![0..3_i32, 1968..1972, 9998..10_001], month in 0..14_u8, day in 0..33_u8, hour in 0..25_u8,
        zone in prop_oneof![Just("Z".to_owned()), "[+-][0-9]{2}:[0-9]{2}", "\\PC{0,5}"],
    ) {
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:59:60{zone}");
        let _ = Timestamp::parse(&text);
        let _ = Timestamp::parse_http_date(&format!("Fri, {day} Dec {year} {hour:02}:59:59 {}", zone.replace(':', "")));
    }

    #[test]
    fn a_timestamp_can_be_written_and_read(millis in 0_i64..253_402_300_800_000) {
        let moment = Timestamp::from_millis(millis).unwrap();
        prop_assert_eq!(moment.as_millis(), millis);
        prop_assert_eq!(Timestamp::parse(&moment.to_string()).unwrap(), moment);
    }

    #[test]
    fn an_angle_can_be_written_and_read(degrees in -180.0..180.0) {
        let angle = Longitude::parse(degrees).unwrap();
        prop_assert_eq!(angle.to_string().parse::<Longitude>().unwrap(), angle);
        prop_assert!((angle.as_f64() - degrees).abs() < 0.000_000_1);
    }
}

/// The result of the date library.
fn http_date(text: &str) -> Option<i64> {
    let at = time::OffsetDateTime::parse(text, &time::format_description::well_known::Rfc2822).ok()?;
    let millis = at.unix_timestamp() * 1_000;
    Timestamp::from_millis(millis).map(Timestamp::as_millis)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_http_date_is_read_like_the_date_library_reads_it(
        second in 0..253_402_300_799_i64,
        recent in 0..4_102_444_800_i64,
        at in any::<prop::sample::Index>(),
        letter in proptest::option::of(proptest::sample::select(&b"0123456789 ,:+GMTSunMar"[..])),
    ) {
        for second in [second, recent] {
            let written = Timestamp::from_millis(second * 1_000).unwrap().to_http_date().unwrap();
            for text in [written.replace("+0000", "GMT"), written.replace(", 0", ", "), written] {
                let mut changed = text.clone().into_bytes();
                let at = at.index(changed.len());
                changed[at] = letter.unwrap_or(changed[at]);
                for text in [text, String::from_utf8(changed).unwrap()] {
                    let read = Timestamp::parse_http_date(&text).ok().map(Timestamp::as_millis);
                    prop_assert_eq!(read, http_date(&text), "{}", text);
                }
            }
        }
    }
}
