//! The floor: a bare loop of the SDK that does one conditional `UpdateItem` for each event, and nothing else.
//!
//! A line on standard input has messages, as a JSON list. The program renders their updates and prints a line; at the next line
//! it sends them, and prints another line. The time between the two lines is measured. The argument is the number of
//! concurrent requests: one after the other costs more, because of a wake-up for each.

use std::error::Error;
use std::io::{Lines, StdinLock, stdin};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::{StreamExt, TryStreamExt, stream};
use lambda_boot::Environment;
use mimalloc::MiMalloc;
use order_events::Message;
use order_view::{VIEW, effect};
use projection::dynamodb::{Update, render};

/// The same allocator as in the Lambdas, so that the comparison does not depend on it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = lambda_boot::dynamodb(&Environment::of_process())?;
    let table = std::env::var("ORDER_HISTORY_TABLE")?;
    let at_once: usize = std::env::args().nth(1).ok_or("usage: floor CONCURRENCY")?.parse()?;
    let mut lines = stdin().lines();
    while let Some(updates) = next_updates(&mut lines)? {
        println!("rendered");
        if lines.next().transpose()?.is_none() {
            break;
        }
        stream::iter(updates)
            .map(|(order_id, update)| send(&client, &table, order_id, update))
            .buffer_unordered(at_once)
            .try_collect::<()>()
            .await?;
        println!("sent");
    }
    Ok(())
}

fn next_updates(lines: &mut Lines<StdinLock<'static>>) -> Result<Option<Vec<(String, Update)>>> {
    let Some(line) = lines.next().transpose()? else { return Ok(None) };
    let messages: Vec<String> = serde_json::from_str(&line)?;
    messages.iter().map(|message| rendered(message)).collect::<Result<_>>().map(Some)
}

fn rendered(message: &str) -> Result<(String, Update)> {
    let effect = effect(&Message::parse(message)?.event)?;
    let update = render(&VIEW, &effect.pieces);
    Ok((effect.key, update))
}

async fn send(client: &Client, table: &str, order_id: String, update: Update) -> Result<()> {
    client
        .update_item()
        .table_name(table)
        .key(VIEW.key, AttributeValue::S(order_id))
        .update_expression(update.update_expression)
        .set_condition_expression(update.condition_expression)
        .set_expression_attribute_names(Some(update.names))
        .set_expression_attribute_values(Some(update.values))
        .send()
        .await?;
    Ok(())
}
