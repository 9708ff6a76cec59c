//! `ebbtide connect`: connects a client to the gateway by changing its settings, and undoes that.

pub mod address;
pub mod client;
mod document;
mod draft;
mod edit;
pub mod error;
mod file;
mod json;
mod record;
mod shown;
pub mod standing;
mod toml;
mod undo;

use std::path::Path;

use clap::Args;

use self::address::Address;
use self::client::{Client, Reached, SettingsFile};
use self::draft::{Draft, draft};
use self::edit::{Change, How, Reverted, Setting};
use self::error::ConnectError;
use self::record::{Record, Shelf};
use self::undo::{Undone, undo};
use crate::console::{Console, Tone};
use crate::environment::{ClientFolders, Environment};
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
The command writes the gateway's URL and an MCP server named `ebbtide` into the \
client's settings, and for Claude Code also hooks around a compaction. It lists \
every change and keeps a copy of the files in Ebbtide's data folder.

--undo restores the files, byte for byte. If a file was edited in the meantime, \
only Ebbtide's settings are removed from it.

A gateway with an administrator's token, or on another machine, answers the \
hooks and the memory tools only if they send a key. --key-variable names the \
environment variable that holds it: the API key that the client itself uses, or \
the administrator's token. The settings hold the name, never the key; --undo \
forgets it.

Examples:
  ebbtide connect claude
  ebbtide connect codex --dry-run
  ebbtide connect opencode --url http://127.0.0.1:4100
  ebbtide connect codex --url https://gate.example --key-variable OPENAI_API_KEY
  ebbtide connect claude --undo")]
pub struct ConnectArgs {
    /// Client to connect
    #[arg(value_enum, value_name = "CLIENT")]
    pub client: Client,
    /// URL of the gateway
    #[arg(
        long,
        value_name = "URL",
        default_value = address::USUAL,
        value_parser = Address::parse
    )]
    pub url: Address,
    /// Environment variable with the key that hooks and memory tools send
    #[arg(long, value_name = "NAME", conflicts_with = "undo")]
    pub key_variable: Option<String>,
    /// Undo the connection
    #[arg(long, conflicts_with = "url")]
    pub undo: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

pub fn run(
    args: &ConnectArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let folders = environment.client_folders.as_ref();
    let folders = folders.ok_or(ConnectError::NoHome)?;
    let data_folder = environment.data_folder.as_ref();
    let data_folder = data_folder.ok_or(ConnectError::NoHome)?;
    let (shelf, record) = Shelf::open(data_folder, args.client)?;
    if args.undo {
        disconnect(args, folders, (&shelf, record), console)?;
    } else {
        connect(args, folders, (&shelf, record), console)?;
    }
    if args.dry_run {
        console.note("Nothing was changed. Run it again without --dry-run to make the changes.");
    }
    Ok(Exit::Success)
}

fn connect(
    args: &ConnectArgs,
    folders: &ClientFolders,
    (shelf, record): (&Shelf, Option<Record>),
    console: &mut Console,
) -> Result<(), Failure> {
    let key = key_variable(args, record.as_ref())?;
    let gateway = Reached {
        address: &args.url,
        key: key.as_deref(),
    };
    let files = args.client.files(folders, gateway);
    let mut drafts = Vec::new();
    for file in &files {
        let real = file::real(&file.path)?;
        let recorded = record.as_ref().and_then(|record| record.file(&real));
        drafts.push(draft(file, recorded)?);
    }
    for (file, draft) in files.iter().zip(&drafts) {
        console.lines(lines_of(file, draft, &folders.home))?;
        if let Some(obstacle) = args.client.obstacle(&draft.value) {
            let label = console.palette_err.paint(Tone::Warning, "warning");
            console.note(format!("{label}: {obstacle}"));
        }
    }
    let product = args.client.product();
    if drafts.iter().all(|draft| draft.outcome.is_none()) {
        console.note(format!("{product} is connected to {} already.", args.url));
        return Ok(());
    }
    if args.dry_run {
        return Ok(());
    }
    let replaced = drafts.iter().any(Draft::replaces_a_url);
    store(drafts, (args, key), (shelf, record))?;
    let kept = shown::path(shelf.path(), &folders.home);
    let word = args.client.word();
    console.note(args.client.advice());
    if replaced {
        console.note(
            "To keep using the replaced URL, pass it to the gateway: \
             `ebbtide serve --anthropic-url URL` or `--openai-url URL`.",
        );
    }
    console.note(format!(
        "A copy of the old settings is in {kept}. `ebbtide connect {word} --undo` restores them."
    ));
    Ok(())
}

