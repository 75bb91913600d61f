//! `GET /orders`: a consumer's orders.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use api_gateway::{Mistaken, Parameters, decoded, pairs};
use order_events::{ConsumerId, Timestamp};
use order_store::{Filter, HistoryQuery};
use order_view::{OrderStatus, OrderView, keywords};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::caller::Caller;
use crate::order::OrderEntry;
use crate::page_token::{self, PageToken};
use crate::response::{MAX_BYTES, bytes_in_response};

/// A page of a consumer's orders.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schemars(rename = "OrderHistory"))]
pub(crate) struct History {
    /// Newest first. There may be fewer than `pageSize`, or none, even if the list continues.
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<OrderEntry>"))]
    pub(crate) orders: Vec<Box<RawValue>>,
    /// The start of the next page. It is missing only at the end of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start_key: Option<String>,
}

/// The names of the parameters, as in the query string.
pub(crate) mod parameter {
    pub(crate) const CONSUMER_ID: &str = "consumerId";
    pub(crate) const SINCE: &str = "since";
    pub(crate) const STATUS: &str = "status";
    pub(crate) const KEYWORDS: &str = "keywords";
    pub(crate) const PAGE_SIZE: &str = "pageSize";
    pub(crate) const START_KEY: &str = "startKey";
    pub(crate) const ALL: [&str; 6] = [CONSUMER_ID, SINCE, STATUS, KEYWORDS, PAGE_SIZE, START_KEY];
}

pub(crate) const MAX_PAGE_SIZE: usize = 100;
pub(crate) const DEFAULT_PAGE_SIZE: usize = 20;
pub(crate) const DEFAULT_DAYS: u64 = 30;

/// Limited because each word is a clause of the filter expression.
pub(crate) const MAX_KEYWORDS: usize = 10;

/// Reads the parameters into a query, which reads `read_budget` orders at most, and stops at `read_until`.
///
/// Notes the mistakes of all parameters before it returns.
pub(crate) fn read_query(
    parameters: &mut Parameters,
    caller: &Caller,
    now: SystemTime,
    read_budget: usize,
    read_until: Instant,
) -> Result<HistoryQuery, Mistaken> {
    let consumer_id = read_consumer_id(parameters, caller);
    let since = parameters.one(parameter::SINCE, parse_since);
    let status = parameters.one(parameter::STATUS, parse_status);
    let keywords = read_keywords(parameters);
    let page_size = parameters.one(parameter::PAGE_SIZE, parse_page_size);
    let token = parameters.one(parameter::START_KEY, |text| PageToken::decode(text).map_err(|_| INVALID_START_KEY));

    // A valid token does not match parameters with a mistake. Only the mistake is reported.
    parameters.check()?;
    let (consumer_id, token) = (consumer_id?, token?);
    let fixed = token.as_ref().map(|token| token.since);
    let since = since?.or(fixed).unwrap_or_else(|| days_before(now));
    let filter = Filter { since, status: status?, keywords };
    if token.as_ref().is_some_and(|token| !token.continues(&consumer_id, &filter)) {
        let other = "belongs to another list: except pageSize, do not change the other parameters from page to page";
        return Err(parameters.mistake(parameter::START_KEY, other));
    }
    let page_size = page_size?.unwrap_or(DEFAULT_PAGE_SIZE);
    let after = token.map(|token| token.position);
    Ok(HistoryQuery { consumer_id, filter, page_size, after, read_budget, read_until })
}

/// The default is the caller, if the caller is a consumer.
fn read_consumer_id(parameters: &mut Parameters, caller: &Caller) -> Result<ConsumerId, Mistaken> {
    let requested = parameters.one(parameter::CONSUMER_ID, |text| ConsumerId::parse(text))?;
    let missing = "is required, unless the token names a consumer";
    requested.or_else(|| caller.consumer_id.clone()).ok_or_else(|| parameters.mistake(parameter::CONSUMER_ID, missing))
}

