//! Generates the `OpenAPI` document from the types and limits of the code.

use api_gateway::{Document, Mistake, PROBLEM_JSON};
use order_view::OrderStatus;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::caller::READ_ANY;
use crate::consistency::{MAX_WAIT, TOKEN};
use crate::history::{DEFAULT_DAYS, DEFAULT_PAGE_SIZE, History, MAX_KEYWORDS, MAX_PAGE_SIZE, parameter};
use crate::order::Order;
use crate::page_token;
use crate::problem::{ALLOW, ProblemKind};

/// Generates the document.
#[must_use]
pub fn document() -> Value {
    use ProblemKind::{
        Forbidden, Internal, InvalidParameters, MethodNotAllowed, NotYetSeen, OrderNotFound, Unauthenticated,
        Unavailable,
    };
    let queries = [InvalidParameters, Unauthenticated, Forbidden, MethodNotAllowed, NotYetSeen, Internal, Unavailable];
    let history = json!({
        "operationId": "findOrderHistory",
        "summary": "A consumer's orders, newest first",
        "description": format!(
            "A page may be short or empty, because orders are large or few of them match. Only a page without `startKey` is the last one. \
             A consumer sees their own orders; a caller with the scope `{READ_ANY}` sees the orders of every consumer."
        ),
        "security": [{"jwt": []}],
        "parameters": history_parameters(),
        "responses": responses(
            "A page of orders",
            &json!({"$ref": "#/components/schemas/OrderHistory"}),
            &json!({"orders": [entry_example()], "startKey": START_KEY_EXAMPLE}),
            &["ETag", "Cache-Control", "Vary", "Link"],
            &queries,
        ),
    });
    let with_order = [&queries[..], &[OrderNotFound]].concat();
    let order = json!({
        "operationId": "findOrder",
        "summary": "One order with all its details",
        "description": "Orders of other consumers are reported as not found.",
        "security": [{"jwt": []}],
        "parameters": [
            {
                "name": "orderId", "in": "path", "required": true, "description": "The order's id. Write a slash in it as %2F.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff]+$"},
                "example": "99",
            },
            {"$ref": "#/components/parameters/ConsistencyToken"},
            {"$ref": "#/components/parameters/Prefer"},
            {"$ref": "#/components/parameters/IfNoneMatch"},
        ],
        "responses": responses(
            "The order",
            &json!({"$ref": "#/components/schemas/Order"}),
            &order_example(),
            &["ETag", "Cache-Control", "Vary"],
            &with_order,
        ),
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "FTGO Order History",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The orders of a consumer and their status",
            "description": "Times are RFC 3339 in UTC. Money is a decimal text. Members without a value are left out: no member is ever \
                            `null`. Errors are problem documents (RFC 9457), except the errors that API Gateway itself returns, such as \
                            401 for an invalid token and 429 for too many requests. HEAD and OPTIONS work on every resource.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            "/orders": resource(&history),
            "/orders/{orderId}": resource(&order),
            "/health": resource(&health()),
            "/openapi.json": resource(&this_document()),
        },
        "components": {
            "securitySchemes": {"jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": schemas(),
            "parameters": shared_parameters(),
            "headers": headers(),
        },
    })
}

fn health() -> Value {
    json!({
        "operationId": "health",
        "summary": "Check whether the API works",
        "security": [],
        "parameters": [{
            "name": "deep", "in": "query", "description": "`1`: also read from the table.",
            "schema": {"type": "string", "enum": ["0", "1"]}, "example": "1",
        }],
        "responses": responses(
            "The API works",
            &json!({
                "type": "object", "required": ["status"], "additionalProperties": false,
                "properties": {"status": {"type": "string", "const": "ok"}},
            }),
            &json!({"status": "ok"}),
            &["Cache-Control"],
            &[ProblemKind::InvalidParameters, ProblemKind::MethodNotAllowed, ProblemKind::Internal, ProblemKind::Unavailable],
        ),
    })
}

