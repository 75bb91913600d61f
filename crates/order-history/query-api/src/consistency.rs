//! Read your writes: a request may name an event that the answer must have seen, and say how long it will wait for it.

use std::time::Duration;

use order_events::{ConsistencyToken, OrderId};
use order_store::OrderStore;
use order_view::{OrderView, has_seen};
use tokio::time::{Instant, sleep};

use crate::parameters::{Mistaken, Parameters};
use crate::problem::{Problem, ProblemKind};
use crate::request::Request;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consistency {
    pub(crate) token: ConsistencyToken,
    wait: Duration,
}

pub(crate) const TOKEN: &str = "Consistency-Token";

/// The longest wait.
pub(crate) const MAX_WAIT: u64 = 10;

/// Between the first two looks at the item; it doubles from look to look.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Between two looks at the most.
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

    /// The order of the token, once it has seen the event. `acceptable` says whether the caller may see it; one they may
    /// not is the same to them as one that never comes.
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

/// `wait` among the preferences. One that cannot be met, or read, is to be ignored (RFC 7240, 2).
fn wait(prefer: &str) -> Option<Duration> {
    let value = prefer.split(',').find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then_some(value)
    })?;
    let seconds: u64 = value.split(';').next()?.trim().trim_matches('"').parse().ok()?;
    Some(Duration::from_secs(seconds.min(MAX_WAIT)))
}
