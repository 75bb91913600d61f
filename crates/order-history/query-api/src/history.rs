//! `GET /orders`: a consumer's orders.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use order_events::{ConsumerId, Timestamp};
use order_store::{Filter, HistoryQuery};
use order_view::{OrderStatus, keywords};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::caller::Caller;
use crate::order::OrderEntry;
use crate::page_token::PageToken;
use crate::parameters::{Mistaken, Parameters, pairs};

/// A page of a consumer's orders.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schemars(rename = "OrderHistory"))]
pub(crate) struct History<'a> {
    /// Newest first. There may be fewer than `pageSize`, even none, and still more to come.
    pub(crate) orders: Vec<OrderEntry<'a>>,
    /// Where the list goes on; left out at its end, and only there.
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

/// Each word is a clause of the filter expression.
pub(crate) const MAX_KEYWORDS: usize = 10;

/// Reads the parameters into a query, which looks at `read_budget` orders at most, and until `read_until`.
///
/// Every parameter is read, and its mistakes are noted, before this returns.
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
    let token = parameters.one(parameter::START_KEY, |text| PageToken::decode(text).map_err(|_| NOT_A_TOKEN));

    // A good token does not match parameters that have a mistake: only the mistake is reported.
    parameters.check()?;
    let (consumer_id, token) = (consumer_id?, token?);
    let fixed = token.as_ref().map(|token| token.since);
    let since = since?.or(fixed).unwrap_or_else(|| days_before(now));
    let filter = Filter { since, status: status?, keywords };
    if token.as_ref().is_some_and(|token| !token.continues(&consumer_id, &filter)) {
        let other = "belongs to another list: keep all other parameters but pageSize the same";
        return Err(parameters.mistake(parameter::START_KEY, other));
    }
    let page_size = page_size?.unwrap_or(DEFAULT_PAGE_SIZE);
    let after = token.map(|token| token.position);
    Ok(HistoryQuery { consumer_id, filter, page_size, after, read_budget, read_until })
}

/// A caller who is a consumer may leave it out: then it is their own.
fn read_consumer_id(parameters: &mut Parameters, caller: &Caller) -> Result<ConsumerId, Mistaken> {
    let asked_for = parameters.one(parameter::CONSUMER_ID, |text| ConsumerId::parse(text))?;
    let needed = "is needed: say whose orders you want";
    asked_for.or_else(|| caller.consumer_id.clone()).ok_or_else(|| parameters.mistake(parameter::CONSUMER_ID, needed))
}

const NOT_A_TOKEN: &str = "is not a startKey that this API gave out: take it from the page before";

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
            parameters.mistake(parameter::KEYWORDS, "must have at least one word");
        }
        words.extend(of_value);
    }
    if words.len() > MAX_KEYWORDS {
        parameters.mistake(parameter::KEYWORDS, format!("must be at most {MAX_KEYWORDS} words in all"));
    }
    words
}

fn days_before(now: SystemTime) -> Timestamp {
    let days = Duration::from_hours(24 * DEFAULT_DAYS);
    now.checked_sub(days).map_or(Timestamp::EPOCH, Timestamp::from)
}

/// The same query with the next page's `startKey`: relative to the request, it works behind any base path.
pub(crate) fn next_link(query_string: &str, start_key: &str) -> String {
    let asked: Vec<_> = pairs(query_string)
        .filter_map(|(name, value)| Some((name?, value?)))
        .filter(|(name, _)| name != parameter::START_KEY)
        .collect();
    let next = (parameter::START_KEY.to_owned(), start_key.to_owned());
    let pairs: Vec<_> = asked
        .into_iter()
        .chain([next])
        .map(|(name, value)| {
            format!("{}={}", utf8_percent_encode(&name, UNRESERVED), utf8_percent_encode(&value, UNRESERVED))
        })
        .collect();
    format!("<?{}>; rel=\"next\"", pairs.join("&"))
}

/// What need not be encoded (RFC 3986, 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
