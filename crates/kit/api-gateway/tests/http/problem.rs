//! Problem documents (RFC 9457).

use api_gateway::{Document, Mistake};
use serde_json::{Map, Value, json};

fn document() -> Document {
    Document::new("urn:example:problem:wrong-state", "Wrong state", 409, "Read the order again.", "r-1")
}

#[test]
fn a_document_is_a_response_that_no_cache_stores() {
    let response = document().respond(&[("retry-after", "1")]);
    assert_eq!(response.status_code, 409);
    assert_eq!(response.headers["content-type"], "application/problem+json");
    assert_eq!(
        (response.headers["cache-control"].as_str(), response.headers["retry-after"].as_str()),
        ("no-store", "1")
    );
    let body: Value = serde_json::from_str(&response.body.unwrap()).unwrap();
    let expected = json!({
        "type": "urn:example:problem:wrong-state", "title": "Wrong state", "status": 409,
        "detail": "Read the order again.", "requestId": "r-1",
    });
    assert_eq!(body, expected);
}

#[test]
fn mistakes_and_extensions_are_members_of_the_document() {
    let mut document = document();
    document.errors = vec![Mistake::new("query", "a", "must be a number")];
    document.extensions = Map::from_iter([("state".to_owned(), json!("CHARGED"))]);
    let response = document.respond(&[]);
    let body: Value = serde_json::from_str(&response.body.unwrap()).unwrap();
    assert_eq!(body["state"], "CHARGED");
    assert_eq!(body["errors"], json!([{"parameter": "a", "in": "query", "detail": "must be a number"}]));
}
