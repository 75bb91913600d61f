//! A missing variable stops the function at init, with a message that says what to set.

use std::collections::HashMap;

use event_handlers::{Config, ConfigError};
use lambda_boot::Environment;
use order_events::EventType;

const COMPLETE: [(&str, &str); 7] = [
    ("_HANDLER", "TicketAccepted"),
    ("ORDER_HISTORY_TABLE", "orders"),
    ("IDEMPOTENCY_TABLE", "records"),
    ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001"),
    ("AWS_LAMBDA_FUNCTION_NAME", "ticket-accepted"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
];

fn read(environment: &HashMap<&str, &str>) -> Result<Config, ConfigError> {
    Config::read(&Environment::from_fn(|name| environment.get(name).map(ToString::to_string)))
}

#[test]
fn a_complete_environment_is_read() {
    let config = read(&COMPLETE.into()).unwrap();
    assert_eq!(config.event_type, EventType::TicketAccepted);
    assert_eq!(config.order_history_table, "orders");
    assert_eq!(config.idempotency_table, "records");
    assert_eq!(config.metrics_namespace, "FtgoOrderHistory", "unless METRICS_NAMESPACE is set");
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

#[test]
fn the_error_for_an_unknown_handler_lists_all_event_types() {
    let mut environment = HashMap::from(COMPLETE);
    environment.insert("_HANDLER", "bootstrap");
    let error = read(&environment).unwrap_err().to_string();
    for event_type in EventType::ALL {
        assert!(error.contains(event_type.name()), "{error}");
    }
}
