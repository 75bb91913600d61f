//! From an effect to one conditional `UpdateItem`.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use order_view::{Effect, Facet, Piece};

use crate::attribute;
use crate::item;

/// The expressions of one `UpdateItem`, every name aliased and every value bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// What to write.
    pub update_expression: String,
    /// When to: only while every watermark in it is lower. `None` if what is written can only add to a set.
    pub condition_expression: Option<String>,
    /// What the `#aliases` stand for.
    pub names: HashMap<String, String>,
    /// What the `:aliases` stand for.
    pub values: HashMap<String, AttributeValue>,
}

/// Renders all pieces of an effect into one update.
#[must_use]
pub fn render(effect: &Effect) -> Update {
    let mut clauses = Clauses::default();
    for piece in &effect.pieces {
        match piece {
            Piece::Tracking(aggregate) => {
                clauses.stamp("tracking", attribute::tracking(aggregate));
            }
            Piece::Facet(facet) => {
                let watermark = attribute::watermark(facet.kind());
                clauses.stamp(watermark, watermark.to_owned());
                clauses.write(facet);
            }
            Piece::Timeline(entry) => clauses.add(attribute::TIMELINE, entry.to_string()),
            Piece::Revision(revision) => clauses.add(attribute::REVISIONS, revision.to_string()),
        }
    }
    clauses.join(effect)
}

const EVENT_ID: &str = ":eventId";

#[derive(Default)]
struct Clauses {
    set: Vec<String>,
    remove: Vec<String>,
    add: Vec<String>,
    conditions: Vec<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Clauses {
    /// Raises a watermark, on condition that it is lower.
    fn stamp(&mut self, alias: &str, attribute: String) {
        let name = self.name(alias, attribute);
        self.conditions.push(format!("(attribute_not_exists({name}) OR {name} < {EVENT_ID})"));
        self.set.push(format!("{name} = {EVENT_ID}"));
    }

    /// Writes a facet whole: what it does not have is removed.
    fn write(&mut self, facet: &Facet) {
        for (attribute, value) in item::facet_attributes(facet) {
            let name = self.name(attribute, attribute.to_owned());
            match value {
                Some(value) => {
                    let value = self.value(attribute, value);
                    self.set.push(format!("{name} = {value}"));
                }
                None => self.remove.push(name),
            }
        }
    }

    fn add(&mut self, set: &str, element: String) {
        let name = self.name(set, set.to_owned());
        let value = self.value(set, AttributeValue::Ss(vec![element]));
        self.add.push(format!("{name} {value}"));
    }

    fn name(&mut self, alias: &str, attribute: String) -> String {
        let alias = format!("#{alias}");
        self.names.insert(alias.clone(), attribute);
        alias
    }

    fn value(&mut self, alias: &str, value: AttributeValue) -> String {
        let alias = format!(":{alias}");
        self.values.insert(alias.clone(), value);
        alias
    }

    fn join(mut self, effect: &Effect) -> Update {
        // A value that no expression uses is an error.
        if !self.conditions.is_empty() {
            let event_id = AttributeValue::S(effect.event_id.to_string());
            self.values.insert(EVENT_ID.to_owned(), event_id);
        }
        let sections = [("SET", self.set), ("REMOVE", self.remove), ("ADD", self.add)];
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
