//! Waiting for Ctrl-C or SIGTERM.

use std::time::Duration;

/// Waits for Ctrl-C, or for the SIGTERM that a service manager sends. From the call on, neither ends the process.
pub fn interrupted() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        );
        async move {
            // Without a handler, the signal ends the process while this waits.
            let (Ok(mut interrupt), Ok(mut end)) = signals else {
                return std::future::pending().await;
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = end.recv() => {}
            }
        }
    }
    #[cfg(not(unix))]
    key()
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

/// Ends the process after an interrupt, once so much time has passed: the command itself should end sooner, but
/// it may be blocked, as by standard output that nothing reads.
pub fn exit_after_interrupt(grace: Duration) {
    let wait = move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let Ok(runtime) = runtime.enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            interrupted().await;
            tokio::time::sleep(grace).await;
        });
        #[expect(
            clippy::disallowed_methods,
            reason = "main cannot return while it is blocked"
        )]
        std::process::exit(1);
    };
    let thread = std::thread::Builder::new().name("interrupt".to_owned());
    // Without the thread, the command ends when it can.
    let _ = thread.spawn(wait);
}
