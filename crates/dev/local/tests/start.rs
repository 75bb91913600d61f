//! The binary of `make run`, where it does not start.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on should stop there.

use std::net::TcpListener;
use std::process::Command;

#[test]
fn a_taken_port_is_said_with_what_to_set() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for variable in ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT"] {
        let expected = format!("error: port {port} is taken: stop what uses it, or set {variable} to another\n");
        check(variable, &port.to_string(), &expected);
    }
}

#[test]
fn a_setting_that_is_no_number_is_said() {
    check("SQS_PORT", "queue", "error: environment variable SQS_PORT must be a port number\n");
    for seconds in ["0", "43201", "soon"] {
        let expected = "error: environment variable VISIBILITY_TIMEOUT must be a number of seconds, from 1 to 43200\n";
        check("VISIBILITY_TIMEOUT", seconds, expected);
    }
}

#[track_caller]
fn check(variable: &str, value: &str, expected: &str) {
    let data = std::env::temp_dir().join(format!("local-start-{}-{variable}-{value}", std::process::id()));
    let ended = Command::new(env!("CARGO_BIN_EXE_local"))
        .envs([("HTTP_PORT", "0"), ("DYNAMODB_PORT", "0"), ("SQS_PORT", "0"), ("DEMO", "0")])
        .env("DATA_DIR", &data)
        .env(variable, value)
        .output()
        .unwrap();
    // It is not there if the start ended before it was needed.
    let _ = std::fs::remove_dir_all(data);
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), expected);
    assert!(!ended.status.success());
}
