//! How our Lambdas reach AWS.

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

/// The roots that AWS's endpoints chain to (docs/adr/0006). All that a system trusts would take milliseconds to load.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The file of root certificates cannot be read.
    #[error("environment variable AWS_CA_BUNDLE names {path}, which cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The file of root certificates has none, or other things too.
    #[error(
        "environment variable AWS_CA_BUNDLE names {path}, which must have root certificates in PEM and nothing else"
    )]
    NotRoots {
        /// The file.
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

/// The settings of a client with what Lambda sets: `AWS_REGION` and the credentials of the function's role.
/// `AWS_ENDPOINT_URL_<SERVICE>` or `AWS_ENDPOINT_URL` leads it elsewhere, `AWS_CA_BUNDLE` has it trust the root certificates in a
/// file, and no others.
///
/// `service` is the name that the variable has, such as `DYNAMODB`, `SNS`, `S3` or `SECRETS_MANAGER`
/// ([all of them](https://docs.aws.amazon.com/sdkref/latest/guide/ss-endpoints-table.html)). A client of any service can be made
/// of it: `aws_sdk_secretsmanager::Client::new(&sdk_config(environment, "SECRETS_MANAGER")?)`.
///
/// The SDK's default chain would also look for profiles, containers and instances, none of which a Lambda has: a megabyte
/// of code.
///
/// These services answer in milliseconds; one that has not after two seconds will not. Three tries, with the pauses between
/// them, then take some seven seconds: a bad connection costs a retry and not the invocation. A client that moves megabytes, as one of S3
/// may, must set longer timeouts.
pub fn sdk_config(environment: &Environment<'_>, service: &str) -> Result<SdkConfig, ConnectError> {
    let region = environment.needed("AWS_REGION", "the region of the tables, such as eu-central-1 (Lambda sets it)")?;
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
        // An answer is a few kilobytes, and the timeouts watch over it.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .retry_config(RetryConfig::standard().with_max_attempts(3));
    config.set_endpoint_url(endpoint);
    Ok(config.build())
}

/// An HTTP client that trusts the roots of AWS's endpoints or, with `AWS_CA_BUNDLE`, the root certificates in a file. It is for
/// who makes the other settings of an SDK's client by other means than [`sdk_config`], as a command on a laptop does.
pub fn https(environment: &Environment<'_>) -> Result<SharedHttpClient, ConnectError> {
    let trusted = TrustStore::empty().with_pem_certificate(roots(environment)?);
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(TlsContext::builder().with_trust_store(trusted).build()?);
    Ok(http.build_https())
}

/// The root certificates to trust, in PEM. They are checked here because the HTTP client would panic, and only later.
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
