//! Other names, other prefixes, and records of other programs.

use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
use idempotency::{Attributes, Error, IdempotencyStore};

use crate::world::{
    IN_PROGRESS_FOR, START, World, expect_completed, expect_in_progress, expect_new, n, payload, s, timed,
};

#[tokio::test]
async fn a_completed_record_in_powertools_shape_is_replayed() {
    let world = World::start().await;
    world
        .put([
            ("id", s("key")),
            ("status", s("COMPLETED")),
            ("expiration", n(START.as_secs().into())),
            ("in_progress_expiration", n(START.as_millis() - 1)),
            ("data", s(r#"{"paid": true}"#)),
        ])
        .await;
    let data = expect_completed(world.store().claim("key", &payload()).await);
    assert_eq!(data.as_deref(), Some(r#"{"paid": true}"#));
}

#[tokio::test]
async fn an_in_progress_record_in_powertools_shape_is_refused_then_taken_over() {
    let world = World::start().await;
    let until = START + IN_PROGRESS_FOR;
    world
        .put([
            ("id", s("key")),
            ("status", s("INPROGRESS")),
            ("expiration", n((START * 2).as_secs().into())),
            ("in_progress_expiration", n(until.as_millis())),
        ])
        .await;
    let store = world.store();
    expect_in_progress(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
}

#[tokio::test]
async fn an_in_progress_record_without_its_own_expiry_is_refused_until_its_expiration() {
    let world = World::start().await;
    world
        .put([
            ("id", s("key")),
            ("status", s("INPROGRESS")),
            ("expiration", n((START + IN_PROGRESS_FOR).as_secs().into())),
        ])
        .await;
    let store = world.store();
    assert_eq!(expect_in_progress(store.claim("key", &payload()).await), None);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn a_record_that_nobody_should_write_is_malformed_and_names_the_attribute() {
    let world = World::start().await;
    let store = world.store();
    for (attribute, value) in [
        ("status", s("DONE")),
        ("status", n(1)),
        ("expiration", s("tomorrow")),
        ("in_progress_expiration", s("soon")),
        ("data", n(1)),
        ("validation", n(1)),
        ("owner", n(1)),
    ] {
        let sound = [("id", s("key")), ("status", s("COMPLETED"))];
        let [id, status] = sound;
        world.put([id, status, (attribute, value)]).await;
        let claimed = store.claim("key", &payload()).await;
        assert!(
            matches!(&claimed, Err(Error::Malformed { attribute: named }) if named == attribute),
            "{attribute}: {claimed:?}"
        );
    }
}

#[tokio::test]
async fn a_record_without_a_status_is_malformed() {
    let world = World::start().await;
    world.put([("id", s("key"))]).await;
    let claimed = world.store().claim("key", &payload()).await;
    assert!(matches!(&claimed, Err(Error::Malformed { attribute }) if attribute == "status"), "{claimed:?}");
}

#[tokio::test]
async fn the_key_prefix_keeps_stores_apart() {
    let world = World::start().await;
    let store = |prefix| {
        let builder = world.builder(world.engine.client());
        timed(builder.key_prefix(prefix))
    };
    let _claim = expect_new(store("charge").claim("key", &payload()).await);
    let _claim = expect_new(store("refund").claim("key", &payload()).await);
    assert!(world.record("charge#key").await.is_some());
    assert!(world.record("refund#key").await.is_some());
    assert_eq!(world.record("key").await, None);
}

#[tokio::test]
async fn the_whole_protocol_runs_on_other_attribute_names() {
    let world = World::start().await;
    let client = world.engine.client();
    // Words that DynamoDB reserves, or that need an alias for their characters.
    let attributes = Attributes {
        id: "key".to_owned(),
        status: "state".to_owned(),
        expiration: "ttl".to_owned(),
        in_progress_expiration: "in-progress.until".to_owned(),
        data: "value".to_owned(),
        validation: "hash".to_owned(),
        owner: "user".to_owned(),
    };
    let key = AttributeDefinition::builder().attribute_name("key").attribute_type(ScalarAttributeType::S);
    let schema = KeySchemaElement::builder().attribute_name("key").key_type(KeyType::Hash);
    client
        .create_table()
        .table_name("others")
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(key.build().expect("a key"))
        .key_schema(schema.build().expect("a schema"))
        .send()
        .await
        .expect("the table is created");
    let clock = world.clock.clone();
    let store = IdempotencyStore::builder(client.clone(), "others").attributes(attributes).clock(move || clock.now());
    let store = timed(store);

    let first = expect_new(store.claim("one", &payload()).await);
    expect_in_progress(store.claim("one", &payload()).await);
    store.release(first).await.expect("released");
    let abandoned = expect_new(store.claim("one", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let second = expect_new(store.claim("one", &payload()).await);
    let lost = store.complete(abandoned, None).await;
    assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
    let result = Some("2".to_owned());
    store.complete(second, result).await.expect("completed");
    let data = expect_completed(store.claim("one", &payload()).await);
    assert_eq!(data.as_deref(), Some("2"));
    let batch = expect_new(store.claim("two", &payload()).await);
    store.complete_all(vec![batch]).await.expect("completed");
    expect_completed(store.claim("two", &payload()).await);

    let request = client.get_item().table_name("others").key("key", s("one"));
    let record = request.send().await.expect("read").item.expect("a record");
    let mut names: Vec<_> = record.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["hash", "key", "state", "ttl", "user", "value"]);
}
