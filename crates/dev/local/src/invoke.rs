//! One invocation of a function as the template has it: what `sam local invoke` does, without a container.

use std::net::{Ipv4Addr, TcpStream};

use lambda_host::lambda::{Answer, Function};
use order_events::EventType;
use serde_json::Value;

use crate::data_dir::DataDir;
use crate::stack::{Config, StartError, create_tables};
use crate::template::{self, Projection, Template};

/// What came of an invocation.
#[derive(Debug)]
pub struct Invoked {
    /// What the function answered, or why it did not.
    pub answer: Answer,
    /// What it printed.
    pub log: Vec<String>,
}

/// Why it was not invoked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such function.
    #[error("there is no function {name}: name an event type ({}), or query-api", event_types())]
    NoFunction {
        /// As it was called.
        name: String,
    },
    /// What it needs is not there.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Invokes a function, which is called by its event type or `query-api`, with an event.
///
/// It sees the tables of a system that runs, else the ones that the last one left.
pub async fn invoke(config: &Config, name: &str, event: Value) -> Result<Invoked, Error> {
    let function = find(name)?;
    let running = TcpStream::connect((Ipv4Addr::LOCALHOST, config.dynamodb_port)).is_ok();
    let data = if running { None } else { Some(DataDir::open(&config.data_dir)?) };
    let engine = data.as_ref().map(|data| data.open_engine(0)).transpose()?;
    let dynamodb = match &engine {
        Some(engine) => {
            create_tables(engine).await?;
            engine.endpoint()
        }
        None => format!("http://127.0.0.1:{}", config.dynamodb_port),
    };
    let settings = config.function(&function, &dynamodb)?;
    let not_invoked = |source| StartError::Io { what: format!("invoke {name}"), source };
    let function = Function::start(settings).await.map_err(not_invoked)?;
    let answer = function.invoke(event).await;
    // A process that cannot be stopped has ended, and has said what it had to say.
    let log = function.stop().await.unwrap_or_default();
    Ok(Invoked { answer, log })
}

fn find(name: &str) -> Result<template::Function, Error> {
    if name == "query-api" {
        return Ok(Template::read().map_err(StartError::from)?.http.query_api);
    }
    let event_type = EventType::ALL.iter().find(|event_type| event_type.name() == name);
    let event_type = event_type.ok_or_else(|| Error::NoFunction { name: name.to_owned() })?;
    Ok(Projection::of(*event_type).map_err(StartError::from)?.handler)
}

fn event_types() -> String {
    EventType::ALL.iter().map(|event_type| event_type.name()).collect::<Vec<_>>().join(", ")
}
