//! Generates the `OpenAPI` document from the types and limits of the code.

use api_gateway::{Document, Mistake, PROBLEM_JSON};
use payment_intents::{Amount, StateName};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::caller::WRITE_ANY;
use crate::intent::ShownIntent;
use crate::problem::ProblemKind::{
    self, Conflict, Forbidden, IntentNotFound, Internal, InvalidRequest, KeyInProgress, KeyInvalid, KeyMissing,
    KeyReused, MethodNotAllowed, OrderAlreadyPaid, OrderHasOpenIntent, RouteNotFound, Unauthenticated, Unavailable,
    VersionMismatch, WrongState,
};

/// Generates the document.
#[must_use]
pub fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "FTGO Payments",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A consumer pays for an order",
            "description": "Amounts are whole numbers of minor units, such as cents. Times are RFC 3339 in UTC. Members without a value \
                            are left out: no member is ever `null`. Every command needs an `Idempotency-Key`. For 24 hours, a repetition with the \
                            same key gets the same response, with `Idempotent-Replayed: true`, and has no second effect. Errors are \
                            problem documents (RFC 9457), except the errors that API Gateway itself returns, such as 401 for an invalid \
                            token and 429 for too many requests.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            "/payment-intents": {"post": create(), "options": options("createPaymentIntent", &[])},
            "/payment-intents/{paymentIntentId}": {
                "get": find(),
                "head": head(&find()),
                "patch": change_amount(),
                "options": options("paymentIntent", &["PaymentIntentId"]),
            },
            "/payment-intents/{paymentIntentId}/charge": {
                "post": charge(),
                "options": options("chargePaymentIntent", &["PaymentIntentId"]),
            },
            "/payments/health": {"get": health(), "head": head(&health()), "options": options("health", &[])},
            "/payments/openapi.json": {
                "get": this_document(), "head": head(&this_document()), "options": options("openapi", &[]),
            },
        },
        "components": {
            "securitySchemes": {"jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "schemas": schemas(),
            "parameters": parameters(),
            "headers": headers(),
        },
    })
}

/// The problems that every command may return.
const COMMAND: [ProblemKind; 12] = [
    InvalidRequest,
    KeyMissing,
    KeyInvalid,
    Unauthenticated,
    Forbidden,
    MethodNotAllowed("POST, OPTIONS"),
    KeyInProgress,
    Conflict,
    KeyReused,
    Internal,
    Unavailable,
    RouteNotFound,
];

fn create() -> Value {
    json!({
        "operationId": "createPaymentIntent",
        "summary": "Create a payment intent for an order",
        "description": format!(
            "An order has at most one open payment intent and is paid at most once. A consumer can pay only in \
             their own name. A caller with the scope `{WRITE_ANY}` sends `consumerId`."
        ),
        "security": [{"jwt": []}],
        "parameters": [parameter("IdempotencyKey")],
        "requestBody": body("NewPaymentIntent", &json!({"orderId": "99", "amount": 6063, "currency": "USD"})),
        "responses": responses(
            &[("201", "The payment intent", &["ETag", "Location", "Cache-Control", "Idempotent-Replayed"], &intent("CREATED", 1))],
            &[&COMMAND[..], &[OrderHasOpenIntent(None), OrderAlreadyPaid]].concat(),
        ),
    })
}

fn find() -> Value {
    json!({
        "operationId": "findPaymentIntent",
        "summary": "Get a payment intent",
        "description": "Payment intents of other consumers are reported as not found.",
        "security": [{"jwt": []}],
        "parameters": [parameter("PaymentIntentId"), parameter("IfNoneMatch")],
        "responses": responses(
            &[
                ("200", "The payment intent", &["ETag", "Cache-Control", "Vary"], &intent("CHARGED", 3)),
                ("304", "The payment intent still has the version in If-None-Match", &["ETag", "Cache-Control", "Vary"], &Value::Null),
            ],
            &[
                InvalidRequest, Unauthenticated, Forbidden, IntentNotFound,
                MethodNotAllowed("GET, HEAD, PATCH, OPTIONS"), Internal, Unavailable,
            ],
        ),
    })
}

