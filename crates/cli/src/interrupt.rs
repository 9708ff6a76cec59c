//! Waiting for Ctrl-C or SIGTERM.

use std::io;
use std::time::Duration;

/// Waits for Ctrl-C, or for the SIGTERM that a service manager sends. From the call on, neither ends the process.
pub fn interrupted() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{Signal, SignalKind, signal};
        let (interrupt, end) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        );
        // Without a handler, the signal ends the process while this waits.
        let received = |signal: io::Result<Signal>| async move {
            match signal {
                Ok(mut signal) => signal.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        async move {
            tokio::select! {
                _ = received(interrupt) => {}
                _ = received(end) => {}
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

/// Waits for SIGTERM, which a service manager sends, or SIGHUP, which a terminal sends at its end, and returns its
/// name as `kill` takes it. From the call on, neither ends the process.
pub fn asked_to_end() -> impl Future<Output = &'static str> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = signal(SignalKind::terminate());
        terminate.and_then(|terminate| {
            let hang_up = match ignores_hangup() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            };
            Ok((terminate, hang_up))
        })
    };
    async move {
        #[cfg(unix)]
        if let Ok((mut terminate, hang_up)) = signals {
            let hung_up = async {
                match hang_up {
                    Some(mut hang_up) => hang_up.recv().await,
                    None => std::future::pending().await,
                }
            };
            return tokio::select! {
                _ = terminate.recv() => "TERM",
                _ = hung_up => "HUP",
            };
        }
        std::future::pending().await
    }
}

/// Returns true if SIGHUP is ignored, as under `nohup`: it stays so, for the client too.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1.
    ignored.is_some_and(|mask| mask & 1 == 1)
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
