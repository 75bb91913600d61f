//! The secret is read once, read again after a refusal, and never shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_secretsmanager::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_sdk_secretsmanager::{Client, Config};
use aws_smithy_runtime_api::client::http::http_client_fn;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use payment_gateway::{Gateway, Outcome, Secret};
use serde_json::json;

use crate::wire::{Wire, charged, in_time, request, response};

const ARN: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:gateway-AbCdEf";

#[tokio::test]
async fn the_secret_is_read_once_for_concurrent_charges() {
    let manager = SecretsManager::new(["s3cret"]);
    let wire = Wire::replying([charged()]);
    let gateway = wire.gateway_with(manager.secret());
    assert_eq!(manager.reads(), 0, "not before it is needed");
    let (one, two) = (request(1), request(10));
    let (first, second) = tokio::join!(gateway.charge(&one, in_time()), gateway.charge(&two, in_time()));
    assert!(first.is_ok() && second.is_ok());
    gateway.charge(&request(20), in_time()).await.unwrap();
    assert_eq!(manager.reads(), 1);
}

#[tokio::test]
async fn a_rotated_secret_is_read_again_and_the_request_is_retried() {
    for status in [401, 403] {
        let manager = SecretsManager::new(["old", "new"]);
        let wire = Wire::new(move |_, sent| match sent.authorization.as_deref() {
            Some("Bearer new") => charged(),
            _ => response(status, ""),
        });
        let gateway = wire.gateway_with(manager.secret());
        let (one, two) = (request(1), request(10));
        let outcomes = tokio::join!(gateway.charge(&one, in_time()), gateway.charge(&two, in_time()));
        assert!(matches!(outcomes, (Ok(Outcome::Charged { .. }), Ok(Outcome::Charged { .. }))), "{outcomes:?}");
        assert_eq!(manager.reads(), 2, "once for both");
        assert_eq!(wire.sent().len(), 4);
    }
}

#[tokio::test]
async fn a_refused_secret_that_was_not_rotated_is_not_retried() {
    let manager = SecretsManager::new(["same"]);
    let wire = Wire::replying([response(401, "")]);
    let unknown = wire.gateway_with(manager.secret()).charge(&request(1), in_time()).await.unwrap_err();
    assert_eq!((unknown.code(), wire.sent().len(), manager.reads()), ("gateway_refused_secret", 1, 2));

    let manager = SecretsManager::new(["old", "new", "newer"]);
    let wire = Wire::replying([response(403, "")]);
    let unknown = wire.gateway_with(manager.secret()).charge(&request(1), in_time()).await.unwrap_err();
    assert_eq!((unknown.code(), wire.sent().len(), manager.reads()), ("gateway_refused_secret", 2, 2));
}

#[tokio::test]
async fn without_a_readable_secret_nothing_is_sent() {
    for secret in [
        SecretsManager::failing().secret(),
        SecretsManager::new(["two words"]).secret(),
        SecretsManager::new([""]).secret(),
    ] {
        let wire = Wire::replying([charged()]);
        let unknown = wire.gateway_with(secret).charge(&request(1), in_time()).await.unwrap_err();
        assert_eq!((unknown.code(), wire.sent().len()), ("gateway_secret_unreadable", 0));
    }
}

#[tokio::test]
async fn a_line_break_at_the_end_of_the_secret_is_removed() {
    let wire = Wire::replying([charged()]);
    wire.gateway_with(SecretsManager::new(["s3cret\n"]).secret()).charge(&request(1), in_time()).await.unwrap();
    assert_eq!(wire.sent()[0].authorization.as_deref(), Some("Bearer s3cret"));
}

#[tokio::test]
async fn no_debug_text_and_no_error_shows_the_secret() {
    let hidden = "tok-en-4711";
    let wire = Wire::replying([response(401, hidden)]);
    for gateway in
        [wire.gateway_with(Secret::fixed(hidden).unwrap()), wire.gateway_with(SecretsManager::new([hidden]).secret())]
    {
        let unknown = gateway.charge(&request(1), in_time()).await.unwrap_err();
        let texts = format!("{gateway:#?} {unknown} {unknown:#?}");
        assert!(!texts.contains(hidden), "{texts}");
    }
    let bad = format!("{hidden} {hidden}");
    let refused = format!("{:?}", Secret::fixed(&bad).map(|_| ()).unwrap_err());
    assert!(!refused.contains(hidden), "{refused}");
}

/// Secrets Manager with another secret at each read. The last one stays.
struct SecretsManager {
    secrets: Vec<&'static str>,
    reads: Arc<AtomicUsize>,
}

impl SecretsManager {
    fn new(secrets: impl IntoIterator<Item = &'static str>) -> Self {
        Self { secrets: secrets.into_iter().collect(), reads: Arc::default() }
    }

    fn failing() -> Self {
        Self::new([])
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    fn secret(&self) -> Secret {
        let http = SecretsManagerApi { secrets: self.secrets.clone(), reads: Arc::clone(&self.reads) };
        let http = SharedHttpConnector::new(http);
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "test"))
            .retry_config(RetryConfig::disabled())
            .http_client(http_client_fn(move |_, _| http.clone()));
        Secret::in_secrets_manager(Client::from_conf(config.build()), ARN)
    }
}

#[derive(Debug)]
struct SecretsManagerApi {
    secrets: Vec<&'static str>,
    reads: Arc<AtomicUsize>,
}

impl HttpConnector for SecretsManagerApi {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body: serde_json::Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        assert_eq!(body["SecretId"], ARN);
        let read = self.reads.fetch_add(1, Ordering::SeqCst);
        let secret = self.secrets.get(read).or(self.secrets.last());
        let (status, response) = match secret {
            Some(secret) => (200, json!({"ARN": ARN, "SecretString": secret})),
            None => (400, json!({"__type": "AccessDeniedException"})),
        };
        let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(response.to_string()));
        HttpConnectorFuture::new(async move {
            // Other tasks run, as they do while a real request waits.
            tokio::task::yield_now().await;
            Ok(response)
        })
    }
}
