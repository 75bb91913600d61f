//! Orders are sorted into buckets and merged.

use std::collections::BTreeMap;
use std::sync::Arc;

use archive::Store;
use order_view::VIEW;
use projection::read_line;
use rebuild::buckets::{Buckets, Merge, Merged, Spill, order_hash};
use rebuild::filter::Filter;
use rebuild::fold::Views;

use crate::world::{Folder, Orders, folded, lines_of_orders, runtime};

/// Files on S3 are sorted by this hash: it must never change.
#[test]
fn the_hash_of_an_order_never_changes() {
    let hashes = ["", "99", "1c43da4d-0242ac1200080001", "ordre-№-7"].map(order_hash);
    // Calculated by another program.
    assert_eq!(hashes, [0xefd0_1f60_ba99_2926, 0x8840_6903_1aa8_9659, 0x4f3d_7c4a_e849_d069, 0xce04_3fb7_d857_509a]);
}

#[test]
fn buckets_are_about_equally_large_for_ids_of_any_kind() {
    type Id = fn(u64) -> String;
    let buckets = Buckets::try_from(64).unwrap();
    let kinds: [Id; 3] = [|n| n.to_string(), |n| format!("{n:032x}"), |n| format!("order-{}", n * 1_000)];
    for id in kinds {
        let mut sizes = vec![0; 64];
        (0..64_000).for_each(|n| sizes[buckets.of(&id(n)) as usize] += 1);
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        // 1,000 on average, with a deviation of 32.
        assert!(*least > 850 && *most < 1_150, "{} to {} orders per bucket for {}", least, most, id(7));
    }
}

#[test]
fn the_number_of_buckets_follows_the_expected_size() {
    let count = |expected, memory| Buckets::for_size(expected, memory).count();
    assert_eq!(count(0, 100), 1);
    assert_eq!(count(100, 100), 1);
    assert_eq!(count(101, 100), 2);
    assert_eq!(count(1_000, 100), 16);
    assert_eq!(count(u64::MAX / 2, 1), 512, "there is a limit");
    assert_eq!(Buckets::try_from(3).unwrap_err().to_string().split(':').next(), Some("3 is not a number of buckets"));
    Buckets::try_from(0).unwrap_err();
    Buckets::try_from(1_024).unwrap_err();
}

fn merge_of(folder: &Folder, buckets: u32, memory: usize) -> Merge {
    let buckets = Buckets::try_from(buckets).unwrap();
    Merge {
        spill: Spill::new(folder.archive(), "spill/".to_owned(), buckets),
        results: "merged/".to_owned(),
        base: None,
        filter: Arc::new(Filter::default()),
        out: folder.archive(),
        prefix: "out/".to_owned(),
        only_items: false,
        memory,
        workers: 2,
    }
}

/// Every order of the files. Fails if an order is repeated.
pub(crate) fn orders_in(store: &Store, prefix: &str) -> Orders {
    let mut orders = BTreeMap::new();
    for object in runtime().block_on(store.list(prefix)).unwrap() {
        if !object.key.ends_with(".ndjson.gz") {
            continue;
        }
        let bytes = runtime().block_on(store.get(&object.key)).unwrap().unwrap();
        archive::read(&bytes, |record| {
            let (order_id, found) = read_line(&VIEW, record.text).unwrap();
            assert_eq!(found.unreadable, []);
            assert!(orders.insert(order_id.clone(), found.state).is_none(), "order {order_id} is repeated");
        })
        .unwrap();
    }
    orders
}

/// The events of each order are spread over several batches, and no bucket fits into memory.
#[test]
fn every_order_is_written_exactly_once_for_any_buckets_and_memory() {
    let lines = lines_of_orders(0..60);
    let expected = folded(&lines);
    for (buckets, memory) in [(1, usize::MAX), (8, usize::MAX), (1, 200_000), (4, 50_000), (2, 1)] {
        let folder = Folder::new();
        let merge = merge_of(&folder, buckets, memory);
        let mut passes = 0;
        for (batch, some) in lines.chunks(200).enumerate() {
            let views: Views = folded(some).into_iter().collect();
            runtime().block_on(merge.spill.store(&batch.to_string(), views)).unwrap();
            passes += 1;
        }
        assert!(passes > 3);
        let merged = runtime().block_on(merge.run(|_| ())).unwrap();
        assert_eq!(merged.orders(), 60);
        assert_eq!(orders_in(&folder.archive(), "out/"), expected, "{buckets} buckets in {memory} bytes");

        // A second time, there is nothing to do.
        let files = folder.files();
        assert_eq!(runtime().block_on(merge.run(|_| ())).unwrap(), merged);
        assert_eq!(folder.files(), files);
        runtime().block_on(merge.spill.remove()).unwrap();
        assert_eq!(runtime().block_on(folder.archive().list("spill/")).unwrap(), []);
    }
}

/// The memory decides where a part ends, so two processes have different parts.
#[test]
fn a_second_process_with_the_same_batch_does_not_overwrite_parts_of_the_first() {
    let folder = Folder::new();
    let merge = merge_of(&folder, 1, usize::MAX);
    let views = |orders| folded(&lines_of_orders(orders)).into_iter().collect();
    runtime().block_on(merge.spill.store("00000", views(0..5))).unwrap();
    // The second process is killed after its first part.
    runtime().block_on(merge.spill.store("00000", views(0..1))).unwrap();
    assert_eq!(runtime().block_on(merge.run(|_| ())).unwrap().orders(), 5);
}

#[test]
fn a_damaged_spilled_file_stops_the_merge() {
    let folder = Folder::new();
    let merge = merge_of(&folder, 1, usize::MAX);
    runtime().block_on(merge.spill.store("00000", folded(&lines_of_orders(0..5)).into_iter().collect())).unwrap();
    let [key] = runtime().block_on(merge.spill.files(0)).unwrap().try_into().unwrap();
    let mut bytes = folder.files()[&folder.path().join(&key)].clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.put_bytes(&key, &bytes);
    let error = runtime().block_on(merge.run(|_| ())).unwrap_err();
    assert!(error.to_string().starts_with(&key), "{error}");
    assert_eq!(runtime().block_on(folder.archive().list("out/")).unwrap(), []);
}

#[test]
fn contradictions_between_batches_are_reported_once_for_any_number_of_passes() {
    let (folder, mut lines) = (Folder::new(), lines_of_orders(0..20));
    let merge = merge_of(&folder, 1, 60_000);
    runtime().block_on(merge.spill.store("00000", folded(&lines).into_iter().collect())).unwrap();
    let place =
        lines.iter().position(|line| line.contains("\"OrderCreated\"") || line.contains("OrderCreated")).unwrap();
    lines[place] = lines[place].replace("Ajanta", "Other");
    runtime().block_on(merge.spill.store("00001", folded(&lines[place..=place]).into_iter().collect())).unwrap();
    let Merged { buckets } = runtime().block_on(merge.run(|_| ())).unwrap();
    assert_eq!(buckets[0].summary.contradictions, 1, "{:?}", buckets[0].summary);
}
