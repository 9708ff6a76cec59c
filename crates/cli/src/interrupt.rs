//! When a program that runs on is to end.

/// Waits for an interrupt, or for the request to end that a service manager sends.
pub async fn interrupted() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut end) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = end.recv() => {}
            }
            return;
        }
    }
    // Without a handler there is nothing to wait for but the end of the process.
    let _ = interrupt.await;
}
