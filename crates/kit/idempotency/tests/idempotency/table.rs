//! The table that `create_table` creates.

use aws_sdk_dynamodb::types::{BillingMode, KeySchemaElement, TimeToLiveStatus};
use embedded_dynamodb::Wire;
use idempotency::create_table;

use crate::world::{TABLE, World, expect_in_progress, expect_new, payload};

#[tokio::test]
async fn the_table_is_on_demand_keyed_by_id_and_expires_by_expiration() {
    let world = World::start().await;
    let client = world.engine.client();

    let described = client.describe_table().table_name(TABLE).send().await;
    let table = described.expect("described").table.expect("a table");
    let keys: Vec<_> = table.key_schema().iter().map(KeySchemaElement::attribute_name).collect();
    assert_eq!(keys, ["id"]);
    let billing = table.billing_mode_summary.expect("a billing mode");
    assert_eq!(billing.billing_mode, Some(BillingMode::PayPerRequest));

    let described = client.describe_time_to_live().table_name(TABLE).send().await;
    let ttl = described.expect("described").time_to_live_description;
    let ttl = ttl.expect("a time to live");
    assert_eq!(ttl.attribute_name(), Some("expiration"));
    assert_eq!(ttl.time_to_live_status, Some(TimeToLiveStatus::Enabled));
}

#[tokio::test]
async fn a_table_that_exists_is_kept() {
    let world = World::start().await;
    let _claim = expect_new(world.store().claim("key", &payload()).await);
    let wire = Wire::watched();
    let created = create_table(&world.engine.client_over(&wire), TABLE).await;
    created.expect("nothing to create");
    // DynamoDB refuses to enable the time to live a second time; the embedded engine does not.
    assert_eq!(wire.count("UpdateTimeToLive"), 0);
    expect_in_progress(world.store().claim("key", &payload()).await);
}
