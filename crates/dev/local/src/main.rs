//! `make run`: the system on this machine, until Ctrl-C. `local invoke FUNCTION FILE`: one invocation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use lambda_boot::with_causes;
use local::invoke::{Invoked, invoke};
use local::stack::{Authorization, Config, Stack};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets, dynamic_filter_fn};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::prelude::*;

const USAGE: &str =
    "usage: local, or local invoke FUNCTION FILE, as in local invoke OrderCreated events/OrderCreated.json";

#[tokio::main]
async fn main() -> ExitCode {
    // Failures of functions are logged to standard error. Standard output has only the addresses and commands.
    let host = Targets::new().with_target("lambda_host", LevelFilter::WARN);
    let running = dynamic_filter_fn(|_, _| !IS_STOPPING.load(Ordering::Relaxed));
    tracing_subscriber::registry().with(layer().with_writer(std::io::stderr)).with(host).with(running).init();
    // A signal drops the system: the engine's thread and the functions' processes end with it.
    let ended = tokio::select! {
        ended = run() => ended,
        () = stop_signal() => Ok(()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

/// While the system stops, its functions are ended during their work. These failures are not logged.
static IS_STOPPING: AtomicBool = AtomicBool::new(false);

/// Waits for Ctrl-C or SIGTERM.
async fn stop_signal() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    IS_STOPPING.store(true, Ordering::Relaxed);
}

type Error = Box<dyn std::error::Error>;

async fn run() -> Result<(), Error> {
    // The functions' binaries are built beside this one.
    let here = std::env::current_exe().ok().and_then(|exe| exe.parent().map(PathBuf::from)).unwrap_or_default();
    let config = Config::from_env(here)?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => serve(config).await,
        ["invoke", function, file] => invoke_with(&config, function, Path::new(file)).await,
        _ => Err(USAGE.into()),
    }
}

async fn serve(config: Config) -> Result<(), Error> {
    let authorization = config.authorization;
    let stack = Stack::start(config).await?;
    println!("ready {}", stack.http_url());
    println!("  page     {}/", stack.http_url());
    println!("  console  {}/console", stack.http_url());
    println!("{}", stack.endpoints());
    match authorization {
        Authorization::Off => println!("Authorization is off: no token is needed. Try:"),
        Authorization::Unverified => println!("Bearer tokens are required, but their signatures are not checked. Try:"),
    }
    println!("{}", stack.commands_to_try());
    Ok(stack.serve().await?)
}

async fn invoke_with(config: &Config, function: &str, file: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let event = serde_json::from_str(&text).map_err(|error| format!("{} is not JSON: {error}", file.display()))?;
    let Invoked { response, log } = invoke(config, function, event).await?;
    for line in log {
        eprintln!("{line}");
    }
    println!("{}", response?);
    Ok(())
}
