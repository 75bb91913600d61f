//! A view in a DynamoDB table: one item for each key.

mod error;
mod item;
mod render;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};

use crate::facet::{Unreadable, Unwritable};
use crate::piece::{Effect, Piece, Stamp};
use crate::state::{Found, State};
use crate::view::View;

pub use error::{Error, Source};
pub use item::{Item, read_item};
pub use render::{Update, render};

/// The table of a view.
#[derive(Debug, Clone)]
pub struct Table {
    /// Speaks to DynamoDB.
    pub client: Client,
    /// The table's name.
    pub name: String,
    /// What its items are made of.
    pub view: &'static View,
}

/// What became of an effect. Whichever it is, the item now has all that the effect says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// It was all news. Elements alone are always written: adding one again changes nothing.
    Written,
    /// Some of it was news: later events had come first.
    WrittenLate,
    /// None of it was news.
    Duplicate,
}

impl Table {
    /// A view in the table `name`.
    pub fn new(client: Client, name: impl Into<String>, view: &'static View) -> Self {
        debug_assert_eq!(view.check(), Ok(()));
        Self { client, name: name.into(), view }
    }

    /// Stores an effect: one `UpdateItem` if all of it is news, at most one more for each piece that is not. Nothing is read
    /// first.
    ///
    /// When this returns `Ok`, the effect is in the item.
    pub async fn apply(&self, mut effect: Effect) -> Result<Applied, Error> {
        if let Some(piece) = effect.pieces.iter().find(|piece| !self.view.declares(piece)) {
            return Err(Unwritable { attribute: piece.decided_by().0.to_owned(), source: None }.into());
        }
        let mut applied = Applied::Written;
        while !effect.pieces.is_empty() {
            let Some(old) = self.send(&effect).await? else { return Ok(applied) };
            let Found { state, unreadable } = read_item(self.view, old);
            for (attribute, by) in effect.pieces.iter().map(Piece::decided_by) {
                // Ids have one length: another text is no id, and must not pass for the id of a later event. Whatever else may be
                // wrong with the item is no reason to stop this event.
                let length = |stamp: Option<&Stamp>| stamp.map(|stamp| stamp.len()).filter(|length| *length > 0);
                let is_no_id = length(state.stamp(attribute)).is_some_and(|stored| Some(stored) != length(by));
                if is_no_id || unreadable.iter().any(|unreadable| unreadable.attribute == attribute) {
                    return Err(Unreadable { attribute: attribute.to_owned() }.into());
                }
            }
            let before = effect.pieces.len();
            effect.pieces.retain(|piece| state.is_news(piece));
            // Each round must drop a piece, or this would not end.
            if effect.pieces.len() == before {
                return Err(Error::Inconsistent);
            }
            applied = Applied::WrittenLate;
        }
        Ok(Applied::Duplicate)
    }

    /// Stores what a state knows: as [`apply`](Self::apply), in as many updates as DynamoDB's limit on an expression asks for.
    /// A process that ends between two of them has stored a part; to merge the state again completes it.
    pub async fn merge(&self, key: &str, state: State) -> Result<Applied, Error> {
        let (elements, stamped): (Vec<_>, Vec<_>) =
            state.into_pieces().partition(|piece| matches!(piece, Piece::Element { .. }));
        let mut updates: Vec<Vec<_>> = stamped.chunks(MAX_CONDITIONS).map(<[Piece]>::to_vec).collect();
        // An element may say that an event has been seen, so it comes after what the event wrote.
        match updates.last_mut() {
            Some(last) => last.extend(elements),
            None => updates.push(elements),
        }
        let mut merged = None;
        for pieces in updates {
            let applied = self.apply(Effect { key: key.to_owned(), pieces }).await?;
            merged = Some(if merged.is_none_or(|before| before == applied) { applied } else { Applied::WrittenLate });
        }
        Ok(merged.unwrap_or(Applied::Duplicate))
    }

    /// What is known under a key, by a consistent read.
    pub async fn find(&self, key: &str) -> Result<Option<Found>, Error> {
        Ok(self.get(key).await?.map(|item| read_item(self.view, item)))
    }

    async fn get(&self, key: &str) -> Result<Option<Item>, Error> {
        let key = AttributeValue::S(key.to_owned());
        let request = self.client.get_item().table_name(&self.name).key(self.view.key, key).consistent_read(true);
        Ok(request.send().await.map_err(|error| Error::from_sdk(error, &self.name))?.item)
    }

    /// Sends one update. If it is refused, something in it is not news to the item, which is returned.
    async fn send(&self, effect: &Effect) -> Result<Option<Item>, Error> {
        let update = render(self.view, &effect.pieces);
        let old_item = update.condition_expression.as_ref().map(|_| ReturnValuesOnConditionCheckFailure::AllOld);
        let sent = self
            .client
            .update_item()
            .table_name(&self.name)
            .key(self.view.key, AttributeValue::S(effect.key.clone()))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(Some(update.names))
            .set_expression_attribute_values(Some(update.values))
            .set_return_values_on_condition_check_failure(old_item)
            .send()
            .await;
        let Err(error) = sent else { return Ok(None) };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(refused)) => match &refused.item {
                Some(item) => Ok(Some(item.clone())),
                // Not every server returns it.
                None => Ok(Some(self.get(&effect.key).await?.unwrap_or_default())),
            },
            _ => Err(Error::from_sdk(error, &self.name)),
        }
    }
}

/// An expression may have 4 KB (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>), and
/// a piece takes some 70 bytes of the condition, and fewer of the update unless it has many attributes.
const MAX_CONDITIONS: usize = 40;
