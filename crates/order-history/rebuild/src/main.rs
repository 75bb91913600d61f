//! Builds the order history again from the archive. `rebuild --help` lists the commands.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The fold allocates for each attribute of each event.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    rebuild::cli::main().await
}
