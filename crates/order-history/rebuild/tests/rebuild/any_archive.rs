//! A rebuild of any files makes the same views as the rules for all events.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rebuild::fold::{Contradicted, DamagedFile};

use crate::world::{
    Folder, Rebuild, encoded, engine, folded, key, lines_of_order, lines_of_orders, new_table, orders, runtime,
};

/// Lines of some orders, some of them repeated, distributed to files of several days.
fn archives() -> impl Strategy<Value = (Vec<Vec<String>>, usize)> {
    let lines = (1..5_usize).prop_flat_map(|orders| {
        let lines = lines_of_orders(0..orders);
        let choices = proptest::collection::vec(0..lines.len(), 0..lines.len() * 2);
        (Just(lines), choices)
            .prop_map(|(lines, choices)| choices.into_iter().map(|choice| lines[choice].clone()).collect::<Vec<_>>())
    });
    (lines, 1..7_usize, 1..4_usize, 0..200_usize).prop_perturb(|(lines, files, days, memory), mut random| {
        let mut filled = vec![Vec::new(); files * days];
        for line in lines {
            let file = random.random_range(0..filled.len());
            filled[file].push(line);
        }
        (filled, memory * 1_000)
    })
}

#[test]
fn a_rebuild_equals_the_fold_of_all_events_for_any_files_duplicates_and_memory() {
    let runtime = runtime();
    let (_engine, client) = engine();
    let mut runner = TestRunner::new(Config { cases: 40, ..Config::default() });
    let tested = runner.run(&archives(), |(files, memory)| {
        let (folder, table) = (Folder::new(), runtime.block_on(new_table(&client)));
        for (place, lines) in files.iter().enumerate() {
            folder.put(&key(place % 3 + 1, &place.to_string()), lines);
        }
        let rebuild = Rebuild { memory, ..Rebuild::new(folder.archive(), client.clone(), &table) };
        let (report, quarantined) = runtime.block_on(rebuild.run()).unwrap();
        let all: Vec<_> = files.concat();
        prop_assert_eq!(quarantined, []);
        prop_assert_eq!(report.summary.events, all.len() as u64);
        prop_assert_eq!(runtime.block_on(orders(&client, &table)), folded(&all));
        Ok(())
    });
    tested.unwrap();
}

#[tokio::test]
async fn files_in_any_sequence_repeated_and_with_other_names_make_the_same_table() {
    let (_engine, client) = engine();
    let lines = lines_of_orders(0..6);
    let (first, second) = lines.split_at(lines.len() / 2);
    let archives: [&[(String, &[String])]; 4] = [
        &[(key(1, "a"), first), (key(1, "b"), second)],
        &[(key(1, "a"), second), (key(1, "b"), first)],
        &[(key(2, "a"), second), (key(1, "b"), first), (key(3, "c"), first), (key(3, "d"), second)],
        &[("2026/03/01/12/firehose-1".to_owned(), &lines), ("other/name.ndjson".to_owned(), &lines)],
    ];
    for files in archives {
        let (folder, table) = (Folder::new(), new_table(&client).await);
        for (key, lines) in files {
            folder.put(key, *lines);
        }
        let rebuild = Rebuild::new(folder.archive(), client.clone(), &table);
        rebuild.run().await.unwrap();
        assert_eq!(orders(&client, &table).await, folded(&lines), "of {} files", files.len());
        // A second run of the whole archive, which changes nothing.
        rebuild.run().await.unwrap();
        assert_eq!(orders(&client, &table).await, folded(&lines), "of {} files, a second time", files.len());
    }
}

