//! Who stops a run.

use tokio::signal::unix::{SignalKind, signal};

/// Waits until the process is asked to stop, by Ctrl-C or SIGTERM.
pub(super) async fn interrupted() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => _ = tokio::signal::ctrl_c().await,
    }
}
