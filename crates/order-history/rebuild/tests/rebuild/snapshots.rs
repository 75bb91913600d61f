//! Snapshots, and rebuilds that start from one.

use std::sync::Arc;

use archive::Store;
use aws_sdk_dynamodb::types::AttributeValue;
use order_events::EventType;
use order_store::OrderStore;
use order_view::RULES;
use rebuild::Error;
use rebuild::batch::Meter;
use rebuild::filter::Filter;
use rebuild::fold::Summary;
use rebuild::scan::Source;
use rebuild::snapshot::{Choice, Manifest, NewSnapshot, Options, SnapshotResult, Step, take};

use crate::import_files::import;
use crate::world::{Folder, Orders, engine, events, folded, key, lines_of_order, lines_of_orders, new_table, runtime};

pub(crate) fn options(archive: &Store) -> Options {
    Options {
        archive: archive.clone(),
        table: None,
        segments: 3,
        use_latest: true,
        memory: 64 << 20,
        workers: 2,
        resume: None,
        meter: Arc::new(Meter::default()),
    }
}

fn done(taken: SnapshotResult) -> (Manifest, Summary) {
    match taken {
        SnapshotResult::Created(done) => (done.manifest, done.report.summary),
        SnapshotResult::NothingNew { latest } => panic!("nothing is new since {latest}"),
    }
}

/// Creates a snapshot.
pub(crate) fn snapshot(archive: &Store) -> Manifest {
    done(runtime().block_on(take(options(archive), |_| ())).unwrap()).0
}

/// The orders from the latest snapshot and the files that are not in it.
pub(crate) fn built(archive: &Store) -> Orders {
    built_with(archive, Filter::default())
}

fn built_with(archive: &Store, filter: Filter) -> Orders {
    let id = uuid::Uuid::new_v4().to_string();
    runtime().block_on(import(archive, &id, filter, 64 << 20)).unwrap();
    crate::buckets::orders_in(archive, &format!("runs/{id}/import/data/"))
}

/// The events of every order spread over all files.
pub(crate) fn spread(lines: &[String], files: usize) -> Vec<Vec<String>> {
    let mut spread = vec![Vec::new(); files];
    lines.iter().enumerate().for_each(|(place, line)| spread[place % files].push(line.clone()));
    spread
}

#[test]
fn a_snapshot_and_the_files_after_it_equal_all_files_for_every_cut() {
    let lines = lines_of_orders(0..12);
    let (files, expected) = (spread(&lines, 6), folded(&lines));
    for cut in 0..=files.len() {
        let folder = Folder::new();
        for (number, file) in files.iter().enumerate() {
            if number == cut {
                runtime().block_on(take(options(&folder.archive()), |_| ())).unwrap();
            }
            folder.put(&key(1, &number.to_string()), file);
        }
        if cut == files.len() {
            snapshot(&folder.archive());
        }
        assert_eq!(built(&folder.archive()), expected, "a snapshot of {cut} files");
    }
}

/// The files in a snapshot are removed after it, so that a second read would fail.
#[test]
fn a_chain_of_snapshots_reads_every_file_once() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..12));
    let archive = folder.archive();
    let mut manifest = None::<Manifest>;
    for (number, file) in spread(&lines, 6).iter().enumerate() {
        let key = key(number + 1, "a");
        folder.put(&key, file);
        let next = snapshot(&archive);
        assert_eq!(next.base, manifest.map(|manifest| manifest.id));
        assert_eq!(next.files, number as u64 + 1);
        std::fs::remove_file(folder.path().join(key)).unwrap();
        manifest = Some(next);
    }
    assert_eq!(built(&archive), folded(&lines));
    assert_eq!(
        runtime().block_on(archive.list("runs/")).unwrap().iter().filter(|it| it.key.contains("/spill/")).count(),
        0
    );
}

