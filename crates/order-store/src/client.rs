//! How our Lambdas reach DynamoDB.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// A client configured from the environment: region, credentials, `AWS_ENDPOINT_URL_DYNAMODB`.
///
/// DynamoDB answers in milliseconds; one that has not after two seconds will not. Three tries, with the pauses between
/// them, then take some seven seconds: a bad connection costs a retry and not the invocation.
pub async fn connect() -> Client {
    let tls = Provider::Rustls(CryptoMode::Ring);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(2))
        .build();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(Builder::new().tls_provider(tls).build_https())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .load()
        .await;
    Client::new(&config)
}
