//! The parcels that each city still has to deliver: a view on an embedded engine, without AWS.
//!
//! Two services publish events about a parcel. Only the shop's `ParcelRegistered` names the city, only the carrier's events name the
//! progress, and nothing promises which of them arrives first. So an item has two facets, each written by the events that know it,
//! and the index shows a parcel as soon as its city is known.
//!
//! `cargo run --example parcels --features dynamodb`

use std::error::Error;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use embedded_dynamodb::Engine;
use projection::dynamodb::{Applied, Table, read_item};
use projection::{Effect, Facet, Piece, Shape, Stamp, Unwritable, View};
use serde::{Deserialize, Serialize};

/// What `ParcelRegistered` knows: several attributes, so it serialises as a map of them.
#[derive(Serialize, Deserialize)]
struct Address {
    city: String,
    name: String,
}

/// What the carrier's events know: one attribute, so it serialises as its value.
#[derive(Serialize, Deserialize)]
struct Progress(String);

impl Facet for Address {
    const WATERMARK: &'static str = "wa";
    const ATTRIBUTES: &'static [&'static str] = &["city", "name"];
}

impl Facet for Progress {
    const WATERMARK: &'static str = "wp";
    const ATTRIBUTES: &'static [&'static str] = &["progress"];
}

const VIEW: View = View {
    key: "parcelId",
    facets: &[Shape::of::<Address>(), Shape::of::<Progress>()],
    sets: &["steps"],
    marks: &["Shop", "Carrier"],
};

/// An event, as a consumer has parsed it from its message. Ids sort in the order in which the events happened.
struct Event {
    id: &'static str,
    source: &'static str,
    parcel: &'static str,
    content: Content,
}

enum Content {
    Registered { city: &'static str, name: &'static str },
    Moved { progress: &'static str },
}

/// What an event does to the view: the only rules that a view needs.
fn effect(event: &Event) -> Result<Effect, Unwritable> {
    let by = Stamp::from(event.id);
    let mut pieces = match event.content {
        Content::Registered { city, name } => {
            vec![Piece::facet(&Address { city: city.to_owned(), name: name.to_owned() }, &by)?]
        }
        Content::Moved { progress } => {
            let step = Piece::Element { set: "steps".into(), element: format!("{by} {progress}") };
            vec![Piece::facet(&Progress(progress.to_owned()), &by)?, step]
        }
    };
    pieces.push(Piece::Mark { attribute: event.source.into(), by });
    Ok(Effect { key: event.parcel.to_owned(), pieces })
}

/// The events in the order in which they happened.
fn events() -> Vec<Event> {
    let registered = |id, parcel, city, name| {
        let content = Content::Registered { city, name };
        Event { id, source: "Shop", parcel, content }
    };
    let moved = |id, parcel, progress| Event { id, source: "Carrier", parcel, content: Content::Moved { progress } };
    vec![
        registered("0001", "101", "Lisbon", "Ada"),
        registered("0002", "102", "Lisbon", "Bob"),
        moved("0003", "101", "collected"),
        registered("0004", "103", "Lisbon", "Cyd"),
        moved("0005", "102", "collected"),
        moved("0006", "101", "in the depot"),
        moved("0007", "103", "collected"),
        moved("0008", "102", "delivered"),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::start();
    let table = Table::new(engine.client(), "parcels", &VIEW);
    create(&table.client, &table.name).await?;

    // Every event arrives twice: once with the latest first, once as they happened.
    let events = events();
    let mut duplicates = 0;
    for event in events.iter().rev().chain(&events) {
        if table.apply(effect(event)?).await? == Applied::Duplicate {
            duplicates += 1;
        }
    }
    println!("{} events, {duplicates} duplicates", events.len());

    let open = table
        .client
        .query()
        .table_name(&table.name)
        .index_name("by-city")
        .key_condition_expression("city = :city")
        .filter_expression("progress <> :delivered")
        .expression_attribute_values(":city", AttributeValue::S("Lisbon".to_owned()))
        .expression_attribute_values(":delivered", AttributeValue::S("delivered".to_owned()))
        .send()
        .await?;
    println!("Lisbon");
    for item in open.items.unwrap_or_default() {
        let parcel = item["parcelId"].as_s().cloned().unwrap_or_default();
        let state = read_item(&VIEW, item).state;
        if let (Some(Progress(progress)), Some(Address { name, .. })) = (state.facet()?, state.facet()?) {
            println!("  parcel {parcel} for {name} is {progress}");
        }
    }
    Ok(())
}

async fn create(client: &Client, name: &str) -> Result<(), Box<dyn Error>> {
    let attribute =
        |name: &str| AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build();
    let key = |name: &str| KeySchemaElement::builder().attribute_name(name).key_type(KeyType::Hash).build();
    let everything = Projection::builder().projection_type(ProjectionType::All).build();
    let index = GlobalSecondaryIndex::builder().index_name("by-city").key_schema(key("city")?);
    client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute(VIEW.key)?)
        .attribute_definitions(attribute("city")?)
        .key_schema(key(VIEW.key)?)
        .global_secondary_indexes(index.projection(everything).build()?)
        .send()
        .await?;
    Ok(())
}