#[test]
fn a_table_is_built_from_a_snapshot_and_the_files_after_it() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let (archive, lines) = (folder.archive(), lines_of_orders(0..20));
    let files = spread(&lines, 2);
    folder.put(&key(1, "a"), &files[0]);
    snapshot(&archive);
    std::fs::remove_file(folder.path().join(key(1, "a"))).unwrap();
    folder.put(&key(2, "b"), &files[1]);
    runtime().block_on(async {
        let table = new_table(&client).await;
        let mut rebuild = crate::world::Rebuild::new(archive.clone(), client.clone(), &table);
        rebuild.snapshot = Choice::find(&archive, &Filter::default()).await.unwrap().snapshot;
        let (report, _) = rebuild.run().await.unwrap();
        assert_eq!(report.summary.items, 20);
        assert_eq!(crate::world::orders(&client, &table).await, folded(&lines));
    });
}

#[test]
fn a_late_event_in_a_file_after_the_snapshot_is_merged() {
    let (folder, mut lines) = (Folder::new(), lines_of_order(7));
    let late = lines.remove(0);
    folder.put(&key(2, "a"), &lines);
    snapshot(&folder.archive());
    folder.put(&key(3, "b"), std::slice::from_ref(&late));
    lines.push(late);
    assert_eq!(built(&folder.archive()), folded(&lines));
}

#[test]
fn a_file_that_appears_later_in_an_old_hour_is_read() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..4));
    let files = spread(&lines, 3);
    folder.put(&key(1, "b"), &files[0]);
    folder.put(&key(2, "b"), &files[1]);
    snapshot(&folder.archive());
    folder.put(&key(1, "a"), &files[2]);
    assert_eq!(built(&folder.archive()), folded(&lines));
    assert_eq!(snapshot(&folder.archive()).files, 3);
}

#[test]
fn without_new_files_the_latest_snapshot_stays() {
    let folder = Folder::new();
    folder.put(&key(1, "a"), lines_of_order(1));
    let manifest = snapshot(&folder.archive());
    let files = folder.files();
    let again = runtime().block_on(take(options(&folder.archive()), |_| ())).unwrap();
    assert_eq!(again, SnapshotResult::NothingNew { latest: manifest.id });
    assert_eq!(folder.files(), files, "nothing is written");
}

#[test]
fn a_snapshot_with_other_rules_is_not_used_and_a_note_says_so() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..3));
    let archive = folder.archive();
    folder.put(&key(1, "a"), &lines);
    let manifest = snapshot(&archive);
    let path = folder.path().join(format!("snapshots/{}/manifest.json", manifest.id));
    let other = Manifest { rules: RULES + 1, tables: ["old".to_owned()].into(), ..manifest.clone() };
    std::fs::write(&path, serde_json::to_vec(&other).unwrap()).unwrap();
    // Its views are wrong now, and so would be a rebuild that uses them.
    std::fs::remove_file(path.with_file_name("bucket=000.ndjson.gz")).unwrap();

    let choice = runtime().block_on(Choice::find(&archive, &Filter::default())).unwrap();
    let note = choice.note.unwrap();
    assert!(choice.snapshot.is_none());
    assert!(
        note.contains(&format!("version {} of the rules, but this program has version {RULES}", RULES + 1)),
        "{note}"
    );
    assert!(note.contains("items of the table old"), "the note names the missing data: {note}");
    assert_eq!(built(&archive), folded(&lines), "all events are read instead");

    let notes = std::sync::Mutex::new(Vec::new());
    let taken = runtime().block_on(take(options(&archive), |step| {
        if let Step::Note(note) = step {
            notes.lock().unwrap().push(note);
        }
    }));
    let (next, _) = done(taken.unwrap());
    assert_eq!((next.rules, next.base), (RULES, None));
    assert_eq!(notes.into_inner().unwrap(), [note]);
    assert_eq!(built(&archive), folded(&lines));
}

#[test]
fn with_a_filter_by_time_or_type_the_snapshot_is_not_used_and_a_note_says_so() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..3));
    let archive = folder.archive();
    folder.put(&key(1, "a"), &lines);
    let filter = Filter { types: [EventType::OrderCreated].into(), ..Filter::default() };
    assert_eq!(runtime().block_on(Choice::find(&archive, &filter)).unwrap().note, None, "there is none");
    snapshot(&archive);
    let choice = runtime().block_on(Choice::find(&archive, &filter)).unwrap();
    assert!(choice.snapshot.is_none());
    assert!(choice.note.unwrap().contains("--types need the events"));
    let created: Vec<_> = lines.iter().filter(|line| line.contains("OrderCreated")).cloned().collect();
    assert_eq!(built_with(&archive, filter), folded(&created));
}

