//! Creates a client from environment variables.

use std::io;

use aws_smithy_http_client::HttpClientError;
use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use lambda_boot::{ConnectError, Environment, Missing, sdk_config};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::{HttpGateway, InvalidSecret, InvalidUrl, RequestPolicy, Secret};

/// Why the client cannot be created. No message contains the secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// `GATEWAY_URL` is not a URL.
    #[error("environment variable GATEWAY_URL is not valid")]
    Url(#[from] InvalidUrl),
    /// `GATEWAY_SECRET` cannot be sent in a header.
    #[error("environment variable GATEWAY_SECRET is not valid")]
    Secret(#[from] InvalidSecret),
    /// The client for Secrets Manager cannot be created.
    #[error(transparent)]
    SecretsManager(#[from] ConnectError),
    /// The file of root certificates cannot be read.
    #[error("environment variable GATEWAY_CA_BUNDLE names {path}, which cannot be read")]
    Unreadable {
        /// The value of `GATEWAY_CA_BUNDLE`.
        path: String,
        /// The error of the file system.
        source: io::Error,
    },
    /// The file contains no root certificate, or it also contains something else.
    #[error(
        "environment variable GATEWAY_CA_BUNDLE names {path}, which must contain root certificates in PEM and nothing else"
    )]
    NotRoots {
        /// The value of `GATEWAY_CA_BUNDLE`.
        path: String,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] HttpClientError),
}

impl HttpGateway {
    /// The gateway at `GATEWAY_URL`, with the secret `GATEWAY_SECRET_ARN` of Secrets Manager, or else `GATEWAY_SECRET` itself. Trusts
    /// the root certificates in the file `GATEWAY_CA_BUNDLE`, or else those of the system.
    pub fn from_environment(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let url =
            environment.needed("GATEWAY_URL", "the URL of the payment gateway, such as https://gateway.example.com")?;
        let secret = match environment.get("GATEWAY_SECRET_ARN") {
            Some(arn) => {
                let config = sdk_config(environment, "SECRETS_MANAGER")?;
                Secret::in_secrets_manager(aws_sdk_secretsmanager::Client::new(&config), &arn)
            }
            None => Secret::fixed(&environment.needed(
                "GATEWAY_SECRET",
                "the payment gateway's secret (or set GATEWAY_SECRET_ARN to the ARN of the secret in Secrets Manager)",
            )?)?,
        };
        let tls = TlsContext::builder().with_trust_store(trusted(environment)?).build()?;
        Ok(Self::new(&url, tls, secret, RequestPolicy::default())?)
    }
}

/// Checks the file, because the HTTP client would panic.
fn trusted(environment: &Environment<'_>) -> Result<TrustStore, ConfigError> {
    let Some(path) = environment.get("GATEWAY_CA_BUNDLE") else {
        return Ok(TrustStore::default());
    };
    let pem = match std::fs::read(&path) {
        Ok(pem) => pem,
        Err(source) => return Err(ConfigError::Unreadable { path, source }),
    };
    let mut store = RootCertStore::empty();
    let added = CertificateDer::pem_slice_iter(&pem).all(|root| root.is_ok_and(|root| store.add(root).is_ok()));
    if !added || store.is_empty() {
        return Err(ConfigError::NotRoots { path });
    }
    Ok(TrustStore::empty().with_pem_certificate(pem))
}
