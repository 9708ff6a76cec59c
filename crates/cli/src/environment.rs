//! The one place where the environment, the clock and the terminal are read.

use std::hash::{BuildHasher, RandomState};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

/// What the program needs to know about where it runs.
#[derive(Clone, Debug)]
pub struct Environment {
    /// When the program started.
    pub now: Timestamp,
    /// The folders in which products usually keep sessions, whether they exist or not.
    pub session_folders: Vec<SessionFolder>,
    /// How many columns a line on standard output may have.
    pub width: usize,
    /// Whether standard output may carry colours.
    pub colour_out: Colour,
    /// Whether standard error may carry colours.
    pub colour_err: Colour,
    /// Whether progress may be drawn on standard error.
    pub progress: Progress,
    /// The variables that begin with `EBBTIDE_`.
    pub settings: Vec<(String, String)>,
    /// The folder in which our configuration usually lies, whether it exists or not.
    pub config_folder: Option<PathBuf>,
    /// The folder in which our data usually lies, whether it exists or not.
    pub data_folder: Option<PathBuf>,
}

/// A folder in which a product keeps its sessions.
#[derive(Clone, Debug)]
pub struct SessionFolder {
    /// The product's name.
    pub product: &'static str,
    /// The folder.
    pub path: PathBuf,
}

/// The accounts that programs may call models with.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// With Anthropic, or whoever speaks as it does.
    pub anthropic: driver::Account,
    /// With OpenAI, or whoever speaks as it does.
    pub openai: driver::Account,
}

/// Whether a stream may carry colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// It is a terminal, and `NO_COLOR` is not set.
    Allowed,
    /// It is a file, a pipe, or the user asked for none.
    Plain,
}

/// Whether progress may be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Standard error is a terminal.
    Drawn,
    /// Nobody watches.
    Silent,
}

/// The width where nothing says otherwise.
const DEFAULT_WIDTH: usize = 80;
/// Narrower than this no table can be read; wider than this no line can.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=120;

impl Environment {
    /// Reads everything once.
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
        }
    }
}

/// The clock, for what runs on.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub fn clock() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(Timestamp::now)
}

/// The accounts with providers, from the variables that the providers' own libraries read.
pub fn accounts() -> Accounts {
    let account = |key: &str, base: &str| driver::Account {
        key: variable(key),
        base: variable(base),
    };
    Accounts {
        anthropic: account("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        openai: account("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    }
}

/// A variable that is set to something.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .and_then(|value| value.into_string().ok())
        .filter(|value| !value.is_empty())
}

/// The variables that begin with `EBBTIDE_` and are text.
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

/// Our folder below the one that `moved` names, else below `usual` in the user's own.
fn folder(moved: &str, usual: &str) -> Option<PathBuf> {
    let home = || {
        let home = variable("HOME").or_else(|| variable("USERPROFILE"))?;
        Some(PathBuf::from(home).join(usual))
    };
    let base = variable(moved).map(PathBuf::from);
    let base = base.filter(|path| path.is_absolute()).or_else(home)?;
    Some(base.join("ebbtide"))
}

/// 32 bytes that nobody can guess: the standard library takes the keys of its hash maps from the system's
/// generator of random numbers.
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

/// `COLUMNS`, else the terminal's width, else 80; kept within what can be read.
fn width() -> usize {
    let asked = variable("COLUMNS").and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked
        .or_else(terminal)
        .unwrap_or(DEFAULT_WIDTH)
        .clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Each product's folder, where its own variable moves it there.
fn session_folders() -> Vec<SessionFolder> {
    let home = variable("HOME")
        .or_else(|| variable("USERPROFILE"))
        .map(PathBuf::from);
    let places = [
        ("Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "projects"),
        ("Codex", "CODEX_HOME", ".codex", "sessions"),
        ("pi", "PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
    ];
    places
        .into_iter()
        .filter_map(|(product, moved, usual, folder)| {
            let base = variable(moved)
                .map(PathBuf::from)
                .or_else(|| home.as_ref().map(|home| home.join(usual)))?;
            Some(SessionFolder {
                product,
                path: base.join(folder),
            })
        })
        .collect()
}
