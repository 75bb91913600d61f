//! The level of the log. A process has one, so this test has a file of its own.

use lambda_boot::{Environment, is_logged, log_as_json};
use tracing::Level;

#[test]
fn the_level_is_that_of_the_environment() {
    let environment = Environment::from_fn(|name| (name == "LOG_LEVEL").then(|| "DEBUG".to_owned()));
    log_as_json(&environment, &["level"]);
    assert!(is_logged(Level::DEBUG));
    assert!(!is_logged(Level::TRACE));
}
