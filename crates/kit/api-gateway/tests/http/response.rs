//! Responses, as API Gateway reads them.

use api_gateway::{JSON, Response};
use serde_json::json;

fn document() -> Response {
    Response::json(200, JSON, r#"{"name":"é"}"#.to_owned())
}

#[test]
fn a_response_is_written_in_format_2() {
    let response = serde_json::to_value(document().with("location", "/orders/1")).unwrap();
    let expected = json!({
        "statusCode": 200,
        "headers": {"content-type": "application/json", "location": "/orders/1"},
        "body": "{\"name\":\"é\"}",
        "isBase64Encoded": false,
    });
    assert_eq!(response, expected);
    let empty = serde_json::to_value(Response::empty(204)).unwrap();
    assert_eq!(empty, json!({"statusCode": 204, "headers": {}, "isBase64Encoded": false}));
}

#[test]
fn without_its_body_a_response_has_the_length_in_bytes() {
    let head = document().without_body();
    assert_eq!((head.status_code, head.body.as_deref()), (200, None));
    assert_eq!(head.headers["content-length"], "13");
    assert_eq!(head.headers["content-type"], JSON);
    assert_eq!(Response::empty(204).without_body(), Response::empty(204), "no body has no length");
}

#[test]
fn bytes_are_sent_in_base64() {
    for (bytes, base64) in [(&b"\x1f\x8b\xff"[..], "H4v/"), (b"\xff\xfe", "//4="), (b"\0", "AA=="), (b"", "")] {
        let response = Response::bytes(200, "image/png", bytes).with("content-encoding", "gzip");
        let written = serde_json::to_value(&response).unwrap();
        let headers = json!({"content-type": "image/png", "content-encoding": "gzip"});
        assert_eq!(written, json!({"statusCode": 200, "headers": headers, "body": base64, "isBase64Encoded": true}));
        assert_eq!(response.body_bytes().as_deref(), Some(bytes));

        let head = response.clone().without_body();
        assert_eq!(head.headers["content-length"], bytes.len().to_string());
        assert_eq!(serde_json::to_value(&head).unwrap()["isBase64Encoded"], false);

        let unchanged = response.tagged("\"7\"", Some("\"7\""));
        let headers = json!({"content-type": "image/png", "etag": "\"7\""});
        let expected = json!({"statusCode": 304, "headers": headers, "isBase64Encoded": false});
        assert_eq!(serde_json::to_value(unchanged).unwrap(), expected, "no body has a coding");
    }
    assert_eq!(document().body_bytes(), Some("{\"name\":\"é\"}".as_bytes().to_vec()));
    assert_eq!(Response::empty(204).body_bytes(), None);
}

#[test]
fn a_tag_does_not_set_cache_control() {
    let response = document().tagged("\"7\"", Some("\"6\""));
    assert_eq!((response.status_code, response.headers["etag"].as_str()), (200, "\"7\""));
    assert_eq!((response.headers.get("cache-control"), response.headers.get("vary")), (None, None));
}

#[test]
fn a_privately_cached_response_must_be_revalidated() {
    let response = document().cached_privately("W/\"7\"", None);
    assert_eq!((response.status_code, response.headers["etag"].as_str()), (200, "W/\"7\""));
    assert_eq!(response.headers["cache-control"], "private, no-cache");
    assert_eq!(response.headers["vary"], "Authorization");
    assert_eq!(response.body, document().body);
}

#[test]
fn tags_are_compared_weakly() {
    for (etag, known, is_same) in [
        ("\"7\"", "\"7\"", true),
        ("\"7\"", "W/\"7\"", true),
        ("W/\"7\"", "\"7\"", true),
        ("W/\"7\"", "W/\"7\"", true),
        ("\"7\"", "\"6\",  W/\"7\" , \"8\"", true),
        ("\"7\"", "*", true),
        ("\"7\"", "\"8\"", false),
        ("\"7\"", "7", false),
        ("\"7\"", "w/\"7\"", false),
        ("\"7\"", "", false),
    ] {
        let response = document().cached_privately(etag, Some(known));
        assert_eq!(response.status_code, if is_same { 304 } else { 200 }, "{etag} {known}");
        assert_eq!(response.body.is_none(), is_same, "{etag} {known}");
        assert_eq!(response.headers["etag"], etag, "a 304 has its tag too");
    }
}

#[test]
fn a_response_that_is_no_success_stays_what_it_is() {
    for status in [404, 500] {
        let response = Response::json(status, JSON, "{}".to_owned()).tagged("\"7\"", Some("*"));
        assert_eq!((response.status_code, response.body.as_deref()), (status, Some("{}")));
    }
}