#[test]
fn with_a_filter_by_order_only_the_buckets_of_these_orders_are_read() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..40));
    let archive = folder.archive();
    folder.put(&key(1, "a"), &lines);
    // Little memory, so that there are several buckets.
    let small = Options { memory: 20_000, ..options(&archive) };
    let (manifest, _) = done(runtime().block_on(take(small, |_| ())).unwrap());
    assert!(manifest.buckets.len() > 3, "{} buckets", manifest.buckets.len());
    let orders = ["3".parse().unwrap()].into();
    let filter = Filter { orders, ..Filter::default() };
    let choice = runtime().block_on(Choice::find(&archive, &filter)).unwrap();
    let base = runtime().block_on(choice.snapshot.unwrap().base(&filter)).unwrap();
    let [needed] = &base.views[..] else { panic!("one bucket is needed") };
    for object in runtime().block_on(archive.list(&format!("snapshots/{}/bucket", manifest.id))).unwrap() {
        if object.key != needed.key {
            std::fs::remove_file(folder.path().join(object.key)).unwrap();
        }
    }
    std::fs::remove_file(folder.path().join(key(1, "a"))).unwrap();
    assert_eq!(built_with(&archive, filter), folded(&lines_of_order(3)));
}

#[test]
fn a_snapshot_with_damaged_or_missing_views_stops_the_rebuild_and_the_error_names_it() {
    let folder = Folder::new();
    let archive = folder.archive();
    folder.put(&key(1, "a"), lines_of_orders(0..5));
    let manifest = snapshot(&archive);
    let bucket = format!("snapshots/{}/bucket=000.ndjson.gz", manifest.id);
    let good = std::fs::read(folder.path().join(&bucket)).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 4;
    // An empty gzip file is not damaged, but it should contain five orders.
    let empty = crate::world::encoded("x.gz", [""; 0]);
    for (bad, why) in [
        (Some(flipped), "flipped"),
        (Some(good[..middle].to_vec()), "cut off"),
        (Some(empty), "empty"),
        (None, "missing"),
    ] {
        match bad {
            Some(bytes) => folder.put_bytes(&bucket, &bytes),
            None => std::fs::remove_file(folder.path().join(&bucket)).unwrap(),
        }
        let failed = runtime().block_on(import(
            &archive,
            &format!("run-{}", why.replace(' ', "-")),
            Filter::default(),
            64 << 20,
        ));
        let message = failed.unwrap_err().to_string();
        assert!(message.contains(&bucket) && message.contains("--snapshot none"), "{why}: {message}");
    }
}

#[test]
fn a_first_snapshot_from_a_table_and_the_archive_contains_all_orders() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let (archive, lines) = (folder.archive(), lines_of_orders(0..30));
    let files = spread(&lines, 3);
    runtime().block_on(async {
        // The first third is from before the archive existed.
        let table = new_table(&client).await;
        let store = OrderStore::new(client.clone(), &table);
        for event in events(&files[0]) {
            let _ = store.apply(&event).await.unwrap();
        }
        let update = client.update_item().table_name(&table).key("orderId", AttributeValue::S("3".to_owned()));
        let update = update
            .update_expression("SET teleport = :yes")
            .expression_attribute_values(":yes", AttributeValue::Bool(true));
        update.send().await.unwrap();
        folder.put(&key(1, "a"), &files[1]);

        let source = Source { client: client.clone(), name: table.clone() };
        let taken = take(Options { table: Some(source), ..options(&archive) }, |_| ()).await.unwrap();
        let SnapshotResult::Created(done) = taken else { panic!("it is new") };
        let NewSnapshot { manifest, ignored, unreadable, .. } = *done;
        assert_eq!(manifest.tables, [table].into());
        assert_eq!(manifest.orders(), 30);
        assert_eq!(ignored, [("teleport".to_owned(), 1)].into(), "the unknown attribute is reported");
        assert!(unreadable.is_empty());
    });
    // The table is not needed any more.
    folder.put(&key(2, "b"), &files[2]);
    assert_eq!(built(&archive), folded(&lines));
    let next = snapshot(&archive);
    assert_eq!(next.tables.len(), 1, "the manifest still names the table");
}

