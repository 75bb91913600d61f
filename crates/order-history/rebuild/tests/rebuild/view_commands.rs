//! The commands `rebuild snapshot`, `rebuild verify` and `rebuild run --sink files`.

use std::path::Path;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::buckets::orders_in;
use crate::commands::{CommandResult, rebuild};
use crate::world::{Folder, encoded, engine, folded, key, lines_of_order, lines_of_orders, new_table, orders};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn json(ended: &CommandResult) -> serde_json::Value {
    serde_json::from_str(ended.output.lines().last().unwrap()).unwrap()
}

#[tokio::test]
async fn a_rebuild_from_a_snapshot_does_not_read_the_files_in_it() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    let lines = lines_of_orders(0..6);
    let (first, second) = lines.split_at(lines.len() / 2);
    let with_bad_line = first.iter().map(String::as_str).chain(["not an event"]);
    folder.put(&key(1, "a"), with_bad_line);
    let from = text(folder.path());
    let taken = rebuild(&engine, &["snapshot", "--from", from]).await;
    assert_eq!(taken.code, Some(3), "a line cannot be read: {taken:?}");
    assert!(taken.output.contains("is the latest now"), "{taken:?}");
    let again = rebuild(&engine, &["snapshot", "--from", from]).await;
    assert_eq!(again.code, Some(0));
    assert!(again.output.contains("no new files"), "{again:?}");

    std::fs::remove_file(folder.path().join(key(1, "a"))).unwrap();
    folder.put(&key(2, "b"), second);
    let ran = rebuild(&engine, &["run", "--from", from, "--into", &table, "--json"]).await;
    assert_eq!(ran.code, Some(3), "the snapshot keeps the line: {ran:?}");
    assert_eq!(orders(&client, &table).await, folded(&lines));
    let ran = rebuild(&engine, &["run", "--from", from, "--into", &table, "--snapshot", "none", "--json"]).await;
    assert_eq!((ran.code, &json(&ran)["report"]["files"]), (Some(0), &1.into()), "{ran:?}");
}

#[tokio::test]
async fn verify_ends_with_1_and_lists_differences_without_values() {
    let (engine, client) = engine();
    let folder = Folder::new();
    let lines = lines_of_orders(0..8);
    folder.put(&key(1, "a"), &lines);
    let (left, right, from) = (new_table(&client).await, new_table(&client).await, text(folder.path()));
    for table in [&left, &right] {
        assert_eq!(rebuild(&engine, &["run", "--from", from, "--into", table]).await.code, Some(0));
    }
    let verify =
        async |right: &str| rebuild(&engine, &["verify", "--left", &left, "--right", right, "--pause", "0"]).await;
    for right in [right.as_str(), from] {
        let equal = verify(right).await;
        assert_eq!(equal.code, Some(0), "{equal:?}");
        assert!(equal.output.contains("verdict") && equal.output.contains("equal"), "{equal:?}");
        assert!(equal.errors.lines().next().unwrap().contains("estimate"), "the cost is printed first: {equal:?}");
    }
    let update = client.update_item().table_name(&left).key("orderId", AttributeValue::S("3".to_owned()));
    let update = update.update_expression("SET restaurantName = :x");
    update.expression_attribute_values(":x", AttributeValue::S("Secret".to_owned())).send().await.unwrap();
    for right in [right.as_str(), from] {
        let different = verify(right).await;
        assert_eq!(different.code, Some(1), "{different:?}");
        assert!(different.output.contains("order 3 differs in restaurantName"), "{different:?}");
        assert!(!format!("{different:?}").contains("Secret"), "{different:?}");
    }
}

#[tokio::test]
async fn verify_reports_what_could_not_be_compared() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    folder.put(&key(1, "a"), lines_of_order(1).iter().map(String::as_str).chain(["not an event"]));
    let from = text(folder.path());
    assert_eq!(rebuild(&engine, &["run", "--from", from, "--into", &table]).await.code, Some(3));
    let verify = async || rebuild(&engine, &["verify", "--left", &table, "--right", from, "--pause", "0"]).await;
    let quarantined = verify().await;
    assert_eq!(quarantined.code, Some(3), "{quarantined:?}");
    assert!(quarantined.output.contains("1 lines of the archive could not be read"), "{quarantined:?}");
    let whole = encoded("b.gz", lines_of_order(1));
    folder.put_bytes(&key(2, "b"), &whole[..whole.len() / 2]);
    let damaged = verify().await;
    assert_eq!(damaged.code, Some(4), "{damaged:?}");
    assert!(damaged.output.contains(&key(2, "b")), "{damaged:?}");
}

#[tokio::test]
async fn a_run_with_import_files_prints_the_command_that_imports_them() {
    let (engine, _client) = engine();
    let folder = Folder::new();
    let (lines, out) = (lines_of_orders(0..8), Folder::new());
    folder.put(&key(1, "a"), &lines);
    let (from, place) = (text(folder.path()), text(out.path()));
    let arguments = ["run", "--from", from, "--sink", "files", "--into", "orders-2", "--out", place];
    let ran = rebuild(&engine, &arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.errors.contains("aws dynamodb import-table "), "{ran:?}");
    assert!(ran.errors.contains("orders-2"), "{ran:?}");
    let written = tokio::task::spawn_blocking(move || orders_in(&out.archive(), "data/")).await.unwrap();
    assert_eq!(written, folded(&lines));

    // A second run would mix the files of two runs.
    let occupied = Folder::new();
    occupied.put_bytes("data/a.txt", b"x");
    let arguments = ["run", "--from", from, "--sink", "files", "--out", text(occupied.path())];
    let refused = rebuild(&engine, &arguments).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.errors.contains("data/a.txt already exists"), "{refused:?}");
}
