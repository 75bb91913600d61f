//! The level of the log. A process has one, so this test has a file of its own.

use lambda_boot::{Environment, is_logged, log_as_json};
use tracing::Level;

#[test]
fn fatal_logs_errors_only() {
    let environment = Environment::from_fn(|name| (name == "AWS_LAMBDA_LOG_LEVEL").then(|| "FATAL".to_owned()));
    log_as_json(&environment, &["level_fatal"]);
    assert!(is_logged(Level::ERROR));
    assert!(!is_logged(Level::WARN));
}
