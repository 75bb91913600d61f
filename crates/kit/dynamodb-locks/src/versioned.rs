//! Optimistic locking: an item has a version, and a write names the version that it is based on.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::Clauses;

/// The version of an item that a write is based on.
///
/// Its [`clauses`](Self::clauses) go into the caller's own `UpdateItem`, `PutItem` or transaction: the condition refuses
/// the write if the item has moved on, and the assignment moves it on.
///
/// ```
/// use dynamodb_locks::Versioned;
///
/// let version = Versioned::at(7).clauses();
/// assert_eq!(version.condition, "#version = :version");
/// assert_eq!(version.set, "#version = :next_version");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    attribute: String,
    version: Option<u64>,
}

impl Versioned {
    /// The item was read at this version.
    #[must_use]
    pub fn at(version: u64) -> Self {
        Self { attribute: "version".to_owned(), version: Some(version) }
    }

    /// There was no item: the write creates it, at version 1.
    ///
    /// The condition also passes for an item that exists without the version attribute. Where there can be such items, add
    /// `attribute_not_exists(<partition key>)`.
    #[must_use]
    pub fn absent() -> Self {
        Self { attribute: "version".to_owned(), version: None }
    }

    /// The name of the attribute: `version` by default. It may be a reserved word.
    #[must_use]
    pub fn attribute(self, name: impl Into<String>) -> Self {
        Self { attribute: name.into(), ..self }
    }

    /// The version that the item has after the write.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.version.map_or(1, |version| version.saturating_add(1))
    }

    /// The condition, for a `PutItem`, `DeleteItem` or `ConditionCheck`. A `PutItem` must write
    /// [`next`](Self::next) as the item's version.
    pub fn condition(&self) -> Clauses {
        let (condition, values) = match self.version {
            Some(version) => ("#version = :version", HashMap::from([(":version".to_owned(), number(version))])),
            None => ("attribute_not_exists(#version)", HashMap::new()),
        };
        Clauses {
            condition: condition.to_owned(),
            set: String::new(),
            remove: String::new(),
            names: HashMap::from([("#version".to_owned(), self.attribute.clone())]),
            values,
        }
    }

    /// Condition and assignment, for an `UpdateItem`.
    pub fn clauses(&self) -> Clauses {
        let mut clauses = self.condition();
        "#version = :next_version".clone_into(&mut clauses.set);
        clauses.values.insert(":next_version".to_owned(), number(self.next()));
        clauses
    }
}

fn number(version: u64) -> AttributeValue {
    AttributeValue::N(version.to_string())
}
