//! The text from which Powertools for AWS Lambda (Python) computes its hashes.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Number, Value};

use crate::Error;

/// The text that Powertools for Python hashes for a key and for a payload: `json.dumps(value, sort_keys=True)`.
///
/// Members are in the order of their names, `, ` and `: ` separate them, and all but ASCII is escaped. Powertools' id of a record is
/// `<prefix>#<hash>`, and its `validation` is the hash of the payload, both in hexadecimal; the hash function is MD5 unless
/// `hash_function` names another one.
///
/// ```
/// use idempotency::powertools_json;
/// use serde_json::json;
///
/// assert_eq!(powertools_json(&json!({"b": [1, 2.50], "a": "é"}))?, r#"{"a": "\u00e9", "b": [1, 2.5]}"#);
/// # Ok::<_, idempotency::Error>(())
/// ```
pub fn powertools_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut text = String::new();
    write(&mut text, &serde_json::to_value(value).map_err(Error::NotSerialisable)?);
    Ok(text)
}

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) => push(text, value),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(values) => {
            let mut separator = "[";
            for value in values {
                text.push_str(separator);
                write(text, value);
                separator = ", ";
            }
            text.push_str(if values.is_empty() { "[]" } else { "]" });
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // By code points, as Python sorts: the same order as that of UTF-8.
            members.sort_unstable_by_key(|(name, _)| *name);
            let mut separator = "{";
            for (name, value) in &members {
                text.push_str(separator);
                write_string(text, name);
                text.push_str(": ");
                write(text, value);
                separator = ", ";
            }
            text.push_str(if members.is_empty() { "{}" } else { "}" });
        }
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    push(text, format_args!("\\u{unit:04x}"));
                }
            }
        }
    }
    text.push('"');
}

/// Python writes a float with the fewest digits that give it back, as Rust does, but with other exponents: from 1e16 on and below 1e-4,
/// of at least two digits.
fn write_number(text: &mut String, number: &Number) {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return push(text, number);
    };
    let scientific = format!("{float:e}");
    let exponent =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()).unwrap_or_default();
    if (-4..16).contains(&exponent) {
        // With `.0` where it is whole.
        return push(text, format_args!("{float:?}"));
    }
    let mantissa = scientific.split('e').next().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    push(text, format_args!("{mantissa}e{sign}{:02}", exponent.abs()));
}

fn push(text: &mut String, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(text, "{value}");
}
