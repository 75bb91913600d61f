//! The level of the log. A process has one, so another process sets it: this test once more, with other environment variables.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::process::Command;

use lambda_boot::{Environment, is_logged, log_as_json};
use tracing::Level;

#[test]
fn the_level_is_that_of_the_environment() {
    if std::env::var_os("SET_LEVEL").is_some() {
        log_as_json(&Environment::of_process(), &["level"]);
        let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        println!("levels: {}", levels.into_iter().filter(|level| is_logged(*level)).count());
        return;
    }
    for (log_level, of_lambda, levels, warned) in [
        (None, None, 3, None),
        (Some("DEBUG"), None, 4, None),
        (Some("DEBUG"), Some("ERROR"), 4, None),
        (None, Some("FATAL"), 1, None),
        (Some("LOUD"), None, 3, Some("LOG_LEVEL")),
        (Some("LOUD"), Some("WARN"), 2, Some("LOG_LEVEL")),
        (Some("LOUD"), Some("FATAL"), 1, None),
        (None, Some("loudest"), 3, Some("AWS_LAMBDA_LOG_LEVEL")),
    ] {
        let mut once_more = Command::new(std::env::current_exe().unwrap());
        once_more.args(["--exact", "the_level_is_that_of_the_environment", "--nocapture"]).env("SET_LEVEL", "1");
        for (name, value) in [("LOG_LEVEL", log_level), ("AWS_LAMBDA_LOG_LEVEL", of_lambda)] {
            match value {
                Some(value) => once_more.env(name, value),
                None => once_more.env_remove(name),
            };
        }
        let output = String::from_utf8(once_more.output().unwrap().stdout).unwrap();
        assert!(output.contains(&format!("levels: {levels}")), "{log_level:?} {of_lambda:?}: {output}");
        let warning = output.lines().find(|line| line.contains("WARN"));
        assert_eq!(warning.is_some(), warned.is_some(), "{log_level:?} {of_lambda:?}: {output}");
        if let (Some(line), Some(variable)) = (warning, warned) {
            assert!(line.contains(&format!(r#""variable":"{variable}""#)) && line.contains("FATAL"), "{line}");
        }
    }
}
