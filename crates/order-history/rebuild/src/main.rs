//! Rebuilds the order history from the archive. `rebuild --help` lists the commands.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The fold allocates for each attribute of each event.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Each thread keeps its own memory, so there are only as many threads as can work at the same time: one folds a
    // file, the others read and write files.
    let threads = 4 * rebuild::execution::jobs();
    match tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(threads).build() {
        Ok(runtime) => runtime.block_on(rebuild::cli::main()),
        Err(error) => {
            eprintln!("error: threads cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}
