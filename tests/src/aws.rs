//! Requests to AWS's services. The tests use only a few operations of SQS, SNS, IAM and `CloudFormation`: building their SDKs would
//! take longer than running the tests.

use std::time::SystemTime;

use aws_sdk_dynamodb::config::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::{Method, StatusCode};
use serde_json::Value;

/// The services' endpoint, and the credentials.
#[derive(Debug)]
pub struct Aws {
    http: reqwest::Client,
    endpoint: String,
    region: String,
    credentials: Credentials,
}

impl Aws {
    /// All services at one endpoint.
    #[must_use]
    pub fn new(endpoint: &str, region: &str, access_key_id: &str, secret_access_key: &str) -> Self {
        Self {
            http: reqwest::Client::new(),
            endpoint: endpoint.to_owned(),
            region: region.to_owned(),
            credentials: Credentials::new(access_key_id, secret_access_key, None, None, "end-to-end"),
        }
    }

    /// The same services with other credentials.
    #[must_use]
    pub fn with_credentials(&self, credentials: Credentials) -> Self {
        let Self { http, endpoint, region, .. } = self;
        Self { http: http.clone(), endpoint: endpoint.clone(), region: region.clone(), credentials }
    }

    /// Calls an operation of DynamoDB, which may fail.
    pub async fn try_dynamodb(&self, operation: &str, request: &Value) -> (StatusCode, String) {
        let target = format!("DynamoDB_20120810.{operation}");
        let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", &target)];
        self.try_send("dynamodb", Method::POST, "/", &headers, request.to_string()).await
    }

    /// Calls an operation of Lambda.
    pub async fn lambda(&self, method: Method, path: &str, request: &Value) -> Value {
        let body = if request.is_null() { String::new() } else { request.to_string() };
        let headers = [("content-type", "application/json")];
        let (status, response) = self.try_send("lambda", method, path, &headers, body).await;
        assert!(status.is_success(), "lambda rejected {path}: {status} {response}");
        serde_json::from_str(&response).unwrap_or(Value::Null)
    }

    /// Calls an operation of SQS.
    pub async fn sqs(&self, operation: &str, request: &Value) -> Value {
        let target = format!("AmazonSQS.{operation}");
        let headers = [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", &target)];
        let response = self.send("sqs", &headers, request.to_string()).await;
        if response.is_empty() { Value::Null } else { serde_json::from_str(&response).unwrap() }
    }

    /// Calls an action of a service with the query protocol; the response is XML.
    pub async fn query(&self, service: &str, version: &str, action: &str, parameters: &[(&str, &str)]) -> String {
        let (status, response) = self.try_query(service, version, action, parameters).await;
        assert!(status.is_success(), "{service} rejected {action}: {status} {response}");
        response
    }

    /// The same, for an action that may fail.
    pub async fn try_query(
        &self,
        service: &str,
        version: &str,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> (StatusCode, String) {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("Action", action).append_pair("Version", version).extend_pairs(parameters);
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.try_send(service, Method::POST, "/", &headers, body.finish()).await
    }

    async fn send(&self, service: &str, headers: &[(&str, &str)], body: String) -> String {
        let (status, text) = self.try_send(service, Method::POST, "/", headers, body.clone()).await;
        assert!(status.is_success(), "{service} rejected {body}: {status} {text}");
        text
    }

    async fn try_send(
        &self,
        service: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> (StatusCode, String) {
        let url = format!("{}{path}", self.endpoint);
        // The policies of queues and topic require TLS. The emulator on loopback has no TLS and reads this header instead.
        let headers = headers.iter().copied().chain([("x-forwarded-proto", "https")]);
        let signature = self.signature(service, method.as_str(), &url, headers.clone(), &body);
        let signature = signature.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let request = self.http.request(method, &url);
        let request = headers.chain(signature).fold(request, |request, (name, value)| request.header(name, value));
        let response = request.body(body).send().await.expect("the service does not answer");
        (response.status(), response.text().await.unwrap())
    }

    /// The headers that sign a request.
    fn signature<'a>(
        &self,
        service: &str,
        method: &'a str,
        url: &'a str,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
        body: &'a str,
    ) -> Vec<(String, String)> {
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(service)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .unwrap()
            .into();
        let request = SignableRequest::new(method, url, headers, SignableBody::Bytes(body.as_bytes())).unwrap();
        let (instructions, _) = sign(request, &parameters).unwrap().into_parts();
        let (headers, _) = instructions.into_parts();
        headers.into_iter().map(|header| (header.name().to_owned(), header.value().to_owned())).collect()
    }
}

/// The text of the first element with this name.
#[must_use]
pub fn element<'a>(xml: &'a str, name: &str) -> &'a str {
    let (_, rest) = xml.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("no {name} in {xml}"));
    rest.split_once(&format!("</{name}>")).unwrap().0
}
