//! Requests of API Gateway.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// The members we read of a request in payload format 2.0
/// (<https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>).
///
/// `aws_lambda_events` has a type for the whole request, but it rejects a request that has an invalid header value: a client's
/// mistake would become a server error. An event in another format is not refused: what is missing is read as empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    raw_path: String,
    raw_query_string: String,
    headers: HashMap<String, String>,
    path_parameters: Option<HashMap<String, String>>,
    request_context: Context,
    body: Option<String>,
    is_base64_encoded: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Context {
    request_id: String,
    stage: String,
    http: Http,
    authorizer: Option<Authorizer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Http {
    method: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Authorizer {
    jwt: Option<Jwt>,
}

/// What the JWT authorizer found in a token that it has checked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Jwt {
    claims: HashMap<String, Value>,
}

impl Request {
    /// The id of the request, as in the access log of API Gateway.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.request_context.request_id
    }

    /// The method, in upper case.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.request_context.http.method
    }

    /// The path without the stage, which is part of it unless the stage is `$default`.
    #[must_use]
    pub fn path(&self) -> &str {
        let (path, stage) = (self.raw_path.as_str(), self.request_context.stage.as_str());
        if stage.is_empty() || stage == "$default" {
            return path;
        }
        match path.strip_prefix('/').and_then(|path| path.strip_prefix(stage)) {
            Some("") => "/",
            Some(within) if within.starts_with('/') => within,
            _ => path,
        }
    }

    /// A parameter of the route's path, decoded by API Gateway.
    #[must_use]
    pub fn path_parameter(&self, name: &str) -> Option<&str> {
        self.path_parameters.as_ref()?.get(name).map(String::as_str)
    }

    /// The query string, not decoded.
    #[must_use]
    pub fn query_string(&self) -> &str {
        &self.raw_query_string
    }

    /// A header; its name is given in lower case, as API Gateway writes it. The values of one name are joined with commas.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Whether the client accepts a body in this coding, such as `gzip` (RFC 9110, 12.5.3). Without the header `Accept-Encoding` the result
    /// is false: the client may not be able to decode anything.
    #[must_use]
    pub fn accepts_encoding(&self, coding: &str) -> bool {
        let accepted = self.header("accept-encoding").unwrap_or_default();
        let weight = |name: &str| {
            accepted.split(',').find_map(|element| {
                let (of, parameters) = element.split_once(';').unwrap_or((element, ""));
                of.trim().eq_ignore_ascii_case(name).then(|| weight(parameters))
            })
        };
        weight(coding).or_else(|| weight("*")).unwrap_or(0.0) > 0.0
    }

    /// The body as text; none if it is not UTF-8. API Gateway encodes a body in Base64 unless its content type is one of text,
    /// such as `application/json`.
    #[must_use]
    pub fn body(&self) -> Option<Cow<'_, str>> {
        let body = self.body.as_deref().unwrap_or_default();
        if !self.is_base64_encoded {
            return Some(body.into());
        }
        let bytes = STANDARD.decode(body).ok()?;
        String::from_utf8(bytes).ok().map(Cow::Owned)
    }

    /// The token that the JWT authorizer has verified. `None` if the route has no authorizer.
    #[must_use]
    pub fn jwt(&self) -> Option<&Jwt> {
        self.request_context.authorizer.as_ref()?.jwt.as_ref()
    }
}

/// The weight among the parameters of an element of a list: `q=0.5`. It is 1 if there is none, and 0 if it is no number.
fn weight(parameters: &str) -> f32 {
    let weight = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().unwrap_or(0.0))
    });
    weight.unwrap_or(1.0)
}

impl Jwt {
    /// A claim as text. API Gateway passes every claim as text; numbers, as other gateways pass them, are converted.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<String> {
        match self.claims.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Whether the token has a scope, in the claim `scope` or, with some issuers, `scp`. `jwt.scopes` is not used: it may
    /// contain the scopes that the route requires instead of those that the token has.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        let claims = ["scope", "scp"].into_iter().filter_map(|claim| self.claim(claim));
        // API Gateway writes a list as `[one another]`.
        claims
            .into_iter()
            .any(|granted| granted.trim_matches(['[', ']']).split([' ', ',']).any(|granted| granted.trim() == scope))
    }
}
