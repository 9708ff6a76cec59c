//! `ebbtide store`: checks, repairs and copies a store.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use history::{Limits, Record};
use history_sqlite::{Checked, Sqlite, repair};

use lab::figures;

use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::settings::default_store;

#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Check every record against its checksum
    #[command(after_help = "\
The gateway may keep running. The exit status is 1 if something is damaged.")]
    Check(FileArgs),
    /// Copy everything that is intact into a new file, which takes the old one's place
    #[command(after_help = "\
Stop the gateway first. The damaged file stays beside the new one. A damaged \
turn leaves a gap, and the turns after it stay. Turns after one whose record \
cannot be read at all are left out; `ebbtide store check` counts them. What is \
missing comes back if the client sends the conversation again.")]
    Repair(FileArgs),
    /// Copy the store, as it is at one moment, into one new file
    #[command(after_help = "\
The gateway may keep running. An existing file is not overwritten, and the \
folder of the new one must exist.")]
    Backup(BackupArgs),
}

#[derive(Debug, Args)]
pub struct FileArgs {
    /// Store file [default: the gateway's]
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct BackupArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// The new file
    #[arg(value_name = "FILE")]
    pub to: PathBuf,
}

impl FileArgs {
    fn path(&self, environment: &Environment, console: &mut Console) -> Result<PathBuf, Failure> {
        match &self.store {
            Some(path) => Ok(path.clone()),
            None => default_store(environment, console),
        }
    }
}

pub fn run(
    args: &StoreArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    match &args.action {
        Action::Check(args) => check(&args.path(environment, console)?, console),
        Action::Repair(args) => mend(&args.path(environment, console)?, console),
        Action::Backup(args) => {
            let store = open(&args.file.path(environment, console)?)?;
            let to = free(&args.to)?;
            let copied = store.backup(to);
            let bytes = copied.map_err(|error| Failure::of_store(&error, to))?;
            let size = figures::bytes(bytes);
            console.line(format!("wrote {} ({size})", args.to.display()))?;
            Ok(Exit::Success)
        }
    }
}

/// Opens the store at `path`, which must exist.
pub fn open(path: &Path) -> Result<Sqlite, Failure> {
    must_exist(path)?;
    Sqlite::open_existing(path, Limits::NONE).map_err(|error| Failure::of_store(&error, path))
}

/// The store's own error is about its settings, which are right where only the path is mistyped.
fn must_exist(path: &Path) -> Result<(), Failure> {
    match path.try_exists() {
        Ok(false) => Err(Failure::NoStoreThere(path.to_owned())),
        _ => Ok(()),
    }
}

/// Returns the path of a copy, if no file is there and its folder is. A folder that is not there may be a
/// mistyped one, or one on a disk that is not mounted.
fn free(to: &Path) -> Result<&Path, Failure> {
    if to.symlink_metadata().is_ok() {
        return Err(Failure::Exists(to.to_owned()));
    }
    let folder = to.parent().filter(|folder| *folder != Path::new(""));
    match folder.is_none_or(Path::is_dir) {
        true => Ok(to),
        false => Err(Failure::unwritable(to)(io::ErrorKind::NotFound.into())),
    }
}

fn check(path: &Path, console: &mut Console) -> Result<Exit, Failure> {
    let failed = |error| Failure::of_store(&error, path);
    let store = open(path)?;
    let found = store.check().map_err(failed)?;
    console.line(format!("{} checked", listed(&found.records)))?;
    if found.gaps > 0 {
        let turns = Record::Turn.counted(found.gaps);
        console.line(format!("gaps of earlier repairs: {turns}"))?;
    }
    if found.damaged.is_empty() {
        console.line("No damage found.")?;
        return Ok(Exit::Success);
    }
    console.line(format!("damaged: {}", listed(&found.damaged)))?;
    foretell(&found, console);
    console.note(format!(
        "To repair it, stop the gateway and run\n  ebbtide store repair --store {}",
        path.display()
    ));
    Ok(Exit::Failed)
}

/// Tells the effect of the damage, and of a repair.
fn foretell(found: &Checked, console: &mut Console) {
    if found.emptied > 0 {
        console.note(format!(
            "Turns that have lost their text: {}. Each reads as a gap, and a repair keeps the gap and the turns \
             after it.",
            found.emptied
        ));
    }
    if found.behind > 0 {
        console.note(format!(
            "Turns after one whose place cannot be read: {}. They cannot be shown, and a repair leaves them \
             out, with their summaries.",
            found.behind
        ));
    }
    console.note("Other damaged records are left out; the rest works.");
}

fn mend(path: &Path, console: &mut Console) -> Result<Exit, Failure> {
    must_exist(path)?;
    console.note(format!("Store: {}", path.display()));
    // A store that cannot be opened may still be repaired, and the repair says what is wrong with it otherwise.
    let found = Sqlite::open_existing(path, Limits::NONE).and_then(|store| store.check());
    if let Ok(found) = found.as_ref()
        && !found.damaged.is_empty()
    {
        console.note(format!("Damaged: {}", listed(&found.damaged)));
        foretell(found, console);
    }
    let repaired = repair(path).map_err(|error| Failure::of_store(&error, path))?;
    console.line(format!("kept {}", listed(&repaired.kept)))?;
    if repaired.lost.is_empty() {
        console.line("Nothing was damaged.")?;
    } else {
        console.line(format!("left out {}", listed(&repaired.lost)))?;
    }
    if repaired.gaps > 0 {
        console.line(format!(
            "{} of the turns left a gap, and the turns after it stay",
            repaired.gaps
        ))?;
    }
    let before = repaired.before.display();
    console.line(format!("The old file is {before}."))?;
    Ok(Exit::Success)
}

/// The counts of records, such as `30 turns, 2 pins`.
fn listed(counts: &BTreeMap<Record, u64>) -> String {
    let counts = counts.iter().filter(|(_, count)| **count > 0);
    let list: Vec<String> = counts.map(|(kind, count)| kind.counted(*count)).collect();
    match list.is_empty() {
        true => "no records".to_owned(),
        false => list.join(", "),
    }
}
