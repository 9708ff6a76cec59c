//! `ebbtide purge`: removing what is not wanted any more.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use history::{ConversationId, Engine as _, HistoryError, Limits, Purge, Purged, Tenant};
use history_sqlite::Sqlite;
use jiff::SignedDuration;
use lab::figures;

use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// What `ebbtide purge` takes.
#[derive(Debug, Args)]
#[command(
    override_usage = "ebbtide purge --store <PATH> [--yes] WHAT...",
    after_help = "\
What: --all, or at least one of --older-than, --conversation and --tenant.

Without --yes it only says what it would remove. What is named together has to
hold together: --tenant ID --older-than 30d means the old ones of that tenant.

With a conversation go its pins and the turns, summaries and messages that no
other conversation needs. A beginning that is shared stays. The room in the file
is given back, and what was in it is overwritten. A gateway may run meanwhile.

Examples:
  ebbtide purge --store ebbtide.db --older-than 30d
  ebbtide purge --store ebbtide.db --older-than 30d --yes
  ebbtide purge --store ebbtide.db --conversation 5f0c2a...e1 --yes
  ebbtide purge --store ebbtide.db --all --yes"
)]
#[command(group = ArgGroup::new("what").required(true).multiple(true)
    .args(["older_than", "conversation", "tenant", "all"]))]
pub struct PurgeArgs {
    /// The store's file
    #[arg(long, value_name = "PATH")]
    pub store: PathBuf,
    /// Conversations that were last seen longer ago than this: 12h, 30d, 8w
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: Option<SignedDuration>,
    /// This conversation, by its id of 32 hexadecimal digits
    #[arg(long, value_name = "ID", value_parser = conversation)]
    pub conversation: Option<ConversationId>,
    /// Conversations of this tenant, by its id of 32 hexadecimal digits
    #[arg(long, value_name = "ID", value_parser = tenant)]
    pub tenant: Option<Tenant>,
    /// Everything
    #[arg(long, conflicts_with_all = ["older_than", "conversation", "tenant"])]
    pub all: bool,
    /// Remove it, instead of saying what would be removed
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

/// Removes, or says what would be removed.
pub fn run(
    args: &PurgeArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let failed = |error| Failure::of_store(&error, &args.store);
    let store = Sqlite::open_existing(&args.store, Limits::NONE).map_err(failed)?;
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
        let path = args.store.clone();
        return Err(Failure::NoSuchConversation { path, id });
    }
    if args.yes {
        let purged = store.purge(what).map_err(failed)?;
        let back = figures::bytes(purged.bytes);
        console.line(format!("removed {}; {back} given back", shown(&purged)))?;
    } else {
        let purged = store.preview(what).map_err(failed)?;
        let room = figures::bytes(purged.bytes);
        console.line(format!("would remove {}; about {room}", shown(&purged)))?;
        console.remark("nothing was removed; add --yes to remove it");
    }
    Ok(Exit::Done)
}

/// Whether a tenant, or any where none is named, has this conversation.
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
    let counted =
        |count: u64, noun| figures::plural(usize::try_from(count).unwrap_or(usize::MAX), noun);
    format!(
        "{}, {} and {}",
        counted(purged.conversations, "conversation"),
        counted(purged.turns, "turn"),
        counted(purged.marks, "summary mark")
    )
}
