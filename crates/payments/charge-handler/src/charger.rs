//! One charge, from its lock to its settlement.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use dynamodb_locks::{Acquired, Lock, Release};
use lambda_boot::{Clock, with_causes};
use payment_gateway::{ChargeRequest, Gateway};
use payment_intents::{Decline, Outcome, PaymentIntentId, RequestedCharge, State};
use payment_store::{PaymentStore, Settled, Tables};
use tokio::time::{Instant, timeout_at};

use crate::Failure;

/// Reserved before the invocation's deadline, to store the gateway's decision.
const TIME_TO_SETTLE: Duration = Duration::from_secs(3);

/// Reserved before the invocation's deadline, to answer.
const TIME_TO_ANSWER: Duration = Duration::from_millis(500);

/// No charge is started with less time than this, because the gateway needs time too.
const MIN_TIME_TO_START: Duration = Duration::from_secs(5);

/// Gateways keep a key for 24 hours (<https://docs.stripe.com/api/idempotent_requests>). An older charge is only looked up: if it
/// were sent again, it might be made twice.
const MAX_AGE_TO_SEND: Duration = Duration::from_hours(23);

/// A charge of this age that the gateway does not know will never be made: no request for it was started in the last hour, and
/// no invocation is that long.
const AGE_OF_EXPIRY: Duration = Duration::from_hours(24);

/// Finishes requested charges, each under the lock of its payment intent.
#[derive(Clone)]
pub struct Charger {
    store: PaymentStore,
    gateway: Arc<dyn Gateway>,
    clock: Clock,
}

/// The result for a charge that needs no more work by this worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum ChargeResult {
    /// The charge was made and stored.
    Charged,
    /// The gateway declined the charge, and the decline was stored.
    Declined,
    /// The charge was never made, and is too old to be sent. It was stored as a failed charge.
    Expired,
    /// The intent is in another state. The gateway was not called.
    Nothing,
    /// Another worker holds the lock. Nothing was done.
    HeldByAnother,
}

impl Charger {
    /// Creates a charger for these tables.
    #[must_use]
    pub fn new(client: &Client, tables: &Tables, gateway: Arc<dyn Gateway>, clock: Clock) -> Self {
        Self { store: PaymentStore::new(client.clone(), tables.clone(), clock.clone()), gateway, clock }
    }

    pub(crate) fn store(&self) -> &PaymentStore {
        &self.store
    }

    /// The last moment to start a charge in an invocation that ends at `deadline`.
    pub(crate) fn latest_start(&self, deadline: SystemTime) -> Instant {
        self.stop_time(MIN_TIME_TO_START, deadline)
    }

    /// Finishes the charge of an intent, unless time runs out.
    pub async fn finish(&self, id: PaymentIntentId, deadline: SystemTime) -> Result<ChargeResult, Failure> {
        if self.time_left(deadline) < MIN_TIME_TO_START {
            return Err(Failure::OutOfTime);
        }
        // Boxed, here and below, because ten of them run at the same time.
        let finish = Box::pin(self.finish_locked(id, deadline));
        timeout_at(self.stop_time(TIME_TO_ANSWER, deadline), finish).await.unwrap_or(Err(Failure::OutOfTime))
    }

    async fn finish_locked(&self, id: PaymentIntentId, deadline: SystemTime) -> Result<ChargeResult, Failure> {
        let key = PaymentStore::lock_key(id);
        let lock = match self.store.until(deadline).locks().exclusive(key.as_str()).acquire().await? {
            Acquired::Granted(lock) => lock,
            Acquired::Held(_) => return Ok(ChargeResult::HeldByAnother),
        };
        let finished = match lock.hold(Box::pin(self.finish_held(id, &lock, deadline))).await {
            Ok(finished) => finished,
            Err(lost) => Err(lost.into()),
        };
        match &finished {
            // The transaction that stored the outcome has released the lock.
            Ok(ChargeResult::Charged | ChargeResult::Declined | ChargeResult::Expired) => {}
            Ok(ChargeResult::Nothing | ChargeResult::HeldByAnother) | Err(_) => release(&lock, id).await,
        }
        finished
    }

    /// The work under the lock.
    async fn finish_held(
        &self,
        id: PaymentIntentId,
        lock: &Lock,
        deadline: SystemTime,
    ) -> Result<ChargeResult, Failure> {
        let found = self.store.find(id).await?.ok_or(Failure::NoSuchIntent)?;
        let (State::ChargeRequested(requested), Some(request)) =
            (found.intent.state(), ChargeRequest::of(&found.intent))
        else {
            return Ok(ChargeResult::Nothing);
        };
        let until = self.stop_time(TIME_TO_SETTLE, deadline);
        let (outcome, done) = self.decide(requested, &request, until).await?;
        match self.store.settle(&found, outcome, &lock.release_with()).await? {
            Settled::Stored(_) => Ok(done),
            Settled::LockLost => Err(dynamodb_locks::Error::Lost.into()),
            Settled::Superseded => Err(Failure::Superseded),
        }
    }

    /// Sends the charge, or looks it up if it is too old to be sent.
    async fn decide(
        &self,
        requested: &RequestedCharge,
        request: &ChargeRequest,
        until: Instant,
    ) -> Result<(Outcome, ChargeResult), Failure> {
        let age = self.age(requested);
        if age < MAX_AGE_TO_SEND {
            let outcome = self.gateway.charge(request, until).await?;
            let done = match outcome {
                Outcome::Charged { .. } => ChargeResult::Charged,
                Outcome::Declined(_) => ChargeResult::Declined,
            };
            return Ok((outcome, done));
        }
        match self.gateway.look_up(request, until).await? {
            Some(charge_id) => Ok((Outcome::Charged { charge_id }, ChargeResult::Charged)),
            None if age < AGE_OF_EXPIRY => Err(Failure::Undecided),
            None => {
                let message = "The charge was not made in time.";
                Ok((Outcome::Declined(Decline::new(None, "expired", Some(message))), ChargeResult::Expired))
            }
        }
    }

    fn age(&self, requested: &RequestedCharge) -> Duration {
        let now = order_events::Timestamp::from(self.clock.now()).as_millis();
        let millis = now.saturating_sub(requested.at.as_millis());
        // 0 if this clock is behind the clock that wrote the time.
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }

    /// When to stop, so that `time` is left before the deadline. At the deadline, Lambda ends the invocation without a response.
    fn stop_time(&self, time: Duration, deadline: SystemTime) -> Instant {
        Instant::now() + self.time_left(deadline).saturating_sub(time)
    }

    fn time_left(&self, deadline: SystemTime) -> Duration {
        deadline.duration_since(self.clock.now()).unwrap_or_default()
    }
}

/// Releases the lock, so that the next attempt need not wait for the end of the lease.
async fn release(lock: &Lock, id: PaymentIntentId) {
    match lock.release().await {
        Ok(Release::Released | Release::Lost) => {}
        Err(error) => {
            let (reason, error) = (error.code(), with_causes(&error));
            tracing::warn!(payment_intent_id = %id, reason, error, "lock not released");
        }
    }
}
