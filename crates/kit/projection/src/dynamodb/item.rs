//! An item of the table, and what it says.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use crate::facet::Unreadable;
use crate::line::read_number;
use crate::piece::{Attributes, Name};
use crate::state::{Found, State, Written};
use crate::view::View;

/// An item as the SDK has it.
pub type Item = HashMap<String, AttributeValue>;

/// Reads an item of the table or of an index on it.
///
/// Attributes that the view does not name are ignored: a newer version may have written them. What cannot be read is left
/// out and reported. An index may leave the watermarks out: a facet is there if any attribute of it is.
#[must_use]
pub fn read_item(view: &View, mut item: Item) -> Found {
    let mut found = Found::default();
    let mut unreadable = |attribute: &str| found.unreadable.push(Unreadable { attribute: attribute.to_owned() });
    for shape in view.facets {
        let mut attributes = Attributes::new();
        for &name in shape.attributes {
            match item.remove(name).map(json_value) {
                Some(Some(value)) => _ = attributes.insert(Name::Borrowed(name), value),
                Some(None) => unreadable(name),
                None => {}
            }
        }
        // No text is below every id.
        let by = match item.remove(shape.watermark) {
            Some(AttributeValue::S(by)) => by,
            None if attributes.is_empty() => continue,
            None => String::new(),
            Some(_) => {
                unreadable(shape.watermark);
                String::new()
            }
        };
        found.state.facets.insert(shape.watermark.into(), Written { by: by.into(), attributes });
    }
    for &set in view.sets {
        match item.remove(set) {
            Some(AttributeValue::Ss(elements)) => {
                found.state.sets.insert(set.into(), elements.into_iter().collect());
            }
            Some(_) => unreadable(set),
            None => {}
        }
    }
    for (name, value) in item {
        if view.marks.iter().any(|kind| name.starts_with(kind)) {
            match value {
                AttributeValue::S(by) => {
                    found.state.marks.insert(name.into(), by.into());
                }
                _ => unreadable(&name),
            }
        }
    }
    found
}

/// The item of a state. What the view does not declare is left out.
#[must_use]
pub fn write_item(view: &View, key: &str, state: &State) -> Item {
    let mut item = Item::from([(view.key.to_owned(), AttributeValue::S(key.to_owned()))]);
    for shape in view.facets {
        let Some(written) = state.facets.get(shape.watermark) else { continue };
        if !written.by.is_empty() {
            item.insert(shape.watermark.to_owned(), AttributeValue::S(written.by.to_string()));
        }
        for &name in shape.attributes {
            if let Some(value) = written.attributes.get(name) {
                item.insert(name.to_owned(), attribute_value(value, shape.text_sets.contains(&name)));
            }
        }
    }
    for &name in view.sets {
        let elements: Vec<_> = state.set(name).map(str::to_owned).collect();
        if !elements.is_empty() {
            item.insert(name.to_owned(), AttributeValue::Ss(elements));
        }
    }
    item.extend(state.marks().map(|(name, by)| (name.to_owned(), AttributeValue::S(by.to_string()))));
    item
}

/// The bytes that DynamoDB counts for an item
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>). A write costs one unit for
/// each kilobyte, begun or whole, in the table, and as much again in each index that it changes.
#[must_use]
pub fn item_size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number_size(number),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(|number| number_size(number)).sum(),
        AttributeValue::Bs(all) => all.iter().map(|bytes| bytes.as_ref().len()).sum(),
        AttributeValue::L(elements) => 3 + elements.iter().map(|element| 1 + value_size(element)).sum::<usize>(),
        AttributeValue::M(members) => {
            3 + members.iter().map(|(name, value)| 1 + name.len() + value_size(value)).sum::<usize>()
        }
        _ => 1,
    }
}

/// About one byte for two significant digits, and one.
fn number_size(number: &str) -> usize {
    let digits = number.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    digits.div_ceil(2) + 1 + usize::from(number.starts_with('-'))
}

/// A value as DynamoDB stores it.
pub(crate) fn attribute_value(value: &Value, is_text_set: bool) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(value) => AttributeValue::Bool(*value),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Array(elements) if is_text_set => {
            AttributeValue::Ss(elements.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Value::Array(elements) => {
            AttributeValue::L(elements.iter().map(|element| attribute_value(element, false)).collect())
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), attribute_value(value, false)));
            AttributeValue::M(members.collect())
        }
    }
}

/// A value as facets are read from it; `None` for binary data and sets of numbers, which no facet writes.
fn json_value(value: AttributeValue) -> Option<Value> {
    Some(match value {
        AttributeValue::S(text) => Value::String(text),
        AttributeValue::N(number) => Value::Number(read_number(&number)?),
        AttributeValue::Bool(value) => Value::Bool(value),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::Ss(mut elements) => {
            elements.sort_unstable();
            Value::Array(elements.into_iter().map(Value::String).collect())
        }
        AttributeValue::L(elements) => elements.into_iter().map(json_value).collect::<Option<_>>()?,
        AttributeValue::M(members) => {
            let members = members.into_iter().map(|(name, value)| Some((name, json_value(value)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
