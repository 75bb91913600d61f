//! What a function does before its first invocation. It needs no AWS: a client sends nothing until it is used.
//!
//! `cargo run --example start`, or with variables: `LOG_LEVEL=DEBUG AWS_REGION=eu-west-1 cargo run --example start`

use std::time::SystemTime;

use lambda_boot::{Environment, Line, dynamodb, is_logged, log_as_json, with_causes};
use tracing::Level;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let environment = Environment::from_fn(|name| match (name, std::env::var(name)) {
        (_, Ok(value)) => Some(value),
        // Lambda sets it. On this machine it may be missing.
        ("AWS_REGION", Err(_)) => Some("eu-central-1".to_owned()),
        (_, Err(_)) => None,
    });
    log_as_json(&environment, &["start"]);
    let client = dynamodb(&environment)?;
    let region = client.config().region().map(ToString::to_string);
    tracing::info!(region, "the client is ready");

    if let Err(missing) = environment.needed("TOPIC_ARN", "the ARN of the topic to which events are published") {
        tracing::warn!(error = with_causes(&missing), "a function would stop here");
    }

    let metrics = Line::new(Level::INFO, SystemTime::now()).in_namespace("Example", &[("Function", "start")]);
    println!("{}", metrics.count("Started", 1).with("message", "started"));
    if is_logged(Level::DEBUG) {
        println!("{}", Line::new(Level::DEBUG, SystemTime::now()).with("message", "shown with LOG_LEVEL=DEBUG"));
    }
    Ok(())
}
