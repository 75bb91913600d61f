//! A folder and a bucket behave the same.

use archive::{Location, Object, Store};
use embedded_dynamodb::{Disturbance, Wire};
use tokio::task::JoinSet;

use crate::world::{BUCKET, Folder, S3, Stores};

async fn keys(store: &Store, prefix: &str) -> Vec<String> {
    store.list(prefix).await.unwrap().into_iter().map(|object| object.key).collect()
}

#[tokio::test]
async fn a_put_object_can_be_read() {
    let stores = Stores::empty().await;
    for store in stores.all() {
        assert_eq!(store.get("a").await.unwrap(), None);
        assert_eq!(store.get_versioned("a").await.unwrap(), None);
        assert_eq!(store.list("").await.unwrap(), []);
        // Several sizes, one larger than any buffer.
        for size in [0, 1, 70_000, 3 << 20] {
            let bytes: Vec<u8> = (0..size).map(|place: u32| place.to_le_bytes()[0] ^ place.to_le_bytes()[1]).collect();
            store.put("folder/a", bytes.clone()).await.unwrap();
            assert_eq!(store.get("folder/a").await.unwrap(), Some(bytes), "{size} bytes at {}", store.location());
            assert_eq!(store.list("").await.unwrap(), [Object { key: "folder/a".to_owned(), size: size.into() }]);
        }
        assert_eq!(store.get("folder").await.unwrap_or(None), None, "{}", store.location());
    }
}

#[tokio::test]
async fn a_listing_is_sorted_by_the_bytes_of_the_keys() {
    let stores = Stores::empty().await;
    let sorted = [
        "events/2026/03/01/12/firehose-1-2026",
        "events/dt=2026-03-01/hh=12/a b+c%20.ndjson.gz",
        "events/dt=2026-03-01/hh=12/a.ndjson.gz",
        "events/dt=2026-03-01/hh=12/a/b",
        "events/dt=2026-03-01/hh=12/ü.ndjson",
        "events/dt=2026-03-01/hh=13/a.ndjson",
        "events/dt=2026-03-01-copy/a",
        "runs/1/plan.json",
        "z",
    ];
    let mut sorted: Vec<_> = sorted.map(str::to_owned).to_vec();
    sorted.sort_unstable();
    for store in stores.all() {
        for key in sorted.iter().rev() {
            store.put(key, key.as_bytes().to_vec()).await.unwrap();
        }
        assert_eq!(keys(&store, "").await, sorted);
        for prefix in [
            "events/",
            "events/dt=2026-03-01/",
            "events/dt=2026-03-01",
            "events/dt=2026-03-01/hh=12/a",
            "nothing/",
            "z",
        ] {
            let expected: Vec<_> = sorted.iter().filter(|key| key.starts_with(prefix)).cloned().collect();
            assert_eq!(keys(&store, prefix).await, expected, "{prefix} at {}", store.location());
        }
        for key in &sorted {
            assert_eq!(store.get(key).await.unwrap().as_deref(), Some(key.as_bytes()));
        }
    }
}

#[tokio::test]
async fn hidden_objects_are_not_listed() {
    let stores = Stores::empty().await;
    for store in stores.all() {
        for key in [".DS_Store", "events/.part", "events/.tmp/a", "events/a", "runs/.a/b"] {
            store.put(key, b"x".to_vec()).await.unwrap();
        }
        assert_eq!(keys(&store, "").await, ["events/a"], "{}", store.location());
    }
}

#[tokio::test]
async fn all_pages_of_a_bucket_are_listed() {
    let s3 = S3::start().await;
    let files = s3.folder.0.join(BUCKET).join("events");
    std::fs::create_dir_all(&files).unwrap();
    for number in 0..2_345 {
        std::fs::write(files.join(format!("{number:04}")), b"x").unwrap();
    }
    let wire = Wire::watched();
    let listed = keys(&s3.store_over(&wire), "events/").await;
    assert_eq!(listed, (0..2_345).map(|number| format!("events/{number:04}")).collect::<Vec<_>>());
    assert_eq!(wire.count("GET"), 3);
}

#[tokio::test]
async fn put_if_absent_does_not_change_an_existing_object() {
    let stores = Stores::empty().await;
    for store in stores.all() {
        assert!(store.put_if_absent("a", b"first".to_vec()).await.unwrap());
        assert!(!store.put_if_absent("a", b"second".to_vec()).await.unwrap(), "{}", store.location());
        assert!(!store.replace("a", b"second".to_vec(), None).await.unwrap(), "{}", store.location());
        assert_eq!(store.get("a").await.unwrap().unwrap(), b"first");
        assert!(store.put_if_absent("a", b"first".to_vec()).await.unwrap(), "as if its own response had been lost");
        assert!(store.replace("new", b"new".to_vec(), None).await.unwrap());
        assert_eq!(keys(&store, "").await, ["a", "new"]);
    }
}

