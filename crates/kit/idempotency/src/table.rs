//! The table, for tests and local runs. A deployment declares its own.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TimeToLiveSpecification,
    TimeToLiveStatus,
};

use crate::{Attributes, Error};

const CREATION_TIMEOUT: Duration = Duration::from_mins(1);

/// Creates an on-demand table with the default [`Attributes`], keyed by `id`, with time to live on `expiration`.
/// A table that exists already is kept.
pub async fn create_table(client: &Client, table: &str) -> Result<(), Error> {
    create(client, table, None).await
}

/// As [`create_table`], with a sort key of this name, for [`StoreBuilder::sort_key`](crate::StoreBuilder::sort_key).
pub async fn create_table_with_sort_key(client: &Client, table: &str, sort_key: &str) -> Result<(), Error> {
    create(client, table, Some(sort_key)).await
}

async fn create(client: &Client, table: &str, sort_key: Option<&str>) -> Result<(), Error> {
    let Attributes { id, expiration, .. } = Attributes::default();
    let mut request = client.create_table().table_name(table).billing_mode(BillingMode::PayPerRequest);
    for (name, key_type) in [(Some(id.as_str()), KeyType::Hash), (sort_key, KeyType::Range)] {
        let Some(name) = name else { continue };
        let text = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder().attribute_name(name).key_type(key_type);
        request = request.attribute_definitions(text.build()?).key_schema(key.build()?);
    }
    let created = request.send().await;
    if let Err(error) = created {
        match error.as_service_error() {
            Some(CreateTableError::ResourceInUseException(_)) => {}
            _ => return Err(error.into()),
        }
    }
    client
        .wait_until_table_exists()
        .table_name(table)
        .wait(CREATION_TIMEOUT)
        .await
        .map_err(|error| Error::Unavailable(error.into()))?;
    expire_by(client, table, &expiration).await
}

/// DynamoDB refuses to enable what is enabled, so it is asked first.
async fn expire_by(client: &Client, table: &str, attribute: &str) -> Result<(), Error> {
    let described = client.describe_time_to_live().table_name(table).send().await?;
    let status = described.time_to_live_description.and_then(|description| description.time_to_live_status);
    if let Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling) = status {
        return Ok(());
    }
    let by_expiration = TimeToLiveSpecification::builder().attribute_name(attribute).enabled(true).build()?;
    client.update_time_to_live().table_name(table).time_to_live_specification(by_expiration).send().await?;
    Ok(())
}
