//! A lock as the table holds it. Times are epoch milliseconds.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{Attributes, Error};

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The lock's part of an item; all of it may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) fence: Option<u64>,
    pub(crate) owner: Option<String>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) lease_ms: Option<u64>,
    pub(crate) nonce: Option<String>,
    pub(crate) readers: Vec<String>,
    pub(crate) readers_until: Option<u64>,
    pub(crate) writer_waits_until: Option<u64>,
}

impl Record {
    pub(crate) fn from_item(item: &Item, names: &Attributes) -> Result<Self, Error> {
        Ok(Self {
            fence: number(item, &names.fence)?,
            owner: text(item, &names.owner)?,
            expires_at: number(item, &names.expires_at)?,
            lease_ms: number(item, &names.lease_ms)?,
            nonce: text(item, &names.nonce)?,
            readers: match item.get(&names.readers) {
                None => Vec::new(),
                Some(AttributeValue::Ss(tokens)) => tokens.clone(),
                Some(_) => return Err(malformed(&names.readers)),
            },
            readers_until: number(item, &names.readers_until)?,
            writer_waits_until: number(item, &names.writer_waits_until)?,
        })
    }

    pub(crate) fn is_read_by(&self, token: &str) -> bool {
        self.readers.iter().any(|reader| reader == token)
    }

    pub(crate) fn is_owned_by(&self, token: &str) -> bool {
        self.owner.as_deref() == Some(token)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.owner.is_some() || !self.readers.is_empty()
    }

    /// Whether a grant with this fence takes the lock over from its holders: a reader that joins others leaves the fence as it is.
    pub(crate) fn is_taken_over_with(&self, fence: u64) -> bool {
        self.is_held() && self.fence != Some(fence)
    }

    /// When the last of the present holders' leases ends, as far as the record says.
    pub(crate) fn held_until(&self) -> Option<u64> {
        let owner = self.owner.as_ref().and(self.expires_at);
        let readers = if self.readers.is_empty() { None } else { self.readers_until };
        owner.max(readers)
    }
}

fn text(item: &Item, name: &str) -> Result<Option<String>, Error> {
    match item.get(name) {
        None => Ok(None),
        Some(AttributeValue::S(text)) => Ok(Some(text.clone())),
        Some(_) => Err(malformed(name)),
    }
}

fn number(item: &Item, name: &str) -> Result<Option<u64>, Error> {
    match item.get(name) {
        None => Ok(None),
        Some(AttributeValue::N(digits)) => digits.parse().map(Some).map_err(|_| malformed(name)),
        Some(_) => Err(malformed(name)),
    }
}

fn malformed(attribute: &str) -> Error {
    Error::Malformed { attribute: attribute.to_owned() }
}
