//! A normal form of items: equal items have the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use projection::dynamodb::Item;
use sha2::{Digest as _, Sha256};

/// A digest of an item's content: two items with the same digest are equal.
pub(crate) type Digest = [u8; 16];

/// The digest of a whole item.
pub(crate) fn digest(item: &Item) -> Digest {
    let mut bytes = Vec::with_capacity(1 << 11);
    for (name, value) in item.iter().collect::<BTreeMap<_, _>>() {
        write_text(name, &mut bytes);
        write(value, &mut bytes);
    }
    let hash = Sha256::digest(&bytes);
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash[..16]);
    digest
}

/// The names of the attributes in which two items differ.
pub(crate) fn differing(left: &Item, right: &Item) -> BTreeSet<String> {
    let names = left.keys().chain(right.keys());
    let normal = |item: &Item, name: &String| {
        let mut bytes = Vec::new();
        item.get(name).map(|value| write(value, &mut bytes)).map(|()| bytes)
    };
    names.filter(|name| normal(left, name) != normal(right, name)).cloned().collect()
}

/// Writes the kind, the length and the content of a value, so that different values have different bytes.
fn write(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => tagged(b'S', out, |out| write_text(text, out)),
        AttributeValue::N(text) => tagged(b'N', out, |out| write_text(&number(text), out)),
        AttributeValue::B(bytes) => tagged(b'B', out, |out| write_bytes(bytes.as_ref(), out)),
        AttributeValue::Bool(value) => out.extend([b'?', u8::from(*value)]),
        AttributeValue::Null(_) => out.push(b'0'),
        // A set has no order.
        AttributeValue::Ss(texts) => write_set(b's', texts.iter().map(|text| text.clone().into_bytes()), out),
        AttributeValue::Ns(numbers) => write_set(b'n', numbers.iter().map(|text| number(text).into_bytes()), out),
        AttributeValue::Bs(blobs) => write_set(b'b', blobs.iter().map(|blob| blob.as_ref().to_vec()), out),
        AttributeValue::L(elements) => {
            tagged(b'L', out, |out| write_length(elements.len(), out));
            for element in elements {
                write(element, out);
            }
        }
        AttributeValue::M(members) => {
            tagged(b'M', out, |out| write_length(members.len(), out));
            for (name, value) in members.iter().collect::<BTreeMap<_, _>>() {
                write_text(name, out);
                write(value, out);
            }
        }
        // Values of a kind that this SDK does not know are considered equal.
        _ => out.push(b'!'),
    }
}

fn tagged(tag: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    write(out);
}

fn write_set(tag: u8, elements: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
    let elements: BTreeSet<_> = elements.collect();
    tagged(tag, out, |out| write_length(elements.len(), out));
    for element in &elements {
        write_bytes(element, out);
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_bytes(text.as_bytes(), out);
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(length as u64).to_le_bytes());
}

/// A number as its significant digits and a power of ten: `38.0`, `38` and `3.8e1` are the same. Any other text is not changed.
fn number(text: &str) -> String {
    normal_number(text).unwrap_or_else(|| text.to_owned())
}

fn normal_number(text: &str) -> Option<String> {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.strip_prefix('+').unwrap_or(text)), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - significant.len()).ok()?;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let exponent = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()? + dropped;
    Some(format!("{sign}{significant}e{exponent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value() {
        for (left, right) in
            [("38.0", "38"), ("3.8E1", "38"), ("-0", "0"), ("0.50", ".5"), ("1000", "1e3"), ("+1", "1")]
        {
            assert_eq!(number(left), number(right), "{left} = {right}");
        }
        for (left, right) in [("38", "-38"), ("38", "380"), ("0.5", "5"), ("1e3", "1e-3"), ("x", "y")] {
            assert_ne!(number(left), number(right), "{left} ≠ {right}");
        }
    }

    #[test]
    fn sets_have_no_order_but_lists_have() {
        let texts = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        let set = |texts| Item::from([("x".to_owned(), AttributeValue::Ss(texts))]);
        let list = |texts: Vec<String>| {
            Item::from([("x".to_owned(), AttributeValue::L(texts.into_iter().map(AttributeValue::S).collect()))])
        };
        assert_eq!(digest(&set(texts(["a", "b"]))), digest(&set(texts(["b", "a"]))));
        assert_ne!(digest(&list(texts(["a", "b"]))), digest(&list(texts(["b", "a"]))));
        assert_ne!(digest(&list(texts(["a", "b"]))), digest(&set(texts(["a", "b"]))));
        assert_ne!(digest(&set(texts(["ab", "c"]))), digest(&set(texts(["a", "bc"]))));
    }

    #[test]
    fn differing_attributes_are_named_on_either_side() {
        let item = |pairs: &[(&str, &str)]| -> Item {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), AttributeValue::S((*text).to_owned()))).collect()
        };
        let (left, right) = (item(&[("a", "1"), ("b", "2"), ("c", "3")]), item(&[("a", "1"), ("b", "x"), ("d", "4")]));
        assert_eq!(differing(&left, &right), ["b", "c", "d"].map(str::to_owned).into());
    }
}
