//! Keys from headers and from values, and fingerprints of values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use idempotency::{Fingerprint, IdempotencyKey, KeyError, Scope};
use serde::{Deserialize, Serialize};

#[track_caller]
fn check(header: &str, expected: Result<&str, KeyError>) {
    let key = IdempotencyKey::from_headers(Some(header));
    assert_eq!(key.as_ref().map(IdempotencyKey::as_str), expected.as_ref().copied(), "{header:?}");
}

#[test]
fn a_key_is_a_string_in_quotes() {
    check(r#""8e03978e-40d5-43e8-bc93-6894a57f9324""#, Ok("8e03978e-40d5-43e8-bc93-6894a57f9324"));
    check(r#"  "a b, c; d=é""#, Err(KeyError::Malformed));
    check(r#"  "a b, c; d"	 "#, Ok("a b, c; d"));
    check(r#""a\"b\\c""#, Ok(r#"a"b\c"#));
}

#[test]
fn a_bare_key_is_the_same_key() {
    check("8e03978e-40d5-43e8-bc93-6894a57f9324", Ok("8e03978e-40d5-43e8-bc93-6894a57f9324"));
    check(" KG5LxwFBepaKHyUD ", Ok("KG5LxwFBepaKHyUD"));
    check("urn:uuid:1/2+3==", Ok("urn:uuid:1/2+3=="));
    check("'", Ok("'"));
}

#[test]
fn an_empty_key_is_refused() {
    for header in ["", "  ", "\t", r#""""#] {
        check(header, Err(KeyError::Empty));
    }
}

#[test]
fn a_doubled_key_is_refused() {
    assert_eq!(IdempotencyKey::from_headers(["a", "b"]), Err(KeyError::Repeated));
    assert_eq!(IdempotencyKey::from_headers(["a", "a"]), Err(KeyError::Repeated));
    for header in ["a,b", "a, a", r#""a","b""#, r#""a" , "b""#, r#"a,"b""#, ",", r#""a","#] {
        check(header, Err(KeyError::Repeated));
    }
}

#[test]
fn a_missing_key_is_told_apart() {
    assert_eq!(IdempotencyKey::from_headers(None), Err(KeyError::Missing));
    assert_eq!(IdempotencyKey::from_headers([]), Err(KeyError::Missing));
}

#[test]
fn a_key_has_at_most_255_characters() {
    let longest = "k".repeat(255);
    check(&longest, Ok(&longest));
    check(&format!("\"{longest}\""), Ok(&longest));
    check(&format!("{longest}k"), Err(KeyError::TooLong));
    check(&format!("\"{longest}k\""), Err(KeyError::TooLong));
    let escaped = r"\\".repeat(255);
    check(&format!("\"{escaped}\""), Ok(&r"\".repeat(255)));
}

#[test]
fn a_malformed_key_is_refused() {
    let malformed = [
        r#"""#,
        r#""a"#,
        r#"a""#,
        r#""a"b"#,
        r#""a" b"#,
        r#""a\b""#,
        r#""a\"#,
        "a b",
        "a;b=1",
        r#""a";b=1"#,
        "{}",
        r"a\b",
    ];
    for header in
        malformed.into_iter().chain(["ключ", "\"ключ\"", "a\u{7f}", "\"a\u{7f}\"", "\"a\tb\"", "\"\n\"", "\u{a0}"])
    {
        check(header, Err(KeyError::Malformed));
    }
}

#[test]
fn every_mistake_has_a_code_of_its_own_and_repeats_nothing_of_the_key() {
    let errors = [KeyError::Missing, KeyError::Repeated, KeyError::Empty, KeyError::TooLong, KeyError::Malformed];
    assert_eq!(errors.map(|error| error.code()).into_iter().collect::<BTreeSet<_>>().len(), 5);
}

#[test]
fn one_key_of_two_callers_or_on_two_routes_is_two_keys() {
    let key = |text: &str| IdempotencyKey::from_headers(Some(text)).expect("a key");
    let scope = Scope { caller: "ann", route: "POST /payments" };
    let mut keys = BTreeSet::new();
    keys.insert(scope.key(&key("1")));
    assert!(!keys.insert(scope.key(&key("\"1\""))), "quotes make no difference");
    assert!(keys.insert(scope.key(&key("2"))));
    assert!(keys.insert(Scope { caller: "bob", ..scope }.key(&key("1"))));
    assert!(keys.insert(Scope { route: "POST /payments/1/charge", ..scope }.key(&key("1"))));
    // The same characters, otherwise cut.
    assert!(keys.insert(Scope { caller: "annP", route: "OST /payments" }.key(&key("1"))));
    assert!(keys.insert(Scope { caller: "", route: "annPOST /payments" }.key(&key("1"))));
    assert!(keys.iter().all(|key| key.len() == 64 && key.bytes().all(|c| c.is_ascii_hexdigit())));
    assert!(keys.iter().all(|key| !key.contains("ann")));
}

/// A new release must find the records of the one before.
#[test]
fn a_scoped_key_stays_the_same_over_versions() {
    let key = IdempotencyKey::from_headers(Some("1")).expect("a key");
    let scope = Scope { caller: "ann", route: "POST /payments" };
    assert_eq!(scope.key(&key), "af61829be10ba86f207dc66dd6baa6303f04577988b96f1d4c7537d080c90af9");
    assert_eq!(
        scope.assembled(&["order-1", "990"]),
        "02f9f0818c95e06909f6439965e24f9350dbb6295c06f63c7aa0a961c6ff3e02"
    );
}

#[test]
fn a_key_that_the_server_assembles_is_of_all_its_values_and_never_a_client_s() {
    let scope = Scope { caller: "ann", route: "POST /payments" };
    let header = IdempotencyKey::from_headers(Some("order-1")).expect("a key");
    let keys = [
        scope.assembled(&["order-1"]),
        scope.assembled(&["order-1", ""]),
        scope.assembled(&["order-1", "990"]),
        scope.assembled(&["order-19", "90"]),
        scope.assembled(&["990", "order-1"]),
        scope.assembled(&[]),
        Scope { caller: "bob", ..scope }.assembled(&["order-1"]),
        scope.key(&header),
    ];
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    assert_eq!(scope.assembled(&["order-1", "990"]), keys[2]);
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Create {
    order_id: String,
    amount: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<BTreeMap<String, u32>>,
}

fn fingerprint_of(json: &str) -> Fingerprint {
    Fingerprint::of_value(&serde_json::from_str::<Create>(json).expect("a command")).expect("a fingerprint")
}

#[test]
fn a_command_has_one_fingerprint_however_it_is_written() {
    let first = fingerprint_of(r#"{"orderId":"1","amount":990}"#);
    assert_eq!(first, fingerprint_of(r#" { "amount" : 990, "orderId" : "\u0031" } "#));
    assert_eq!(first, fingerprint_of(r#"{"orderId":"1","amount":990,"unknown":true,"note":null}"#));
    assert_ne!(first, fingerprint_of(r#"{"orderId":"1","amount":991}"#));
    assert_ne!(first, fingerprint_of(r#"{"orderId":"2","amount":990}"#));
    assert_ne!(first, fingerprint_of(r#"{"orderId":"1","amount":990,"note":{"a":1}}"#));
}

/// A hash map has no order of its own, and a JSON value may have that of insertion.
#[test]
fn the_order_of_members_makes_no_difference_at_any_depth() {
    let first = serde_json::json!([{"a": 1, "b": {"c": [2], "d": 3}}]);
    let second = serde_json::json!([{"b": {"d": 3, "c": [2]}, "a": 1}]);
    let of = |value: &serde_json::Value| Fingerprint::of_value(value).expect("a fingerprint");
    assert_eq!(of(&first), of(&second));
    assert_ne!(of(&first), of(&serde_json::json!([{"a": 1, "b": {"c": [3], "d": 2}}])));
    let map: HashMap<u32, u32> = (0..100).map(|n| (n, n)).collect();
    let same: HashMap<u32, u32> = (0..100).rev().map(|n| (n, n)).collect();
    assert_eq!(Fingerprint::of_value(&map).expect("one"), Fingerprint::of_value(&same).expect("one"));
}

#[test]
fn a_value_that_is_no_json_is_an_error() {
    let map = HashMap::from([((1, 2), 3)]);
    let error = Fingerprint::of_value(&map).expect_err("a key that is no text");
    assert_eq!(error.code(), "result_not_serialisable");
}
