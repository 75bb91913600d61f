//! The key of a lock.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::Attributes;

/// The primary key of a lock's item. A text alone is the value of the partition key [`Attributes::key`].
///
/// ```
/// use dynamodb_locks::Key;
///
/// let record = Key::from("order-42");
/// let item = Key::new("pk", "Order#42").sort("sk", 7);
/// assert_ne!(record, item);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Without a name, it is that of [`Attributes::key`].
    partition: (Option<String>, KeyValue),
    sort: Option<(String, KeyValue)>,
}

impl Key {
    /// The item of the partition key `attribute` with this value.
    pub fn new(attribute: impl Into<String>, value: impl Into<KeyValue>) -> Self {
        Self { partition: (Some(attribute.into()), value.into()), sort: None }
    }

    /// The same with a sort key, for tables that have one.
    #[must_use]
    pub fn sort(self, attribute: impl Into<String>, value: impl Into<KeyValue>) -> Self {
        Self { sort: Some((attribute.into(), value.into())), ..self }
    }

    pub(crate) fn partition_name<'a>(&'a self, names: &'a Attributes) -> &'a str {
        self.partition.0.as_ref().unwrap_or(&names.key)
    }

    /// Whether both are the key of one item: `Key::from("x")` and `Key::new("id", "x")` are.
    pub(crate) fn is_same(&self, other: &Self, names: &Attributes) -> bool {
        let one = (self.partition_name(names), &self.partition.1, &self.sort);
        one == (other.partition_name(names), &other.partition.1, &other.sort)
    }

    pub(crate) fn to_item(&self, names: &Attributes) -> HashMap<String, AttributeValue> {
        let partition = (self.partition_name(names).to_owned(), self.partition.1.to_attribute());
        let sort = self.sort.as_ref().map(|(name, value)| (name.clone(), value.to_attribute()));
        [partition].into_iter().chain(sort).collect()
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Key {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self { partition: (None, KeyValue::Text(text)), sort: None }
    }
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Self {
        key.clone()
    }
}

/// The value of a key attribute. It is exhaustive: these are the types of keys that DynamoDB has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyValue {
    /// Of type S, 1 to 2,048 bytes (1,024 as a sort key).
    Text(String),
    /// Of type N, as decimal digits.
    Number(String),
    /// Of type B.
    Binary(Vec<u8>),
}

impl KeyValue {
    fn to_attribute(&self) -> AttributeValue {
        match self {
            Self::Text(text) => AttributeValue::S(text.clone()),
            Self::Number(digits) => AttributeValue::N(digits.clone()),
            Self::Binary(bytes) => AttributeValue::B(Blob::new(bytes.clone())),
        }
    }
}

impl From<&str> for KeyValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for KeyValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for KeyValue {
    fn from(number: i64) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<Vec<u8>> for KeyValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes)
    }
}
