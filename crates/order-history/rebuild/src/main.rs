//! Builds the order history again from the archive. `rebuild --help` lists the commands.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The fold allocates for each attribute of each event.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Each thread keeps memory of its own, so there are not many more than there is work for at once: a file that is folded, and
    // files that are read and written.
    let threads = 4 * rebuild::execution::jobs();
    match tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(threads).build() {
        Ok(runtime) => runtime.block_on(rebuild::cli::main()),
        Err(error) => {
            eprintln!("error: no threads can be started: {error}");
            ExitCode::FAILURE
        }
    }
}