#[tokio::test]
async fn two_concurrent_runs_into_one_table_make_the_same_table() {
    let (_engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    for day in 1..4 {
        folder.put(&key(day, "a"), lines_of_orders(day..day + 4));
    }
    let rebuild = Rebuild::new(folder.archive(), client.clone(), &table);
    let (one, other) = tokio::join!(rebuild.run(), rebuild.run());
    assert_ne!(one.unwrap().0.run, other.unwrap().0.run);
    assert_eq!(orders(&client, &table).await, folded(&lines_of_orders(1..7)));
}

#[tokio::test]
async fn a_line_that_cannot_be_read_is_quarantined_and_the_others_are_applied() {
    let (_engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    let mut lines = lines_of_order(1);
    let good = folded(&lines);
    lines.insert(3, r#"{"headers": {"ID": "of nobody"}, "payload": "Ajanta"}"#.to_owned());
    lines.insert(5, "Ajanta".to_owned());
    let unknown = lines[0].replace("OrderCreated", "OrderPainted");
    lines.insert(7, unknown);
    folder.put(&key(1, "a"), &lines);
    let (report, quarantined) = Rebuild::new(folder.archive(), client.clone(), &table).run().await.unwrap();
    assert_eq!(orders(&client, &table).await, good);
    let found: Vec<_> = quarantined.iter().map(|line| (line.file.clone(), line.line, line.code.as_str())).collect();
    assert_eq!(found, [(key(1, "a"), 4, "malformed_header"), (key(1, "a"), 6, "malformed_body")]);
    assert_eq!(quarantined[1].text.as_deref(), Some("Ajanta"));
    assert!(quarantined.iter().all(|line| !line.reason.contains("Ajanta") && !line.reason.contains("nobody")));
    assert_eq!((report.summary.lines_quarantined(), report.summary.unknown_types), (2, 1));
    assert!(!report.is_clean());
    // The run's folder contains the same, and a second read of the run finds it.
    let kept =
        std::fs::read_to_string(folder.path().join(format!("runs/{}/quarantine/00000.ndjson", report.run))).unwrap();
    assert_eq!(
        kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<rebuild::fold::Quarantined>>(),
        quarantined
    );
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_all_others_are_used() {
    let (_engine, client) = engine();
    let good = [lines_of_order(1), lines_of_order(2)].concat();
    let mut flipped = encoded("x.gz", lines_of_order(3));
    let middle = flipped.len() / 2;
    flipped[middle] ^= 4;
    let whole = encoded("x.gz", lines_of_order(4));
    let cut = &whole[..whole.len() - 9];
    let (folder, table) = (Folder::new(), new_table(&client).await);
    folder.put(&key(1, "a"), lines_of_order(1));
    folder.put_bytes(&key(1, "b"), &flipped);
    folder.put_bytes(&key(1, "c"), cut);
    folder.put_bytes(&key(1, "d"), b"");
    folder.put(&key(1, "e"), lines_of_order(2));
    let (report, quarantined) = Rebuild::new(folder.archive(), client.clone(), &table).run().await.unwrap();
    assert_eq!(orders(&client, &table).await, folded(&good));
    let damaged: Vec<_> = report.summary.damaged.iter().map(|DamagedFile { file, .. }| file.clone()).collect();
    assert_eq!(damaged, [key(1, "b"), key(1, "c")]);
    assert_eq!(quarantined, []);
}

#[tokio::test]
async fn two_events_with_the_same_id_are_reported_and_make_the_same_table_in_any_sequence() {
    let (_engine, client) = engine();
    let lines = lines_of_order(1);
    let other: Vec<_> = vec![lines[0].replace("Ajanta", "Shanti")];
    assert_ne!(lines[0], other[0]);
    let mut tables = Vec::new();
    // In one file, in two files of one batch, and in two batches, where the second one finds the first one in the table.
    let days = [[1, 1], [1, 2], [2, 1]];
    for days in days {
        for is_swapped in [false, true] {
            let (folder, table) = (Folder::new(), new_table(&client).await);
            let (mut one, mut two) = (&lines, &other);
            if is_swapped {
                std::mem::swap(&mut one, &mut two);
            }
            folder.put(&key(days[0], "a"), one);
            folder.put(&key(days[1], "b"), two);
            let rebuild = Rebuild { jobs: 1, ..Rebuild::new(folder.archive(), client.clone(), &table) };
            let (report, _) = rebuild.run().await.unwrap();
            let event_id = order_events::Message::parse(&lines[0]).unwrap().event.id.to_string();
            assert_eq!(
                report.summary.contradicted,
                [Contradicted { order_id: "1".to_owned(), event_id }],
                "{days:?} {is_swapped}"
            );
            tables.push(orders(&client, &table).await);
        }
    }
    assert!(tables.iter().all(|table| *table == tables[0]));
    assert_eq!(tables[0].len(), 1);
}
