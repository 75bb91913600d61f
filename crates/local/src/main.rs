//! `make run`: the system on this machine, until Ctrl-C.

use std::path::PathBuf;
use std::process::ExitCode;

use lambda_boot::with_causes;
use local::stack::{Authorization, Config, Stack, StartError, commands_to_try};
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

#[tokio::main]
async fn main() -> ExitCode {
    // What a function failed at is told as it happens; standard output is for what to do next.
    let ours = Targets::new().with_target("local", LevelFilter::WARN);
    tracing_subscriber::registry().with(layer().with_writer(std::io::stderr)).with(ours).init();
    // A signal drops the system: the engine's thread and the functions' processes end with it.
    let ended = tokio::select! {
        ended = run() => ended,
        () = asked_to_stop() => Ok(()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

/// Ctrl-C, or what a supervisor sends.
async fn asked_to_stop() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

async fn run() -> Result<(), StartError> {
    // The functions' binaries are built beside this one.
    let here = std::env::current_exe().ok().and_then(|exe| exe.parent().map(PathBuf::from)).unwrap_or_default();
    let config = Config::from_env(here)?;
    let (port, sqs_port, authorization) = (config.http_port, config.sqs_port, config.authorization);
    let stack = Stack::start(config).await?;
    println!("ready http://127.0.0.1:{port}");
    match authorization {
        Authorization::Off => println!("authorization is off: everybody sees everything. Try:"),
        Authorization::Unverified => println!("bearer tokens count, but their signatures are not checked. Try:"),
    }
    println!("{}", commands_to_try(port, sqs_port));
    stack.serve().await
}
