//! Writes the view as files for an import into a new table.
//!
//! `ImportTable` (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataImport.HowItWorks.html>) creates a new table; it
//! cannot write to an existing one. It reads every object under a prefix, so nothing else may be there, and accepts up to 50,000
//! objects. Every order is in one line of one file. An order that exceeds the size limit of an item would make the import fail, so it is left
//! out and reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use archive::{Location, Store};
use order_store::table::{INDEX, projected};
use order_view::VIEW;
use order_view::facet::{CONSUMER_ID, ORDER_CREATION_TIME};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::buckets::{Merge, Merged, Spill, buckets_for};
use crate::error::Error;
use crate::filter::Filter;
use crate::plan::{BATCH_BYTES, Batch, Listing};
use crate::run::{Plan, Run, Target};
use crate::snapshot::{Choice, Snapshot};

/// The target of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The name of the table that the import creates.
    pub table: String,
    /// The location of the files; none for the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
}

/// The files, and how to import them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The content of the files.
    pub merged: Merged,
    /// The location of the files.
    pub place: String,
    /// The command that imports them.
    pub command: String,
}

/// The target of import files in a store.
#[derive(Debug, Clone)]
pub struct ImportTarget {
    /// The store.
    pub store: Store,
    /// The prefix of all keys: empty, or ends with a slash.
    pub prefix: String,
}

impl ImportTarget {
    /// The run's folder.
    #[must_use]
    pub fn of_run(archive: &Store, run: &Run) -> Self {
        Self { store: archive.clone(), prefix: run.key("import/") }
    }

    /// Another location.
    #[must_use]
    pub fn at(store: Store) -> Self {
        Self { store, prefix: String::new() }
    }

    /// Checks, before a run starts, that the target contains nothing that would be imported too.
    pub async fn check_empty(&self) -> Result<(), Error> {
        match self.store.list(&self.data()).await?.first() {
            Some(object) => Err(Error::Occupied(object.key.clone())),
            None => Ok(()),
        }
    }

    fn data(&self) -> String {
        format!("{}data/", self.prefix)
    }
}

