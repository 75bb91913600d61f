//! Clients: required variables, endpoints and root certificates.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::config::{Credentials, SharedCredentialsProvider};
use lambda_boot::{Environment, dynamodb, sdk_config, with_causes};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};

/// The SHA-256 of Amazon Root CA 1 to 4 and Starfield Services Root CA - G2.
const FINGERPRINTS: [&str; 5] = [
    "8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e",
    "1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4",
    "18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4",
    "e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092",
    "568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5",
];

fn amazon_roots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/amazon-roots.pem")
}

/// A file of this test run.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[track_caller]
fn check(variables: &[(&str, &str)], expected: Result<(), &str>) {
    let variables = variables.iter().copied().collect::<HashMap<_, _>>();
    let environment = Environment::from_fn(|name| variables.get(name).map(ToString::to_string));
    let outcome = dynamodb(&environment).map(|_| ()).map_err(|error| with_causes(&error));
    match (outcome, expected) {
        (Ok(()), Ok(())) => {}
        (Err(error), Err(text)) => assert!(error.contains(text), "{error}"),
        (outcome, _) => panic!("{outcome:?} with {variables:?}"),
    }
}

#[test]
fn a_client_needs_only_a_region() {
    check(&[("AWS_REGION", "eu-central-1")], Ok(()));
    check(&[], Err("AWS_REGION is not set: set it to"));
}

#[test]
fn the_endpoint_is_the_services_own_or_the_one_for_all() {
    let endpoint = |service: &str, variables: &[(&str, &str)]| {
        let variables = variables.iter().copied().collect::<HashMap<_, _>>();
        let environment = Environment::from_fn(|name| variables.get(name).map(ToString::to_string));
        sdk_config(&environment, service).unwrap().endpoint_url().map(ToOwned::to_owned)
    };
    let region = ("AWS_REGION", "eu-central-1");
    let all = ("AWS_ENDPOINT_URL", "http://all");
    for service in ["DYNAMODB", "SNS", "SECRETS_MANAGER"] {
        let name = format!("AWS_ENDPOINT_URL_{service}");
        let own = (name.as_str(), "http://own");
        let other = ("AWS_ENDPOINT_URL_SQS", "http://other");
        assert_eq!(endpoint(service, &[region, other]), None);
        assert_eq!(endpoint(service, &[region, other, all]).as_deref(), Some("http://all"));
        assert_eq!(endpoint(service, &[region, other, all, own]).as_deref(), Some("http://own"));
    }
}

/// Also of a service that this crate does not know.
#[tokio::test]
async fn a_client_of_any_service_can_be_made() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // A connection that is accepted and closed again is seen by the client as a broken one.
    let accepted = std::thread::spawn(move || listener.accept().unwrap());
    let environment = Environment::from_fn(|name| match name {
        "AWS_REGION" => Some("eu-central-1".to_owned()),
        "AWS_ENDPOINT_URL_SECRETS_MANAGER" => Some(url.clone()),
        _ => None,
    });
    let config = sdk_config(&environment, "SECRETS_MANAGER").unwrap().into_builder();
    let credentials = SharedCredentialsProvider::new(Credentials::new("id", "secret", None, None, "test"));
    let client = Client::new(&config.credentials_provider(credentials).build());
    let response = client.get_secret_value().secret_id("gateway").send().await;
    assert!(response.is_err(), "nobody answers");
    accepted.join().unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

#[test]
fn the_built_in_roots_are_amazons() {
    let roots = CertificateDer::pem_file_iter(amazon_roots()).unwrap();
    let fingerprints: Vec<_> = roots.map(|root| hex(&Sha256::digest(root.unwrap()))).collect();
    assert_eq!(fingerprints, FINGERPRINTS);
}

#[test]
fn a_bundle_of_certificates_is_trusted_instead_of_the_built_in_roots() {
    check_bundle(&amazon_roots(), Ok(()));
}

#[test]
fn a_bundle_that_cannot_be_used_stops_at_init() {
    let roots = std::fs::read_to_string(amazon_roots()).unwrap();
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let unusable = [
        ("nothing.pem", String::new()),
        ("no-pem.pem", "roots".to_owned()),
        ("cut-off.pem", roots[..roots.len() - 100].to_owned()),
        ("no-certificate.pem", format!("{roots}{no_certificate}")),
    ];
    for (name, content) in unusable {
        check_bundle(&file(name, content.as_bytes()), Err("must have root certificates in PEM"));
    }
    check_bundle(Path::new("/nowhere.pem"), Err("names /nowhere.pem, which cannot be read: No such file"));
}

#[track_caller]
fn check_bundle(path: &Path, expected: Result<(), &str>) {
    check(&[("AWS_REGION", "eu-central-1"), ("AWS_CA_BUNDLE", path.to_str().unwrap())], expected);
}
