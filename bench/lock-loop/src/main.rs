//! A loop that takes a lock, writes one item under it and releases it. `bench/peers/python/locks.py` does the same.
//!
//! A line on standard input is a [`Task`]; when it is done, the program prints a line. The time between the two
//! lines is measured. The argument says how the item is written and the lock released: see [`WriteMode`].

use std::error::Error;
use std::io::stdin;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
use dynamodb_locks::{Acquired, Lock, Locks, Release};
use lambda_boot::Environment;
use mimalloc::MiMalloc;
use serde::Deserialize;

/// The same allocator as in the Lambdas, so that the comparison does not depend on it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The longest wait for a lock that others hold. Here locks are held for some milliseconds only.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A failed try is repeated after 50 to 100 % of this. The peer in Python always waits for the mean.
const PAUSE: Duration = Duration::from_millis(26);

/// What to do.
#[derive(Debug, Deserialize)]
struct Task {
    /// The key to lock, and the item to write.
    key: String,
    /// The number of grants, one after the other.
    times: u32,
    /// How long to hold the lock before the commit, in milliseconds.
    work_millis: u64,
}

/// How the item is written and the lock released.
#[derive(Debug, Clone, Copy)]
enum WriteMode {
    /// Both in one transaction, which fails if the lock is lost.
    Transaction,
    /// The lock is in the item. Both in one update, which fails if the lock is lost.
    InPlace,
    /// One after the other. The write does not check the lock.
    Apart,
}

impl WriteMode {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "transaction" => Some(Self::Transaction),
            "in-place" => Some(Self::InPlace),
            "apart" => Some(Self::Apart),
            _ => None,
        }
    }
}

struct Loop {
    client: Client,
    locks: Locks,
    items: String,
    mode: WriteMode,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = lambda_boot::dynamodb(&Environment::of_process())?;
    let items = std::env::var("ITEMS_TABLE")?;
    let mode = std::env::args()
        .nth(1)
        .and_then(|name| WriteMode::parse(&name))
        .ok_or("usage: lock-loop transaction|in-place|apart")?;
    let locks = match mode {
        WriteMode::Transaction | WriteMode::Apart => Locks::builder(client.clone(), std::env::var("LOCKS_TABLE")?),
        WriteMode::InPlace => Locks::builder(client.clone(), items.clone()).in_place(),
    };
    let locks = locks.polling(PAUSE, PAUSE).build();
    let run = Loop { client, locks, items, mode };
    for line in stdin().lines() {
        let task: Task = serde_json::from_str(&line?)?;
        for number in 0..task.times {
            run.once(&task, number).await?;
        }
        println!("done");
    }
    Ok(())
}

impl Loop {
    async fn once(&self, task: &Task, number: u32) -> Result<()> {
        let lock = match self.locks.exclusive(task.key.as_str()).wait_for(TIMEOUT).acquire().await? {
            Acquired::Granted(lock) => lock,
            Acquired::Held(holder) => return Err(format!("the lock was not granted: {holder:?}").into()),
        };
        if task.work_millis > 0 {
            tokio::time::sleep(Duration::from_millis(task.work_millis)).await;
        }
        match self.mode {
            WriteMode::Transaction => {
                let put = self.put(&task.key, number)?;
                let put = TransactWriteItem::builder().put(put).build();
                let request = self.client.transact_write_items().transact_items(put);
                request.transact_items(lock.release_with()).send().await?;
            }
            WriteMode::InPlace => self.update(&lock, &task.key, number).await?,
            WriteMode::Apart => {
                let put = self.put(&task.key, number)?;
                self.client.put_item().table_name(put.table_name).set_item(Some(put.item)).send().await?;
                if lock.release().await? == Release::Lost {
                    return Err("the lock was lost".into());
                }
            }
        }
        Ok(())
    }

    fn put(&self, key: &str, number: u32) -> Result<Put> {
        let put = Put::builder().table_name(&self.items).item("id", AttributeValue::S(key.to_owned()));
        Ok(put.item("value", AttributeValue::N(number.to_string())).build()?)
    }

    async fn update(&self, lock: &Lock, key: &str, number: u32) -> Result<()> {
        let release = lock.release_clauses().ok_or("the lock has no release clauses")?;
        self.client
            .update_item()
            .table_name(&self.items)
            .key("id", AttributeValue::S(key.to_owned()))
            .update_expression(format!("SET #value = :value REMOVE {}", release.remove))
            .condition_expression(release.condition)
            .set_expression_attribute_names(Some(release.names))
            .set_expression_attribute_values(Some(release.values))
            .expression_attribute_names("#value", "value")
            .expression_attribute_values(":value", AttributeValue::N(number.to_string()))
            .send()
            .await?;
        Ok(())
    }
}
