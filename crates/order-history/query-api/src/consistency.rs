//! Read your writes: a request may name an event that the view must have seen, and how long to wait for it.

use std::time::Duration;

use order_events::{ConsistencyToken, OrderId};
use order_store::OrderStore;
use order_view::{OrderView, has_seen};
use tokio::time::{Instant, sleep};

use crate::parameters::{Mistaken, Parameters};
use crate::problem::{Problem, ProblemKind};
use crate::request::Request;

/// The event that the view must have seen, and how long to wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consistency {
    pub(crate) token: ConsistencyToken,
    wait: Duration,
}

pub(crate) const TOKEN: &str = "Consistency-Token";

/// The longest wait, in seconds.
pub(crate) const MAX_WAIT: u64 = 10;

/// The pause after the first read of the item; it doubles from read to read.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two reads.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Consistency {
    /// Reads the two headers; `order_id` is the order asked for, if it is one.
    pub(crate) fn read(
        request: &Request,
        parameters: &mut Parameters,
        order_id: Option<&OrderId>,
    ) -> Result<Option<Self>, Mistaken> {
        let Some(token) = request.header("consistency-token") else { return Ok(None) };
        let token: ConsistencyToken = token.parse().map_err(|error| parameters.mistake_in("header", TOKEN, error))?;
        if order_id.is_some_and(|order_id| token.order_id != *order_id) {
            let other = "is a token of another order than the one asked for";
            return Err(parameters.mistake_in("header", TOKEN, other));
        }
        let wait = request.header("prefer").and_then(wait).unwrap_or_default();
        Ok(Some(Self { token, wait }))
    }

    /// Waits until the token's order has seen the event, and returns it. An order that is not `acceptable`, because the
    /// caller may not see it, is reported as not yet seen.
    pub(crate) async fn wait_for_order(
        &self,
        orders: &OrderStore,
        no_later_than: Instant,
        acceptable: impl Fn(&OrderView) -> bool,
    ) -> Result<OrderView, Problem> {
        let give_up = no_later_than.min(Instant::now() + self.wait);
        let mut pause = FIRST_PAUSE;
        loop {
            let ConsistencyToken { event_type, event_id, order_id } = &self.token;
            if let Some(found) = orders.find_order(order_id).await?
                && has_seen(&found.state, *event_type, *event_id)
                && let Some(order) = OrderView::of(order_id.clone(), found)
                && acceptable(&order)
            {
                return Ok(order);
            }
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ProblemKind::NotYetSeen.into());
            }
            sleep(pause.min(left)).await;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }
}

/// The preference `wait`. A preference that cannot be met or read is ignored (RFC 7240, 2).
fn wait(prefer: &str) -> Option<Duration> {
    let value = prefer.split(',').find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then_some(value)
    })?;
    let seconds: u64 = value.split(';').next()?.trim().trim_matches('"').parse().ok()?;
    Some(Duration::from_secs(seconds.min(MAX_WAIT)))
}
