//! An item of the table, and what it says.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Number, Value};

use crate::facet::Unreadable;
use crate::piece::{Attributes, Name};
use crate::state::{Found, Written};
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
        AttributeValue::N(number) => Value::Number(json_number(&number)?),
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

fn json_number(text: &str) -> Option<Number> {
    let whole = text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(text.parse().ok()?))
}
