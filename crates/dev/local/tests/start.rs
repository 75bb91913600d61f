//! The errors of `make run` when it cannot start.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

const PORTS: [&str; 6] = ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT"];

#[test]
fn a_port_in_use_is_an_error_that_names_the_variable() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for variable in PORTS {
        let expected =
            format!("error: port {port} is in use: stop the program that uses it, or set {variable} to another port\n");
        check(variable, &port.to_string(), &expected);
    }
}

#[test]
fn a_setting_that_is_not_a_number_is_an_error() {
    check("SQS_PORT", "queue", "error: environment variable SQS_PORT must be a port number\n");
    for seconds in ["0", "43201", "soon"] {
        let expected = "error: environment variable VISIBILITY_TIMEOUT must be a number of seconds, from 1 to 43200\n";
        check("VISIBILITY_TIMEOUT", seconds, expected);
    }
}

#[test]
fn an_unknown_charge_mode_is_an_error() {
    check("CHARGE_MODE", "twice", "error: environment variable CHARGE_MODE must be saga or locked, or unset\n");
}

#[test]
fn an_unusable_folder_is_an_error_that_names_the_variable() {
    let folder = Folder::new("no-folder");
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    let error_output = error_output(&[("DATA_DIR", file.as_os_str())]);
    let expected = format!("error: cannot store data in {}: set DATA_DIR to a writable folder: ", file.display());
    assert!(error_output.starts_with(&expected), "{error_output}");
}

#[test]
fn unreadable_tables_are_an_error_that_says_what_to_do() {
    let folder = Folder::new("no-tables");
    let file = folder.0.join("dynamodb.sqlite");
    let garbage = [7; 10_000];
    fs::write(&file, garbage).unwrap();
    let error_output = error_output(&[("DATA_DIR", folder.0.as_os_str())]);
    let expected = format!(
        "error: cannot open the tables in {}: move the file away to start without them, or set DATA_DIR to another folder: ",
        file.display()
    );
    assert!(error_output.starts_with(&expected), "{error_output}");
    assert_eq!(fs::read(&file).unwrap(), garbage, "the file must not be changed");
}

#[track_caller]
fn check(variable: &str, value: &str, expected: &str) {
    let folder = Folder::new(&format!("{variable}-{value}"));
    let error_output = error_output(&[("DATA_DIR", folder.0.as_os_str()), (variable, value.as_ref())]);
    assert_eq!(error_output, expected);
}

#[test]
fn without_a_running_system_a_publishing_function_is_not_invoked() {
    let folder = Folder::new("no-topic");
    for function in ["relay", "sweep"] {
        let error_output = error_output_of(
            &["invoke", function, concat!(env!("CARGO_MANIFEST_DIR"), "/payments.json")],
            &[("DATA_DIR", folder.0.as_os_str())],
        );
        let expected = format!(
            "error: {function} needs a running system: without one, its events would be lost. Start one with make run\n"
        );
        assert_eq!(error_output, expected);
    }
}

/// The error output of a system that does not start.
#[track_caller]
fn error_output(settings: &[(&str, &OsStr)]) -> String {
    error_output_of(&[], settings)
}

#[track_caller]
fn error_output_of(arguments: &[&str], settings: &[(&str, &OsStr)]) -> String {
    let ended = Command::new(env!("CARGO_BIN_EXE_local"))
        .args(arguments)
        .envs(PORTS.map(|variable| (variable, "0")))
        .env("DEMO", "0")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    assert!(!ended.status.success());
    String::from_utf8(ended.stderr).unwrap()
}

/// A folder that is removed with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("local-start-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
