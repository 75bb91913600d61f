//! Page tokens: the start of the next page of a list with the same consumer and the same filter.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use order_events::{ConsumerId, OrderId, Timestamp};
use order_store::{Filter, Position};
use order_view::OrderStatus;
use sha2::{Digest, Sha256};

/// A token contains version, binding, `since` and position. It is not signed: the consumer is checked separately, so a forged token
/// shows only orders that the caller may see anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageToken {
    binding: [u8; BINDING],
    /// The `since` of the first page, so that the default does not change from page to page.
    pub(crate) since: Timestamp,
    pub(crate) position: Position,
}

/// The text is not a page token of this API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidPageToken;

const VERSION: u8 = 1;
const BINDING: usize = 8;
const MILLIS: usize = 8;

/// The longest token has 1,394 characters: 25 bytes and an order id of 255 characters, or 1,020 bytes.
pub(crate) const MAX_LENGTH: usize = 1_400;

impl PageToken {
    pub(crate) fn new(consumer_id: &ConsumerId, filter: &Filter, position: Position) -> Self {
        Self { binding: binding(consumer_id, filter), since: filter.since, position }
    }

    /// Whether this token continues the list of this consumer and filter.
    pub(crate) fn continues(&self, consumer_id: &ConsumerId, filter: &Filter) -> bool {
        // A list contains only orders that are newer than its `since`. DynamoDB refuses to start from an older one.
        self.binding == binding(consumer_id, filter) && self.position.order_creation_time > filter.since
    }

    pub(crate) fn encode(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend(self.binding);
        bytes.extend(self.since.as_millis().to_be_bytes());
        bytes.extend(self.position.order_creation_time.as_millis().to_be_bytes());
        bytes.extend(self.position.order_id.as_str().as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub(crate) fn decode(text: &str) -> Result<Self, InvalidPageToken> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidPageToken);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidPageToken)?;
        let rest = bytes.strip_prefix(&[VERSION]).ok_or(InvalidPageToken)?;
        let (binding, rest) = rest.split_first_chunk::<BINDING>().ok_or(InvalidPageToken)?;
        let (since, rest) = rest.split_first_chunk::<MILLIS>().ok_or(InvalidPageToken)?;
        let (created, order_id) = rest.split_first_chunk::<MILLIS>().ok_or(InvalidPageToken)?;
        let moment =
            |millis: &[u8; MILLIS]| Timestamp::from_millis(i64::from_be_bytes(*millis)).ok_or(InvalidPageToken);
        let order_id = std::str::from_utf8(order_id).map_err(|_| InvalidPageToken)?;
        let (since, order_creation_time) = (moment(since)?, moment(created)?);
        let order_id = OrderId::parse(order_id).map_err(|_| InvalidPageToken)?;
        Ok(Self { binding: *binding, since, position: Position { order_id, order_creation_time } })
    }
}

/// No part can contain a line break, so two lists never have the same text.
fn binding(consumer_id: &ConsumerId, filter: &Filter) -> [u8; BINDING] {
    let Filter { since, status, keywords } = filter;
    let status = status.as_ref().map(OrderStatus::as_str).unwrap_or_default();
    let mut text = format!("{consumer_id}\n{since}\n{status}\n");
    for keyword in keywords {
        text.push_str(keyword);
        text.push('\n');
    }
    let digest = Sha256::digest(text);
    std::array::from_fn(|i| digest[i])
}
