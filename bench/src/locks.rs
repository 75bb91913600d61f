//! Locks: take one, write an item under it, release it; without and with contention.

use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::process::Command;

use crate::contender::Connection;
use crate::dynamodb::{DynamoDb, MeterCounts};
use crate::fleet::{Effort, Program, Stopwatch};
use crate::projection::{Pace, PerEvent};
use crate::statistics::Rounds;
use crate::{Result, peers};

/// The cost of a grant: a lock and the write under it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Locking {
    /// The contender's name.
    pub name: String,
    /// Its components, with versions.
    pub made_of: String,
    /// Without contention.
    pub alone: Uncontended,
    /// With [`CONTENDERS`] processes that want it at the same time.
    pub contended: Contended,
}

/// The cost of a grant without contention.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Uncontended {
    /// Against the stub.
    pub stub: Pace,
    /// Against the engine.
    pub engine: Pace,
    /// What went to DynamoDB.
    pub per_grant: PerEvent,
}

/// The cost of a grant with contention, for all processes together; one value for each round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Contended {
    /// Against the engine, behind the meter.
    pub pace: Pace,
    /// Requests.
    pub requests: Rounds,
    /// Write units. DynamoDB also charges them for a failed conditional write.
    pub written: Rounds,
    /// Read units.
    pub read: Rounds,
}

impl Contended {
    /// Wall-clock milliseconds for a grant.
    #[must_use]
    pub fn wall_millis(&self) -> Rounds {
        Rounds(self.pace.per_second.0.iter().map(|per_second| 1e3 / per_second).collect())
    }
}

/// Ours: the write of the item, the check of the lock and its release are one transaction.
pub const TRANSACTION: &str = "ours, in the commit's transaction";
/// Ours: they are one update, because the lock is in the written item.
pub const IN_PLACE: &str = "ours, in the item itself";
/// Ours, with the peer's three steps.
pub const APART: &str = "ours, released after the write";
/// The peer.
pub const PYTHON_LOCKS: &str = "python_dynamodb_lock";

/// The number of processes that want the lock at the same time.
pub const CONTENDERS: usize = 8;
/// How long each of them holds it, in milliseconds: the latency of a real DynamoDB.
pub const WORK_MILLIS: u32 = 5;

/// The number of grants for each of them in a round.
const BURSTS: usize = 5;
/// The number of grants in a round without contention.
const GRANTS: usize = 200;
/// The number of grants through the meter.
const METERED: usize = 10;

const LOCKS_TABLE: &str = "bench-locks";
const PYTHON_LOCKS_TABLE: &str = "bench-python-locks";
const ITEMS_TABLE: &str = "bench-items";
/// The key that is locked and written.
const KEY: &str = "a";

/// Measures all contenders in turn, in rounds.
pub async fn lock_all(binaries: &Path, dynamodb: &mut DynamoDb, rounds: usize) -> Result<Vec<Locking>> {
    create_tables(&dynamodb.client()).await?;
    let contenders = contenders(binaries)?;
    let endpoints = dynamodb.endpoints.clone();
    let mut found = Vec::new();
    for Contender { name, made_of, .. } in &contenders {
        found.push(Locking { name: (*name).to_owned(), made_of: made_of.clone(), ..Locking::default() });
    }

    eprintln!("locks, alone");
    for (contender, found) in contenders.iter().zip(&mut found) {
        let mut program = contender.start(&endpoints.meter)?;
        dynamodb.metered().await?;
        let effort = grants(std::slice::from_mut(&mut program), METERED, 0).await?;
        let tally = dynamodb.metered().await?;
        if tally.refused > 0 {
            return Err(format!("{}: {} requests failed without contention", found.name, tally.refused).into());
        }
        found.alone.per_grant = PerEvent::of(&tally, effort.count);
    }
    // A read of the stub finds no lock, like the peer's last read through the meter.
    let mut on_stub = start_all(&contenders, &endpoints.stub)?;
    let mut on_engine = start_all(&contenders, &endpoints.engine)?;
    for program in on_stub.iter_mut().chain(&mut on_engine) {
        grants(std::slice::from_mut(program), GRANTS, 0).await?;
    }
    for _ in 0..rounds {
        for (place, found) in found.iter_mut().enumerate() {
            found.alone.stub.add(&grants(std::slice::from_mut(&mut on_stub[place]), GRANTS, 0).await?);
            found.alone.engine.add(&grants(std::slice::from_mut(&mut on_engine[place]), GRANTS, 0).await?);
        }
    }
    drop((on_stub, on_engine));

    eprintln!("locks, {CONTENDERS} contenders");
    let mut crowds = Vec::new();
    for contender in &contenders {
        let mut crowd = (0..CONTENDERS).map(|_| contender.start(&endpoints.meter)).collect::<Result<Vec<_>>>()?;
        grants(&mut crowd, 1, 0).await?;
        crowds.push(crowd);
    }
    for _ in 0..rounds {
        for (crowd, found) in crowds.iter_mut().zip(&mut found) {
            dynamodb.metered().await?;
            let mut effort = Effort::default();
            for _ in 0..BURSTS {
                effort += grants(crowd, 1, WORK_MILLIS).await?;
            }
            found.contended.add(&effort, &dynamodb.metered().await?);
        }
    }
    Ok(found)
}

