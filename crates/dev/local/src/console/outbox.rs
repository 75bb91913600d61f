//! The outbox of Payments: the rows that are not published yet.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use serde::Serialize;

use super::functions::rfc3339;
use super::problem::Problem;

/// The table of the outbox.
pub(super) struct Outbox {
    pub(super) client: Client,
    pub(super) table: String,
}

/// The shown values of the outbox. A row is deleted when it is published, so every row is unpublished.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutboxState {
    unpublished: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_unpublished_at: Option<String>,
}

impl Outbox {
    pub(super) async fn state(&self) -> Result<OutboxState, Problem> {
        let scan = self.client.scan().table_name(&self.table).consistent_read(true);
        let scan = scan.projection_expression("#at").expression_attribute_names("#at", "at");
        let rows = scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await?;
        let written = rows.iter().filter_map(|row| row.get("at")?.as_n().ok()?.parse::<u64>().ok());
        let oldest = written.min().map(|at| rfc3339(SystemTime::UNIX_EPOCH + Duration::from_millis(at)));
        Ok(OutboxState { unpublished: rows.len(), oldest_unpublished_at: oldest })
    }
}
