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
mod powertools;
mod record;
mod schema;
#[cfg(feature = "sqs")]
pub mod sqs;
mod store;
mod table;
mod timed;
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
pub use powertools::powertools_json;
pub use store::IdempotencyStore;
pub use table::{create_table, create_table_with_sort_key};
pub use timed::TimedStore;
pub use transaction::{Found, RecordKey, Recorded, Refusal};
