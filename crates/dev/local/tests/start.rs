//! The binary of `make run`, where it does not start.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on should stop there.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

const PORTS: [&str; 6] = ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT"];

#[test]
fn a_taken_port_is_said_with_what_to_set() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for variable in PORTS {
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

#[test]
fn a_way_to_charge_that_there_is_not_is_said() {
    check("CHARGE_MODE", "twice", "error: environment variable CHARGE_MODE must be saga or locked, or not be set\n");
}

#[test]
fn a_folder_that_cannot_be_used_is_said_with_what_to_set() {
    let folder = Folder::new("no-folder");
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    let said = said(&[("DATA_DIR", file.as_os_str())]);
    let expected =
        format!("error: cannot keep data in {}: set DATA_DIR to a folder that can be written: ", file.display());
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn tables_that_cannot_be_read_are_said_with_what_to_do() {
    let folder = Folder::new("no-tables");
    let file = folder.0.join("dynamodb.sqlite");
    let garbage = [7; 10_000];
    fs::write(&file, garbage).unwrap();
    let said = said(&[("DATA_DIR", folder.0.as_os_str())]);
    let expected = format!(
        "error: cannot open the tables in {}: move the file away to start without them, or set DATA_DIR to another folder: ",
        file.display()
    );
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(fs::read(&file).unwrap(), garbage, "they may be somebody's");
}

#[track_caller]
fn check(variable: &str, value: &str, expected: &str) {
    let folder = Folder::new(&format!("{variable}-{value}"));
    let said = said(&[("DATA_DIR", folder.0.as_os_str()), (variable, value.as_ref())]);
    assert_eq!(said, expected);
}

#[test]
fn without_a_running_system_nothing_is_published_into_nowhere() {
    let folder = Folder::new("no-topic");
    for function in ["relay", "sweep"] {
        let said = said_to(
            &["invoke", function, concat!(env!("CARGO_MANIFEST_DIR"), "/payments.json")],
            &[("DATA_DIR", folder.0.as_os_str())],
        );
        let expected = format!(
            "error: {function} needs a running system: what it publishes would be lost. Start one with make run\n"
        );
        assert_eq!(said, expected);
    }
}

/// What a system says that does not start.
#[track_caller]
fn said(settings: &[(&str, &OsStr)]) -> String {
    said_to(&[], settings)
}

#[track_caller]
fn said_to(arguments: &[&str], settings: &[(&str, &OsStr)]) -> String {
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
