//! Partial views into the table: at most one request for each key that is not there yet.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};

use crate::content::Attributes;
use crate::dynamodb::item::{attribute_value, item_size};
use crate::dynamodb::{Error, Item, Table, Update, read_item, render, write_item};
use crate::piece::{Name, Piece, Stamp};
use crate::state::{Contradiction, State};

/// The result of merging a partial view into an item, and its cost. In each case the partial view is in the item now.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Merged {
    /// What was done to the item.
    pub outcome: Outcome,
    /// How many requests were sent, reads included.
    pub requests: usize,
    /// The write capacity units consumed, in the table and its indexes. A refused write reports none, but consumes some: they
    /// are counted by the size of the item.
    pub write_units: f64,
    /// Facets for which the table had other content under the same id. The table now has the content that
    /// [`State::merge`] keeps as well.
    pub contradictions: Vec<Contradiction>,
}

/// What was done to an item. It is exhaustive, so that a caller can count each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There was no item with this key.
    Created,
    /// Some pieces were news to the item.
    Updated,
    /// The item had every piece already. It may have them from this very call: the SDK sends a request again if its response is lost. What
    /// must happen once for each merge must not depend on [`Created`](Self::Created) or [`Updated`](Self::Updated).
    Unchanged,
}

impl Table {
    /// Stores what a state knows: one `PutItem` if the key is not there yet. Otherwise the `PutItem` is refused, which consumes capacity as
    /// well, and one `UpdateItem` of the pieces that are news follows, as [`apply`](Self::apply) would send it, or several if
    /// one expression would be larger than DynamoDB allows.
    ///
    /// When this returns `Ok`, the state is in the item. A process that ends before that may have stored a part; merging the state
    /// again completes it. Two events with one id and different content give the same item in any order, as in memory.
    pub async fn merge(&self, key: &str, state: State) -> Result<Merged, Error> {
        let mut merged =
            Merged { outcome: Outcome::Unchanged, requests: 0, write_units: 0.0, contradictions: Vec::new() };
        if state.is_empty() {
            return Ok(merged);
        }
        let item = write_item(self.view, key, &state);
        let mut pieces: Vec<_> = state.into_pieces().collect();
        self.check_writable(&pieces)?;
        let Err(old) = self.create(key, item, &mut merged).await? else {
            merged.outcome = Outcome::Created;
            return Ok(merged);
        };
        let known = self.read_for(&pieces, old)?;
        let mut contested = contested(&pieces, &known);
        pieces.retain(|piece| known.is_news(piece));
        for mut pieces in updates(pieces) {
            while !pieces.is_empty() {
                let Err(old) = self.counted(key, render(self.view, &pieces), &mut merged).await? else {
                    merged.outcome = Outcome::Updated;
                    break;
                };
                let offered = pieces.clone();
                let known = self.keep_news(&mut pieces, old)?;
                contested.extend(self::contested(&offered, &known));
            }
        }
        for facet in contested {
            merged.contradictions.push(Contradiction { watermark: facet.watermark.clone(), by: facet.by.clone() });
            self.settle(key, facet, &mut merged).await?;
        }
        Ok(merged)
    }