#[test]
fn of_two_concurrent_snapshots_one_succeeds_and_the_other_fails_and_changes_nothing() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..6));
    let archive = folder.archive();
    let files = spread(&lines, 3);
    folder.put(&key(1, "a"), &files[0]);
    let first = snapshot(&archive);
    folder.put(&key(2, "b"), &files[1]);
    // The second one starts and ends while the first one is merging.
    let second = std::sync::Mutex::new(None);
    let failed = runtime().block_on(take(options(&archive), |step| {
        if matches!(step, Step::Merged(..)) && second.lock().unwrap().is_none() {
            let archive = archive.clone();
            let taken = std::thread::spawn(move || snapshot(&archive)).join().unwrap();
            *second.lock().unwrap() = Some(taken);
        }
    }));
    let second = second.into_inner().unwrap().unwrap();
    assert_eq!(second.base, Some(first.id));
    match failed.unwrap_err() {
        Error::Overtaken { by, .. } => assert_eq!(by, Some(second.id.clone())),
        other => panic!("{other}"),
    }
    folder.put(&key(3, "c"), &files[2]);
    assert_eq!(built(&archive), folded(&lines));
    assert_eq!(snapshot(&archive).base, Some(second.id));
}

#[test]
fn every_later_snapshot_keeps_the_lines_that_cannot_be_read() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..4));
    let archive = folder.archive();
    let files = spread(&lines, 3);
    let mut with_bad_line = files[0].clone();
    with_bad_line.insert(1, "{\"no\": \"event\"}".to_owned());
    folder.put(&key(1, "a"), &with_bad_line);
    let first = snapshot(&archive);
    let count = |manifest: &Manifest| manifest.quarantined.values().sum::<u64>();
    assert_eq!((first.files, count(&first)), (1, 1), "its other lines are consumed");
    folder.put(&key(2, "b"), &files[1]);
    let second = snapshot(&archive);
    assert_eq!((second.files, count(&second)), (2, 1));
    let kept = runtime().block_on(archive.list(&format!("snapshots/{}/quarantine/", second.id))).unwrap();
    let [kept] = &kept[..] else { panic!("one file has it") };
    let kept = String::from_utf8(runtime().block_on(archive.get(&kept.key)).unwrap().unwrap()).unwrap();
    assert!(kept.contains(&key(1, "a")) && kept.contains("\\\"no\\\""), "{kept}");

    // A rebuild from it reports the line as if it had read the file.
    folder.put(&key(3, "c"), &files[2]);
    runtime().block_on(import(&archive, "after", Filter::default(), 64 << 20)).unwrap();
    let run = rebuild::run::Run::new(&archive, "after").unwrap();
    let report = runtime().block_on(run.report()).unwrap();
    assert_eq!(report.summary.lines_quarantined(), 1);
    assert!(!report.is_clean());
    assert_eq!(crate::buckets::orders_in(&archive, "runs/after/import/data/"), folded(&lines));
}

#[test]
fn a_damaged_file_is_reported_by_every_snapshot_until_it_is_restored() {
    let (folder, lines) = (Folder::new(), lines_of_orders(0..4));
    let archive = folder.archive();
    let files = spread(&lines, 2);
    folder.put(&key(1, "a"), &files[0]);
    let whole = crate::world::encoded("b.gz", &files[1]);
    let bad = crate::world::encoded("b.gz", ["not an event"]);
    // A line that cannot be read, then a truncated member.
    let damaged = [bad, whole[..whole.len() / 2].to_vec()].concat();
    folder.put_bytes(&key(2, "b"), &damaged);
    for _ in 0..2 {
        let (manifest, summary) = done(runtime().block_on(take(options(&archive), |_| ())).unwrap());
        assert_eq!(manifest.files, 1);
        let named: Vec<_> = summary.damaged.iter().map(|it| it.file.as_str()).collect();
        assert_eq!(named, [key(2, "b")]);
        assert_eq!(manifest.quarantined, [].into(), "its lines are counted when it is read again");
    }
    folder.put_bytes(&key(2, "b"), &whole);
    let (manifest, summary) = done(runtime().block_on(take(options(&archive), |_| ())).unwrap());
    assert_eq!((manifest.files, summary.damaged.len()), (2, 0));
    assert_eq!(built(&archive), folded(&lines));
}
