//! A request as API Gateway hands it over.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// The members we read of a request in payload format 2.0
/// (<https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>).
///
/// `aws_lambda_events` has a type for all of it, but that one refuses a request over a header value it does not like, which
/// would make a client's mistake our error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    raw_path: String,
    raw_query_string: String,
    headers: HashMap<String, String>,
    path_parameters: Option<HashMap<String, String>>,
    request_context: Context,
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
pub(crate) struct Jwt {
    pub(crate) claims: HashMap<String, Value>,
}

impl Request {
    pub(crate) fn id(&self) -> &str {
        &self.request_context.request_id
    }

    pub(crate) fn method(&self) -> &str {
        &self.request_context.http.method
    }

    /// The path without the stage, which is part of it unless the stage is `$default`.
    pub(crate) fn path(&self) -> &str {
        let path = self.raw_path.as_str();
        let within = path.strip_prefix('/').and_then(|path| path.strip_prefix(&self.request_context.stage));
        match within {
            Some(within) if within.starts_with('/') && !self.request_context.stage.is_empty() => within,
            _ => path,
        }
    }

    /// The order id as API Gateway decoded it, where the route has it as a parameter.
    pub(crate) fn path_parameter(&self, name: &str) -> Option<&str> {
        self.path_parameters.as_ref()?.get(name).map(String::as_str)
    }

    pub(crate) fn query_string(&self) -> &str {
        &self.raw_query_string
    }

    /// API Gateway writes header names in lower case, and joins the values of one name with commas.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn jwt(&self) -> Option<&Jwt> {
        self.request_context.authorizer.as_ref()?.jwt.as_ref()
    }
}
