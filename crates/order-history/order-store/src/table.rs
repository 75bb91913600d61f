//! The keys and the index of the table. `template.yaml` declares the same.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType,
};
use order_view::VIEW;
use order_view::facet::{CONSUMER_ID, ORDER_CREATION_TIME, listed};
use projection::dynamodb::Error;

/// A consumer's orders by time.
pub const INDEX: &str = "ftgo-order-history-by-consumer-id-and-creation-time";

/// The attributes of the index besides its keys: those that a list shows or filters on.
pub fn projected() -> impl Iterator<Item = &'static str> {
    listed().filter(|attribute| ![CONSUMER_ID, ORDER_CREATION_TIME].contains(attribute))
}

/// The request that creates the table.
pub fn create(client: &Client, name: &str) -> Result<CreateTableFluentBuilder, BuildError> {
    use ScalarAttributeType::{N, S};
    let index = GlobalSecondaryIndex::builder()
        .index_name(INDEX)
        .key_schema(key(CONSUMER_ID, KeyType::Hash)?)
        .key_schema(key(ORDER_CREATION_TIME, KeyType::Range)?)
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(projected().map(str::to_owned).collect()))
                .build(),
        )
        .build()?;
    Ok(client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(definition(VIEW.key, S)?)
        .attribute_definitions(definition(CONSUMER_ID, S)?)
        .attribute_definitions(definition(ORDER_CREATION_TIME, N)?)
        .key_schema(key(VIEW.key, KeyType::Hash)?)
        .global_secondary_indexes(index))
}

/// Creates the table if it does not exist. Returns whether it was created.
pub async fn create_if_missing(client: &Client, name: &str) -> Result<bool, Error> {
    let request = create(client, name).map_err(|error| Error::Refused(error.into()))?;
    match request.send().await {
        Ok(_) => Ok(true),
        Err(error) if error.as_service_error().is_some_and(CreateTableError::is_resource_in_use_exception) => Ok(false),
        Err(error) => Err(Error::from_sdk(error, name)),
    }
}

fn key(name: &str, key_type: KeyType) -> Result<KeySchemaElement, BuildError> {
    KeySchemaElement::builder().attribute_name(name).key_type(key_type).build()
}

fn definition(name: &str, attribute_type: ScalarAttributeType) -> Result<AttributeDefinition, BuildError> {
    AttributeDefinition::builder().attribute_name(name).attribute_type(attribute_type).build()
}
