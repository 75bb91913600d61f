//! The `OpenAPI` document.

use payment_api::openapi;
use serde_json::Value;

use crate::world::World;

#[test]
fn the_committed_document_is_what_the_code_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let made = serde_json::to_string_pretty(&openapi::document()).unwrap() + "\n";
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == made, "openapi.json is out of date: run `make generated` and commit it");
}

#[tokio::test]
async fn the_served_document_is_the_committed_one() {
    let response = World::create().await.saga().get("/payments/openapi.json").await;
    assert_eq!(response.body::<Value>(), openapi::document());
    assert_eq!(response.header("content-type"), Some("application/json"));
}

#[test]
fn every_reference_in_the_document_can_be_resolved() {
    fn follow(document: &Value, value: &Value, references: &mut usize) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                    *references += 1;
                }
                members.values().for_each(|value| follow(document, value, references));
            }
            Value::Array(values) => values.iter().for_each(|value| follow(document, value, references)),
            _ => {}
        }
    }
    let document = openapi::document();
    let mut references = 0;
    follow(&document, &document, &mut references);
    assert!(references > 20);
}
