//! The gateway as a process: this program once more, told where to serve.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use context::Tokens;
use fork::{ProcessId, Signal, current_process_id, signal_process};
use gateway::config::{Config, RouteChoice, Secret, Upstreams};
use gateway::server::{Gateway, serve as serve_on};
use history::{Engine, Limits, Purge};
use history_sqlite::Sqlite;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use crate::dice::Dice;
use crate::slipway;
use crate::talker::{ADMIN, LONGEST};

/// The window, of the provider and the gateway alike.
pub const WINDOW: u64 = 6_000;
/// The longest silence of a provider, and the longest that a client may take.
pub const SILENCE: Duration = Duration::from_secs(3);
/// The words before the process's address.
const READY: &str = "storm serves ";
/// The words before the reason why the process cannot use its store.
const UNUSABLE: &str = "storm cannot use its store: ";

/// Reads what this program is told by its environment.
#[expect(
    clippy::disallowed_methods,
    reason = "a process is told what to do by its environment here"
)]
pub fn asked(name: &str) -> Option<String> {
    std::env::var(format!("EBBTIDE_STORM_{name}")).ok()
}

/// The orders for a process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The socket to connect to. The process says its URL there, and ends in order when nobody writes to it any more.
    pub control: PathBuf,
    store: PathBuf,
    upstream: String,
    is_written: bool,
}

/// A process that serves.
struct Running {
    process: ProcessId,
    url: String,
    /// The socket, which closes when the process ends.
    control: BufReader<UnixStream>,
}

impl Running {
    fn has_ended(&mut self) -> bool {
        self.control.get_ref().set_nonblocking(true).unwrap();
        let read = self.control.fill_buf();
        read.map_or_else(
            |why| why.kind() != io::ErrorKind::WouldBlock,
            <[u8]>::is_empty,
        )
    }

    /// Kills the process and waits until it has gone.
    fn kill(mut self) {
        let kill = Signal::try_from(9).unwrap();
        // The number of one that has ended may be another's.
        if !self.has_ended() {
            let _it_may_end_now = signal_process(self.process, kill);
        }
        self.control.get_ref().set_nonblocking(false).unwrap();
        let _until_it_closes = io::copy(&mut self.control, &mut io::sink());
    }
}

/// A time times the patience that was asked for: on a machine that does other work, everything takes longer.
pub fn patient(time: Duration) -> Duration {
    let times = asked("PATIENCE").and_then(|times| times.parse::<u32>().ok());
    time * times.unwrap_or(1).max(1)
}

/// A gateway that may be killed.
pub struct Vessel {
    store: PathBuf,
    upstream: String,
    /// True if a model writes the summaries.
    is_written: bool,
    running: Option<Running>,
    /// True once the store was damaged.
    is_damaged: bool,
    /// The times that a damaged store could not be used, was told so, and was set aside.
    pub set_aside: u64,
}

impl Vessel {
    pub fn new(folder: &Path, upstream: &str, is_written: bool) -> Self {
        Self {
            store: folder.join("history.db"),
            upstream: upstream.to_owned(),
            is_written,
            running: None,
            is_damaged: false,
            set_aside: 0,
        }
    }