fn change_amount() -> Value {
    json!({
        "operationId": "changeAmount",
        "summary": "Change the amount",
        "description": "Allowed only in the state `CREATED`. The amount cannot change after a charge was requested.",
        "security": [{"jwt": []}],
        "parameters": [parameter("PaymentIntentId"), parameter("IdempotencyKey"), parameter("IfMatch")],
        "requestBody": body("NewAmount", &json!({"amount": 7000})),
        "responses": responses(
            &[("200", "The payment intent", &["ETag", "Cache-Control", "Idempotent-Replayed"], &intent("CREATED", 2))],
            &[&COMMAND[..], &[IntentNotFound, WrongState(StateName::Charged), VersionMismatch]].concat(),
        ),
    })
}

fn charge() -> Value {
    let with = ["ETag", "Consistency-Token", "Cache-Control", "Idempotent-Replayed"];
    json!({
        "operationId": "chargePaymentIntent",
        "summary": "Charge the stored amount",
        "description": "A payment intent is charged at most once. 202: the charge is requested, and its result is not known yet: read the \
                        payment intent again later. 200: the payment gateway has decided: see `state`. Send the `Consistency-Token` to \
                        `GET /orders/{orderId}` to read an order that includes this charge.",
        "security": [{"jwt": []}],
        "parameters": [parameter("PaymentIntentId"), parameter("IdempotencyKey"), parameter("IfMatch")],
        "responses": responses(
            &[
                ("200", "The payment gateway has decided", &with, &intent("CHARGED", 3)),
                ("202", "The charge is requested", &with, &intent("CHARGE_REQUESTED", 2)),
            ],
            &[&COMMAND[..], &[IntentNotFound, WrongState(StateName::Charged), VersionMismatch]].concat(),
        ),
    })
}

fn health() -> Value {
    let schema = json!({
        "type": "object", "required": ["status"], "additionalProperties": false,
        "properties": {"status": {"type": "string", "const": "ok"}},
    });
    let mut responses = responses(
        &[("200", "The API works", &["Cache-Control"], &json!({"status": "ok"}))],
        &[InvalidRequest, MethodNotAllowed("GET, HEAD, OPTIONS"), Internal, Unavailable],
    );
    responses["200"]["content"]["application/json"]["schema"] = schema;
    json!({
        "operationId": "paymentsHealth",
        "summary": "Check whether the API works",
        "security": [],
        "parameters": [{
            "name": "deep", "in": "query", "description": "`1`: also read from the table.",
            "schema": {"type": "string", "enum": ["0", "1"]}, "example": "1",
        }],
        "responses": responses,
    })
}

fn this_document() -> Value {
    let mut responses = responses(
        &[("200", "This document", &["Cache-Control"], &json!({"openapi": "3.1.0"}))],
        &[MethodNotAllowed("GET, HEAD, OPTIONS"), Internal],
    );
    responses["200"]["content"]["application/json"]["schema"] = json!({"type": "object"});
    json!({"operationId": "paymentsOpenapi", "summary": "This document", "security": [], "responses": responses})
}

/// The same as GET, without bodies.
fn head(get: &Value) -> Value {
    let mut head = get.clone();
    head["operationId"] = format!("{}Head", get["operationId"].as_str().unwrap_or_default()).into();
    head["summary"] = "The headers of GET".into();
    if let Some(responses) = head["responses"].as_object_mut() {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            response.remove("content");
        }
    }
    head
}

fn options(operation: &str, parameters: &[&str]) -> Value {
    let mut responses = Map::new();
    responses.insert("204".to_owned(), json!({"description": "No content", "headers": header_refs(&["Allow"])}));
    // Only a path with a parameter can be invalid.
    if !parameters.is_empty() {
        let (status, response) = problem_responses(&[InvalidRequest]).remove(0);
        responses.insert(status, response);
    }
    json!({
        "operationId": format!("{operation}Options"),
        "summary": "The allowed methods",
        "security": [],
        "parameters": parameters.iter().map(|name| parameter(name)).collect::<Vec<_>>(),
        "responses": responses,
    })
}

