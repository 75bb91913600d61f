//! TLS with its own root certificate, which a contender trusts through `AWS_CA_BUNDLE` or a similar variable.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::{Result, peers};

/// A certificate for `localhost`, and the file of the root that signed it.
pub(super) fn endpoint() -> Result<(TlsAcceptor, PathBuf)> {
    let root_key = KeyPair::generate()?;
    let mut root = CertificateParams::default();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // A certificate with the same name as its issuer would count as self-signed.
    root.distinguished_name.push(DnType::CommonName, "bench root");
    let root_certificate = root.self_signed(&root_key)?;
    let root_file = peers::home("root.pem");
    std::fs::create_dir_all(peers::home(""))?;
    std::fs::write(&root_file, root_certificate.pem())?;

    let key = KeyPair::generate()?;
    let mut certificate = CertificateParams::new(vec!["localhost".to_owned()])?;
    certificate.distinguished_name.push(DnType::CommonName, "localhost");
    let certificate = certificate.signed_by(&key, &Issuer::new(root, root_key))?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((TlsAcceptor::from(Arc::new(config)), root_file))
}
