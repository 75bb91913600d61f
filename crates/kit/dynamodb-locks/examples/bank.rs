//! Eight tasks move money between four accounts. Each transfer holds the locks of both accounts, and some take longer than their
//! leases. Run it with `cargo run --example bank`: it starts its own DynamoDB engine.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
use dynamodb_locks::{AcquiredAll, Cancellation, Locks, RetryPolicy, Takeover, create_table, retry_on_conflict};
use embedded_dynamodb::Engine;

const ACCOUNTS: [&str; 4] = ["ada", "bob", "cyd", "dan"];
const TASKS: usize = 8;
const TRANSFERS: usize = 10;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let engine = Engine::start();
    let client = engine.client();
    create_table(&client, "locks").await?;
    create_table(&client, "accounts").await?;
    for account in ACCOUNTS {
        let item = balance(account, 100);
        client.put_item().table_name("accounts").set_item(Some(item)).send().await?;
    }
    let locks = Locks::builder(client.clone(), "locks")
        .lease(Duration::from_millis(100))
        .takeover(Takeover::ByClock { max_skew: Duration::ZERO })
        .build();

    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(transfers(task, client.clone(), locks.clone()))).collect();
    let (mut done, mut refused) = (0, 0);
    for task in tasks {
        let (task_done, task_refused) = task.await??;
        done += task_done;
        refused += task_refused;
    }

    let mut sum = 0;
    for account in ACCOUNTS {
        let amount = read(&client, account).await?;
        println!("{account}: {amount:4}");
        sum += amount;
    }
    println!("{done} transfers; {refused} came too late and were refused; the sum is {sum}");
    if sum == 400 { Ok(()) } else { Err("money was made or lost".into()) }
}

/// Returns how many transfers were made, and how many were refused because their locks were lost.
async fn transfers(task: usize, client: Client, locks: Locks) -> Result<(usize, usize), Failure> {
    let (mut done, mut refused) = (0, 0);
    for number in 0..TRANSFERS {
        let from = ACCOUNTS[(task + number) % ACCOUNTS.len()];
        let to = ACCOUNTS[(task + 3 * number + 1) % ACCOUNTS.len()];
        if from == to {
            continue;
        }
        let request = locks.all().exclusive(from).exclusive(to).wait_for(Duration::from_secs(30));
        let AcquiredAll::Granted(held) = request.acquire().await? else {
            return Err("no lock in half a minute".into());
        };
        let (from_amount, to_amount) = (read(&client, from).await?, read(&client, to).await?);
        // Every seventh transfer does not send heartbeats, and is so slow that others take its locks.
        let slow = (task + number).is_multiple_of(7);
        tokio::time::sleep(Duration::from_millis(if slow { 150 } else { 1 })).await;

        let mut request = client.transact_write_items().set_transact_items(Some(held.release_with()));
        for (account, amount) in [(from, from_amount - 1), (to, to_amount + 1)] {
            let put = Put::builder().table_name("accounts").set_item(Some(balance(account, amount))).build()?;
            request = request.transact_items(TransactWriteItem::builder().put(put).build());
        }
        // Another one may ask for the locks at this very moment: the same transaction succeeds a little later.
        match retry_on_conflict(RetryPolicy::default(), is_conflict, || request.clone().send()).await {
            Ok(_) => done += 1,
            Err(error) => match Cancellation::of(&error) {
                Some(cancelled) if cancelled.is_refused(0) || cancelled.is_refused(1) => refused += 1,
                _ => return Err(error.into()),
            },
        }
    }
    Ok((done, refused))
}

fn is_conflict(error: &SdkError<TransactWriteItemsError>) -> bool {
    Cancellation::of(error).is_some_and(|cancelled| cancelled.is_conflict())
}

fn balance(account: &str, amount: i64) -> HashMap<String, AttributeValue> {
    HashMap::from([
        ("id".to_owned(), AttributeValue::S(account.to_owned())),
        ("amount".to_owned(), AttributeValue::N(amount.to_string())),
    ])
}

async fn read(client: &Client, account: &str) -> Result<i64, Failure> {
    let key = AttributeValue::S(account.to_owned());
    let found = client.get_item().table_name("accounts").key("id", key).consistent_read(true).send().await?;
    let amount = found.item.as_ref().and_then(|item| item.get("amount")?.as_n().ok());
    Ok(amount.ok_or("no such account")?.parse()?)
}