impl Contended {
    fn add(&mut self, effort: &Effort, tally: &MeterCounts) {
        let grants = f64::from(effort.count);
        self.pace.add(effort);
        self.requests.0.push(f64::from(tally.all_requests()) / grants);
        self.written.0.push((tally.written.sum() + f64::from(tally.refused) * REFUSED) / grants);
        self.read.0.push(tally.read.sum() / grants);
    }
}

/// The write units of a failed conditional write: those of the existing item, which has less than a kilobyte.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.ConditionalUpdate>
const REFUSED: f64 = 1.0;

/// Each program takes the lock this many times, all at the same time.
async fn grants(programs: &mut [Program], times: usize, work_millis: u32) -> Result<Effort> {
    let task = json!({"key": KEY, "times": times, "work_millis": work_millis}).to_string();
    let count = programs.len() * times;
    let watch = Stopwatch::start(programs.iter().map(Program::process_id).collect::<Result<_>>()?)?;
    try_join_all(programs.iter_mut().map(|program| program.run_task(&task))).await?;
    watch.stop(count)
}

/// A program that takes locks.
struct Contender {
    name: &'static str,
    made_of: String,
    program: PathBuf,
    argument: PathBuf,
    locks_table: &'static str,
}

impl Contender {
    fn start(&self, endpoint: &str) -> Result<Program> {
        Program::start(
            Command::new(&self.program)
                .arg(&self.argument)
                .envs(Connection::plain(endpoint).environment())
                .env("LOCKS_TABLE", self.locks_table)
                .env("ITEMS_TABLE", ITEMS_TABLE),
        )
    }
}

fn start_all(contenders: &[Contender], endpoint: &str) -> Result<Vec<Program>> {
    contenders.iter().map(|contender| contender.start(endpoint)).collect()
}

/// Ours, and the peer if it can run on this machine.
fn contenders(binaries: &Path) -> Result<Vec<Contender>> {
    let ours = [
        (TRANSACTION, "transaction", "one `TransactWriteItems` writes the item, checks the lock and releases it"),
        (
            IN_PLACE,
            "in-place",
            "one `UpdateItem` writes the item that has the lock in it, checks the lock and releases it",
        ),
        (APART, "apart", "`PutItem`, then a release; the write does not check the lock"),
    ];
    let mut all: Vec<_> = ours
        .map(|(name, way, made_of)| Contender {
            name,
            made_of: made_of.to_owned(),
            program: binaries.join("lock-loop"),
            argument: way.into(),
            locks_table: LOCKS_TABLE,
        })
        .into();
    all.extend(peers::python_locks()?.map(|peer| Contender {
        name: PYTHON_LOCKS,
        made_of: format!("{}; `put_item`, then a release; the write cannot check the lock", peer.made_of),
        program: peer.interpreter,
        argument: peer.script,
        locks_table: PYTHON_LOCKS_TABLE,
    }));
    Ok(all)
}

async fn create_tables(client: &Client) -> Result<()> {
    dynamodb_locks::create_table(client, LOCKS_TABLE).await?;
    create_table(client, PYTHON_LOCKS_TABLE, &["lock_key", "sort_key"]).await?;
    create_table(client, ITEMS_TABLE, &["id"]).await?;
    // A lock in an item never creates the item.
    let item = client.put_item().table_name(ITEMS_TABLE).item("id", AttributeValue::S(KEY.to_owned()));
    item.send().await?;
    Ok(())
}

/// A table with these string keys.
async fn create_table(client: &Client, table: &str, keys: &[&str]) -> Result<()> {
    let mut request = client.create_table().table_name(table).billing_mode(BillingMode::PayPerRequest);
    for (key, key_type) in keys.iter().zip([KeyType::Hash, KeyType::Range]) {
        let definition = AttributeDefinition::builder().attribute_name(*key).attribute_type(ScalarAttributeType::S);
        let schema = KeySchemaElement::builder().attribute_name(*key).key_type(key_type);
        request = request.attribute_definitions(definition.build()?).key_schema(schema.build()?);
    }
    request.send().await?;
    Ok(())
}