fn this_document() -> Value {
    json!({
        "operationId": "openapi",
        "summary": "This document",
        "security": [],
        "responses": responses(
            "This document", &json!({"type": "object"}), &json!({"openapi": "3.1.0"}), &["Cache-Control"],
            &[ProblemKind::MethodNotAllowed, ProblemKind::Internal],
        ),
    })
}

/// GET, HEAD (the same without bodies) and OPTIONS.
fn resource(get: &Value) -> Value {
    let mut head = get.clone();
    head["operationId"] = format!("{}Head", get["operationId"].as_str().unwrap_or_default()).into();
    head["summary"] = "The headers of GET".into();
    if let Some(responses) = head["responses"].as_object_mut() {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            response.remove("content");
        }
    }
    let mut options = json!({
        "operationId": format!("{}Options", get["operationId"].as_str().unwrap_or_default()),
        "summary": "The allowed methods",
        "security": [],
        "parameters": path_parameters(get),
        "responses": {"204": {"description": "No content", "headers": header_refs(&["Allow"])}},
    });
    // Only a path with a parameter can be invalid.
    if options["parameters"] != json!([]) {
        let (status, response) = problem_response(ProblemKind::InvalidParameters);
        options["responses"][status] = response;
    }
    json!({"get": get, "head": head, "options": options})
}

fn path_parameters(get: &Value) -> Vec<Value> {
    let parameters = get["parameters"].as_array().into_iter().flatten();
    parameters.filter(|parameter| parameter["in"] == "path").cloned().collect()
}

fn responses(description: &str, schema: &Value, example: &Value, with: &[&str], problems: &[ProblemKind]) -> Value {
    let mut responses = Map::new();
    let ok = json!({
        "description": description,
        "headers": header_refs(with),
        "content": {"application/json": {"schema": schema, "example": example}},
    });
    responses.insert("200".to_owned(), ok);
    if with.contains(&"ETag") {
        let unchanged = json!({
            "description": "The response has not changed: it still has the ETag in If-None-Match",
            "headers": header_refs(with),
        });
        responses.insert("304".to_owned(), unchanged);
    }
    for kind in problems {
        let (status, response) = problem_response(*kind);
        responses.insert(status, response);
    }
    Value::Object(responses)
}

/// The status and the response of a problem.
fn problem_response(kind: ProblemKind) -> (String, Value) {
    let mistakes = match kind {
        ProblemKind::InvalidParameters => {
            let detail = format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
            vec![Mistake::new("query", parameter::PAGE_SIZE, detail)]
        }
        ProblemKind::Unauthenticated
        | ProblemKind::Forbidden
        | ProblemKind::OrderNotFound
        | ProblemKind::RouteNotFound
        | ProblemKind::MethodNotAllowed
        | ProblemKind::NotYetSeen
        | ProblemKind::Internal
        | ProblemKind::Unavailable => Vec::new(),
    };
    let document = kind.document("Zr1hOh5PoAMEJ9g=", mistakes);
    let names: Vec<_> =
        kind.headers().iter().map(|(name, _)| documented_header(name)).chain(["Cache-Control"]).collect();
    let mut response = json!({
        "description": document.title,
        "headers": header_refs(&names),
        "content": {PROBLEM_JSON: {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "example": document,
        }},
    });
    // API Gateway may return these statuses itself, without the function. They are then not problem documents.
    let by_gateway = match kind {
        ProblemKind::Unauthenticated => Some("Unauthorized"),
        ProblemKind::Internal => Some("Internal Server Error"),
        ProblemKind::Unavailable => Some("Service Unavailable"),
        ProblemKind::InvalidParameters
        | ProblemKind::Forbidden
        | ProblemKind::OrderNotFound
        | ProblemKind::RouteNotFound
        | ProblemKind::MethodNotAllowed
        | ProblemKind::NotYetSeen => None,
    };
    if let Some(message) = by_gateway {
        response["content"]["application/json"] = json!({
            "schema": {"$ref": "#/components/schemas/GatewayError"},
            "example": {"message": message},
        });
    }
    (document.status.to_string(), response)
}

