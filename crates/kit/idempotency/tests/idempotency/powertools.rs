//! The text that Powertools for Python hashes. `tests/interop` compares it with the real one.

use std::collections::HashMap;

use idempotency::{Error, powertools_json};
use serde_json::{Value, json};

#[track_caller]
fn check(value: &Value, expected: &str) {
    assert_eq!(powertools_json(value).expect("a text"), expected);
}

#[test]
fn members_are_sorted_and_separated_as_python_does() {
    check(&json!({}), "{}");
    check(&json!([]), "[]");
    check(&json!([null, true, false, -1, [], {}]), "[null, true, false, -1, [], {}]");
    check(&json!({"b": {"d": 1, "c": [1, 2]}, "a": "x"}), r#"{"a": "x", "b": {"c": [1, 2], "d": 1}}"#);
    check(&json!({"é": 1, "z": 2, "A": 3}), r#"{"A": 3, "z": 2, "\u00e9": 1}"#);
}

#[test]
fn all_but_printable_ascii_is_escaped() {
    check(&json!("\"\\/ a~"), r#""\"\\/ a~""#);
    check(&json!("\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}"), r#""\n\r\t\b\f\u0000\u001f\u007f""#);
    check(&json!("é€😀"), r#""\u00e9\u20ac\ud83d\ude00""#);
}

#[test]
fn floats_have_the_exponents_of_python() {
    for (float, expected) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (2.50, "2.5"),
        (-1.0, "-1.0"),
        (0.1, "0.1"),
        (0.0001, "0.0001"),
        (0.00012, "0.00012"),
        (0.000_01, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (1e15, "1000000000000000.0"),
        (9_999_999_999_999_998.0, "9999999999999998.0"),
        (1e16, "1e+16"),
        (1.25e22, "1.25e+22"),
        (-1e100, "-1e+100"),
        (5e-324, "5e-324"),
    ] {
        check(&json!(float), expected);
    }
    check(&json!(u64::MAX), "18446744073709551615");
    check(&json!(i64::MIN), "-9223372036854775808");
}

#[test]
fn a_value_without_a_json_form_is_an_error() {
    let error = powertools_json(&HashMap::from([((1, 2), 3)])).expect_err("a pair is no member name");
    assert!(matches!(error, Error::NotSerialisable(_)), "{error:?}");
}
