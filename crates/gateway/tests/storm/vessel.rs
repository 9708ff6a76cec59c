//! The gateway as a process: this program once more, told by its environment where to serve.

use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use context::Tokens;
use gateway::config::{Config, RouteChoice, Upstreams};
use gateway::server::{Gateway, serve as serve_on};
use history::{Engine, Limits};
use history_sqlite::Sqlite;
use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::dice::Dice;

/// The window, of the provider and the gateway alike.
pub const WINDOW: u64 = 6_000;
/// The longest silence of a provider, and the longest that a client may take.
pub const SILENCE: Duration = Duration::from_secs(3);
/// How the process says its address.
const READY: &str = "storm serves ";

/// Reads what this program is told by its environment.
#[expect(
    clippy::disallowed_methods,
    reason = "a process is told what to do by its environment here"
)]
pub fn asked(name: &str) -> Option<String> {
    std::env::var(format!("EBBTIDE_STORM_{name}")).ok()
}

/// A gateway that may be killed.
pub struct Vessel {
    store: PathBuf,
    upstream: String,
    running: Option<(Child, String)>,
}

impl Vessel {
    pub fn new(folder: &Path, upstream: &str) -> Self {
        Self {
            store: folder.join("history.db"),
            upstream: upstream.to_owned(),
            running: None,
        }
    }

    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The URL, after starting the process if it is not there.
    pub fn url(&mut self) -> String {
        let (_, url) = match self.running.take() {
            Some(running) => self.running.insert(running),
            None => {
                let started = self.start();
                self.running.insert(started)
            }
        };
        url.clone()
    }

    fn start(&self) -> (Child, String) {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args(["tests::vessel", "--exact", "--nocapture"])
            .env("EBBTIDE_STORM_STORE", &self.store)
            .env("EBBTIDE_STORM_UPSTREAM", &self.upstream)
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(READY) {
            line.clear();
            let read = lines.read_line(&mut line).unwrap();
            assert!(read > 0, "the gateway did not start");
        }
        let (_, url) = line.trim().split_once(READY).unwrap();
        (child, url.to_owned())
    }

    /// Kills the process. Returns false if it had ended by itself.
    pub fn kill(&mut self) -> bool {
        let Some((mut child, _)) = self.running.take() else {
            return true;
        };
        let ran = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        ran
    }

    /// Holds the store as another program would.
    #[expect(
        clippy::disallowed_methods,
        reason = "another program that holds the store for a while"
    )]
    pub fn lock(&self, time: Duration) -> thread::JoinHandle<()> {
        let store = self.store.clone();
        thread::spawn(move || {
            let Ok(other) = rusqlite::Connection::open(store) else {
                return;
            };
            // Where the gateway is writing, there is no lock to hold.
            if other.execute_batch("BEGIN IMMEDIATE").is_ok() {
                thread::sleep(time);
                other.execute_batch("ROLLBACK").unwrap();
            }
        })
    }

    /// Changes a few bytes of the store, behind its first page: the header of a file says what it is.
    pub fn damage(&self, dice: &mut Dice) {
        let Ok(mut file) = fs::File::options().read(true).write(true).open(&self.store) else {
            return;
        };
        let length = file.metadata().unwrap().len();
        for _ in 0..=dice.below(3) {
            if length <= 8_192 {
                return;
            }
            let at = 4_096 + dice.below(length - 4_096);
            let mut byte = [0];
            file.seek(SeekFrom::Start(at)).unwrap();
            file.read_exact(&mut byte).unwrap();
            byte[0] ^= 1 << dice.below(8);
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&byte).unwrap();
        }
    }
}

impl Drop for Vessel {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Serves until this process is killed, if it is told where. Returns false otherwise.
pub fn serve() -> bool {
    let (Some(store), Some(upstream)) = (asked("STORE"), asked("UPSTREAM")) else {
        return false;
    };
    let mut config = Config {
        upstream: Upstreams {
            anthropic: upstream.clone(),
            openai: upstream,
        },
        store: Some(PathBuf::from(&store)),
        ..Config::default()
    };
    config.policy.window = Some(Tokens::new(WINDOW));
    config.policy.route = RouteChoice::Extractive;
    let silence = SignedDuration::try_from(SILENCE).unwrap();
    (config.limits.silence, config.limits.read) = (silence, silence);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine: Arc<dyn Engine> =
            Arc::new(Sqlite::open(Path::new(&store), Limits::NONE).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = Gateway {
            config,
            engine,
            clock: clock(),
        };
        let running = serve_on(listener, gateway).unwrap();
        println!("{READY}{}", running.url());
        std::future::pending::<()>().await;
    });
    true
}

#[expect(
    clippy::disallowed_methods,
    reason = "the gateway runs in real time here"
)]
pub fn clock() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(Timestamp::now)
}
