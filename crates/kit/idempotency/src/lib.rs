#![doc = include_str!("../README.md")]

mod attributes;
mod batch;
mod builder;
mod cache;
mod claim;
mod error;
mod fingerprint;
mod idempotent;
mod observation;
mod record;
mod store;
mod table;

pub use attributes::Attributes;
pub use builder::StoreBuilder;
pub use claim::{Claim, Claimed};
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use idempotent::{IdempotentError, Outcome, idempotent};
pub use observation::Observation;
pub use store::IdempotencyStore;
pub use table::create_table;
