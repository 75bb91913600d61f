#![doc = include_str!("../README.md")]

mod acquire;
mod attributes;
mod builder;
mod cancellation;
mod clauses;
mod error;
mod holder;
mod key;
mod lock;
mod lock_set;
mod locks;
mod observation;
mod protocol;
mod record;
mod request;
mod retry;
mod table;
mod takeover;
mod versioned;

pub use attributes::Attributes;
pub use builder::LocksBuilder;
pub use cancellation::{Cancellation, Cause};
pub use clauses::Clauses;
pub use error::Error;
pub use holder::Holder;
pub use key::{Key, KeyValue};
pub use lock::{Lock, Release, RunError};
pub use lock_set::LockSet;
pub use locks::Locks;
pub use observation::Observation;
pub use request::{Acquired, AcquiredAll, LockRequest, LockSetRequest};
pub use retry::{RetryPolicy, retry_on_conflict};
pub use table::create_table;
pub use takeover::Takeover;
pub use versioned::Versioned;