    /// The route of its summaries.
    pub const fn kind(&self) -> &'static str {
        match self.is_written {
            true => "summaries by a model",
            false => "summaries without a model",
        }
    }

    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The URL, after starting the process if it is not there.
    pub fn url(&mut self) -> String {
        if let Some(running) = &self.running {
            return running.url.clone();
        }
        let mut started = self.start();
        // An empty file that another program holds is not yet a store.
        for _ in 0..2 {
            if started.as_ref().is_err_and(|why| why.contains("locked")) {
                started = self.start();
            }
        }
        let started = started.or_else(|why| {
            // A person is told, and decides about the file.
            assert!(self.is_damaged, "a sound store cannot be used: {why}");
            self.set_aside += 1;
            for end in ["", "-wal", "-shm"] {
                let file = PathBuf::from(format!("{}{end}", self.store.display()));
                let _absent = fs::remove_file(file);
            }
            self.start()
        });
        self.running.insert(started.unwrap()).url.clone()
    }

    /// Starts the process, or returns what it says against its store.
    fn start(&self) -> Result<Running, String> {
        let control = self.store.with_extension("socket");
        let _absent = fs::remove_file(&control);
        let listener = UnixListener::bind(&control).unwrap();
        slipway::launch(&Orders {
            control,
            store: self.store.clone(),
            upstream: self.upstream.clone(),
            is_written: self.is_written,
        });
        let control = accepted(&listener);
        let mut control = BufReader::new(control);
        let (process, url) = told(&mut control)?;
        Ok(Running {
            process,
            url,
            control,
        })
    }

    /// Kills the process. Returns false if it had ended by itself.
    pub fn kill(&mut self) -> bool {
        let Some(mut running) = self.running.take() else {
            return true;
        };
        let ran = !running.has_ended();
        running.kill();
        ran
    }

    /// Has the process end in order. Returns how long that took.
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever stops a process waits only so long"
    )]
    pub fn stop(&mut self) -> Duration {
        let began = Instant::now();
        let Some(mut running) = self.running.take() else {
            return Duration::ZERO;
        };
        let control = running.control.get_ref();
        control.set_read_timeout(Some(patient(LONGEST))).unwrap();
        control.shutdown(Shutdown::Write).unwrap();
        // Closed by its end, or too late.
        let _either_way = io::copy(&mut running.control, &mut io::sink());
        let took = began.elapsed();
        running.kill();
        took
    }

    /// Returns true unless the process was killed or has ended.
    pub const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The bytes of the store's log.
    pub fn log(&self) -> u64 {
        let log = format!("{}-wal", self.store.display());
        fs::metadata(log).map_or(0, |log| log.len())
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

    /// Looks for what is old, as `ebbtide purge` would; nothing is.
    #[expect(clippy::disallowed_methods, reason = "another program")]
    pub fn purge(&self) -> thread::JoinHandle<()> {
        let store = self.store.clone();
        thread::spawn(move || {
            let what = Purge {
                tenant: None,
                conversation: None,
                before: Some(Timestamp::UNIX_EPOCH),
            };
            let open = Sqlite::open_existing(&store, Limits::NONE);
            // There is none yet, or it is damaged.
            let _either_way = open.and_then(|store| store.purge(what));
        })
    }

    /// Changes a few bytes of the store, behind its first page: the header of a file says what it is.
    pub fn damage(&mut self, dice: &mut Dice) {
        self.is_damaged = true;
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

/// The process's end of the line.
#[expect(
    clippy::disallowed_methods,
    reason = "a process that does not start ends the run"
)]
fn accepted(listener: &UnixListener) -> UnixStream {
    listener.set_nonblocking(true).unwrap();
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((control, _)) => {
                control.set_nonblocking(false).unwrap();
                control.set_read_timeout(Some(patient(LONGEST))).unwrap();
                return control;
            }
            Err(_) if began.elapsed() < patient(LONGEST) => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(why) => panic!("no gateway was started: {why}"),
        }
    }
}

/// The process and the URL that it serves at, or what it says against its store.
fn told(control: &mut impl BufRead) -> Result<(ProcessId, String), String> {
    let mut line = String::new();
    let read = control.read_line(&mut line).unwrap();
    assert!(read > 0, "the gateway ended and said nothing");
    let line = line.trim();
    if let Some(why) = line.strip_prefix(UNUSABLE) {
        return Err(why.to_owned());
    }
    let (process, url) = line.strip_prefix(READY).unwrap().split_once(' ').unwrap();
    let process = process.parse::<i32>().unwrap().try_into().unwrap();
    Ok((process, url.to_owned()))
}

/// Loads what every process needs.
pub fn warm_up() {
    tokens::counter_for("claude-opus-4-8").count("warm up");
}

/// Says something on one line.
fn say(control: &mut UnixStream, text: &str) {
    let line = text.replace('\n', " ") + "\n";
    control.write_all(line.as_bytes()).unwrap();
}

/// Serves as it is ordered, until nobody writes to `control` any more.
pub fn serve(orders: &Orders, mut control: UnixStream) {
    let (store, upstream) = (&orders.store, &orders.upstream);
    let mut config = Config {
        upstream: Upstreams {
            anthropic: upstream.clone(),
            openai: upstream.clone(),
            ..Upstreams::default()
        },
        store: Some(store.clone()),
        ..Config::default()
    };
    config.policy.window = Some(Tokens::new(WINDOW));
    config.policy.route = match orders.is_written {
        true => RouteChoice::Auto,
        false => RouteChoice::Extractive,
    };
    config.tenants = gateway::config::Tenancy::Keys;
    config.admin_token = Some(Secret::new(ADMIN));
    let silence = SignedDuration::try_from(patient(SILENCE)).unwrap();
    (config.limits.silence, config.limits.read) = (silence, silence);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine: Arc<dyn Engine> = match Sqlite::open(store, Limits::NONE) {
            Ok(engine) => Arc::new(engine),
            Err(why) => {
                say(&mut control, &format!("{UNUSABLE}{why}"));
                return;
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = Gateway {
            config,
            engine,
            clock: clock(),
        };
        let running = match serve_on(listener, gateway) {
            Ok(running) => running,
            Err(why) => {
                say(&mut control, &format!("{UNUSABLE}{why}"));
                return;
            }
        };
        let process = current_process_id();
        say(&mut control, &format!("{READY}{process} {}", running.url()));
        let closed = spawn_blocking(move || {
            let _until_it_closes = io::copy(&mut control, &mut io::sink());
        });
        let _either_way = closed.await;
        running.shutdown().await;
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "the gateway runs in real time here"
)]
pub fn clock() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(Timestamp::now)
}
