//! A view in a DynamoDB table: one item for each key.

mod error;
mod item;
mod merge;
mod render;

use std::collections::HashSet;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConsumedCapacity, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
};

use crate::facet::{Fault, Unreadable, Unwritable};
use crate::piece::{Effect, Piece, Stamp};
use crate::state::{Found, State};
use crate::view::View;

pub use error::{Error, Source};
pub use item::{Item, item_size, read_item, write_item};
pub use merge::{Merged, Outcome};
pub use render::{Update, render};

/// The table of a view.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Table {
    /// The client with which requests are sent.
    pub client: Client,
    /// The table's name.
    pub name: String,
    /// The attributes of its items.
    pub view: &'static View,
}

/// The result of storing an effect. In each case the effect is in the item now. It is exhaustive, so that a caller can count each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// Every piece was news. An effect that has only elements is always written: adding an element again changes nothing.
    Written,
    /// Only some pieces were news: later events had arrived first, or a part of the effect was in the item already.
    WrittenLate,
    /// No piece was news. An earlier call wrote them, or this very call did: the SDK sends a request again if its response is lost, and then
    /// the condition fails. What must happen once for each event must not depend on [`Written`](Self::Written).
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
    pub async fn apply(&self, Effect { key, mut pieces }: Effect) -> Result<Applied, Error> {
        self.check_writable(&pieces)?;
        let mut applied = Applied::Written;
        while !pieces.is_empty() {
            let Err(old) = self.update(&key, render(self.view, &pieces), None).await? else { return Ok(applied) };
            self.keep_news(&mut pieces, old)?;
            applied = Applied::WrittenLate;
        }
        Ok(Applied::Duplicate)
    }

    /// Returns what is known under a key, from a consistent read.
    pub async fn find(&self, key: &str) -> Result<Option<Found>, Error> {
        Ok(self.get(key).await?.map(|item| read_item(self.view, item)))
    }

    async fn get(&self, key: &str) -> Result<Option<Item>, Error> {
        let key = AttributeValue::S(key.to_owned());
        let request = self.client.get_item().table_name(&self.name).key(self.view.key, key).consistent_read(true);
        Ok(request.send().await.map_err(|error| Error::from_sdk(error, &self.name))?.item)
    }

    /// Checks that the view declares all that the pieces write, and that no two pieces write the same watermark or mark: DynamoDB refuses an
    /// expression that names an attribute twice.
    fn check_writable(&self, pieces: &[Piece]) -> Result<(), Error> {
        let mut written = HashSet::with_capacity(pieces.len());
        for piece in pieces {
            self.view.check_piece(piece)?;
            let (attribute, by) = piece.decided_by();
            if by.is_some() && !written.insert(attribute) {
                return Err(Unwritable { attribute: attribute.to_owned(), fault: Fault::Twice, source: None }.into());
            }
        }
        Ok(())
    }

    /// Keeps the pieces that are news to an item that refused them, and returns what the item says.
    fn keep_news(&self, pieces: &mut Vec<Piece>, old: Item) -> Result<State, Error> {
        let state = self.read_for(pieces, old)?;
        let before = pieces.len();
        pieces.retain(|piece| state.is_news(piece));
        // Each round must drop a piece, or the rounds would not end.
        if pieces.len() == before { Err(Error::Inconsistent) } else { Ok(state) }
    }

    /// Reads an item, of which all that decides about `pieces` must be readable.
    fn read_for(&self, pieces: &[Piece], old: Item) -> Result<State, Error> {
        let Found { state, unreadable } = read_item(self.view, old);
        for (attribute, by) in pieces.iter().map(Piece::decided_by) {
            // Ids have one length: another text is no id, and must not pass for the id of a later event. Whatever else may be
            // wrong with the item is no reason to stop this event.
            let length = |stamp: Option<&Stamp>| stamp.map(|stamp| stamp.len()).filter(|length| *length > 0);
            let is_no_id = length(state.stamp(attribute)).is_some_and(|stored| Some(stored) != length(by));
            if is_no_id || unreadable.iter().any(|unreadable| unreadable.attribute == attribute) {
                return Err(Unreadable { attribute: attribute.to_owned() }.into());
            }
        }
        Ok(state)
    }

    /// Sends one update. If its condition fails, the item is returned in `Err`: something in the update is not news to it.
    async fn update(
        &self,
        key: &str,
        update: Update,
        capacity: Option<ReturnConsumedCapacity>,
    ) -> Result<Result<Option<ConsumedCapacity>, Item>, Error> {
        let old_item = update.condition_expression.as_ref().map(|_| ReturnValuesOnConditionCheckFailure::AllOld);
        let sent = self
            .client
            .update_item()
            .table_name(&self.name)
            .key(self.view.key, AttributeValue::S(key.to_owned()))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(Some(update.names))
            .set_expression_attribute_values(Some(update.values))
            .set_return_values_on_condition_check_failure(old_item)
            .set_return_consumed_capacity(capacity)
            .send()
            .await;
        let error = match sent {
            Ok(done) => return Ok(Ok(done.consumed_capacity)),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(refused)) => match &refused.item {
                Some(item) => Ok(Err(item.clone())),
                // Not every server returns it.
                None => Ok(Err(self.get(key).await?.unwrap_or_default())),
            },
            _ => Err(Error::from_sdk(error, &self.name)),
        }
    }
}
