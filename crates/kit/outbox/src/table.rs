//! The table, for tests and local runs. A deployment declares its own.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType,
};

use crate::Error;
use crate::row::{PK, SK};

const CREATION_TIMEOUT: Duration = Duration::from_mins(1);

/// Creates an on-demand table, keyed by `pk` (a string) and `sk` (a number), with a stream of new images and without time to
/// live. A table that exists already is kept.
pub async fn create_table(client: &Client, table: &str) -> Result<(), Error> {
    let attribute = |name, kind| AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build();
    let key = |name, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let new_images = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewImage);
    let created = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(PK, ScalarAttributeType::S)?)
        .attribute_definitions(attribute(SK, ScalarAttributeType::N)?)
        .key_schema(key(PK, KeyType::Hash)?)
        .key_schema(key(SK, KeyType::Range)?)
        .stream_specification(new_images.build()?)
        .send()
        .await;
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
    Ok(())
}
