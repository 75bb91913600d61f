//! Files for `ImportTable`. An import makes the same table as a rebuild into a table.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use archive::{Location, Store};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use flate2::bufread::GzDecoder;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rebuild::Error;
use rebuild::batch::{Meter, Processor, Sink};
use rebuild::files::{self, Import, ImportTarget, Written};
use rebuild::filter::Filter;
use rebuild::run::Run;
use rebuild::snapshot::Choice;
use sample_events::arbitrary;
use serde_json::Value;

use crate::buckets::orders_in;
use crate::world::{Folder, Rebuild, engine, folded, key, lines_of_order, lines_of_orders, new_table, runtime};

/// A run with `--sink files`.
pub(crate) async fn import(archive: &Store, id: &str, filter: Filter, memory: usize) -> Result<Written, Error> {
    let (run, workers) = (Run::new(archive, id)?, 2);
    let choice = Choice::find(archive, &filter).await?;
    let import = Import { table: "imported".to_owned(), out: None };
    let planned = files::plan(archive, &run, import, filter, choice, memory, workers).await?;
    let (plan, batches) = run.begin(planned.plan, planned.batches).await?;
    let processor = Processor {
        archive: archive.clone(),
        filter: Arc::new(plan.filter.clone()),
        sink: Sink::Buckets(Arc::new(files::spill(archive, &run, &plan)?)),
        memory,
        meter: Arc::new(Meter::default()),
    };
    let missing = run.progress_of(batches).await?.missing;
    rebuild::execution::execute(&run, &processor, missing, workers, |_, _| ()).await?;
    let out = ImportTarget::of_run(archive, &run);
    let written = files::write(archive, &run, &out, memory, workers, |_, _| ()).await?;
    files::spill(archive, &run, &plan)?.remove().await?;
    run.report().await?;
    Ok(written)
}

type Item = BTreeMap<String, Value>;

/// The items of import files, as strictly as the format is documented:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataImport.Format.html>.
fn items(store: &Store, prefix: &str) -> BTreeMap<String, Item> {
    let mut items = BTreeMap::new();
    let files = runtime().block_on(store.list(prefix)).unwrap();
    assert!(!files.is_empty(), "an import of nothing fails");
    for object in files {
        let bytes = runtime().block_on(store.get(&object.key)).unwrap().unwrap();
        let (mut text, mut gzip) = (String::new(), GzDecoder::new(bytes.as_slice()));
        gzip.read_to_string(&mut text).unwrap();
        assert!(gzip.into_inner().is_empty(), "{} has one member", object.key);
        assert!(text.ends_with('\n') && !text.contains("\n\n"), "{} has a line for each item", object.key);
        for line in text.lines() {
            let mut line: BTreeMap<String, Item> = serde_json::from_str(line).unwrap();
            let item = line.remove("Item").unwrap();
            assert!(line.is_empty(), "a line has nothing but an item");
            let order_id = item["orderId"]["S"].as_str().unwrap().to_owned();
            assert!(items.insert(order_id.clone(), item).is_none(), "order {order_id} is repeated");
        }
    }
    items
}

fn value(json: &Value) -> AttributeValue {
    let members = json.as_object().unwrap();
    assert_eq!(members.len(), 1, "a value has one type: {json}");
    let (kind, value) = members.iter().next().unwrap();
    let text = || value.as_str().unwrap().to_owned();
    match kind.as_str() {
        "S" => AttributeValue::S(text()),
        "N" => AttributeValue::N(text()),
        "BOOL" => AttributeValue::Bool(value.as_bool().unwrap()),
        "NULL" => AttributeValue::Null(value.as_bool().unwrap()),
        "SS" => {
            let texts: Vec<_> =
                value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
            assert!(!texts.is_empty(), "DynamoDB has no empty sets");
            assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len(), "a set has no element twice");
            AttributeValue::Ss(texts)
        }
        "L" => AttributeValue::L(value.as_array().unwrap().iter().map(self::value).collect()),
        "M" => {
            let members = value.as_object().unwrap().iter().map(|(name, value)| (name.clone(), self::value(value)));
            AttributeValue::M(members.collect())
        }
        kind => panic!("DynamoDB has no type {kind}"),
    }
}

