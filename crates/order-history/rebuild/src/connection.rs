//! The connection of the command line to AWS, with the same settings and credentials as the AWS CLI.

use std::time::Duration;

use archive::{Location, Store};
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use lambda_boot::{ConnectError, Environment};

/// Region, credentials and endpoints, from the environment, the profile, or the role of a
/// container or an instance. Credentials of a single sign-on are not read; `aws configure export-credentials --format env` exports
/// them to the environment.
pub(crate) async fn settings() -> Result<SdkConfig, ConnectError> {
    let http = lambda_boot::https(&Environment::of_process())?;
    Ok(aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await)
}

/// The archive at a location. Its objects may have many megabytes.
#[must_use]
pub(crate) fn open(location: &Location, settings: &SdkConfig) -> Store {
    Store::open(location, || archive::client(settings, Duration::from_mins(2)))
}

/// A DynamoDB client without retries: the code that merges views retries, and slows down.
#[must_use]
pub fn dynamodb(settings: &SdkConfig) -> aws_sdk_dynamodb::Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(5));
    let config = aws_sdk_dynamodb::config::Builder::from(settings)
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts.build());
    aws_sdk_dynamodb::Client::from_conf(config.build())
}
