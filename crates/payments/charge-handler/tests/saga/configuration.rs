//! The configuration of a function.

use std::time::Duration;

use charge_handler::{Config, ConfigError, Role};
use lambda_boot::Environment;
use payment_store::Tables;

const VARIABLES: [(&str, &str); 8] = [
    ("_HANDLER", "charge"),
    ("PAYMENTS_TABLE", "ftgo-payments"),
    ("OUTBOX_TABLE", "ftgo-payments-outbox"),
    ("LOCKS_TABLE", "ftgo-payments-locks"),
    ("AWS_LAMBDA_RUNTIME_API", "localhost"),
    ("AWS_LAMBDA_FUNCTION_NAME", "charge"),
    ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
    ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
];

fn read(changed: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::read(&Environment::from_fn(|name| {
        let all = changed.iter().chain(&VARIABLES);
        all.into_iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }))
}

#[test]
fn all_settings_are_read_from_the_environment() {
    let config = read(&[]).unwrap();
    let expected = Config {
        role: Role::Charge,
        tables: Tables { idempotency: String::new(), ..Tables::with_prefix("ftgo-payments") },
        metrics_namespace: "FtgoPayments".to_owned(),
        reconcile_after: Duration::from_mins(5),
    };
    assert_eq!(config, expected);
    let other =
        read(&[("_HANDLER", "reconcile"), ("RECONCILE_AFTER_SECONDS", "20"), ("METRICS_NAMESPACE", "x")]).unwrap();
    let (role, reconcile_after) = (Role::Reconcile, Duration::from_secs(20));
    assert_eq!(other, Config { role, reconcile_after, metrics_namespace: "x".to_owned(), ..expected });
}

#[test]
fn the_error_names_the_missing_or_wrong_setting() {
    for (name, _) in VARIABLES {
        let error = read(&[(name, "")]).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    assert_eq!(read(&[("_HANDLER", "bootstrap")]), Err(ConfigError::Handler));
    assert_eq!(read(&[("RECONCILE_AFTER_SECONDS", "soon")]), Err(ConfigError::ReconcileAfter));
}
