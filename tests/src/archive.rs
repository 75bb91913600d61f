//! The archive of the system of `make run`, and rebuilds from it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use archive::{Store, read};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;
use tokio::process::Command;

use crate::local::{Local, built_binary};
use crate::system::{System, eventually};

/// The view that the system writes and serves.
pub const LIVE_TABLE: &str = "ftgo-order-history";

/// The result of `rebuild`.
#[derive(Debug)]
pub struct Rebuilt {
    /// 0 if all lines were used, 3 if some were skipped.
    pub exit_code: i32,
    /// The printed JSON.
    pub report: Value,
}

impl System<Local> {
    /// The folder of the archive's bucket.
    #[must_use]
    pub fn archive(&self) -> PathBuf {
        self.data().join("archive/ftgo-order-history-archive")
    }

    /// The number of messages that are not archived yet.
    pub async fn unarchived(&self) -> u64 {
        self.depth(&format!("{}archive", self.queues)).await
    }

    /// Waits until all published messages are archived, and returns each archived message with its count.
    pub async fn archived(&self) -> BTreeMap<String, usize> {
        eventually("everything to be archived", async || (self.unarchived().await == 0).then_some(())).await;
        let store = Store::folder(self.archive());
        let mut messages = BTreeMap::new();
        for file in store.list("events/").await.unwrap() {
            let bytes = store.get(&file.key).await.unwrap().unwrap();
            read(&bytes, |record| {
                let notification: Value = serde_json::from_slice(record.text).unwrap();
                *messages.entry(notification["Message"].as_str().unwrap().to_owned()).or_default() += 1;
            })
            .unwrap_or_else(|damaged| panic!("{}: {damaged}", file.key));
        }
        messages
    }

    /// Rebuilds a new or an existing table from the archive.
    pub async fn rebuild(&self, table: &str) -> Rebuilt {
        let archive = self.archive();
        self.run_rebuild(&["run", "--from", archive.to_str().unwrap(), "--into", table, "--create"]).await
    }

    /// Compares two tables with the operator's command.
    pub async fn verify(&self, left: &str, right: &str) -> Rebuilt {
        self.run_rebuild(&["verify", "--left", left, "--right", right]).await
    }

    async fn run_rebuild(&self, arguments: &[&str]) -> Rebuilt {
        let output = Command::new(built_binary("rebuild"))
            .args(arguments)
            .arg("--json")
            .env("AWS_ENDPOINT_URL_DYNAMODB", self.dynamodb())
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .output()
            .await
            .unwrap();
        let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let report = serde_json::from_str(&printed);
        let report = report.unwrap_or_else(|_| panic!("{arguments:?} printed {printed:?} and {errors:?}"));
        Rebuilt { exit_code: output.status.code().expect("the process was killed"), report }
    }

    /// All items of a table, by order id.
    pub async fn items(&self, table: &str) -> BTreeMap<String, HashMap<String, AttributeValue>> {
        let scan = self.tables().scan().table_name(table).consistent_read(true);
        let items = scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap();
        items.into_iter().map(|item| (item["orderId"].as_s().unwrap().clone(), item)).collect()
    }

    /// Rebuilds a new table from the archive, and asserts that it equals the live table, item by item.
    pub async fn assert_rebuilt_equals_live(&self, table: &str, some_are_malformed: bool) {
        let rebuilt = self.rebuild(table).await;
        assert_eq!(rebuilt.exit_code, if some_are_malformed { 3 } else { 0 }, "{rebuilt:?}");
        let (live, built) = (self.items(LIVE_TABLE).await, self.items(table).await);
        assert!(!live.is_empty());
        for (order, item) in &live {
            assert_eq!(built.get(order), Some(item), "order {order}");
        }
        assert_eq!(built.len(), live.len(), "the rebuilt table has orders that are not in the live table");
        let verified = self.verify(LIVE_TABLE, table).await;
        assert_eq!(verified.exit_code, 0, "{verified:?}");
    }
}
