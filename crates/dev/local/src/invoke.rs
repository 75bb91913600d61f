//! Invokes one of the template's functions once, as `sam local invoke` does, but without a container.

use std::net::{Ipv4Addr, TcpStream};

use lambda_host::lambda::{Function, InvokeResult};
use order_events::EventType;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::data_dir::DataDir;
use crate::stack::{Config, Endpoints, StartError, cannot, create_tables, loopback, open_archive, start_gateway};
use crate::template::{self, Payments, Projection, Template};

/// The result of an invocation.
#[derive(Debug)]
pub struct Invoked {
    /// The function's response, or why there is none.
    pub response: InvokeResult,
    /// The function's output, line by line.
    pub log: Vec<String>,
}

/// Why the function was not invoked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such function.
    #[error("unknown function {name}; expected one of {}", names())]
    NoFunction {
        /// The name in the command.
        name: String,
    },
    /// The function publishes events, but no system runs that would receive them.
    #[error("{name} needs a running system: without one, its events would be lost. Start one with make run")]
    NoTopic {
        /// The name in the command.
        name: String,
    },
    /// The tables, the archive or the gateway cannot be used.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// The names of the functions that have no event type, and the names in `payments.json` of those of Payments.
const QUERY_API: &str = "query-api";
const ARCHIVER: &str = "archiver";
const PAYMENT_FUNCTIONS: [(&str, &str); 5] = [
    ("payment-api", Payments::API),
    ("charge", "charge"),
    ("reconcile", "reconcile"),
    ("relay", Payments::RELAY),
    ("sweep", Payments::SWEEP),
];

/// Invokes a function with an event. `name` is an event type, `query-api`, `archiver`, `payment-api`, `charge`, `reconcile`, `relay` or `sweep`.
///
/// The function uses the tables, the archive and the payment gateway of the running system, or the data of the last one.
pub async fn invoke(config: &Config, name: &str, event: Value) -> Result<Invoked, Error> {
    let function = find(name)?;
    let is_running = TcpStream::connect((Ipv4Addr::LOCALHOST, config.dynamodb_port)).is_ok();
    if is_running {
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        let (dynamodb, sns) = (at(config.dynamodb_port), at(config.sns_port));
        let (s3, gateway) = (at(config.s3_port), at(config.gateway_port));
        return run(config, name, &function, &Endpoints { dynamodb, sns, s3, gateway }, event).await;
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
    let endpoints = Endpoints { dynamodb: engine.endpoint(), sns, s3, gateway: gateway.url() };
    run(config, name, &function, &endpoints, event).await
}

async fn run(
    config: &Config,
    name: &str,
    function: &template::Function,
    endpoints: &Endpoints,
    event: Value,
) -> Result<Invoked, Error> {
    let settings = config.function(function, endpoints)?;
    let function = Function::start(settings).await.map_err(|source| cannot(&format!("invoke {name}"), source))?;
    let response = function.invoke(event).await;
    // This fails only if the process has already ended.
    let log = function.stop().await.unwrap_or_default();
    Ok(Invoked { response, log })
}

fn find(name: &str) -> Result<template::Function, Error> {
    if name == QUERY_API {
        return Ok(Template::read().map_err(StartError::from)?.http.query_api);
    }
    if name == ARCHIVER {
        return Ok(Template::read().map_err(StartError::from)?.archive.archiver);
    }
    if let Some((_, in_template)) = PAYMENT_FUNCTIONS.iter().find(|(known, _)| *known == name) {
        let payments = Payments::read().map_err(StartError::from)?;
        return Ok(payments.function(in_template).map_err(StartError::from)?.clone());
    }
    let event_type = EventType::ALL.iter().find(|event_type| event_type.name() == name);
    let event_type = event_type.ok_or_else(|| Error::NoFunction { name: name.to_owned() })?;
    Ok(Projection::of(*event_type).map_err(StartError::from)?.handler)
}

fn names() -> String {
    let names = EventType::ALL.iter().map(|event_type| event_type.name()).chain([QUERY_API, ARCHIVER]);
    names.chain(PAYMENT_FUNCTIONS.map(|(name, _)| name)).collect::<Vec<_>>().join(", ")
}
