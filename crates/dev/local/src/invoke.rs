//! One invocation of a function as the template has it: what `sam local invoke` does, without a container.

use std::net::{Ipv4Addr, TcpStream};

use lambda_host::lambda::{Answer, Function};
use order_events::EventType;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::data_dir::DataDir;
use crate::stack::{Config, Places, StartError, cannot, create_tables, loopback, open_archive, start_gateway};
use crate::template::{self, Payments, Projection, Template};

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
    #[error("there is no function {name}: name one of {}", names())]
    NoFunction {
        /// As it was called.
        name: String,
    },
    /// It publishes, and nobody would hear it.
    #[error("{name} needs a running system: what it publishes would be lost. Start one with make run")]
    NoTopic {
        /// The function.
        name: String,
    },
    /// What it needs is not there.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// The functions that are not called by an event type, and what `payments.json` calls those of Payments.
const QUERY_API: &str = "query-api";
const ARCHIVER: &str = "archiver";
const OF_PAYMENTS: [(&str, &str); 5] = [
    ("payment-api", Payments::API),
    ("charge", "charge"),
    ("reconcile", "reconcile"),
    ("relay", Payments::RELAY),
    ("sweep", Payments::SWEEP),
];

/// Invokes a function, which is called by its event type, `query-api`, `archiver`, `payment-api`, `charge`, `reconcile`, `relay` or `sweep`, with
/// an event.
///
/// It sees the tables, the archive and the payment gateway of a system that runs, else the ones that the last one left.
pub async fn invoke(config: &Config, name: &str, event: Value) -> Result<Invoked, Error> {
    let function = find(name)?;
    let is_running = TcpStream::connect((Ipv4Addr::LOCALHOST, config.dynamodb_port)).is_ok();
    if is_running {
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        let (dynamodb, sns) = (at(config.dynamodb_port), at(config.sns_port));
        let (s3, gateway) = (at(config.s3_port), at(config.gateway_port));
        return run(config, name, &function, &Places { dynamodb, sns, s3, gateway }, event).await;
    }
    if function.environment.contains_key("TOPIC_ARN") {
        return Err(Error::NoTopic { name: name.to_owned() });
    }
    let data = DataDir::open(&config.data_dir)?;
    let engine = data.open_engine(0)?;
    create_tables(&engine).await?;
    let port = TcpListener::bind(loopback(0)).await.map_err(|source| cannot("open a port", source))?;
    let gateway = start_gateway(port, &data)?;
    let buckets = open_archive(&data)?;
    let port = TcpListener::bind(loopback(0)).await.map_err(|source| cannot("open a port", source))?;
    let s3 = port.local_addr().map_err(|source| cannot("open a port", source))?;
    let mut servers = JoinSet::new();
    servers.spawn(async move { buckets.serve(port).await });
    let (sns, s3) = (String::new(), format!("http://{s3}"));
    let places = Places { dynamodb: engine.endpoint(), sns, s3, gateway: gateway.url() };
    run(config, name, &function, &places, event).await
}

async fn run(
    config: &Config,
    name: &str,
    function: &template::Function,
    places: &Places,
    event: Value,
) -> Result<Invoked, Error> {
    let settings = config.function(function, places)?;
    let function = Function::start(settings).await.map_err(|source| cannot(&format!("invoke {name}"), source))?;
    let answer = function.invoke(event).await;
    // A process that cannot be stopped has ended, and has said what it had to say.
    let log = function.stop().await.unwrap_or_default();
    Ok(Invoked { answer, log })
}

fn find(name: &str) -> Result<template::Function, Error> {
    if name == QUERY_API {
        return Ok(Template::read().map_err(StartError::from)?.http.query_api);
    }
    if name == ARCHIVER {
        return Ok(Template::read().map_err(StartError::from)?.archive.archiver);
    }
    if let Some((_, in_template)) = OF_PAYMENTS.iter().find(|(known, _)| *known == name) {
        let payments = Payments::read().map_err(StartError::from)?;
        return Ok(payments.function(in_template).map_err(StartError::from)?.clone());
    }
    let event_type = EventType::ALL.iter().find(|event_type| event_type.name() == name);
    let event_type = event_type.ok_or_else(|| Error::NoFunction { name: name.to_owned() })?;
    Ok(Projection::of(*event_type).map_err(StartError::from)?.handler)
}

fn names() -> String {
    let names = EventType::ALL.iter().map(|event_type| event_type.name()).chain([QUERY_API, ARCHIVER]);
    names.chain(OF_PAYMENTS.map(|(name, _)| name)).collect::<Vec<_>>().join(", ")
}
