//! `ebbtide replay` without a session: what there is on this computer.

use std::path::Path;

use jiff::Timestamp;
use lab::figures;
use serde::Serialize;

use crate::console::{Console, Tone};
use crate::environment::{Environment, SessionFolder};
use crate::failure::{Exit, Failure};
use crate::input::{self, Found};
use crate::table::{self, Column};

/// So many of each product's sessions are shown, the newest first.
const SHOWN: usize = 8;

/// Larger files are not read just to estimate their tokens.
const ESTIMATE_LIMIT: u64 = 64 * 1024 * 1024;

/// The name and version of the shape of `--json`.
const SCHEMA: &str = "ebbtide.sessions/1";

/// A product with its sessions.
struct Product<'a> {
    folder: &'a SessionFolder,
    /// Newest first.
    sessions: Vec<Found>,
    unreadable: usize,
}

/// One session in the JSON.
#[derive(Serialize)]
struct Listed {
    product: &'static str,
    path: String,
    bytes: u64,
    changed: Option<String>,
    estimated_tokens: Option<u64>,
}

/// The shape of `--json`.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    sessions: Vec<Listed>,
}

/// Lists the sessions that the usual places hold.
pub fn run(json: bool, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let products: Vec<Product<'_>> = environment.session_folders.iter().map(search).collect();
    if json {
        let listed = products.iter().flat_map(|product| {
            let sessions = product.sessions.iter().take(SHOWN);
            sessions.map(|found| listed(product.folder.product, found))
        });
        console.json(&Report {
            schema: SCHEMA,
            sessions: listed.collect(),
        })?;
        return Ok(Exit::Done);
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
            console.line("To replay the newest:")?;
            console.line(format!("  ebbtide replay {}", quoted(&found.path)))?;
        }
        None => {
            console.line("No recorded sessions were found. Name a file or a folder:")?;
            console.line("  ebbtide replay FILE")?;
            console.line("or see a replay of a session made from the files here:")?;
            console.line("  ebbtide demo")?;
        }
    }
    Ok(Exit::Done)
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
            "  and {} more; all of them: ebbtide replay {}",
            figures::count((sessions.len() - shown.len()) as u64),
            quoted(&folder.path)
        ))?;
    }
    console.line("")
}

fn sessions_table(
    shown: &[Found],
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
    let column = |show: &dyn Fn(&Found) -> String| shown.iter().map(show).collect();
    let columns = [
        Column::new("size", column(&|found| figures::bytes(found.bytes))),
        Column::new(
            "tokens",
            column(&|found| {
                estimate(found).map_or_else(
                    || "–".to_owned(),
                    |tokens| format!("~{}", figures::short(tokens)),
                )
            }),
        ),
        Column::new("written", column(&|found| age(found.changed, now))),
    ];
    table::render("session", &names, &columns, width.saturating_sub(2))
}

/// The tokens of all sessions in a file, roughly.
fn estimate(found: &Found) -> Option<context::Tokens> {
    if found.bytes > ESTIMATE_LIMIT {
        return None;
    }
    let bytes = input::read(&found.path).ok()?;
    let document = wire::session::load(&bytes, "", &context::Heuristic).ok()?;
    let turns = document.sessions.iter().flat_map(|session| &session.turns);
    Some(turns.map(context::Turn::tokens).sum())
}

fn listed(product: &'static str, found: &Found) -> Listed {
    Listed {
        product,
        path: found.path.display().to_string(),
        bytes: found.bytes,
        changed: found.changed.map(|time| time.to_string()),
        estimated_tokens: estimate(found).map(context::Tokens::get),
    }
}

/// How long ago something was written.
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

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
