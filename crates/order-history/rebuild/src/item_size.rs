//! The size of an item in `DynamoDB`.

use serde_json::Value;

/// The largest size of an item, in bytes
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items>).
pub(crate) const MOST: usize = 400 * 1024;

/// The size of the item in a line of `DynamoDB` JSON, by
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>. A short line is not
/// parsed, because a line is never shorter than its item.
pub(crate) fn of_line(line: &[u8]) -> usize {
    if line.len() <= MOST {
        return line.len();
    }
    let Ok(line) = serde_json::from_slice::<Value>(line) else { return line.len() };
    let Some(item) = line.get("Item").and_then(Value::as_object) else { return 0 };
    item.iter().map(|(name, value)| name.len() + of_value(value)).sum()
}

fn of_value(value: &Value) -> usize {
    let Some((kind, value)) = value.as_object().and_then(|value| value.iter().next()) else { return 0 };
    match (kind.as_str(), value) {
        ("N", Value::String(number)) => {
            // One byte for two digits, one more byte, and one for a minus sign.
            let digits = number.bytes().filter(u8::is_ascii_digit).count();
            digits.div_ceil(2) + 1 + usize::from(number.starts_with('-'))
        }
        ("SS", Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::len).sum(),
        ("L", Value::Array(elements)) => 3 + elements.iter().map(|element| 1 + of_value(element)).sum::<usize>(),
        ("M", Value::Object(members)) => {
            3 + members.iter().map(|(name, value)| 1 + name.len() + of_value(value)).sum::<usize>()
        }
        (_, Value::String(text)) => text.len(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_counted_as_dynamodb_counts_it() {
        let filler = "x".repeat(MOST);
        let line = format!(
            r#"{{"Item":{{"orderId":{{"S":"99"}},"n":{{"N":"-12345"}},"l":{{"L":[{{"BOOL":true}},{{"NULL":true}}]}},"m":{{"M":{{"ab":{{"S":"é"}}}}}},"s":{{"SS":["abc","d"]}},"x":{{"S":"{filler}"}}}}}}"#
        );
        // Names and values: 7+2, 1+5, 1+(3+2+2), 1+(3+1+2+2), 1+4, 1+filler.
        assert_eq!(of_line(line.as_bytes()), 9 + 6 + 8 + 9 + 5 + 1 + MOST);
    }
}
