//! One charge, from its lock to its settlement.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use dynamodb_locks::{Acquired, Lock, Release};
use lambda_boot::{Clock, with_causes};
use payment_gateway::{ChargeRequest, Gateway};
use payment_intents::{Decline, Outcome, PaymentIntentId, Requested, State};
use payment_store::{PaymentStore, Settled, Tables};
use tokio::time::{Instant, timeout_at};

use crate::Failure;

/// Reserved at the end of the invocation's time, to store what the gateway decided.
const TO_SETTLE: Duration = Duration::from_secs(3);

/// Reserved at the end of the invocation's time, to answer.
const TO_ANSWER: Duration = Duration::from_millis(500);

/// No charge is begun with less time than this: the gateway needs some of it, too.
const TO_BEGIN: Duration = Duration::from_secs(5);

/// Gateways keep a key for 24 hours (<https://docs.stripe.com/api/idempotent_requests>). A charge that is almost as old is only
/// looked up: sent again, it might be made twice.
const SENDABLE: Duration = Duration::from_hours(23);

/// A charge of this age that the gateway does not know will never be made: no request for it can have begun in the last hour, and
/// no invocation is that long.
const EXPIRED: Duration = Duration::from_hours(24);

/// Finishes requested charges, each under the lock of its payment intent.
#[derive(Clone)]
pub struct Charger {
    store: PaymentStore,
    gateway: Arc<dyn Gateway>,
    clock: Clock,
}

/// A charge with which all is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Done {
    /// It is made, and stored.
    Charged,
    /// The gateway refused it for good; that is stored.
    Declined,
    /// It was never made, and the gateway does not know its key any more; that is stored as a failed charge.
    Expired,
    /// There was nothing to do, and the gateway was not asked: the intent is in another state.
    Nothing,
    /// Another worker holds the lock; nothing was done here.
    HeldByAnother,
}

impl Charger {
    /// A charger in these tables.
    #[must_use]
    pub fn new(client: &Client, tables: &Tables, gateway: Arc<dyn Gateway>, clock: Clock) -> Self {
        Self { store: PaymentStore::new(client.clone(), tables.clone(), clock.clone()), gateway, clock }
    }

    /// Where intents are.
    pub(crate) fn store(&self) -> &PaymentStore {
        &self.store
    }

    /// The last moment to begin a charge in an invocation that ends at `deadline`.
    pub(crate) fn last_begin(&self, deadline: SystemTime) -> Instant {
        self.leaving(TO_BEGIN, deadline)
    }

    /// Finishes the charge of an intent, unless time runs out.
    pub async fn finish(&self, id: PaymentIntentId, deadline: SystemTime) -> Result<Done, Failure> {
        if self.left(deadline) < TO_BEGIN {
            return Err(Failure::OutOfTime);
        }
        // Boxed, here and below, because ten of them are under way at once.
        let finish = Box::pin(self.finish_locked(id, deadline));
        timeout_at(self.leaving(TO_ANSWER, deadline), finish).await.unwrap_or(Err(Failure::OutOfTime))
    }

    async fn finish_locked(&self, id: PaymentIntentId, deadline: SystemTime) -> Result<Done, Failure> {
        let key = PaymentStore::lock_key(id);
        let lock = match self.store.until(deadline).locks().exclusive(key.as_str()).acquire().await? {
            Acquired::Granted(lock) => lock,
            Acquired::Held(_) => return Ok(Done::HeldByAnother),
        };
        let finished = match lock.hold(Box::pin(self.finish_held(id, &lock, deadline))).await {
            Ok(finished) => finished,
            Err(lost) => Err(lost.into()),
        };
        match &finished {
            // The lock was released in the transaction that stored the outcome.
            Ok(Done::Charged | Done::Declined | Done::Expired) => {}
            Ok(Done::Nothing | Done::HeldByAnother) | Err(_) => release(&lock, id).await,
        }
        finished
    }

    /// The work under the lock.
    async fn finish_held(&self, id: PaymentIntentId, lock: &Lock, deadline: SystemTime) -> Result<Done, Failure> {
        let found = self.store.find(id).await?.ok_or(Failure::NoSuchIntent)?;
        let (State::ChargeRequested(requested), Some(request)) =
            (found.intent.state(), ChargeRequest::of(&found.intent))
        else {
            return Ok(Done::Nothing);
        };
        let until = self.leaving(TO_SETTLE, deadline);
        let (outcome, done) = self.decide(requested, &request, until).await?;
        match self.store.settle(&found, outcome, &lock.release_with()).await? {
            Settled::Stored(_) => Ok(done),
            Settled::LockLost => Err(dynamodb_locks::Error::Lost.into()),
            Settled::Superseded => Err(Failure::Superseded),
        }
    }

    /// What the gateway decides, or has decided.
    async fn decide(
        &self,
        requested: &Requested,
        request: &ChargeRequest,
        until: Instant,
    ) -> Result<(Outcome, Done), Failure> {
        let age = self.age(requested);
        if age < SENDABLE {
            let outcome = self.gateway.charge(request, until).await?;
            let done = match outcome {
                Outcome::Charged { .. } => Done::Charged,
                Outcome::Declined(_) => Done::Declined,
            };
            return Ok((outcome, done));
        }
        match self.gateway.look_up(request, until).await? {
            Some(charge_id) => Ok((Outcome::Charged { charge_id }, Done::Charged)),
            None if age < EXPIRED => Err(Failure::Undecided),
            None => {
                let message = "The charge was not made in time.";
                Ok((Outcome::Declined(Decline::new(None, "expired", Some(message))), Done::Expired))
            }
        }
    }

    fn age(&self, requested: &Requested) -> Duration {
        let now = order_events::Timestamp::from(self.clock.now()).as_millis();
        let millis = now.saturating_sub(requested.at.as_millis());
        // A clock that is behind the one that wrote the time makes it 0.
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }

    /// When to stop, to leave `time` for what follows: at the deadline Lambda ends the invocation without an answer.
    fn leaving(&self, time: Duration, deadline: SystemTime) -> Instant {
        Instant::now() + self.left(deadline).saturating_sub(time)
    }

    fn left(&self, deadline: SystemTime) -> Duration {
        deadline.duration_since(self.clock.now()).unwrap_or_default()
    }
}

/// Gives the lock back, so that the next try need not wait for its lease to end. If that fails, the lease ends.
async fn release(lock: &Lock, id: PaymentIntentId) {
    match lock.release().await {
        Ok(Release::Released | Release::Lost) => {}
        Err(error) => {
            let (reason, error) = (error.code(), with_causes(&error));
            tracing::warn!(payment_intent_id = %id, reason, error, "lock not released");
        }
    }
}
