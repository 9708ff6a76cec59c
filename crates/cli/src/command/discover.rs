//! `ebbtide replay` without arguments: lists the sessions on this computer.

use std::path::Path;

use jiff::Timestamp;
use lab::figures;
use serde_json::{Value, json};

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
    for line in sessions_table(shown, folder, environment.now, console.width) {
        console.line(format!("  {line}"))?;
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
    shown: &[SessionFile],
    folder: &SessionFolder,
    now: Timestamp,
    width: usize,
) -> Vec<String> {
    let names: Vec<String> = shown
        .iter()
        .map(|found| {
            let below = found.path.strip_prefix(&folder.path).unwrap_or(&found.path);
            table::shorten_left(&below.display().to_string(), width.saturating_sub(36))
        })
        .collect();
    let tokens = |file: &SessionFile| match estimate(file) {
        Some(tokens) => format!("~{}", figures::short(tokens)),
        None => "–".to_owned(),
    };
    let columns = [
        Column::of("size", shown, |file| figures::bytes(file.bytes)),
        Column::of("tokens", shown, tokens),
        Column::of("modified", shown, |file| age(file.changed, now)),
    ];
    table::render("session", &names, &columns, width.saturating_sub(2))
}

/// Estimates the tokens of all sessions in a file.
fn estimate(found: &SessionFile) -> Option<context::Tokens> {
    if found.bytes > ESTIMATE_LIMIT {
        return None;
    }
    let bytes = input::read(&found.path).ok()?;
    let document = wire::session::load(&bytes, "", &context::Heuristic).ok()?;
    let turns = document.sessions.iter().flat_map(|session| &session.turns);
    Some(turns.map(context::Turn::tokens).sum())
}

fn listed(product: &'static str, found: &SessionFile) -> Value {
    json!({
        "product": product,
        "path": found.path.display().to_string(),
        "bytes": found.bytes,
        "changed": found.changed.map(|time| time.to_string()),
        "estimated_tokens": estimate(found).map(context::Tokens::get),
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
