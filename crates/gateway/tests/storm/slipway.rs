//! Where gateways are started: one process that has loaded the vocabulary, and makes each of them as a copy of
//! itself. Loading it anew costs three quarters of a run.

use std::io::{self, BufRead, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio, exit};
use std::sync::{Mutex, OnceLock, PoisonError};

use fork::ProcessFork;

use crate::vessel::{Orders, asked};

/// The process, for as long as this one lasts.
static SLIPWAY: OnceLock<Mutex<Child>> = OnceLock::new();

/// Has a gateway started, which connects to the socket that it is told.
pub fn launch(orders: &Orders) {
    let slipway = SLIPWAY.get_or_init(|| Mutex::new(start()));
    let mut slipway = slipway.lock().unwrap_or_else(PoisonError::into_inner);
    let stdin = slipway.stdin.as_mut().unwrap();
    writeln!(stdin, "{}", serde_json::to_string(orders).unwrap()).unwrap();
}

fn start() -> Child {
    Command::new(std::env::current_exe().unwrap())
        // With one test at a time, nothing else runs while a copy is made.
        .args([
            "tests::vessel",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("EBBTIDE_STORM_SLIPWAY", "true")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a copy of a test ends without its report"
)]
/// Starts a gateway for each line of orders, if this process is asked to. Returns false otherwise.
pub fn serve(warm_up: impl FnOnce(), sail: impl Fn(&Orders, UnixStream)) -> bool {
    if asked("SLIPWAY").is_none() {
        return false;
    }
    warm_up();
    for line in io::stdin().lock().lines() {
        while let Ok(Some(_)) = fork::wait_any_nohang() {}
        let orders: Orders = serde_json::from_str(&line.unwrap()).unwrap();
        if matches!(fork::fork_process().unwrap(), ProcessFork::Child) {
            let control = UnixStream::connect(&orders.control).unwrap();
            sail(&orders, control.try_clone().unwrap());
            // With the process, and not before, the socket closes.
            exit(0);
        }
    }
    true
}
