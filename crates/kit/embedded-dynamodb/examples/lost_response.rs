//! A request takes effect, its response is lost, and the program sends it again. A counter then counts twice, and a conditional write
//! does not. `cargo run --example lost_response` needs no AWS.

use std::error::Error;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use embedded_dynamodb::{Disturbance, Engine, Wire};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::start();
    create(&engine.client()).await?;

    for (id, condition) in [("counted blindly", None), ("counted once", Some("attribute_not_exists(amount)"))] {
        let wire = Wire::disturbed(|request| match request.number {
            1 => Disturbance::LoseResponse,
            _ => Disturbance::None,
        });
        let client = engine.client_over(&wire);
        let add = client
            .update_item()
            .table_name("counters")
            .key("id", AttributeValue::S(id.to_owned()))
            .update_expression("ADD amount :one")
            .set_condition_expression(condition.map(str::to_owned))
            .expression_attribute_values(":one", AttributeValue::N("1".to_owned()));
        let first = add.clone().send().await;
        let second = add.send().await;
        println!("{id}: first response lost: {}, second request refused: {}", first.is_err(), second.is_err());
        println!("  {} requests, amount {}", wire.count("UpdateItem"), amount(&engine.client(), id).await?);
    }
    Ok(())
}

async fn amount(client: &Client, id: &str) -> Result<String, Box<dyn Error>> {
    let found = client.get_item().table_name("counters").key("id", AttributeValue::S(id.to_owned())).send().await?;
    let amount = found.item.as_ref().and_then(|item| item.get("amount")?.as_n().ok());
    Ok(amount.ok_or("no amount")?.clone())
}

async fn create(client: &Client) -> Result<(), Box<dyn Error>> {
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build()?;
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S).build()?;
    let create = client.create_table().table_name("counters").billing_mode(BillingMode::PayPerRequest);
    create.key_schema(key).attribute_definitions(id).send().await?;
    Ok(())
}