#[tokio::test]
async fn an_object_is_replaced_only_if_it_has_not_changed() {
    let stores = Stores::empty().await;
    for store in stores.all() {
        store.put("latest", b"1".to_vec()).await.unwrap();
        let (content, seen) = store.get_versioned("latest").await.unwrap().unwrap();
        assert_eq!(content, b"1");
        assert!(store.replace("latest", b"2".to_vec(), Some(&seen)).await.unwrap());
        assert!(!store.replace("latest", b"3".to_vec(), Some(&seen)).await.unwrap(), "{}", store.location());
        assert!(
            store.replace("latest", b"2".to_vec(), Some(&seen)).await.unwrap(),
            "the object already has this content"
        );
        assert_eq!(store.get("latest").await.unwrap().unwrap(), b"2");
        assert!(!store.replace("gone", b"2".to_vec(), Some(&seen)).await.unwrap(), "{}", store.location());
        assert_eq!(keys(&store, "").await, ["latest"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_concurrent_conditional_writes_one_succeeds() {
    let stores = Stores::empty().await;
    for store in stores.all() {
        for round in 0..20 {
            store.put("latest", format!("of round {round}").into_bytes()).await.unwrap();
            let (_, seen) = store.get_versioned("latest").await.unwrap().unwrap();
            let mut writers = JoinSet::new();
            for number in 0..8 {
                let (store, seen, content) = (store.clone(), seen.clone(), format!("{round}: {number}").into_bytes());
                writers.spawn(async move {
                    let put = store.put_if_absent(&format!("new-{round}"), content.clone()).await.unwrap();
                    let replaced = store.replace("latest", content.clone(), Some(&seen)).await.unwrap();
                    (content, put, replaced)
                });
            }
            let outcomes = writers.join_all().await;
            let written_by_one = |succeeded: fn(&(Vec<u8>, bool, bool)) -> bool| {
                let writers = outcomes.iter().filter(|outcome| succeeded(outcome));
                let contents: Vec<_> = writers.map(|(content, ..)| content.clone()).collect();
                assert_eq!(contents.len(), 1, "round {round} at {}", store.location());
                Some(contents[0].clone())
            };
            assert_eq!(store.get(&format!("new-{round}")).await.unwrap(), written_by_one(|(_, put, _)| *put));
            assert_eq!(store.get("latest").await.unwrap(), written_by_one(|(.., replaced)| *replaced));
        }
    }
}

/// The SDK retries, and finds its own object.
#[tokio::test]
async fn a_conditional_write_whose_response_was_lost_succeeds() {
    let s3 = S3::start().await;
    let lossy = || {
        Wire::disturbed(|request| match (request.number, request.operation.as_str()) {
            (1, "PUT") => Disturbance::LoseResponse,
            _ => Disturbance::None,
        })
    };
    let wire = lossy();
    assert!(s3.store_over(&wire).put_if_absent("a", b"first".to_vec()).await.unwrap());
    assert_eq!(wire.count("PUT"), 2);

    let (_, seen) = s3.store().get_versioned("a").await.unwrap().unwrap();
    let wire = lossy();
    assert!(s3.store_over(&wire).replace("a", b"second".to_vec(), Some(&seen)).await.unwrap());
    assert_eq!(wire.count("PUT"), 2);
    assert_eq!(s3.store().get("a").await.unwrap().unwrap(), b"second");
}

/// S3 may report a conflict although nobody else writes the object.
#[tokio::test]
async fn a_conflict_of_conditional_writes_is_retried() {
    const CONFLICT: &str = "<Error><Code>ConditionalRequestConflict</Code></Error>";
    let s3 = S3::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 | 2 => Disturbance::Respond(409, CONFLICT),
        _ => Disturbance::None,
    });
    assert!(s3.store_over(&wire).put_if_absent("a", b"first".to_vec()).await.unwrap());
    assert_eq!(wire.count("PUT"), 3);

    let wire = Wire::disturbed(|_| Disturbance::Respond(409, CONFLICT));
    let error = s3.store_over(&wire).put_if_absent("b", b"first".to_vec()).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("archive_unavailable", true));
}

#[test]
fn a_location_is_a_bucket_or_a_folder() {
    let s3 = |prefix: &str| Location::S3 { bucket: "b".to_owned(), prefix: prefix.to_owned() };
    for (text, location, shown) in [
        ("s3://b", s3(""), "s3://b/"),
        ("s3://b/", s3(""), "s3://b/"),
        ("s3://b/p", s3("p/"), "s3://b/p/"),
        ("s3://b/p/q/", s3("p/q/"), "s3://b/p/q/"),
        ("file:///data/archive", Location::Folder("/data/archive".into()), "/data/archive"),
        ("data/archive", Location::Folder("data/archive".into()), "data/archive"),
    ] {
        assert_eq!(text.parse(), Ok(location.clone()), "{text}");
        assert_eq!(location.to_string(), shown);
        assert_eq!(shown.parse(), Ok(location));
    }
}

#[tokio::test]
async fn a_store_is_opened_at_its_location() {
    let folder = Folder::new();
    let location = Location::Folder(folder.0.clone());
    let store = Store::open(&location, || panic!("a folder needs no client"));
    store.put("a", b"a".to_vec()).await.unwrap();
    assert_eq!(std::fs::read(folder.0.join("a")).unwrap(), b"a");
    assert_eq!(store.location(), location);

    let s3 = S3::start().await;
    let location: Location = format!("s3://{BUCKET}/part").parse().unwrap();
    let store = Store::open(&location, || crate::world::client_over(&s3.endpoint, &Wire::watched()));
    store.put("a", b"a".to_vec()).await.unwrap();
    assert_eq!(keys(&s3.store(), "").await, ["part/a"]);
    assert_eq!(store.location(), location);
}

#[cfg(unix)]
#[tokio::test]
async fn a_linked_folder_is_listed_and_a_file_instead_of_a_folder_is_an_error() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let store = Store::folder(&folder.0);
    store.put("events/a", b"a".to_vec()).await.unwrap();
    Store::folder(&elsewhere.0).put("b", b"bb".to_vec()).await.unwrap();
    std::os::unix::fs::symlink(&elsewhere.0, folder.0.join("linked")).unwrap();
    assert_eq!(keys(&store, "").await, ["events/a", "linked/b"]);

    let error = store.put("events/a/b", b"x".to_vec()).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("archive_file", false));
    assert!(error.to_string().contains("events/a"), "{error}");
}
