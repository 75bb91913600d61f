//! One side of the interoperability test (`tests/interop`): starts an engine with two tables, prints its endpoint, and does what the
//! commands on standard input say, one JSON object for each line, with one JSON object as the response.

use std::collections::HashMap;
use std::io::{BufRead, stdin};
use std::time::{Duration, SystemTime};

use embedded_dynamodb::Engine;
use idempotency::{
    Claim, Claimed, Error, Fingerprint, IdempotencyStore, TimedStore, create_table, create_table_with_sort_key,
    powertools_json,
};
use md5::{Digest, Md5};
use serde::Deserialize;
use serde_json::{Value, json};

type BoxError = Box<dyn std::error::Error>;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
enum Command {
    /// Claims, and remembers the claim.
    Claim { store: Settings, key: Value, payload: Option<Value> },
    /// Completes the claim of this key.
    Complete { store: Settings, key: Value, result: Value },
    /// Releases the claim of this key.
    Release { store: Settings, key: Value },
    /// The text that is hashed for a value.
    Json { value: Value },
}

#[derive(Deserialize)]
struct Settings {
    table: String,
    /// The value of the partition key, for the table with a sort key.
    partition: Option<String>,
    /// How far the clock is behind, in seconds.
    #[serde(default)]
    behind: u64,
    /// How long a claim holds, in milliseconds.
    #[serde(default = "half_a_minute")]
    limit: u64,
}

fn half_a_minute() -> u64 {
    30_000
}

/// As long as Powertools keeps a record by default.
const RETENTION: Duration = Duration::from_hours(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let engine = Engine::start();
    create_table(&engine.client(), "plain").await?;
    create_table_with_sort_key(&engine.client(), "sorted", "sk").await?;
    println!("{}", engine.endpoint());
    let mut claims = HashMap::new();
    for line in stdin().lock().lines() {
        let response = run(&engine, serde_json::from_str(&line?)?, &mut claims).await?;
        println!("{response}");
    }
    Ok(())
}

async fn run(engine: &Engine, command: Command, claims: &mut HashMap<String, Claim>) -> Result<Value, BoxError> {
    Ok(match command {
        Command::Claim { store, key, payload } => {
            let fingerprint = match payload {
                Some(payload) => Fingerprint::from_hash(hash(&payload)?),
                None => Fingerprint::none(),
            };
            match open(engine, store).claim(&hash(&key)?, &fingerprint).await {
                Ok(Claimed::New(claim)) => {
                    claims.insert(key.to_string(), claim);
                    json!({"saw": "New"})
                }
                Ok(Claimed::Completed { data }) => {
                    json!({"saw": "Completed", "data": data.map(|data| serde_json::from_str::<Value>(&data)).transpose()?})
                }
                Ok(Claimed::InProgress { .. }) => json!({"saw": "InProgress"}),
                Err(Error::PayloadMismatch) => json!({"saw": "PayloadMismatch"}),
                Err(error) => return Err(error.into()),
            }
        }
        Command::Complete { store, key, result } => {
            let claim = claims.remove(&key.to_string()).ok_or("no such claim")?;
            match open(engine, store).complete(claim, Some(result.to_string())).await {
                Ok(()) => json!({"saw": "completed"}),
                Err(Error::ClaimLost) => json!({"saw": "ClaimLost"}),
                Err(error) => return Err(error.into()),
            }
        }
        Command::Release { store, key } => {
            let claim = claims.remove(&key.to_string()).ok_or("no such claim")?;
            open(engine, store).release(claim).await?;
            json!({"saw": "released"})
        }
        Command::Json { value } => json!({"text": powertools_json(&value)?}),
    })
}

fn open(engine: &Engine, settings: Settings) -> TimedStore {
    let behind = Duration::from_secs(settings.behind);
    let store = IdempotencyStore::builder(engine.client(), settings.table)
        .key_prefix("interop")
        .retention(RETENTION)
        .clock(move || SystemTime::now() - behind);
    let store = match settings.partition {
        Some(partition) => store.sort_key("sk", partition),
        None => store,
    };
    store.build().for_at_most(Duration::from_millis(settings.limit))
}

/// As Powertools hashes by default.
fn hash(value: &Value) -> Result<String, Error> {
    let digest: [u8; 16] = Md5::digest(powertools_json(value)?).into();
    Ok(format!("{:032x}", u128::from_be_bytes(digest)))
}
