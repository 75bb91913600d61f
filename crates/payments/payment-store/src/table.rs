//! The tables: their names, and the payments table's keys and index. `payments.yaml` declares the same.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType,
};
use lambda_boot::{Environment, Missing};

use crate::Error;
use crate::attribute::{CHARGE_REQUESTED_AT, OPEN_CHARGE_SHARD, PK};

/// The index of charges that are requested and not settled, by shard and time of the request.
pub const OPEN_CHARGES: &str = "open-charges";

/// The names of the tables of Payments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Intents and order guards.
    pub payments: String,
    /// Events that are not published yet.
    pub outbox: String,
    /// The locks of the intents.
    pub locks: String,
    /// The responses to commands, kept for 24 hours. Empty in a function that only settles charges: it does not use this table.
    pub idempotency: String,
}

impl Tables {
    /// Reads `PAYMENTS_TABLE`, `OUTBOX_TABLE`, `LOCKS_TABLE` and `IDEMPOTENCY_TABLE`.
    pub fn read(environment: &Environment<'_>) -> Result<Self, Missing> {
        let tables = Self::read_to_settle(environment)?;
        let example = "the table of idempotency records, such as ftgo-payments-idempotency";
        Ok(Self { idempotency: environment.needed("IDEMPOTENCY_TABLE", example)?, ..tables })
    }

    /// Reads the tables of a function that only settles charges: `PAYMENTS_TABLE`, `OUTBOX_TABLE` and `LOCKS_TABLE`.
    pub fn read_to_settle(environment: &Environment<'_>) -> Result<Self, Missing> {
        Ok(Self {
            payments: environment.needed("PAYMENTS_TABLE", "the table of intents, such as ftgo-payments")?,
            outbox: environment.needed("OUTBOX_TABLE", "the table of events, such as ftgo-payments-outbox")?,
            locks: environment.needed("LOCKS_TABLE", "the table of locks, such as ftgo-payments-locks")?,
            idempotency: String::new(),
        })
    }

    /// `<prefix>`, `<prefix>-outbox`, `<prefix>-locks` and `<prefix>-idempotency`, as in `payments.yaml`.
    #[must_use]
    pub fn with_prefix(prefix: &str) -> Self {
        let named = |suffix| format!("{prefix}-{suffix}");
        Self {
            payments: prefix.to_owned(),
            outbox: named("outbox"),
            locks: named("locks"),
            idempotency: named("idempotency"),
        }
    }
}

/// Creates the payments table, for tests and local runs. An existing table is kept.
async fn create_payments_table(client: &Client, name: &str) -> Result<(), Error> {
    use ScalarAttributeType::{N, S};
    let index = GlobalSecondaryIndex::builder()
        .index_name(OPEN_CHARGES)
        .key_schema(key(OPEN_CHARGE_SHARD, KeyType::Hash)?)
        .key_schema(key(CHARGE_REQUESTED_AT, KeyType::Range)?)
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
        .build()?;
    let created = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(definition(PK, S)?)
        .attribute_definitions(definition(OPEN_CHARGE_SHARD, S)?)
        .attribute_definitions(definition(CHARGE_REQUESTED_AT, N)?)
        .key_schema(key(PK, KeyType::Hash)?)
        .global_secondary_indexes(index)
        .send()
        .await;
    match created {
        Ok(_) => Ok(()),
        Err(error) => match error.as_service_error() {
            Some(CreateTableError::ResourceInUseException(_)) => Ok(()),
            _ => Err(error.into()),
        },
    }
}

fn key(name: &str, key_type: KeyType) -> Result<KeySchemaElement, Error> {
    Ok(KeySchemaElement::builder().attribute_name(name).key_type(key_type).build()?)
}

fn definition(name: &str, attribute_type: ScalarAttributeType) -> Result<AttributeDefinition, Error> {
    Ok(AttributeDefinition::builder().attribute_name(name).attribute_type(attribute_type).build()?)
}

/// Creates all four tables, for tests and local runs. Existing tables are kept.
pub async fn create_tables(client: &Client, tables: &Tables) -> Result<(), Error> {
    create_payments_table(client, &tables.payments).await?;
    outbox::create_table(client, &tables.outbox).await?;
    dynamodb_locks::create_table(client, &tables.locks).await?;
    idempotency::create_table(client, &tables.idempotency).await?;
    Ok(())
}
