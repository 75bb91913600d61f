//! Effects into the table, and orders out of it.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use order_events::OrderId;
use order_view::{Effect, OrderView};

use crate::attribute::ORDER_ID;
use crate::error::Error;
use crate::item::{Item, is_news, read_view};
use crate::render::render;
use crate::table::INDEX;

/// The order history table.
#[derive(Debug, Clone)]
pub struct OrderStore {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) index: String,
}

/// What became of an effect. Whichever it is, the item now has all that the event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// It was all news.
    Written,
    /// Some of it was news: later events had come first.
    WrittenLate,
    /// None of it was news.
    Duplicate,
}

enum Sent {
    Written,
    /// Something in the update was not news to the item as it stands.
    Refused(Option<Item>),
}

impl OrderStore {
    /// The store in `table`. Its histories are read from the index [`INDEX`].
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into(), index: INDEX.to_owned() }
    }

    /// The same store, with histories read from another index of the table, such as one that replaces [`INDEX`].
    #[must_use]
    pub fn with_index(self, index: impl Into<String>) -> Self {
        Self { index: index.into(), ..self }
    }

    /// Stores an effect: one `UpdateItem` if all of it is news, at most one more for each piece that is not.
    ///
    /// When this returns `Ok`, the effect is in the item.
    pub async fn apply(&self, mut effect: Effect) -> Result<Applied, Error> {
        let mut applied = Applied::Written;
        loop {
            let old = match self.send(&effect).await? {
                Sent::Written => return Ok(applied),
                Sent::Refused(old) => old,
            };
            let old = match old {
                Some(item) => item,
                None => self.get(&effect.order_id).await?.unwrap_or_default(),
            };
            let before = effect.pieces.len();
            let mut news = Vec::with_capacity(before);
            for piece in effect.pieces {
                if is_news(&old, effect.event_id, &piece)? {
                    news.push(piece);
                }
            }
            effect.pieces = news;
            match effect.pieces.len() {
                0 => return Ok(Applied::Duplicate),
                // Each round must drop a piece, or this would not end.
                after if after == before => return Err(Error::Contradiction),
                _ => applied = Applied::WrittenLate,
            }
        }
    }

    /// All that is known of an order, by a consistent read.
    pub async fn find_order(&self, order_id: &OrderId) -> Result<Option<OrderView>, Error> {
        Ok(self.get(order_id).await?.as_ref().map(read_view).transpose()?)
    }

    /// Checks that the table can be read, at the least cost.
    pub async fn ping(&self) -> Result<(), Error> {
        // No order id is a space.
        let nowhere = AttributeValue::S(" ".to_owned());
        self.client.get_item().table_name(&self.table).key(ORDER_ID, nowhere).send().await.map_err(Error::from_sdk)?;
        Ok(())
    }

    async fn get(&self, order_id: &OrderId) -> Result<Option<Item>, Error> {
        let key = AttributeValue::S(order_id.to_string());
        let request = self.client.get_item().table_name(&self.table).key(ORDER_ID, key).consistent_read(true);
        Ok(request.send().await.map_err(Error::from_sdk)?.item)
    }

    async fn send(&self, effect: &Effect) -> Result<Sent, Error> {
        let update = render(effect);
        let old_item = update.condition_expression.as_ref().map(|_| ReturnValuesOnConditionCheckFailure::AllOld);
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .key(ORDER_ID, AttributeValue::S(effect.order_id.to_string()))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(Some(update.names))
            .set_expression_attribute_values(Some(update.values))
            .set_return_values_on_condition_check_failure(old_item)
            .send()
            .await;
        match sent {
            Ok(_) => Ok(Sent::Written),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    Ok(Sent::Refused(refused.item.clone()))
                }
                _ => Err(Error::from_sdk(error)),
            },
        }
    }
}