fn parameter(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

fn body(schema: &str, example: &Value) -> Value {
    let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
    json!({"required": true, "content": {"application/json": {"schema": schema, "example": example}}})
}

/// A status, its description, its headers, and an example of its body.
type Success<'a> = (&'a str, &'a str, &'a [&'a str], &'a Value);

fn responses(successes: &[Success<'_>], problems: &[ProblemKind]) -> Value {
    let mut responses = Map::new();
    for (status, description, headers, example) in successes {
        let mut response = json!({"description": description, "headers": header_refs(headers)});
        if !example.is_null() {
            let schema = json!({"$ref": "#/components/schemas/PaymentIntent"});
            response["content"] = json!({"application/json": {"schema": schema, "example": example}});
        }
        responses.insert((*status).to_owned(), response);
    }
    responses.extend(problem_responses(problems));
    Value::Object(responses)
}

/// The responses for problems. Problems with the same status share one response.
fn problem_responses(kinds: &[ProblemKind]) -> Vec<(String, Value)> {
    let mut responses: Vec<(String, Value)> = Vec::new();
    for kind in kinds {
        let mistakes = match kind {
            InvalidRequest => {
                let detail = payment_intents::Invalid::Amount.to_string();
                vec![Mistake::new("body", "amount", detail)]
            }
            _ => Vec::new(),
        };
        let document = kind.document("Zr1hOh5PoAMEJ9g=", mistakes);
        let status = document.status.to_string();
        let name = kind.uri().rsplit(':').next().unwrap_or_default().to_owned();
        let place = responses.iter().position(|(known, _)| *known == status).unwrap_or_else(|| {
            let schema = json!({"$ref": "#/components/schemas/Problem"});
            let content = json!({PROBLEM_JSON: {"schema": schema, "examples": {}}});
            responses.push((status.clone(), json!({"description": "", "headers": {}, "content": content})));
            responses.len() - 1
        });
        let response = &mut responses[place].1;
        let described = response["description"].as_str().unwrap_or_default();
        let separator = if described.is_empty() { "" } else { "; or: " };
        response["description"] = format!("{described}{separator}{}", document.title).into();
        let kind_headers = kind.headers();
        let names: Vec<_> =
            kind_headers.iter().map(|(name, _)| documented_header(name)).chain(["Cache-Control"]).collect();
        if let (Some(headers), Value::Object(more)) = (response["headers"].as_object_mut(), header_refs(&names)) {
            headers.extend(more);
        }
        response["content"][PROBLEM_JSON]["examples"][name.as_str()] = json!({"value": document});
        // API Gateway may return these statuses itself, without the function. They are then not problem documents.
        let by_gateway = match kind {
            Unauthenticated => Some("Unauthorized"),
            Internal => Some("Internal Server Error"),
            Unavailable => Some("Service Unavailable"),
            _ => None,
        };
        if let Some(message) = by_gateway {
            response["content"]["application/json"] = json!({
                "schema": {"$ref": "#/components/schemas/GatewayError"},
                "example": {"message": message},
            });
        }
    }
    responses
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
        "ETag": text("The version, for If-Match and If-None-Match.", "\"2\""),
        "Location": text("The path of the payment intent.", &format!("/payment-intents/{ID}")),
        "Consistency-Token": text("Send it to GET /orders/{orderId} to read an order that includes the event.", TOKEN),
        "Idempotent-Replayed": text("`true`: a command with the same key was processed before; this is its response.", "true"),
        "Cache-Control": text("Who may cache the response, and how.", "no-store"),
        "Vary": text("The response depends on the caller.", "Authorization"),
        "Allow": text("The allowed methods.", "GET, HEAD, PATCH, OPTIONS"),
        "Retry-After": text("Wait this many seconds, then retry.", "1"),
        "WWW-Authenticate": text("How to authenticate.", "Bearer"),
    })
}

const ID: &str = "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35";
const TOKEN: &str = "MSBQYXltZW50SW50ZW50Q2hhcmdlUmVxdWVzdGVkIDAwMDAwMTlkYTk0NTBhMGUtMDI0MmFjMTIwMDA4MDAwMiA5OQ";

