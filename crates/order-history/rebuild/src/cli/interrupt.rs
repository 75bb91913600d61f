//! Who stops a run.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for somebody to stop the process, by Ctrl-C or SIGTERM. From the moment that this value exists, neither ends the process
/// by itself.
pub(super) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// Begins to wait.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Returns when the process is to stop.
    pub(super) async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
