//! An item of the table, and what it says.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::canonical::{make_set, set_elements, sort_members, write_number, write_text};
use crate::content::{Attributes, Json, elements, members, unescaped, write_name};
use crate::facet::Unreadable;
use crate::line::write_text_set;
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
        let mut members = String::new();
        for &name in shape.attributes {
            let Some(value) = item.remove(name) else { continue };
            let before = members.len();
            write_name(name, &mut members);
            let start = members.len();
            let is_text_set = shape.text_sets.contains(&name);
            let is_json = write_json(value, &mut members);
            if !is_json || is_text_set && !make_set(&mut members, start) {
                unreadable(name);
            }
            // An empty text set is not stored. What is no set is kept, so that the facet is not read as one without it.
            if !is_json || is_text_set && &members[start..] == "[]" {
                members.truncate(before);
            }
        }
        let attributes = Attributes::from_members(members);
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
                let elements = elements.into_iter().map(|element| (element.into_boxed_str(), ())).collect();
                found.state.sets.insert(set.into(), elements);
            }
            Some(_) => unreadable(set),
            None => {}
        }
    }
    for (name, value) in item {
        if view.has_mark(&name) {
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
            if let Some(json) = written.attributes.json(name) {
                item.insert(name.to_owned(), attribute_value(json, shape.text_sets.contains(&name)));
            }
        }
    }
    for &name in view.sets {
        let elements: Vec<_> = state.set(name).map(str::to_owned).collect();
        if !elements.is_empty() {
            item.insert(name.to_owned(), AttributeValue::Ss(elements));
        }
    }
    let marks = state.marks().filter(|(name, _)| view.has_mark(name));
    item.extend(marks.map(|(name, by)| (name.to_owned(), AttributeValue::S(by.to_string()))));
    item
}

/// The bytes that DynamoDB counts for an item
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>). A write costs one unit for
/// each kilobyte, rounded up, in the table, and as much again in each index that it changes.
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

/// About one byte for two significant digits, one more, and one more for a negative number.
fn number_size(number: &str) -> usize {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let significant = mantissa.trim_start_matches(['-', '0', '.']).trim_end_matches(['0', '.']);
    let digits = significant.bytes().filter(u8::is_ascii_digit).count();
    digits.div_ceil(2) + 1 + usize::from(number.starts_with('-'))
}

/// A canonical value as DynamoDB stores it.
pub(crate) fn attribute_value(json: &str, is_text_set: bool) -> AttributeValue {
    let text = |text| unescaped(text).into_owned();
    // What is no set cannot be stored as one. It stays what it is, and is read as unreadable.
    if let Some(texts) = is_text_set.then(|| set_elements(json)).flatten() {
        return AttributeValue::Ss(texts.into_iter().map(text).collect());
    }
    match Json::of(json) {
        Json::Null => AttributeValue::Null(true),
        Json::Bool(value) => AttributeValue::Bool(value),
        Json::Number(number) => AttributeValue::N(number.to_owned()),
        Json::Text(json) => AttributeValue::S(text(json)),
        Json::Array(list) => AttributeValue::L(elements(list).map(|json| attribute_value(json, false)).collect()),
        Json::Object(object) => {
            let value = |(name, json): (&str, &str)| (unescaped_name(name), attribute_value(json, false));
            AttributeValue::M(members(object).map(value).collect())
        }
    }
}

fn unescaped_name(name: &str) -> String {
    if name.contains('\\') { unescaped(&format!("\"{name}\"")).into_owned() } else { name.to_owned() }
}

/// Appends a value as canonical JSON, and says whether it can: not for binary data and sets of numbers, which no facet writes.
fn write_json(value: AttributeValue, out: &mut String) -> bool {
    match value {
        AttributeValue::S(text) => write_text(&text, |part| out.push_str(part)),
        AttributeValue::N(number) => return write_number(&number, out),
        AttributeValue::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        AttributeValue::Null(_) => out.push_str("null"),
        AttributeValue::Ss(texts) => write_text_set(&texts, out),
        AttributeValue::L(elements) => {
            out.push('[');
            for (place, element) in elements.into_iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                if !write_json(element, out) {
                    return false;
                }
            }
            out.push(']');
        }
        AttributeValue::M(members) => {
            out.push('{');
            let start = out.len();
            for (name, value) in members {
                out.push_str(if out.len() == start { "" } else { "," });
                write_text(&name, |part| out.push_str(part));
                out.push(':');
                if !write_json(value, out) {
                    return false;
                }
            }
            sort_members(out, start);
            out.push('}');
        }
        _ => return false,
    }
    true
}
