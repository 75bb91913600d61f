// The README's code needs the feature.
#![cfg_attr(feature = "sns", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "sns"),
    doc = "A transactional outbox in DynamoDB. The README explains the crate; `SnsTopic` needs the feature `sns`."
)]

mod error;
mod event_id;
mod forward;
mod metric;
mod outbox;
mod pause;
mod publisher;
mod relay;
mod row;
#[cfg(feature = "sns")]
mod sns;
mod stream;
mod sweeper;
mod table;

pub use error::Error;
pub use event_id::next_event_id;
pub use metric::Metric;
pub use outbox::Outbox;
pub use publisher::{BATCH_SIZE, Publisher};
pub use relay::{Relay, Relayed};
pub use row::EventRow;
#[cfg(feature = "sns")]
pub use sns::SnsTopic;
pub use stream::{BatchItemFailure, BatchResponse, StreamBatch};
pub use sweeper::{End, Sweeper, Swept};
pub use table::create_table;