fn documented_header(name: &str) -> &'static str {
    match name {
        "www-authenticate" => "WWW-Authenticate",
        "allow" => "Allow",
        _ => "Retry-After",
    }
}

fn header_refs(names: &[&str]) -> Value {
    let refs = names.iter().map(|name| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")})));
    Value::Object(refs.collect())
}

fn headers() -> Value {
    let text = |description: &str, example: &str| json!({"description": description, "schema": {"type": "string"}, "example": example});
    json!({
        "ETag": text("The version of this response, for If-None-Match.", "W/\"9b2cf535f27731c974343645a3985328\""),
        "Cache-Control": text("Who may cache the response, and how.", "private, no-cache"),
        "Vary": text("The response depends on the caller.", "Authorization"),
        "Link": text("The URL of the next page, relative to the URL of this one. The last page has no Link.", &format!("<?consumerId=7&startKey={START_KEY_EXAMPLE}>; rel=\"next\"")),
        "Allow": text("The allowed methods.", ALLOW),
        "Retry-After": text("Wait this many seconds, then retry.", "1"),
        "WWW-Authenticate": text("How to authenticate.", "Bearer"),
    })
}

fn history_parameters() -> Value {
    let statuses: Vec<_> = OrderStatus::ALL.iter().map(OrderStatus::as_str).collect();
    json!([
        {
            "name": parameter::CONSUMER_ID, "in": "query",
            "description": "The consumer whose orders are listed. The default is the consumer in the token.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff]+$"},
            "example": "1511300065921",
        },
        {
            "name": parameter::SINCE, "in": "query",
            "description": format!(
                "Only orders created after this time: RFC 3339, or milliseconds since 1970. The default is {DEFAULT_DAYS} days \
                 before the request of the first page."
            ),
            "schema": {"anyOf": [
                {"type": "string", "format": "date-time"},
                {"type": "string", "pattern": "^[0-9]{1,14}$"},
            ]},
            "example": "2026-03-01T00:00:00Z",
        },
        {
            "name": parameter::STATUS, "in": "query", "description": "Only orders with this status.",
            "schema": {"type": "string", "enum": statuses}, "example": "APPROVED",
        },
        {
            "name": parameter::KEYWORDS, "in": "query",
            "description": format!(
                "Only orders with at least one of these words in the name of the restaurant or of a menu item. Case does not \
                 matter. The parameter may be repeated; at most {MAX_KEYWORDS} words in total."
            ),
            "style": "form", "explode": true,
            "schema": {
                "type": "array", "maxItems": MAX_KEYWORDS,
                "items": {"type": "string", "minLength": 1},
            },
            "example": ["vindaloo"],
        },
        {
            "name": parameter::PAGE_SIZE, "in": "query", "description": "The largest number of orders on a page.",
            "schema": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE},
            "example": 20,
        },
        {
            "name": parameter::START_KEY, "in": "query",
            "description": "The `startKey` of the previous page. All parameters except this one and `pageSize` must be the same as for that page.",
            "schema": {
                "type": "string", "pattern": "^[A-Za-z0-9_-]+$",
                "minLength": SHORTEST_START_KEY, "maxLength": page_token::MAX_LENGTH,
            },
        },
        {"$ref": "#/components/parameters/ConsistencyToken"},
        {"$ref": "#/components/parameters/Prefer"},
        {"$ref": "#/components/parameters/IfNoneMatch"},
    ])
}

/// A page token of 25 bytes and an order id of one, in base64.
const SHORTEST_START_KEY: usize = 35;

