//! Reads an order's item and an event's record from the tables, with consistent reads.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use order_view::VIEW;
use projection::dynamodb::read_item;
use projection::{Piece, State};

use super::comparison::Item;
use super::piece;
use super::report::{Outcome, PieceOutcome};
use crate::console::Tables;
use crate::console::problem::Problem;

/// The tables of the order history.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) client: Client,
    pub(super) tables: Tables,
}

impl Items {
    /// An order's item.
    pub(super) async fn order(&self, order_id: &str) -> Result<Item, Problem> {
        let key = AttributeValue::S(order_id.to_owned());
        let request = self.client.get_item().table_name(&self.tables.order_history).key(VIEW.key, key);
        Ok(request.consistent_read(true).send().await?.item.unwrap_or_default())
    }

    /// Whether an event has been projected, by its idempotency record.
    pub(super) async fn is_completed(&self, event_id: &str) -> Result<bool, Problem> {
        let names = idempotency::Attributes::default();
        // The event handlers' key: the view's table and the event.
        let key = AttributeValue::S(format!("{}#{event_id}", self.tables.order_history));
        let request = self.client.get_item().table_name(&self.tables.idempotency).key(names.id, key);
        let record = request.consistent_read(true).send().await?.item.unwrap_or_default();
        Ok(record.get(&names.status).and_then(|status| status.as_s().ok()).is_some_and(|status| status == "COMPLETED"))
    }
}

/// The view's state in an order's item.
pub(super) fn state(item: &Item) -> State {
    read_item(&VIEW, item.clone()).state
}

/// The effect of an event on an order, from the order's item before and after it. Pieces without a visible effect are left out.
pub(super) fn outcomes(pieces: &[Piece], was_projected: bool, before: &State, after: &State) -> Vec<PieceOutcome> {
    let outcome = |piece: &Piece| {
        let outcome = match piece {
            _ if was_projected => Outcome::NoNews,
            Piece::Mark { .. } => return None,
            Piece::Facet { watermark, by, .. } => match (before.stamp(watermark), after.stamp(watermark)) {
                (Some(before), _) if before == by => Outcome::NoNews,
                (_, Some(after)) if after == by => Outcome::Written,
                (_, Some(after)) if after > by => Outcome::Late,
                _ => return None,
            },
            Piece::Element { set, element } => {
                let has = |state: &State| state.set(set).any(|known| known == element);
                match (has(before), has(after)) {
                    (true, _) => Outcome::NoNews,
                    (false, true) => Outcome::Written,
                    (false, false) => return None,
                }
            }
        };
        Some(PieceOutcome { piece: piece::name(piece)?, outcome })
    };
    pieces.iter().filter_map(outcome).collect()
}