/// The environment variable with the key: the one that is given, or that of the same gateway before.
fn key_variable(
    args: &ConnectArgs,
    record: Option<&Record>,
) -> Result<Option<String>, ConnectError> {
    let Some(name) = &args.key_variable else {
        let same = record.filter(|record| record.url == args.url.to_string());
        return Ok(same.and_then(|record| record.key_variable.clone()));
    };
    // Names are written in capitals. A key given by mistake hardly is.
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let is_name = |byte: u8| is_letter(byte) || byte.is_ascii_digit();
    match name.bytes().all(is_name) && name.bytes().next().is_some_and(is_letter) {
        true => Ok(Some(name.clone())),
        false => Err(ConnectError::KeyVariable),
    }
}

/// Writes the record first: after a crash between the two, it still describes both states of a file.
fn store(
    drafts: Vec<Draft>,
    (args, key): (&ConnectArgs, Option<String>),
    (shelf, record): (&Shelf, Option<Record>),
) -> Result<(), Failure> {
    let outcomes = drafts.into_iter().filter_map(|draft| draft.outcome);
    let (mut steps, mut touched): (Vec<_>, Vec<_>) = outcomes.unzip();
    let earlier = record.into_iter().flat_map(|record| record.files);
    let others = earlier.filter(|old| touched.iter().all(|new| new.path != old.path));
    let others: Vec<_> = others.collect();
    touched.extend(others);
    let record = Record::new(args.url.to_string(), key, touched);
    steps.insert(0, shelf.step(Some(&record))?);
    file::take(&steps)
}

fn disconnect(
    args: &ConnectArgs,
    folders: &ClientFolders,
    (shelf, record): (&Shelf, Option<Record>),
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(record) = record else {
        console.note(format!(
            "Nothing to undo: there is no record of `ebbtide connect {}`.",
            args.client.word()
        ));
        return Ok(());
    };
    let mut undone = Vec::new();
    for touched in &record.files {
        undone.push(undo(touched)?);
    }
    for (touched, undone) in record.files.iter().zip(&undone) {
        let path = shown::path(&touched.path, &folders.home);
        console.lines(lines_of_undone(&path, undone))?;
    }
    if args.dry_run {
        return Ok(());
    }
    let mut steps: Vec<_> = undone.into_iter().filter_map(Undone::into_step).collect();
    steps.push(shelf.step(None)?);
    file::take(&steps)?;
    let product = args.client.product();
    console.note(format!(
        "{product} no longer uses {}. Restart it.",
        record.url
    ));
    Ok(())
}

/// The file, then its settings, each with the old value and the new one.
fn lines_of(file: &SettingsFile, draft: &Draft, home: &Path) -> Vec<String> {
    let path = shown::path(&file.path, home);
    let note = if draft.is_new { " (new file)" } else { "" };
    let mut lines = vec![format!("{path}{note}")];
    for setting in &file.settings {
        let keys = setting.keys.join(".");
        let own = shown::own(&setting.value);
        lines.push(match change_of(setting, &draft.changes) {
            None => format!("  {keys}: {own}, as before"),
            Some(change) => match (&change.old, change.how) {
                (_, How::Append) => format!("  {keys}: added {own}"),
                (None, _) => format!("  {keys}: not set -> {own}"),
                (Some(old), _) => format!("  {keys}: {} -> {own}", shown::foreign(old)),
            },
        });
    }
    lines
}

fn change_of<'a>(setting: &Setting, changes: &'a [Change]) -> Option<&'a Change> {
    let mut changes = changes.iter();
    changes.find(|change| change.keys == setting.keys && change.value == setting.value)
}

fn lines_of_undone(path: &str, undone: &Undone) -> Vec<String> {
    match undone {
        Undone::Already => vec![format!("{path}: nothing to do")],
        Undone::AsBefore(_) => vec![format!("{path}: restored")],
        Undone::Deleted(_) => vec![format!("{path}: removed, as it did not exist before")],
        Undone::Edited(_, outcomes) => {
            let head =
                format!("{path}: edited in the meantime, so only Ebbtide's settings are removed");
            let outcomes = outcomes.iter().map(line_of_outcome);
            std::iter::once(head).chain(outcomes).collect()
        }
    }
}

fn line_of_outcome((change, outcome): &(Change, Reverted)) -> String {
    let keys = change.keys.join(".");
    let own = shown::own(&change.value);
    match outcome {
        Reverted::Removed => format!("  {keys}: removed {own}"),
        Reverted::Restored => {
            let old = change.old.as_ref().map(shown::foreign);
            format!("  {keys}: {own} -> {}", old.unwrap_or_default())
        }
        Reverted::Kept => format!("  {keys}: kept, because it was changed in the meantime"),
        Reverted::Gone => format!("  {keys}: was removed already"),
    }
}
