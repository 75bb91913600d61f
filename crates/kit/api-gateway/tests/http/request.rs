//! Events of API Gateway, as requests.

use serde_json::{Value, json};

use crate::request;

#[test]
fn a_request_of_format_2_is_read() {
    let request = request(json!({
        "version": "2.0",
        "routeKey": "GET /orders/{orderId}",
        "rawPath": "/orders/caf\u{e9} 1",
        "rawQueryString": "a=%20b&a=c",
        "cookies": ["c=1"],
        "headers": {"content-type": "application/json", "x-twice": "one,two", "x-strange": "\u{0}\u{ff}"},
        "queryStringParameters": {"a": " b,c"},
        "pathParameters": {"orderId": "caf\u{e9} 1"},
        "requestContext": {
            "accountId": "1", "http": {"method": "GET", "path": "/orders/1"}, "requestId": "r-1", "stage": "$default"
        },
        "body": "{}",
        "isBase64Encoded": false,
    }));
    assert_eq!((request.id(), request.method(), request.path()), ("r-1", "GET", "/orders/caf\u{e9} 1"));
    assert_eq!(request.query_string(), "a=%20b&a=c");
    assert_eq!(request.path_parameter("orderId"), Some("caf\u{e9} 1"));
    assert_eq!((request.path_parameter("other"), request.header("other")), (None, None));
    assert_eq!((request.header("x-twice"), request.header("x-strange")), (Some("one,two"), Some("\u{0}\u{ff}")));
    assert_eq!(request.body().as_deref(), Some("{}"));
    assert!(request.jwt().is_none());
}

#[test]
fn what_an_event_leaves_out_is_empty() {
    let request = request(json!({}));
    assert_eq!((request.id(), request.method(), request.path(), request.query_string()), ("", "", "", ""));
    assert_eq!((request.path_parameter("id"), request.body().as_deref()), (None, Some("")));
}

#[test]
fn the_stage_is_not_part_of_the_path() {
    for (stage, raw_path, path) in [
        ("prod", "/prod/health", "/health"),
        ("prod", "/prod/", "/"),
        ("prod", "/prod", "/"),
        ("prod", "/product/1", "/product/1"),
        ("prod", "/orders/prod/1", "/orders/prod/1"),
        ("prod", "/prod/prod/1", "/prod/1"),
        ("$default", "/health", "/health"),
        ("$default", "/$default/health", "/$default/health"),
        ("$default", "/$default", "/$default"),
        ("", "//health", "//health"),
    ] {
        let request = request(json!({"rawPath": raw_path, "requestContext": {"stage": stage}}));
        assert_eq!(request.path(), path, "{stage} {raw_path}");
    }
}

#[test]
fn a_body_in_base64_is_decoded() {
    for (body, is_base64, expected) in [
        ("eyJhIjoiw6kifQ==", true, Some("{\"a\":\"\u{e9}\"}")),
        ("eyJhIjoiw6kifQ==", false, Some("eyJhIjoiw6kifQ==")),
        ("", true, Some("")),
        ("/w==", true, None),
        ("not Base64", true, None),
    ] {
        let request = request(json!({"body": body, "isBase64Encoded": is_base64}));
        assert_eq!(request.body().as_deref(), expected, "{body}");
    }
}

fn with_claims(claims: &Value) -> api_gateway::Jwt {
    let event = json!({"requestContext": {"authorizer": {"jwt": {"claims": claims, "scopes": ["of the route"]}}}});
    request(event).jwt().unwrap().clone()
}

#[test]
fn a_claim_is_a_text_or_a_number() {
    let jwt = with_claims(&json!({"sub": "7", "number": 7, "flag": true, "list": ["7"], "map": {}, "null": null}));
    assert_eq!((jwt.claim("sub"), jwt.claim("number")), (Some("7".to_owned()), Some("7".to_owned())));
    for name in ["flag", "list", "map", "null", "other"] {
        assert_eq!(jwt.claim(name), None, "{name}");
    }
}

#[test]
fn a_scope_is_found_in_every_form_of_the_claim() {
    for claims in [
        json!({"scope": "read:any"}),
        json!({"scope": "other read:any more"}),
        json!({"scope": "[other read:any]"}),
        json!({"scope": "[read:any]"}),
        json!({"scope": "other,read:any"}),
        json!({"scope": "other", "scp": "read:any"}),
        json!({"scp": "[read:any, other]"}),
    ] {
        assert!(with_claims(&claims).has_scope("read:any"), "{claims}");
    }
    for claims in [
        json!({}),
        json!({"scope": ""}),
        json!({"scope": "read:anything unread:any"}),
        json!({"scope": "read:an", "permissions": "read:any"}),
        json!({"scope": 7}),
    ] {
        assert!(!with_claims(&claims).has_scope("read:any"), "{claims}");
    }
    assert!(!with_claims(&json!({})).has_scope("of the route"), "that is what the route wants, not what the token has");
}

#[test]
fn a_coding_is_accepted_if_the_header_lists_it() {
    for (accepted, expected) in [
        (None, false),
        (Some(""), false),
        (Some("gzip"), true),
        (Some("GZip"), true),
        (Some("deflate, gzip, br, zstd"), true),
        (Some("br;q=1.0, gzip;q=0.8, *;q=0.1"), true),
        (Some("gzip;q=0"), false),
        (Some("gzip; q=0.000"), false),
        (Some("gzip ; Q=0"), false),
        (Some("gzip;q=0, *"), false),
        (Some("gzip;q=much"), false),
        (Some("*"), true),
        (Some("*;q=0"), false),
        (Some("identity"), false),
        (Some("br"), false),
        (Some("x-gzipped"), false),
        (Some(";;,=,q"), false),
    ] {
        let headers = accepted.map_or(json!({}), |accepted| json!({"accept-encoding": accepted}));
        assert_eq!(request(json!({"headers": headers})).accepts_encoding("gzip"), expected, "{accepted:?}");
    }
}
