//! The environment, the clock and the terminal. No other module reads them.

use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

/// The process environment, read once at the start.
#[derive(Clone, Debug)]
pub struct Environment {
    /// When the program started.
    pub now: Timestamp,
    /// The folders in which clients keep their sessions; some may not exist.
    pub session_folders: Vec<SessionFolder>,
    /// Columns a line on standard output may use.
    pub width: usize,
    pub destination: Destination,
    pub colour_out: Colour,
    pub colour_err: Colour,
    pub progress: Progress,
    /// The variables that begin with `EBBTIDE_`.
    pub settings: Vec<(String, String)>,
    /// Ebbtide's folder for configuration; it may not exist.
    pub config_folder: Option<PathBuf>,
    /// Ebbtide's folder for data; it may not exist.
    pub data_folder: Option<PathBuf>,
    /// The folders in which clients keep their settings; `None` if the home folder is unknown.
    pub client_folders: Option<ClientFolders>,
}

/// The folders in which clients keep their settings, as absolute paths; some may not exist.
#[derive(Clone, Debug)]
pub struct ClientFolders {
    pub home: PathBuf,
    /// Claude Code's `settings.json` lies here.
    pub claude: PathBuf,
    /// Claude Code's `.claude.json` lies here: in the home folder, unless `CLAUDE_CONFIG_DIR` is set.
    pub claude_state: PathBuf,
    pub codex: PathBuf,
    pub opencode: PathBuf,
    pub pi: PathBuf,
}

/// The folder in which one client keeps its sessions.
#[derive(Clone, Debug)]
pub struct SessionFolder {
    /// The client's name, for display.
    pub product: &'static str,
    pub path: PathBuf,
}

/// Says if a stream may carry colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The stream is a terminal, and `NO_COLOR` is not set.
    Allowed,
    /// The stream is a file or a pipe, or the user turned colors off.
    Plain,
}

/// The other end of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A terminal, which obeys control characters.
    Terminal,
    /// A file or a pipe.
    Data,
}

/// Says if progress may be drawn on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Standard error is a terminal.
    Drawn,
    Silent,
}

/// Columns, where neither `COLUMNS` nor a terminal gives a width.
const DEFAULT_WIDTH: usize = 80;
/// Tables need 40 columns; lines longer than 120 are hard to read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=120;

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the clock"
    )]
    pub fn read() -> Self {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        let drawn = err.is_terminal() && variable("TERM").as_deref() != Some("dumb");
        Self {
            now: Timestamp::now(),
            session_folders: session_folders(),
            width: width(),
            destination: match out.is_terminal() {
                true => Destination::Terminal,
                false => Destination::Data,
            },
            colour_out: colour(out.is_terminal()),
            colour_err: colour(err.is_terminal()),
            progress: if drawn {
                Progress::Drawn
            } else {
                Progress::Silent
            },
            settings: settings(),
            config_folder: folder("XDG_CONFIG_HOME", ".config"),
            data_folder: folder("XDG_DATA_HOME", ".local/share"),
            client_folders: client_folders(),
        }
    }

    /// The value of an `EBBTIDE_` variable; `None` if it is unset or empty.
    pub fn setting(&self, variable: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        let found = settings.find(|(name, value)| name == variable && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }
}

/// The clock for long-running commands.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub fn clock() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(Timestamp::now)
}

/// Reads an account from the variables that the provider's own SDK reads, such as
/// `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`.
pub fn account(provider: &str) -> driver::Account {
    driver::Account {
        key: variable(&format!("{provider}_API_KEY")),
        base: variable(&format!("{provider}_BASE_URL")),
    }
}

/// The value of a variable; `None` if it is unset, empty or not UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .and_then(|value| value.into_string().ok())
        .filter(|value| !value.is_empty())
}

/// The variables that begin with `EBBTIDE_`, if their values are UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn settings() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("EBBTIDE_"))
        .collect()
}

/// Ebbtide's folder below a base folder of the XDG specification.
fn folder(moved: &str, usual: &str) -> Option<PathBuf> {
    Some(base_folder(moved, usual)?.join("ebbtide"))
}

/// The absolute path in the variable `moved`, or else `usual` in the home folder.
fn base_folder(moved: &str, usual: &str) -> Option<PathBuf> {
    let base = variable(moved).map(PathBuf::from);
    let base = base.filter(|path| path.is_absolute());
    base.or_else(|| Some(home()?.join(usual)))
}

/// A client's own folder, which its variable `moved` may move.
fn client_folder(moved: &str, usual: &str) -> Option<PathBuf> {
    let base = variable(moved).map(PathBuf::from);
    base.or_else(|| Some(home()?.join(usual)))
}

const CLAUDE: (&str, &str) = ("CLAUDE_CONFIG_DIR", ".claude");
const CODEX: (&str, &str) = ("CODEX_HOME", ".codex");
const PI: (&str, &str) = ("PI_CODING_AGENT_DIR", ".pi/agent");

fn client_folders() -> Option<ClientFolders> {
    // Paths are recorded, and a later run may start in another folder.
    let absolute = |path: PathBuf| std::path::absolute(path).ok();
    let folder = |(moved, usual)| client_folder(moved, usual).and_then(absolute);
    let home = absolute(home()?)?;
    let claude_state = variable(CLAUDE.0).map_or_else(|| home.clone(), PathBuf::from);
    Some(ClientFolders {
        claude: folder(CLAUDE)?,
        claude_state: absolute(claude_state)?,
        codex: folder(CODEX)?,
        opencode: base_folder("XDG_CONFIG_HOME", ".config")?.join("opencode"),
        pi: folder(PI)?,
        home,
    })
}

fn home() -> Option<PathBuf> {
    let home = variable("HOME").or_else(|| variable("USERPROFILE"));
    home.map(PathBuf::from)
}

/// Returns 32 unpredictable bytes. The standard library seeds the keys of its hash maps from the
/// operating system's random number generator.
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    for (number, chunk) in (0_u64..).zip(bytes.chunks_mut(8)) {
        let hash = RandomState::new().hash_one(number).to_le_bytes();
        chunk.copy_from_slice(&hash);
    }
    bytes
}

fn colour(terminal: bool) -> Colour {
    let dumb = variable("TERM").as_deref() == Some("dumb");
    if terminal && variable("NO_COLOR").is_none() && !dumb {
        Colour::Allowed
    } else {
        Colour::Plain
    }
}

/// `COLUMNS`, else the terminal's width, else 80; clamped to [`WIDTHS`].
fn width() -> usize {
    let asked = variable("COLUMNS").and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked
        .or_else(terminal)
        .unwrap_or(DEFAULT_WIDTH)
        .clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Each client's session folder, which the client's own variable may move.
fn session_folders() -> Vec<SessionFolder> {
    let folders = [
        ("Claude Code", CLAUDE, "projects"),
        ("Codex", CODEX, "sessions"),
        ("pi", PI, "sessions"),
    ];
    folders
        .into_iter()
        .filter_map(|(product, (moved, usual), folder)| {
            let path = client_folder(moved, usual)?.join(folder);
            Some(SessionFolder { product, path })
        })
        .collect()
}
