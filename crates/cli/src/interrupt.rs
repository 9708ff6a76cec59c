//! Waiting for Ctrl-C or SIGTERM.

/// Waits for Ctrl-C, or for the SIGTERM that a service manager sends.
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
    // Without a handler, the signal ends the process while this waits.
    let _ = interrupt.await;
}

/// Waits for Ctrl-C.
pub async fn key() {
    // Without a handler, the signal ends the process while this waits.
    let _ = tokio::signal::ctrl_c().await;
}

/// Waits for the SIGTERM that a service manager sends.
pub async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut end) = signal(SignalKind::terminate()) {
            end.recv().await;
            return;
        }
    }
    std::future::pending().await
}