/// The items of a table, with sorted sets.
pub(crate) async fn table_items(client: &Client, table: &str) -> BTreeMap<String, BTreeMap<String, AttributeValue>> {
    let (mut items, mut after) = (BTreeMap::new(), None);
    loop {
        let page = client.scan().table_name(table).set_exclusive_start_key(after).send().await.unwrap();
        for mut item in page.items.unwrap_or_default() {
            for value in item.values_mut() {
                if let AttributeValue::Ss(texts) = value {
                    texts.sort_unstable();
                }
            }
            items.insert(item["orderId"].as_s().unwrap().clone(), item.into_iter().collect());
        }
        after = page.last_evaluated_key;
        if after.is_none() {
            return items;
        }
    }
}

#[test]
fn an_imported_table_equals_a_rebuilt_table() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let lines = lines_of_orders(0..40);
    // The events of an order are in several files and batches.
    for (day, some) in lines.chunks(150).enumerate() {
        folder.put(&key(day + 1, "a"), some);
    }
    let archive = folder.archive();
    let written = runtime().block_on(import(&archive, "files", Filter::default(), 64 << 20)).unwrap();
    assert_eq!(written.merged.orders(), 40);
    assert_eq!(runtime().block_on(archive.list("runs/files/spill/")).unwrap(), [], "the spilled files are removed");

    let items = items(&archive, "runs/files/import/data/");
    runtime().block_on(async {
        let (imported, rebuilt) = (new_table(&client).await, new_table(&client).await);
        for item in items.into_values() {
            let item = item.iter().map(|(name, json)| (name.clone(), value(json))).collect();
            client.put_item().table_name(&imported).set_item(Some(item)).send().await.unwrap();
        }
        Rebuild::new(archive.clone(), client.clone(), &rebuilt).run().await.unwrap();
        let imported = table_items(&client, &imported).await;
        assert_eq!(imported.len(), 40);
        assert_eq!(imported, table_items(&client, &rebuilt).await);
    });
}

/// An order with every event type, and random events.
#[test]
fn every_item_can_be_imported_without_a_change() {
    let mut runner = TestRunner::new(Config { cases: 30, failure_persistence: None, ..Config::default() });
    runner
        .run(&arbitrary(25), |events| {
            let folder = Folder::new();
            let lines: Vec<_> = events.iter().map(|event| event.to_message().unwrap()).collect();
            prop_assume!(!lines.is_empty());
            for (day, some) in lines.chunks(5).enumerate() {
                folder.put(&key(day + 1, "a"), some);
            }
            runtime().block_on(import(&folder.archive(), "files", Filter::default(), 64 << 20)).unwrap();
            prop_assert_eq!(orders_in(&folder.archive(), "runs/files/import/data/"), folded(&lines));
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_order_of_more_than_400_kb_is_left_out_and_reported_and_the_others_are_written() {
    let (folder, mut lines) = (Folder::new(), lines_of_orders(0..3));
    let created = lines.iter().position(|line| line.contains("OrderCreated")).unwrap();
    lines[created] = lines[created].replace("Ajanta", &"A very long name. ".repeat(30_000));
    folder.put(&key(1, "a"), &lines);
    let written = runtime().block_on(import(&folder.archive(), "files", Filter::default(), 64 << 20)).unwrap();
    let too_large: BTreeSet<_> = written.merged.buckets.iter().flat_map(|bucket| bucket.too_large.clone()).collect();
    assert_eq!(too_large, ["0".to_owned()].into());
    let orders = orders_in(&folder.archive(), "runs/files/import/data/");
    assert_eq!(orders.keys().collect::<Vec<_>>(), ["1", "2"]);
}

#[test]
fn only_the_orders_of_the_filter_are_written() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..20));
    folder.put(&key(1, "a"), &lines);
    let orders = ["3", "17"].map(|order| order.parse().unwrap()).into();
    let filter = Filter { orders, ..Filter::default() };
    runtime().block_on(import(&folder.archive(), "files", filter, 64 << 20)).unwrap();
    let expected = folded(&[lines_of_order(3), lines_of_order(17)].concat());
    assert_eq!(orders_in(&folder.archive(), "runs/files/import/data/"), expected);
}

