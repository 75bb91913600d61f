//! How a record is addressed: by a partition key alone, or by a sort key in one fixed partition.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::Attributes;
use crate::record::Item;

/// The names of a table's attributes, and which of them are its key.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) attributes: Attributes,
    pub(crate) sort_key: Option<SortKey>,
}

/// The id of every record is in the sort key `attribute`, and the partition key has the same `partition` in all of them.
#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) attribute: String,
    pub(crate) partition: String,
}

impl Schema {
    /// The primary key of a record.
    pub(crate) fn key(&self, id: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let partition_key = self.attributes.id.clone();
        match &self.sort_key {
            None => Item::from([(partition_key, text(id))]),
            Some(SortKey { attribute, partition }) => {
                Item::from([(partition_key, text(partition)), (attribute.clone(), text(id))])
            }
        }
    }

    /// The attribute that has the record's id.
    pub(crate) fn id_attribute(&self) -> &str {
        self.sort_key.as_ref().map_or(&self.attributes.id, |sort_key| &sort_key.attribute)
    }
}