const INVALID_START_KEY: &str = "must be the startKey of the previous page";

fn parse_since(text: &str) -> Result<Timestamp, &'static str> {
    let millis = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    millis
        .and_then(Timestamp::from_millis)
        .or_else(|| Timestamp::parse_rfc3339_since_1970(text).ok())
        .ok_or("must be RFC 3339 such as 2026-03-01T12:00:00Z (write + as %2B), or milliseconds since 1970")
}

fn parse_status(text: &str) -> Result<OrderStatus, String> {
    OrderStatus::known(text).ok_or_else(|| {
        let known: Vec<_> = OrderStatus::ALL.iter().map(OrderStatus::as_str).collect();
        format!("must be one of {}", known.join(", "))
    })
}

fn parse_page_size(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|size| (1..=MAX_PAGE_SIZE).contains(size))
        .ok_or_else(|| format!("must be a whole number from 1 to {MAX_PAGE_SIZE}"))
}

fn read_keywords(parameters: &mut Parameters) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for value in parameters.all(parameter::KEYWORDS) {
        let mut of_value = keywords(&value).peekable();
        if of_value.peek().is_none() {
            parameters.mistake(parameter::KEYWORDS, "must contain at least one word");
        }
        words.extend(of_value);
    }
    if words.len() > MAX_KEYWORDS {
        parameters.mistake(parameter::KEYWORDS, format!("must be at most {MAX_KEYWORDS} words in total"));
    }
    words
}

fn days_before(now: SystemTime) -> Timestamp {
    let days = Duration::from_hours(24 * DEFAULT_DAYS);
    now.checked_sub(days).map_or(Timestamp::EPOCH, Timestamp::from)
}

/// As many of the first `orders` as fit into a response with a link of `link` bytes. Each order is serialised once: the same text is
/// counted, tagged and sent.
///
/// At least one order always fits: an item has at most 400 KB
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>), and one byte of it becomes at most
/// seven bytes of the response: a control character becomes `\u0001`, and its backslash is escaped once more with the body.
pub(crate) fn entries_that_fit(orders: &[OrderView], link: usize) -> serde_json::Result<Vec<Box<RawValue>>> {
    let mut room = MAX_BYTES.saturating_sub(OTHER_BYTES + link);
    let mut entries = Vec::new();
    for order in orders {
        let entry = to_raw_value(&OrderEntry::from(order))?;
        let bytes = bytes_in_response(entry.get()) + ",".len();
        if bytes > room && !entries.is_empty() {
            break;
        }
        room = room.saturating_sub(bytes);
        entries.push(entry);
    }
    Ok(entries)
}

/// The bytes of a response besides orders and the client's query: the `startKey` in the body and in the link, and less than one
/// kilobyte of headers and names.
const OTHER_BYTES: usize = 2 * page_token::MAX_LENGTH + 1_024;

/// The parameters of a query string that all pages of a list share, each followed by `&`. This is the client's text; only characters
/// that a URI does not allow are encoded.
pub(crate) fn shared_parameters(query_string: &str) -> String {
    let shared = pairs(query_string).filter(|pair| decoded(pair).0.as_deref() != Some(parameter::START_KEY));
    shared.flat_map(|pair| utf8_percent_encode(pair, NOT_IN_A_URI).chain(["&"])).collect()
}

/// The next page, relative to the request, so that it works behind any base path. None if the link is too long for a request: an encoded
/// query may be three times as long, and API Gateway accepts 10,240 bytes of request line and headers
/// (<https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>). The page still has its `startKey`.
pub(crate) fn next_link(shared_parameters: &str, start_key: &str) -> Option<String> {
    let link = format!("<?{shared_parameters}{}={start_key}>; rel=\"next\"", parameter::START_KEY);
    (link.len() <= MAX_LINK).then_some(link)
}

/// In bytes. This leaves room for the path and a token.
const MAX_LINK: usize = 8 * 1024;

/// The ASCII characters that RFC 3986 does not allow.
const NOT_IN_A_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');
