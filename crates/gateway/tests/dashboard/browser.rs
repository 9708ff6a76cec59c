//! Runs Chromium without a window.

use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Names under which it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// How long one page may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Which colours the reader prefers.
#[derive(Clone, Copy, Debug)]
pub enum Scheme {
    Light,
    Dark,
}

/// What a page became.
#[derive(Debug)]
pub struct Loaded {
    /// The document, after its scripts ran.
    pub dom: String,
    /// What was written to the console, by the page's script or by the browser about the page.
    pub console: Vec<String>,
}

/// A browser.
pub struct Browser(&'static str);

impl Browser {
    /// The installed one, or `None`, which is printed.
    pub fn find() -> Option<Self> {
        let found = NAMES.into_iter().find(|name| {
            let version = Command::new(name)
                .arg("--version")
                .stderr(Stdio::null())
                .output();
            version.is_ok_and(|output| output.status.success())
        });
        if found.is_none() {
            println!("skipped: no Chromium is installed");
        }
        found.map(Self)
    }

    /// Loads a page and lets `milliseconds` pass on its clock, which runs ahead of the real one.
    pub async fn load(&self, url: &str, scheme: Scheme, milliseconds: u32) -> Loaded {
        let profile = TempDir::new().expect("a folder");
        let scheme = match scheme {
            Scheme::Light => 1,
            Scheme::Dark => 0,
        };
        let mut command = tokio::process::Command::new(self.0);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--window-size=1400,900",
                "--enable-logging=stderr",
                "--dump-dom",
            ])
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("--virtual-time-budget={milliseconds}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .kill_on_drop(true);
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .expect("the browser ends")
            .expect("the browser starts");
        let console = String::from_utf8_lossy(&output.stderr)
            .lines()
            .filter(|line| line.contains(":CONSOLE:"))
            .map(str::to_owned)
            .collect();
        Loaded {
            dom: String::from_utf8_lossy(&output.stdout).into_owned(),
            console,
        }
    }
}
