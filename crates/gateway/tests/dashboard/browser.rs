//! Runs headless Chromium.

use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// The names of Chromium's binary.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// The time-out of one page on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The reader's preferred color scheme.
#[derive(Clone, Copy, Debug)]
pub enum Scheme {
    Light,
    Dark,
}

/// A page after it was loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The document after its scripts ran.
    pub dom: String,
    /// The console output of the page's script and of the browser.
    pub console: Vec<String>,
}

/// The installed browser.
pub struct Browser(&'static str);

impl Browser {
    /// Finds the installed browser, or prints that there is none.
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

    /// Loads a page for a reader in Japan and advances its virtual clock by `milliseconds`.
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
            .env("TZ", "Asia/Tokyo")
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
