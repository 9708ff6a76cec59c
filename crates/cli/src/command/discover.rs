//! `ebbtide replay` without arguments: lists the sessions on this computer.

use std::path::Path;

use jiff::Timestamp;
use lab::figures;
use serde_json::{Value, json};
use wire::session::Session;

use crate::console::{Console, Tone};
use crate::environment::{Environment, SessionFolder};
use crate::failure::{Exit, Failure};
use crate::input::{self, SessionFile};
use crate::table::{self, Column};

/// Sessions listed per client.
const SHOWN: usize = 8;

/// Bytes; larger files get no token estimate, since it takes a full read.
const ESTIMATE_LIMIT: u64 = 64 * 1024 * 1024;

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.sessions/1";

/// The sessions of one client.
struct Product<'a> {
    folder: &'a SessionFolder,
    /// Newest first.
    sessions: Vec<SessionFile>,
    unreadable: usize,
}

pub fn run(json: bool, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let products: Vec<Product<'_>> = environment.session_folders.iter().map(search).collect();
    if json {
        let listed = products.iter().flat_map(|product| {
            let sessions = product.sessions.iter().take(SHOWN);
            sessions.map(|found| listed(product.folder.product, found))
        });
        let sessions: Vec<Value> = listed.collect();
        console.json(&json!({ "schema": SCHEMA, "sessions": sessions }))?;
        return Ok(Exit::Success);
    }
    for product in &products {
        print(product, environment, console)?;
    }
    let newest = products
        .iter()
        .filter_map(|product| product.sessions.first())
        .max_by_key(|found| found.changed);
    match newest {
        Some(found) => {
            console.line("To replay the newest session:")?;
            console.line(format!("  ebbtide replay {}", quoted(&found.path)))?;
        }
        None => console.lines([
            "No recorded sessions found. Name a file or a folder:",
            "  ebbtide replay FILE",
            "or run an agent on the files in this folder:",
            "  ebbtide demo",
        ])?,
    }
    Ok(Exit::Success)
}

fn search(folder: &SessionFolder) -> Product<'_> {
    let (mut sessions, failures) = if folder.path.is_dir() {
        input::search(&folder.path)
    } else {
        (Vec::new(), Vec::new())
    };
    sessions.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    Product {
        folder,
        sessions,
        unreadable: failures.len(),
    }
}

fn print(
    product: &Product<'_>,
    environment: &Environment,
    console: &mut Console,
) -> Result<(), Failure> {
    let Product {
        folder, sessions, ..
    } = product;
    let name = console.palette.paint(Tone::Heading, folder.product);
    let mut heading = format!("{name}  {}", folder.path.display());
    if sessions.is_empty() {
        heading.push_str(": none");
    }
    if product.unreadable > 0 {
        heading.push_str(&format!(" ({} cannot be read)", product.unreadable));
    }
    console.line(heading)?;
    if sessions.is_empty() {
        return console.line("");
    }
    let shown = sessions.get(..SHOWN).unwrap_or(sessions);
    let read: Vec<Read> = shown.iter().map(Read::of).collect();
    let mut lines = sessions_table((shown, &read), environment.now, console.width);
    let rows = lines.split_off(lines.len().saturating_sub(shown.len()));
    for heading in lines {
        console.line(format!("  {heading}"))?;
    }
    for (line, found) in rows.iter().zip(shown) {
        console.line(format!("  {line}"))?;
        let below = found.path.strip_prefix(&folder.path).unwrap_or(&found.path);
        console.line(format!("    {}", below.display()))?;
    }
    if sessions.len() > shown.len() {
        console.line(format!(
            "  and {} more; to replay all: ebbtide replay {}",
            figures::count((sessions.len() - shown.len()) as u64),
            quoted(&folder.path)
        ))?;
    }
    console.line("")
}

fn sessions_table(
    (shown, read): (&[SessionFile], &[Read]),
    now: Timestamp,
    width: usize,
) -> Vec<String> {
    let room = width.saturating_sub(36);
    let names = shown.iter().zip(read).map(|(file, read)| {
        let name = read.name.clone();
        table::shorten(&name.unwrap_or_else(|| file_name(&file.path)), room)
    });
    let names: Vec<String> = names.collect();
    let tokens = |read: &Read| match read.tokens {
        Some(tokens) => format!("~{}", figures::short(tokens)),
        None => "–".to_owned(),
    };
    let columns = [
        Column::of("size", shown, |file| figures::bytes(file.bytes)),
        Column::of("tokens", read, tokens),
        Column::of("modified", shown, |file| age(file.changed, now)),
    ];
    table::render("session", &names, &columns, width.saturating_sub(2))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The facts that a file tells when it is read.
#[derive(Debug, Default)]
struct Read {
    /// The name of its first session.
    name: Option<String>,
    /// An estimate of the tokens of all its sessions.
    tokens: Option<context::Tokens>,
}

impl Read {
    /// Reads a file. A large one, and one that cannot be read, tells nothing.
    fn of(found: &SessionFile) -> Self {
        if found.bytes > ESTIMATE_LIMIT {
            return Self::default();
        }
        let Ok(bytes) = input::read(&found.path) else {
            return Self::default();
        };
        let Ok(document) = wire::session::load(&bytes, "", &context::Heuristic) else {
            return Self::default();
        };
        let turns = document.sessions.iter().flat_map(|session| &session.turns);
        Self {
            name: document.sessions.first().and_then(Session::label),
            tokens: Some(turns.map(context::Turn::tokens).sum()),
        }
    }
}

fn listed(product: &'static str, found: &SessionFile) -> Value {
    let read = Read::of(found);
    json!({
        "product": product,
        "name": read.name,
        "path": found.path.display().to_string(),
        "bytes": found.bytes,
        "changed": found.changed.map(|time| time.to_string()),
        "estimated_tokens": read.tokens.map(context::Tokens::get),
    })
}

fn age(changed: Option<Timestamp>, now: Timestamp) -> String {
    let Some(changed) = changed else {
        return "–".to_owned();
    };
    let minutes = (now.as_second() - changed.as_second()).max(0) / 60;
    match minutes {
        0..60 => format!("{minutes} min ago"),
        60..2_880 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1_440),
    }
}

/// Quotes a path for the shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
