//! From pieces to one conditional `UpdateItem`.

use std::collections::HashMap;
use std::mem;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::content::Attributes;
use crate::dynamodb::item::attribute_value;
use crate::piece::{Piece, Stamp};
use crate::view::View;

/// The expressions of one `UpdateItem`, every name aliased and every value bound.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The `UpdateExpression`.
    pub update_expression: String,
    /// The `ConditionExpression`: every watermark and mark in the update is lower than the new one. `None` if the update only adds to sets.
    pub condition_expression: Option<String>,
    /// The `ExpressionAttributeNames`.
    pub names: HashMap<String, String>,
    /// The `ExpressionAttributeValues`.
    pub values: HashMap<String, AttributeValue>,
}

/// Renders pieces for one item, all of which the view declares, into one update.
///
/// [`Table::apply`](crate::dynamodb::Table::apply) checks the pieces before; this function does so in debug builds only. For a facet that the view
/// does not declare, the update would have the watermark without the attributes, and the content of the event would be lost.
#[must_use]
pub fn render(view: &View, pieces: &[Piece]) -> Update {
    debug_assert!(pieces.iter().all(|piece| view.check_piece(piece).is_ok()), "the view does not declare a piece");
    let mut clauses = Clauses::default();
    for piece in pieces {
        match piece {
            Piece::Mark { attribute, by } => {
                let alias = numbered("tracking", clauses.marks);
                clauses.marks += 1;
                clauses.stamp(&alias, attribute, by);
            }
            Piece::Facet { watermark, by, attributes } => {
                clauses.stamp(watermark, watermark, by);
                clauses.write(view, watermark, attributes);
            }
            Piece::Element { set, element } => clauses.add(set, element),
        }
    }
    clauses.join()
}

#[derive(Default)]
struct Clauses<'a> {
    set: Vec<String>,
    remove: Vec<String>,
    /// Sets with what is added to them: an expression may name a set once.
    add: Vec<(&'a str, Vec<String>)>,
    conditions: Vec<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
    /// The events so far, in the order of their aliases.
    stamps: Vec<&'a Stamp>,
    marks: usize,
}

impl<'a> Clauses<'a> {
    /// Raises a watermark or mark, on condition that it is lower.
    fn stamp(&mut self, alias: &str, attribute: &str, by: &'a Stamp) {
        let known = self.stamps.iter().position(|stamp| *stamp == by);
        let event_id = numbered(":eventId", known.unwrap_or(self.stamps.len()));
        if known.is_none() {
            self.stamps.push(by);
            self.values.insert(event_id.clone(), AttributeValue::S(by.to_string()));
        }
        let name = self.name(alias, attribute);
        self.conditions.push(format!("(attribute_not_exists({name}) OR {name} < {event_id})"));
        self.set.push(format!("{name} = {event_id}"));
    }

    /// Writes a facet whole: what it has no value for is removed.
    fn write(&mut self, view: &View, watermark: &str, attributes: &Attributes) {
        let Some(shape) = view.facets.iter().find(|shape| shape.watermark == watermark) else { return };
        for &attribute in shape.attributes {
            let name = self.name(attribute, attribute);
            match attributes.json(attribute) {
                Some(json) => {
                    let value = self.value(attribute, attribute_value(json, shape.text_sets.contains(&attribute)));
                    self.set.push(format!("{name} = {value}"));
                }
                None => self.remove.push(name),
            }
        }
    }

    fn add(&mut self, set: &'a str, element: &str) {
        match self.add.iter_mut().find(|(known, _)| *known == set) {
            Some((_, elements)) if elements.iter().any(|known| known == element) => {}
            Some((_, elements)) => elements.push(element.to_owned()),
            None => self.add.push((set, vec![element.to_owned()])),
        }
    }

    fn name(&mut self, alias: &str, attribute: &str) -> String {
        let alias = format!("#{alias}");
        self.names.insert(alias.clone(), attribute.to_owned());
        alias
    }

    fn value(&mut self, alias: &str, value: AttributeValue) -> String {
        let alias = format!(":{alias}");
        self.values.insert(alias.clone(), value);
        alias
    }

    fn join(mut self) -> Update {
        let mut add = Vec::with_capacity(self.add.len());
        for (set, elements) in mem::take(&mut self.add) {
            let (name, value) = (self.name(set, set), self.value(set, AttributeValue::Ss(elements)));
            add.push(format!("{name} {value}"));
        }
        let sections = [("SET", self.set), ("REMOVE", self.remove), ("ADD", add)];
        let sections: Vec<_> = sections
            .into_iter()
            .filter(|(_, clauses)| !clauses.is_empty())
            .map(|(keyword, clauses)| format!("{keyword} {}", clauses.join(", ")))
            .collect();
        Update {
            update_expression: sections.join(" "),
            condition_expression: (!self.conditions.is_empty()).then(|| self.conditions.join(" AND ")),
            names: self.names,
            values: self.values,
        }
    }
}

/// The first has the plain alias.
fn numbered(alias: &str, place: usize) -> String {
    if place == 0 { alias.to_owned() } else { format!("{alias}{place}") }
}
