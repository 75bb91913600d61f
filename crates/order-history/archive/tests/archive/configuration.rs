//! A missing variable stops the function at init, with a message that says what to set.

use std::collections::HashMap;

use archive::{Config, Location};
use lambda_boot::Environment;

const COMPLETE: [(&str, &str); 5] = [
    ("ARCHIVE_BUCKET", "ftgo-archive"),
    ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001"),
    ("AWS_LAMBDA_FUNCTION_NAME", "archiver"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
];

fn read(environment: &HashMap<&str, &str>) -> Result<Config, lambda_boot::Missing> {
    Config::read(&Environment::from_fn(|name| environment.get(name).map(ToString::to_string)))
}

#[test]
fn a_complete_environment_is_read() {
    let config = read(&COMPLETE.into()).unwrap();
    assert_eq!(config.location, Location::in_bucket("ftgo-archive", ""));
    assert_eq!(config.metrics_namespace, "FtgoOrderHistory", "the default");

    let mut environment = HashMap::from(COMPLETE);
    environment.extend([("ARCHIVE_PREFIX", "order-history"), ("METRICS_NAMESPACE", "ftgo-staging")]);
    let config = read(&environment).unwrap();
    assert_eq!(config.location.to_string(), "s3://ftgo-archive/order-history/");
    assert_eq!(config.metrics_namespace, "ftgo-staging");
}

#[test]
fn each_missing_or_empty_variable_is_named() {
    for (name, _) in COMPLETE {
        let mut environment = HashMap::from(COMPLETE);
        environment.remove(name);
        let missing = read(&environment).unwrap_err();
        assert!(missing.to_string().contains(&format!("{name} is not set: set it to")), "{missing}");

        environment.insert(name, "");
        assert_eq!(read(&environment).unwrap_err(), missing);
    }
}
