//! The size of an item, by DynamoDB's documented rules.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// The SDK's representation of an item.
pub type Item = HashMap<String, AttributeValue>;

/// The bytes of an item: the names and the values of its attributes.
#[must_use]
pub fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

/// The write units of a change: the larger of the item before and after it, in started kilobytes.
#[must_use]
pub fn write_units(before: usize, after: usize) -> usize {
    before.max(after).div_ceil(1024).max(1)
}

fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => number_bytes(digits),
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(|digits| number_bytes(digits)).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|blob| blob.as_ref().len()).sum(),
        // A list or a map has three additional bytes, and one for each element.
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + value_bytes(value)).sum::<usize>(),
        AttributeValue::M(members) => 3 + item_bytes(members) + members.len(),
        // A boolean or a null is one byte, and there is no other type.
        _ => 1,
    }
}

/// A byte for each two significant digits, and one more; leading and trailing zeros are not significant.
fn number_bytes(digits: &str) -> usize {
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len().div_ceil(2) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: AttributeValue, bytes: usize) {
        assert_eq!(item_bytes(&Item::from([("name".to_owned(), value)])), "name".len() + bytes);
    }

    #[test]
    fn values_have_the_documented_sizes() {
        check(AttributeValue::S("Crème".to_owned()), 6);
        check(AttributeValue::N("1772366400007".to_owned()), 8);
        check(AttributeValue::N("100".to_owned()), 2);
        check(AttributeValue::Ss(vec!["ab".to_owned(), "c".to_owned()]), 3);
        check(AttributeValue::L(vec![AttributeValue::S("ab".to_owned())]), 3 + 1 + 2);
        check(AttributeValue::M(Item::from([("a".to_owned(), AttributeValue::Bool(true))])), 3 + 1 + 1 + 1);
    }

    #[test]
    fn a_write_is_charged_for_the_larger_item_in_started_kilobytes() {
        assert_eq!(write_units(0, 1), 1);
        assert_eq!(write_units(0, 1024), 1);
        assert_eq!(write_units(1025, 10), 2);
        assert_eq!(write_units(10, 2049), 3);
    }
}