/// The engine's description of the table that the store creates.
#[test]
fn the_import_request_describes_the_same_table_as_the_store() {
    let (_engine, client) = engine();
    let location = Location::S3 { bucket: "archive".to_owned(), prefix: "ftgo/".to_owned() };
    let request = files::request("imported", &location, "runs/7/import/data/");
    assert_eq!(request["S3BucketSource"]["S3Bucket"], "archive");
    assert_eq!(request["S3BucketSource"]["S3KeyPrefix"], "ftgo/runs/7/import/data/");
    assert_eq!((&request["InputFormat"], &request["InputCompressionType"]), (&"DYNAMODB_JSON".into(), &"GZIP".into()));
    let requested = &request["TableCreationParameters"];
    assert_eq!((&requested["TableName"], &requested["BillingMode"]), (&"imported".into(), &"PAY_PER_REQUEST".into()));

    let created = runtime().block_on(async {
        let table = new_table(&client).await;
        client.describe_table().table_name(table).send().await.unwrap().table.unwrap()
    });
    let key = |key: &aws_sdk_dynamodb::types::KeySchemaElement| serde_json::json!({"AttributeName": key.attribute_name, "KeyType": key.key_type.as_str()});
    let keys: Vec<_> = created.key_schema().iter().map(key).collect();
    assert_eq!(requested["KeySchema"], Value::from(keys));
    let attributes: BTreeMap<_, _> = created
        .attribute_definitions()
        .iter()
        .map(|it| (it.attribute_name.clone(), it.attribute_type.as_str().to_owned()))
        .collect();
    let requested_attributes: BTreeMap<_, _> = requested["AttributeDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["AttributeName"].as_str().unwrap().to_owned(), it["AttributeType"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(requested_attributes, attributes);
    let (index, requested) = (&created.global_secondary_indexes()[0], &requested["GlobalSecondaryIndexes"][0]);
    assert_eq!(requested["IndexName"], index.index_name().unwrap());
    assert_eq!(requested["KeySchema"], Value::from(index.key_schema().iter().map(key).collect::<Vec<_>>()));
    let projection = index.projection().unwrap();
    assert_eq!(requested["Projection"]["ProjectionType"], projection.projection_type().unwrap().as_str());
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let requested = requested["Projection"]["NonKeyAttributes"].as_array().unwrap();
    assert_eq!(
        names(requested.iter().map(|name| name.as_str().unwrap()).collect()),
        names(projection.non_key_attributes().iter().map(String::as_str).collect())
    );
}

/// People copy the command, so a shell must accept it.
#[test]
fn the_command_and_the_request_are_not_in_the_folder_of_the_data() {
    let folder = Folder::new();
    folder.put(&key(1, "a"), lines_of_orders(0..3));
    let written = runtime().block_on(import(&folder.archive(), "files", Filter::default(), 64 << 20)).unwrap();
    let keys: Vec<_> =
        runtime().block_on(folder.archive().list("runs/files/import/")).unwrap().into_iter().map(|it| it.key).collect();
    let names: Vec<_> = keys.iter().map(|key| key.strip_prefix("runs/files/import/").unwrap()).collect();
    assert_eq!(names, ["data/bucket=000.ndjson.gz", "import-table.json", "import-table.sh"]);
    // In a folder, the bucket is not known.
    let (upload, import) = written.command.split_once("\naws dynamodb import-table ").unwrap();
    assert!(upload.contains("aws s3 sync ") && upload.contains("s3://BUCKET/import/imported/data/"), "{upload}");
    let words = std::process::Command::new("bash").args(["-c", &format!("printf '%s\\n' {import}")]).output().unwrap();
    let words: Vec<_> = std::str::from_utf8(&words.stdout).unwrap().lines().collect();
    let of = |name: &str| words[words.iter().position(|word| *word == name).unwrap() + 1];
    assert_eq!(of("--s3-bucket-source"), "S3Bucket=BUCKET,S3KeyPrefix=import/imported/data/");
    let json = runtime().block_on(folder.archive().get("runs/files/import/import-table.json")).unwrap().unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(of("--table-creation-parameters")).unwrap(),
        json["TableCreationParameters"]
    );
}

#[test]
fn a_target_with_other_files_is_refused() {
    let folder = Folder::new();
    folder.put_bytes("data/readme.txt", b"hello");
    let refused = runtime().block_on(ImportTarget::at(folder.archive()).check_empty()).unwrap_err();
    assert!(refused.to_string().starts_with("data/readme.txt already exists"), "{refused}");
    runtime().block_on(ImportTarget::at(Store::folder(folder.path().join("other"))).check_empty()).unwrap();
}