/// A planned run that writes files.
#[derive(Debug, Clone)]
pub struct PlannedRun {
    /// Its plan.
    pub plan: Plan,
    /// Its batches.
    pub batches: Vec<Batch>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Plans a run that writes files, from the snapshot that was chosen, if any.
pub async fn plan(
    archive: &Store,
    run: &Run,
    import: Import,
    filter: Filter,
    choice: Choice,
    memory: usize,
    workers: usize,
) -> Result<PlannedRun, Error> {
    let Choice { snapshot, note } = choice;
    let base = match &snapshot {
        Some(snapshot) => Some(snapshot.base(&filter).await?),
        None => None,
    };
    let listing = Listing::read(archive, &filter, base.as_ref()).await?;
    let mut notes: Vec<_> = note.into_iter().collect();
    notes.extend(listing.note(archive, base.as_ref())?);
    let bytes = listing.files.iter().map(|file| file.size).sum();
    let plan = Plan {
        snapshot: base.map(|base| base.id),
        buckets: Some(buckets_for(bytes, snapshot.as_ref(), 0, memory, workers)),
        ..Plan::new(run.id(), Target::Files(import), filter)
    };
    // The snapshot's views are read when buckets are merged.
    Ok(PlannedRun { plan, batches: listing.batches(None, BATCH_BYTES), notes })
}

/// Merges the spilled views of a run into files for an import, and writes the import request next to them. Calls `on_step` with the
/// number of merged buckets and the number of all buckets.
pub async fn write(
    archive: &Store,
    run: &Run,
    out: &ImportTarget,
    memory: usize,
    workers: usize,
    on_step: impl Fn(u32, u32) + Send + Sync,
) -> Result<Written, Error> {
    let plan = run.plan().await?;
    plan.check_rules()?;
    let (Target::Files(import), Some(_)) = (&plan.into, plan.buckets) else {
        return Err(Error::OtherKind { run: run.id().to_owned() });
    };
    let spill = spill(archive, run, &plan)?;
    let base = match &plan.snapshot {
        Some(id) => Some(Snapshot::find(archive, id).await?.views()),
        None => None,
    };
    let (done, count) = (AtomicU32::new(0), spill.buckets.count());
    let merge = Merge {
        spill,
        results: run.key("merged/"),
        base,
        filter: Arc::new(plan.filter.clone()),
        out: out.store.clone(),
        prefix: out.data(),
        only_items: true,
        memory,
        workers,
    };
    let merged = merge.run(|_| on_step(done.fetch_add(1, Ordering::Relaxed) + 1, count)).await?;
    let request = request(&import.table, &out.store.location(), &out.data());
    let command = command(&request, &out.store.location(), &out.prefix);
    let json = serde_json::to_vec_pretty(&request).map_err(Error::Write)?;
    out.store.put(&format!("{}import-table.json", out.prefix), json).await?;
    out.store.put(&format!("{}import-table.sh", out.prefix), format!("{command}\n").into_bytes()).await?;
    Ok(Written { merged, place: place(&out.store.location(), &out.prefix), command })
}

/// The spill of a run.
pub fn spill(archive: &Store, run: &Run, plan: &Plan) -> Result<Spill, Error> {
    let buckets = plan.buckets.ok_or_else(|| Error::OtherKind { run: run.id().to_owned() })?;
    Ok(Spill::new(archive.clone(), run.key("spill/"), buckets))
}

/// A placeholder for the bucket's name if the files are in a local folder.
const BUCKET: &str = "BUCKET";

/// The request to `ImportTable`, with the keys and the index of `order_store::table`.
#[must_use]
pub fn request(table: &str, location: &Location, data: &str) -> Value {
    let (bucket, prefix) = match location {
        Location::S3 { bucket, prefix } => (bucket.as_str(), format!("{prefix}{data}")),
        Location::Folder(_) => (BUCKET, format!("import/{table}/data/")),
    };
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    json!({
        "S3BucketSource": {"S3Bucket": bucket, "S3KeyPrefix": prefix},
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": "GZIP",
        "TableCreationParameters": {
            "TableName": table,
            "AttributeDefinitions": [
                attribute(VIEW.key, "S"), attribute(CONSUMER_ID, "S"), attribute(ORDER_CREATION_TIME, "N"),
            ],
            "KeySchema": [key(VIEW.key, "HASH")],
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [{
                "IndexName": INDEX,
                "KeySchema": [key(CONSUMER_ID, "HASH"), key(ORDER_CREATION_TIME, "RANGE")],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": projected().collect::<Vec<_>>()},
            }],
        },
    })
}

/// The request as a command. No name in it has a quote.
fn command(request: &Value, location: &Location, prefix: &str) -> String {
    let source = &request["S3BucketSource"];
    let (bucket, data) =
        (source["S3Bucket"].as_str().unwrap_or_default(), source["S3KeyPrefix"].as_str().unwrap_or_default());
    let upload = match location {
        Location::S3 { .. } => String::new(),
        Location::Folder(_) => {
            let folder = place(location, &format!("{prefix}data/"));
            format!("# Replace {BUCKET} with the name of your bucket.\naws s3 sync '{folder}' 's3://{bucket}/{data}'\n")
        }
    };
    format!(
        "{upload}aws dynamodb import-table --input-format DYNAMODB_JSON --input-compression-type GZIP \\\n  \
         --s3-bucket-source 'S3Bucket={bucket},S3KeyPrefix={data}' \\\n  --table-creation-parameters '{}'",
        request["TableCreationParameters"]
    )
}

fn place(location: &Location, prefix: &str) -> String {
    match location {
        Location::S3 { .. } => format!("{location}{prefix}"),
        Location::Folder(folder) => folder.join(prefix).display().to_string(),
    }
}
