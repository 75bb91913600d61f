//! Interrupts.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for Ctrl-C or SIGTERM. While this value exists, neither ends the process
/// directly.
pub(super) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// Installs the handlers.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Returns when the process should stop.
    pub(super) async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
