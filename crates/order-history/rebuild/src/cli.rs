//! The command line.

mod arguments;
mod fold;
mod interrupt;
mod output;
mod snapshot;
mod verify;
mod work;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;
use lambda_boot::{ConnectError, with_causes};

use self::arguments::{Arguments, Command};
use crate::error::Error;

/// Success.
const CLEAN: u8 = 0;
/// The command failed. Standard error says what to do.
const FAILED: u8 = 1;
/// The arguments are invalid. `clap` uses the same code.
const USAGE: u8 = 2;
/// Some lines could not be read, or some orders could not be stored.
const QUARANTINED: u8 = 3;
/// Some files, or parts of them, could not be decoded.
const DAMAGED: u8 = 4;
/// Somebody stopped the process. Its results are kept.
const INTERRUPTED: u8 = 130;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the orders do not fit into memory: use more partitions, or a larger --memory")]
    Whole,
    #[error(transparent)]
    Stopped(#[from] Error),
    #[error("standard input or output cannot be used")]
    Pipe(#[from] std::io::Error),
}

/// Runs the command that the process was started with.
pub async fn main() -> ExitCode {
    let Arguments { command, json } = Arguments::parse();
    let ended = match command {
        Command::Plan(what) => work::plan(what, json).await,
        Command::Run(run) => Box::pin(work::run(*run, json)).await,
        Command::Status(which) => work::status(which, json).await,
        Command::Verify(verify) => verify::verify(verify, json).await,
        Command::Snapshot(snapshot) => Box::pin(snapshot::snapshot(snapshot, json)).await,
        Command::Fold(fold) => fold::fold(&fold).await,
    };
    let code = ended.unwrap_or_else(|failure| {
        let _ = writeln!(stderr(), "error: {}", with_causes(&failure));
        let is_usage = matches!(failure, Failure::Usage(_) | Failure::Stopped(Error::RunId));
        if is_usage { USAGE } else { FAILED }
    });
    ExitCode::from(code)
}
