//! The function behind every test of this crate: `examples/echo.rs`.

use std::env::consts::EXE_SUFFIX;
use std::time::Duration;

use lambda_host::lambda::Settings;

/// For what is not to come again, and for all waiting: longer than anything here takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Cargo builds the examples for `cargo test`, beside the tests.
pub(crate) fn settings() -> Settings {
    let test = std::env::current_exe().unwrap();
    let binary = test.ancestors().nth(2).unwrap().join("examples").join(format!("echo{EXE_SUFFIX}"));
    assert!(binary.exists(), "run `cargo build -p lambda-host --examples`: there is no {}", binary.display());
    Settings::new("echo", "bootstrap", binary)
}
