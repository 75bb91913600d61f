//! The open tickets of each restaurant: a view of its own, from the events of `events/story.json`.
//!
//! Ticket events do not name the restaurant, only `OrderCreated` does, and nothing promises that it comes first. So a ticket's item
//! has two facets, each written by the events that know it, and the index shows a ticket once its restaurant is known.
//! `cargo run -p projection --example kitchen_board`

use std::error::Error;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use embedded_dynamodb::Engine;
use projection::dynamodb::{Table, read_item};
use projection::{Effect, Facet, Piece, Shape, Stamp, Unwritable, View};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What `OrderCreated` knows: several attributes, so it serialises as a map of them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dishes {
    restaurant_id: u64,
    dishes: Vec<String>,
}

/// What the kitchen's events know: one attribute, so it serialises as its value.
#[derive(Serialize, Deserialize)]
struct Progress(String);

impl Facet for Dishes {
    const WATERMARK: &'static str = "wd";
    const ATTRIBUTES: &'static [&'static str] = &["restaurantId", "dishes"];
}

impl Facet for Progress {
    const WATERMARK: &'static str = "wp";
    const ATTRIBUTES: &'static [&'static str] = &["progress"];
}

const VIEW: View = View {
    key: "ticketId",
    facets: &[Shape::of::<Dishes>(), Shape::of::<Progress>()],
    sets: &["steps"],
    marks: &["Order", "Ticket"],
};

/// An event as it comes in a message; the payload is JSON in a text.
#[derive(Deserialize)]
struct Message {
    headers: Value,
    payload: String,
}

/// What an event does to the board: all that is to be written for a view.
fn effect(message: &Message) -> Result<Option<Effect>, Box<dyn Error>> {
    let header = |name: &str| message.headers[name].as_str().map(str::to_owned).ok_or(format!("no header {name}"));
    let (class, by) = (header("event-type")?, Stamp::from(header("ID")?));
    let name = class.rsplit('.').next().unwrap_or_default().trim_end_matches("Event");
    let progress = |text: &str| -> Result<Vec<Piece>, Unwritable> {
        let step = Piece::Element { set: "steps".into(), element: format!("{by} {text}") };
        Ok(vec![Piece::facet(&Progress(text.to_owned()), &by)?, step])
    };
    let mut pieces = match name {
        "OrderCreated" => {
            let payload: Value = serde_json::from_str(&message.payload)?;
            let lines = payload["orderDetails"]["lineItems"].as_array().cloned().unwrap_or_default();
            let dish = |line: &Value| format!("{} {}", line["quantity"], line["name"].as_str().unwrap_or_default());
            let dishes = lines.iter().map(dish).collect();
            let restaurant_id = payload["orderDetails"]["restaurantId"].as_u64().ok_or("no restaurant")?;
            vec![Piece::facet(&Dishes { restaurant_id, dishes }, &by)?]
        }
        "TicketCreated" => progress("new")?,
        "TicketAccepted" => progress("accepted")?,
        "TicketPreparationStarted" => progress("cooking")?,
        "TicketPreparationCompleted" => progress("ready")?,
        "TicketPickedUp" | "TicketCancelled" => progress("closed")?,
        _ => return Ok(None),
    };
    let ticket = header("event-aggregate-id")?;
    let aggregate = header("event-aggregate-type")?;
    let source = format!("{}{ticket}", aggregate.rsplit('.').next().unwrap_or_default());
    pieces.push(Piece::Mark { attribute: source.into(), by });
    Ok(Some(Effect { key: ticket, pieces }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::start();
    let table = Table::new(engine.client(), "kitchen-board", &VIEW);
    create(&table.client, &table.name).await?;

    // Four tickets, each with more of the story behind it than the one before. Every event comes twice, the latest first.
    let story = include_str!("../../../../events/story.json");
    for (ticket, events) in [("101", 7), ("102", 11), ("103", 16), ("104", 20)] {
        let retold = story.replace("\"99\"", &format!("{ticket:?}"));
        let messages: Vec<Message> = serde_json::from_str(&retold)?;
        for message in messages[..events].iter().rev().chain(&messages[..events]) {
            if let Some(effect) = effect(message)? {
                let _ = table.apply(effect).await?;
            }
        }
    }

    let open = table
        .client
        .query()
        .table_name(&table.name)
        .index_name("by-restaurant")
        .key_condition_expression("restaurantId = :restaurant")
        .filter_expression("progress <> :closed")
        .expression_attribute_values(":restaurant", AttributeValue::N("1".to_owned()))
        .expression_attribute_values(":closed", AttributeValue::S("closed".to_owned()))
        .send()
        .await?;
    println!("restaurant 1");
    for item in open.items.unwrap_or_default() {
        let ticket = item["ticketId"].as_s().cloned().unwrap_or_default();
        let state = read_item(&VIEW, item).state;
        if let (Some(Progress(progress)), Some(Dishes { dishes, .. })) = (state.facet()?, state.facet()?) {
            println!("  ticket {ticket} is {progress}: {}", dishes.join(", "));
        }
    }
    Ok(())
}

async fn create(client: &Client, name: &str) -> Result<(), Box<dyn Error>> {
    let attribute = |name: &str, kind| AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build();
    let key = |name: &str| KeySchemaElement::builder().attribute_name(name).key_type(KeyType::Hash).build();
    let everything = Projection::builder().projection_type(ProjectionType::All).build();
    let index = GlobalSecondaryIndex::builder().index_name("by-restaurant").key_schema(key("restaurantId")?);
    client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(VIEW.key, ScalarAttributeType::S)?)
        .attribute_definitions(attribute("restaurantId", ScalarAttributeType::N)?)
        .key_schema(key(VIEW.key)?)
        .global_secondary_indexes(index.projection(everything).build()?)
        .send()
        .await?;
    Ok(())
}
