//! A function without an event source, and its output.

use std::fs;
use std::path::PathBuf;

use lambda_host::lambda::{Function, Settings};
use serde_json::json;
use uuid::Uuid;

use crate::echo::settings;

#[tokio::test]
async fn a_functions_output_is_kept_even_if_it_is_not_utf_8() {
    let function = Function::start(settings()).await.unwrap();
    for _ in 0..2 {
        function.invoke(json!({"rawPath": "/print"})).await.unwrap();
    }
    assert_eq!(function.stop().await.unwrap(), ["\u{fffd}", "printed", "\u{fffd}", "printed"]);
}

#[tokio::test]
async fn a_log_file_is_created_with_its_folder() {
    let folder = Folder::new();
    for again in [false, true] {
        let logs = folder.0.join("some/logs");
        let log_file = logs.join("echo.log");
        print(&log_file).await;
        assert_eq!(fs::read_to_string(log_file).unwrap(), "\u{fffd}\nprinted\n", "again: {again}");
        fs::remove_dir_all(logs).unwrap();
    }
}

#[tokio::test]
async fn a_deleted_log_file_is_created_again_by_the_same_process() {
    let folder = Folder::new();
    let log_file = folder.0.join("logs/echo.log");
    let function = Function::start(Settings { log_file: Some(log_file.clone()), ..settings() }).await.unwrap();
    function.invoke(json!({"rawPath": "/print"})).await.unwrap();
    while fs::read_to_string(&log_file).unwrap().lines().count() < 2 {
        tokio::task::yield_now().await;
    }
    fs::remove_dir_all(folder.0.join("logs")).unwrap();
    function.invoke(json!({"rawPath": "/print"})).await.unwrap();
    assert_eq!(function.stop().await.unwrap().len(), 4);
    assert_eq!(fs::read_to_string(log_file).unwrap(), "\u{fffd}\nprinted\n");
}

#[tokio::test]
async fn a_log_file_that_cannot_be_created_does_not_stop_the_function() {
    let folder = Folder::new();
    fs::write(folder.0.join("file"), "").unwrap();
    print(&folder.0.join("file/logs/echo.log")).await;
    fs::create_dir(folder.0.join("echo.log")).unwrap();
    print(&folder.0.join("echo.log")).await;
}

/// Starts a function, lets it print, and stops it.
async fn print(log_file: &std::path::Path) {
    let settings = Settings { log_file: Some(log_file.to_owned()), ..settings() };
    let function = Function::start(settings).await.unwrap();
    function.invoke(json!({"rawPath": "/print"})).await.unwrap();
    assert_eq!(function.stop().await.unwrap().len(), 2);
}

/// A folder that is removed with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("lambda-host-{}", Uuid::new_v4()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
