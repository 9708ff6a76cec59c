//! `ebbtide purge`: deletes conversations from a store.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use history::{ConversationId, Engine as _, HistoryError, Purge, Purged, Record, Tenant};
use history_sqlite::Sqlite;
use jiff::SignedDuration;
use lab::figures;

use crate::command::store;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::settings::default_store;

#[derive(Debug, Args)]
#[command(
    override_usage = "ebbtide purge [--store <PATH>] [--yes] WHAT...",
    after_help = "\
WHAT is --all, or at least one of --older-than, --conversation and --tenant. \
Several conditions combine with AND: --tenant ID --older-than 30d deletes that \
tenant's old conversations.

Without --yes, the command only reports what it would delete.

A conversation is deleted with its pins, turns, summaries and messages, except \
for those that another conversation shares. The costs by day of the selected \
tenants leave too, uncounted: all of them, or with --older-than those of earlier \
days; with --conversation none. The freed space in the file is \
overwritten and returned to the file system. The gateway may keep running.

Examples:
  ebbtide purge --older-than 30d
  ebbtide purge --store ebbtide.db --older-than 30d --yes
  ebbtide purge --store ebbtide.db --conversation 5f0c2a...e1 --yes
  ebbtide purge --store ebbtide.db --all --yes"
)]
#[command(group = ArgGroup::new("what").required(true).multiple(true)
    .args(["older_than", "conversation", "tenant", "all"]))]
pub struct PurgeArgs {
    /// Store file [default: the gateway's]
    #[arg(long, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// Delete conversations with no request for this long, such as 12h, 30d or 8w
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: Option<SignedDuration>,
    /// Delete the conversation with this ID (32 hexadecimal digits)
    #[arg(long, value_name = "ID", value_parser = conversation)]
    pub conversation: Option<ConversationId>,
    /// Delete the conversations of the tenant with this ID (32 hexadecimal digits)
    #[arg(long, value_name = "ID", value_parser = tenant)]
    pub tenant: Option<Tenant>,
    /// Delete everything
    #[arg(long, conflicts_with_all = ["older_than", "conversation", "tenant"])]
    pub all: bool,
    /// Delete, instead of reporting what would be deleted
    #[arg(long)]
    pub yes: bool,
}

fn age(text: &str) -> Result<SignedDuration, String> {
    gateway::config::age(text).map_err(|expected| format!("expected {expected}"))
}

const ID: &str = "expected 32 hexadecimal digits";

fn conversation(text: &str) -> Result<ConversationId, String> {
    ConversationId::parse(text).ok_or_else(|| ID.to_owned())
}

fn tenant(text: &str) -> Result<Tenant, String> {
    Tenant::parse(text).ok_or_else(|| ID.to_owned())
}

pub fn run(
    args: &PurgeArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let path = match &args.store {
        Some(path) => path.clone(),
        None => default_store(environment, console)?,
    };
    let failed = |error| Failure::of_store(&error, &path);
    let store = store::open(&path)?;
    let what = Purge {
        tenant: args.tenant,
        conversation: args.conversation,
        before: args
            .older_than
            .map(|age| environment.now.saturating_sub(age).unwrap_or_default()),
    };
    if let Some(id) = args.conversation
        && !is_there(&store, id, args.tenant).map_err(failed)?
    {
        return Err(Failure::NoSuchConversation { path, id });
    }
    console.note(format!("Store: {}", path.display()));
    if args.yes {
        let purged = store.purge(what).map_err(failed)?;
        let back = figures::bytes(purged.bytes);
        console.line(format!("deleted {}; freed {back}", shown(&purged)))?;
    } else {
        let purged = store.preview(what).map_err(failed)?;
        let room = figures::bytes(purged.bytes);
        console.line(format!("would delete {}; about {room}", shown(&purged)))?;
        console.note("Nothing was deleted. Add --yes to delete.");
    }
    Ok(Exit::Success)
}

/// Says if the tenant has this conversation, or if any tenant does where none is given.
fn is_there(
    store: &Sqlite,
    id: ConversationId,
    tenant: Option<Tenant>,
) -> Result<bool, HistoryError> {
    let tenants = match tenant {
        Some(tenant) => vec![tenant],
        None => store.tenants()?,
    };
    let mut found = false;
    for tenant in tenants {
        store.read(tenant, &mut |store| {
            found |= store.conversation(id)?.is_some();
            Ok(())
        })?;
    }
    Ok(found)
}

fn shown(purged: &Purged) -> String {
    format!(
        "{}, {} and {}",
        Record::Conversation.counted(purged.conversations),
        Record::Turn.counted(purged.turns),
        Record::Mark.counted(purged.marks)
    )
}