fn shared_parameters() -> Value {
    json!({
        "ConsistencyToken": {
            "name": TOKEN, "in": "header",
            "description": "The Consistency-Token in the response to a command. What you read then includes the command's event. If the event is not processed yet, the status is 412.",
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": 1500},
        },
        "Prefer": {
            "name": "Prefer", "in": "header",
            "description": format!("`wait=N`: wait up to N seconds for the event of the Consistency-Token. The largest N is {MAX_WAIT}; the operator \
                 may set a lower limit."),
            "schema": {"type": "string"},
            "example": "wait=5",
        },
        "IfNoneMatch": {
            "name": "If-None-Match", "in": "header",
            "description": "The ETag of the response that you have. If it has not changed, the status is 304.",
            "schema": {"type": "string"},
            "example": "W/\"9b2cf535f27731c974343645a3985328\"",
        },
    })
}

/// The schemas of the bodies, generated from the types that are serialized.
fn schemas() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    generator.subschema_for::<Order>();
    generator.subschema_for::<History>();
    generator.subschema_for::<Document>();
    let mut schemas = Value::Object(generator.take_definitions(true));
    leave_out_null(&mut schemas);
    schemas["Problem"]["properties"]["type"]["enum"] = problem_types().into();
    schemas["Mistake"]["properties"]["in"] = json!({
        "description": "Where the parameter is: `query`, `path` or `header`.",
        "type": "string", "enum": ["query", "path", "header"],
    });
    schemas["GatewayError"] = json!({
        "description": "An error that API Gateway itself returns, without the function.",
        "type": "object", "required": ["message"], "properties": {"message": {"type": "string"}},
    });
    schemas
}

/// The values of the member `type` of a problem document.
fn problem_types() -> Vec<String> {
    let kinds = [
        ProblemKind::InvalidParameters,
        ProblemKind::Unauthenticated,
        ProblemKind::Forbidden,
        ProblemKind::OrderNotFound,
        ProblemKind::RouteNotFound,
        ProblemKind::MethodNotAllowed,
        ProblemKind::NotYetSeen,
        ProblemKind::Internal,
        ProblemKind::Unavailable,
    ];
    kinds.map(ProblemKind::uri).into()
}

/// Removes `null`, which schemars allows for an `Option`: missing members are left out.
fn leave_out_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    members.remove("anyOf");
                    members.extend(only);
                }
            }
            members.values_mut().for_each(leave_out_null);
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A token with a valid form. It belongs to no list.
const START_KEY_EXAMPLE: &str = "Ab2KD5Bn0XfiAAABoUiIzXsAAAGh4uLp5jk5";

fn entry_example() -> Value {
    json!({
        "orderId": "99",
        "consumerId": "1511300065921",
        "status": "APPROVED",
        "restaurantId": 1,
        "restaurantName": "Ajanta",
        "orderCreationTime": "2026-03-01T12:00:00.007Z",
        "orderTotal": "35.29",
        "lineItems": [{"menuItemId": "1", "name": "Chicken Vindaloo", "price": "12.34", "quantity": 1}],
        "ticket": {"status": "ACCEPTED", "readyBy": "2026-03-01T12:30:00.000Z"},
        "delivery": {
            "status": "SCHEDULED", "courierId": "7",
            "estimatedPickupTime": "2026-03-01T12:32:00.000Z", "estimatedDeliveryTime": "2026-03-01T12:55:00.000Z",
        },
        "payment": {
            "status": "CHARGED", "paymentIntentId": "pi_3Q7y", "amount": 3529, "currency": "USD", "chargeId": "ch_3Q7y",
        },
    })
}

fn order_example() -> Value {
    let mut order = entry_example();
    order["delivery"]["location"] =
        json!({"latitude": 37.8044, "longitude": -122.2712, "at": "2026-03-01T12:31:00.133Z"});
    order["deliveryAddress"] = json!({"street1": "9 Amazing View", "city": "Oakland", "state": "CA", "zip": "94612"});
    order["deliveryTime"] = "2026-03-01T13:15:00.000Z".into();
    order["timeline"] = json!([
        {"eventId": "0000019ca9450a07-0242ac1200080001", "type": "OrderCreated", "at": "2026-03-01T12:00:00.007Z"},
        {"eventId": "0000019ca946dee8-0242ac1200080008", "type": "OrderAuthorized", "at": "2026-03-01T12:02:00.056Z"},
    ]);
    order
}