fn parameters() -> Value {
    json!({
        "PaymentIntentId": {
            "name": "paymentIntentId", "in": "path", "required": true, "description": "The payment intent's id.",
            "schema": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
            "example": ID,
        },
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": true,
            "description": "A new key for each command, and the same key for each repetition: 1 to 255 printable ASCII \
                            characters in double quotes, or a token without quotes.",
            "schema": {"type": "string", "pattern": r#"^("([ !#-\[\]-~]|\\["\\]){1,255}"|[A-Za-z0-9!#$%&'*+.^_`|~:/=-]{1,255})$"#},
            "example": "\"8e03978e-40d5-43e8-bc93-6894a57f9324\"",
        },
        "IfMatch": {
            "name": "If-Match", "in": "header",
            "description": "The ETag of the version that you have read. If the payment intent has another version now, the status is 412.",
            "schema": {"type": "string"}, "example": "\"1\"",
        },
        "IfNoneMatch": {
            "name": "If-None-Match", "in": "header",
            "description": "The ETag of the version that you have. If it is still the current one, the status is 304.",
            "schema": {"type": "string"}, "example": "\"1\"",
        },
    })
}

/// The schemas of the bodies, generated from the types that are serialized.
fn schemas() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    generator.subschema_for::<ShownIntent<'static>>();
    generator.subschema_for::<Document>();
    let mut schemas = Value::Object(generator.take_definitions(true));
    for member in ["chargeId", "errorCode", "errorMessage"] {
        // Left out if unknown, and never `null`.
        schemas["PaymentIntent"]["properties"][member]["type"] = "string".into();
    }
    let states = StateName::ALL.map(StateName::as_str);
    schemas["PaymentIntent"]["properties"]["state"]["enum"] = json!(states);
    for time in ["createdAt", "updatedAt"] {
        schemas["PaymentIntent"]["properties"][time]["format"] = "date-time".into();
    }
    schemas["Problem"]["properties"]["type"]["enum"] = problem_types().into();
    schemas["Problem"]["properties"]["state"] = json!({
        "description": "With `wrong-state`: the state of the payment intent.", "type": "string", "enum": states,
    });
    schemas["Problem"]["properties"]["paymentIntentId"] = json!({
        "description": "With `order-has-open-intent`: the open payment intent of the order.", "type": "string", "format": "uuid",
    });
    schemas["Mistake"]["properties"]["in"] = json!({
        "description": "Where the parameter is: `body`, `query`, `path` or `header`.",
        "type": "string", "enum": ["body", "query", "path", "header"],
    });
    let id = |description: &str| {
        json!({
            "description": description, "type": "string", "minLength": 1, "maxLength": 255,
            "pattern": r"^[^\s\u0000-\u001f\u007f-\u009f\ufffe\uffff]+$",
        })
    };
    let amount = json!({
        "description": "The amount in the currency's minor units, such as cents.",
        "type": "integer", "minimum": 1, "maximum": Amount::MAX,
    });
    schemas["NewPaymentIntent"] = json!({
        "type": "object", "additionalProperties": false, "required": ["orderId", "amount", "currency"],
        "properties": {
            "orderId": id("The order to pay for."),
            "amount": amount,
            "currency": {"description": "The currency (ISO 4217).", "type": "string", "pattern": "^[A-Z]{3}$"},
            "consumerId": id("The consumer who pays. Required if the token does not name a consumer."),
        },
    });
    schemas["NewAmount"] = json!({
        "type": "object", "additionalProperties": false, "required": ["amount"], "properties": {"amount": amount},
    });
    schemas["GatewayError"] = json!({
        "description": "An error that API Gateway itself returns, without the function.",
        "type": "object", "required": ["message"], "properties": {"message": {"type": "string"}},
    });
    schemas
}

/// The values of the member `type` of a problem document.
fn problem_types() -> Vec<String> {
    let own =
        [IntentNotFound, OrderHasOpenIntent(None), OrderAlreadyPaid, WrongState(StateName::Charged), VersionMismatch];
    COMMAND.into_iter().chain(own).map(ProblemKind::uri).collect()
}

fn intent(state: &str, version: u64) -> Value {
    let mut intent = json!({
        "paymentIntentId": ID,
        "orderId": "99",
        "consumerId": "1511300065921",
        "amount": 6063,
        "currency": "USD",
        "state": state,
        "version": version,
        "createdAt": "2026-11-17T12:00:00.007Z",
        "updatedAt": "2026-11-17T12:00:01.133Z",
    });
    if state == "CHARGED" {
        intent["chargeId"] = "ch_3Q7y".into();
    }
    intent
}
