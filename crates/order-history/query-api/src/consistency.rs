//! Read your writes: a request may name an event that the view must contain, and how long to wait for it.

use std::time::{Duration, SystemTime};

use api_gateway::{Mistaken, Parameters, Request};
use order_events::{ConsistencyToken, EventId, OrderId, Timestamp};
use order_store::OrderStore;
use order_view::{OrderView, contains_event};
use tokio::time::{Instant, sleep};

use crate::problem::{Problem, ProblemKind};

/// The event that the view must contain, and how long to wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Consistency {
    pub(crate) token: ConsistencyToken,
    wait: Duration,
}

pub(crate) const TOKEN: &str = "Consistency-Token";

/// The longest wait, in seconds.
pub(crate) const MAX_WAIT: u64 = 10;

/// How far a publisher's clock may be ahead of this one, in milliseconds.
const CLOCK_SKEW: i64 = 60_000;

/// The largest age of an event that may still arrive, in milliseconds: 28 days, which is longer than a message can be in its
/// queue and its dead-letter queue. Idempotency records are kept for the same time.
const MAX_EVENT_AGE: i64 = 28 * 24 * 60 * 60 * 1_000;

/// The pause after the first read of the item. It doubles after each read. An event is projected within milliseconds after its
/// message arrives.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// The longest pause between two reads.
const MAX_PAUSE: Duration = Duration::from_secs(1);

impl Consistency {
    /// Reads the two headers. `order_id` is the requested order, if only one is requested. The wait is `max_wait` at most, and 0 for an
    /// event that can no longer arrive.
    pub(crate) fn read(
        request: &Request,
        parameters: &mut Parameters,
        order_id: Option<&OrderId>,
        now: SystemTime,
        max_wait: Duration,
    ) -> Result<Option<Self>, Mistaken> {
        let Some(token) = request.header("consistency-token") else { return Ok(None) };
        let token: ConsistencyToken = token.parse().map_err(|error| parameters.mistake_in("header", TOKEN, error))?;
        if order_id.is_some_and(|order_id| token.order_id != *order_id) {
            let other = "is the token of another order";
            return Err(parameters.mistake_in("header", TOKEN, other));
        }
        let wait = request.header("prefer").and_then(wait).unwrap_or_default();
        let wait = if may_arrive(token.event_id, now) { wait.min(max_wait) } else { Duration::ZERO };
        Ok(Some(Self { token, wait }))
    }

    /// Waits until the token's order contains the event, and returns the order. An order that is not `acceptable`, because the
    /// caller may not see it, is reported as not yet processed.
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
                && contains_event(&found.state, *event_type, *event_id)
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
            pause = MAX_PAUSE.min(2 * pause);
        }
    }
}

/// Whether an event may still arrive. A token is not signed: without this check, a forged one would occupy a function for the
/// longest wait.
fn may_arrive(event_id: EventId, now: SystemTime) -> bool {
    let now = Timestamp::from(now).as_millis();
    (now - MAX_EVENT_AGE..=now + CLOCK_SKEW).contains(&event_id.time().as_millis())
}

/// The preference `wait`. A preference that cannot be met or read is ignored (RFC 7240, 2).
fn wait(prefer: &str) -> Option<Duration> {
    let value = prefer.split(',').find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then_some(value)
    })?;
    let seconds: u64 = value.split(';').next()?.trim().trim_matches('"').parse().ok()?;
    Some(Duration::from_secs(seconds))
}