    /// Creates an item. If there is one with this key, it is returned in `Err`.
    async fn create(&self, key: &str, item: Item, merged: &mut Merged) -> Result<Result<(), Item>, Error> {
        let size = item_size(&item);
        let sent = self
            .client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#key)")
            .expression_attribute_names("#key", self.view.key)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let error = match sent {
            Ok(done) => {
                merged.count(done.consumed_capacity.as_ref(), size);
                return Ok(Ok(()));
            }
            Err(error) => error,
        };
        let old = match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(refused)) => {
                if let Some(item) = &refused.item {
                    item.clone()
                } else {
                    // Not every server returns it.
                    merged.requests += 1;
                    self.get(key).await?.ok_or(Error::Inconsistent)?
                }
            }
            _ => return Err(Error::from_sdk(error, &self.name)),
        };
        merged.count(None, size.max(item_size(&old)));
        Ok(Err(old))
    }

    async fn counted(&self, key: &str, update: Update, merged: &mut Merged) -> Result<Result<(), Item>, Error> {
        let sent = self.update(key, update, Some(ReturnConsumedCapacity::Total)).await?;
        match sent {
            Ok(capacity) => {
                merged.count(capacity.as_ref(), 1);
                Ok(Ok(()))
            }
            Err(old) => {
                merged.count(None, item_size(&old));
                Ok(Err(old))
            }
        }
    }

    /// Gives a facet the content that is kept, while the table holds another one under the same id.
    async fn settle(&self, key: &str, mut facet: Contested, merged: &mut Merged) -> Result<(), Error> {
        while facet.content > facet.stored {
            let Err(old) = self.counted(key, self.replacement(&facet), merged).await? else {
                merged.outcome = Outcome::Updated;
                break;
            };
            match read_item(self.view, old).state.facets.remove(&facet.watermark) {
                // Another writer settled it.
                Some(now) if now.by == facet.by && now.attributes != facet.stored => facet.stored = now.attributes,
                // A later event replaced it, or it has content that this version cannot read, and must not replace.
                _ => break,
            }
        }
        Ok(())
    }

    /// Replaces a facet on condition that it is as it was seen: its watermark alone does not tell two contents apart.
    fn replacement(&self, facet: &Contested) -> Update {
        let Contested { watermark, by, content, stored } = facet;
        let piece = Piece::Facet { watermark: watermark.clone(), by: by.clone(), attributes: content.clone() };
        let mut update = render(self.view, &[piece]);
        let mut conditions = vec![format!("#{watermark} = :eventId")];
        let shape = self.view.facets.iter().find(|shape| shape.watermark == *watermark);
        for name in shape.map_or(&[][..], |shape| shape.attributes) {
            match stored.json(name) {
                Some(json) => {
                    let is_text_set = shape.is_some_and(|shape| shape.text_sets.contains(name));
                    // No attribute has a name that begins with `eventId`, so no new value has this alias.
                    let alias = format!(":eventId_{name}");
                    conditions.push(format!("#{name} = {alias}"));
                    update.values.insert(alias, attribute_value(json, is_text_set));
                }
                None => conditions.push(format!("attribute_not_exists(#{name})")),
            }
        }
        update.condition_expression = Some(conditions.join(" AND "));
        update
    }
}

/// A facet of which the table holds another content under the same id.
struct Contested {
    watermark: Name,
    by: Stamp,
    content: Attributes,
    stored: Attributes,
}

fn contested(pieces: &[Piece], known: &State) -> Vec<Contested> {
    let facets = pieces.iter().filter_map(|piece| match piece {
        Piece::Facet { watermark, by, attributes } => Some((watermark, by, attributes)),
        Piece::Mark { .. } | Piece::Element { .. } => None,
    });
    let contested = facets.filter_map(|(watermark, by, content)| {
        let stored = known.facets.get(watermark).filter(|stored| stored.by == *by && stored.attributes != *content)?;
        Some(Contested {
            watermark: watermark.clone(),
            by: by.clone(),
            content: content.clone(),
            stored: stored.attributes.clone(),
        })
    });
    contested.collect()
}

/// Pieces in as many updates as they need.
fn updates(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let (elements, stamped): (Vec<_>, Vec<_>) =
        pieces.into_iter().partition(|piece| matches!(piece, Piece::Element { .. }));
    let mut updates: Vec<Vec<_>> = stamped.chunks(MAX_CONDITIONS).map(<[Piece]>::to_vec).collect();
    // An element may say that an event has been seen, so it comes after what the event wrote.
    match updates.last_mut() {
        Some(last) => last.extend(elements),
        None => updates.push(elements),
    }
    updates
}

/// An expression may have 4 KB (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>), and
/// a piece takes some 70 bytes of the condition, and fewer of the update unless it has many attributes.
const MAX_CONDITIONS: usize = 40;

impl Merged {
    /// Counts a request by what it reports, or else by the size of the item.
    fn count(&mut self, reported: Option<&ConsumedCapacity>, item_size: usize) {
        // An item has at most 400 units.
        #[allow(clippy::cast_precision_loss)]
        let by_size = || item_size.div_ceil(1_024) as f64;
        self.requests += 1;
        self.write_units += reported.and_then(ConsumedCapacity::capacity_units).unwrap_or_else(by_size);
    }
}
