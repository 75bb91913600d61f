#![doc = include_str!("../README.md")]

mod attributes;
mod batch;
mod builder;
mod cache;
mod claim;
mod error;
mod fingerprint;
mod http;
mod idempotent;
mod observation;
mod record;
mod store;
mod table;
mod transaction;
mod write;

pub use attributes::Attributes;
pub use builder::StoreBuilder;
pub use claim::{Claim, Claimed};
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use http::{IdempotencyKey, KeyError, Scope};
pub use idempotent::{IdempotentError, Outcome, idempotent};
pub use observation::Observation;
pub use store::IdempotencyStore;
pub use table::create_table;
pub use transaction::{Found, RecordKey, Recorded, Refusal};
