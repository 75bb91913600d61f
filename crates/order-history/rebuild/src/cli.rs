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

/// All went well.
const CLEAN: u8 = 0;
/// It failed, and what to do is said on standard error.
const FAILED: u8 = 1;
/// The command cannot be understood. It is the code that `clap` ends with, too.
const USAGE: u8 = 2;
/// Lines could not be read, or orders not be stored; all others are.
const QUARANTINED: u8 = 3;
/// Files, or parts of them, could not be decoded; all others are.
const DAMAGED: u8 = 4;
/// Somebody stopped it. What it did stays done.
const INTERRUPTED: u8 = 130;

/// Why a command ends early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the orders do not fit into the memory: use more partitions, or a larger --memory")]
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
