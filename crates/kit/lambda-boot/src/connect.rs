//! Clients for AWS services.

use std::io;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{SharedCredentialsProvider, SharedHttpClient};
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode};
use aws_smithy_http_client::{Builder, HttpClientError};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::{Environment, Missing};

/// The root certificates of AWS's endpoints. Loading every certificate that an operating system trusts would take milliseconds of each
/// cold start.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// Why a client could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A required variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The file with root certificates cannot be read.
    #[error("environment variable AWS_CA_BUNDLE names {path}, which cannot be read")]
    Unreadable {
        /// The value of `AWS_CA_BUNDLE`.
        path: String,
        /// The error of the file system.
        source: io::Error,
    },
    /// The file contains no root certificates, or one that cannot be read.
    #[error(
        "environment variable AWS_CA_BUNDLE names {path}, which must have root certificates in PEM, all of them readable"
    )]
    NotRoots {
        /// The value of `AWS_CA_BUNDLE`.
        path: String,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] HttpClientError),
}

/// A client for DynamoDB, with the settings of [`sdk_config`].
pub fn dynamodb(environment: &Environment<'_>) -> Result<aws_sdk_dynamodb::Client, ConnectError> {
    Ok(aws_sdk_dynamodb::Client::new(&sdk_config(environment, "DYNAMODB")?))
}

/// A client for SNS, with the settings of [`sdk_config`].
#[cfg(feature = "sns")]
pub fn sns(environment: &Environment<'_>) -> Result<aws_sdk_sns::Client, ConnectError> {
    Ok(aws_sdk_sns::Client::new(&sdk_config(environment, "SNS")?))
}

/// Settings for a client of any service, from the variables that Lambda sets: `AWS_REGION` and the credentials of the function's role.
///
/// `AWS_ENDPOINT_URL_<SERVICE>`, or else `AWS_ENDPOINT_URL`, changes the endpoint. `AWS_CA_BUNDLE` names a file with the root
/// certificates to trust, instead of Amazon's.
///
/// `service` is the name of the service in that variable, such as `DYNAMODB`, `SNS`, `S3` or `SECRETS_MANAGER`
/// ([list](https://docs.aws.amazon.com/sdkref/latest/guide/ss-endpoints-table.html)). For example:
/// `aws_sdk_secretsmanager::Client::new(&sdk_config(environment, "SECRETS_MANAGER")?)`.
///
/// Credentials are read from the variables of the process, even if `environment` is another one: in a test, set `credentials_provider` of the
/// service's own configuration. The SDK's default credentials chain is not used: it also looks for profiles, containers and instances, which a Lambda does not have,
/// and adds a megabyte of code.
///
/// An attempt times out after 2 seconds, and there are at most 3 attempts, about 7 seconds in all with the pauses: these services answer
/// in milliseconds, so a bad connection costs a retry and not the invocation. A client that transfers megabytes, such as one of S3, needs
/// longer timeouts.
pub fn sdk_config(environment: &Environment<'_>, service: &str) -> Result<SdkConfig, ConnectError> {
    let region = environment.needed("AWS_REGION", "the AWS region, such as eu-central-1 (Lambda sets it)")?;
    let endpoint =
        environment.get(&format!("AWS_ENDPOINT_URL_{service}")).or_else(|| environment.get("AWS_ENDPOINT_URL"));
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(2))
        .build();
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region))
        .credentials_provider(SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new()))
        .http_client(https(environment)?)
        .timeout_config(timeouts)
        // Responses have a few kilobytes, and the timeouts limit them.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .retry_config(RetryConfig::standard().with_max_attempts(3));
    config.set_endpoint_url(endpoint);
    Ok(config.build())
}

/// An HTTP client that trusts Amazon's root certificates or, with `AWS_CA_BUNDLE`, those in a file. Use it if the other settings of your
/// SDK client do not come from [`sdk_config`], such as in a command that runs on a laptop.
pub fn https(environment: &Environment<'_>) -> Result<SharedHttpClient, ConnectError> {
    let trusted = TrustStore::empty().with_pem_certificate(roots(environment)?);
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(TlsContext::builder().with_trust_store(trusted).build()?);
    Ok(http.build_https())
}

/// The root certificates to trust, in PEM. They are checked here because the HTTP client panics on invalid ones, and only at the first request.
fn roots(environment: &Environment<'_>) -> Result<Vec<u8>, ConnectError> {
    let Some(path) = environment.get("AWS_CA_BUNDLE") else {
        return Ok(AMAZON_ROOTS.to_vec());
    };
    let pem = match std::fs::read(&path) {
        Ok(pem) => pem,
        Err(source) => return Err(ConnectError::Unreadable { path, source }),
    };
    if are_roots(&pem) { Ok(pem) } else { Err(ConnectError::NotRoots { path }) }
}

fn are_roots(pem: &[u8]) -> bool {
    let mut store = RootCertStore::empty();
    let added = CertificateDer::pem_slice_iter(pem).all(|root| root.is_ok_and(|root| store.add(root).is_ok()));
    added && !store.is_empty()
}
