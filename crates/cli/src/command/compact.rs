//! `ebbtide compact`: a conversation with its older part replaced by a summary, without a model.

use std::path::PathBuf;

use clap::Args;
use context::cut::Rule;
use context::extract::extract;
use context::split;
use context::summary::Summary;
use context::{Part, Role, TokenCounter, Tokens, Turn, TurnId};
use lab::figures;
use serde::Serialize;
use wire::session::Session;

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::loading::{self, Loaded};
use crate::size;

/// What `ebbtide compact` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
The compacted conversation has the format of the file. The newest messages stay
as they are; a tool call is never parted from its results.

Examples:
  ebbtide compact session.jsonl > shorter.jsonl
  ebbtide compact session.jsonl --summary-only --budget 2k
  ebbtide compact messages.json --keep-recent 8k --json
  cat messages.json | ebbtide compact - | jq .")]
pub struct CompactArgs {
    /// The session file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The most tokens that the summary may have
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = size::parse)]
    pub budget: Tokens,
    /// How many tokens of the newest messages stay as they are, at least the last step; with 0 that
    /// stays only if it is unfinished
    #[arg(long, value_name = "SIZE", default_value = "20k", value_parser = size::parse_any)]
    pub keep_recent: Tokens,
    /// Of a file that holds several sessions, this one, counted from 1
    #[arg(long, value_name = "N")]
    pub session: Option<usize>,
    /// Count tokens as this model does, instead of the one that the session names
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print the summary alone
    #[arg(long)]
    pub summary_only: bool,
    /// Print the summary and its figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// The name and version of the shape of `--json`.
const SCHEMA: &str = "ebbtide.compact/1";

/// The shape of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    title: &'a str,
    format: &'static str,
    turns_before: usize,
    turns_after: usize,
    tokens_before: u64,
    tokens_after: u64,
    summary_tokens: u64,
    summary: Option<&'a str>,
}

/// A conversation that was compacted.
struct Compacted {
    /// What is shown now: system turns, the summary, the newest turns.
    shown: Vec<Turn>,
    /// The summary's text; `None` where nothing was old enough to summarise.
    summary: Option<String>,
    summary_tokens: Tokens,
}

/// Compacts.
///
/// # Errors
/// Where the file cannot be read, or standard output not be written to.
pub fn run(args: &CompactArgs, console: &mut Console) -> Result<Exit, Failure> {
    let loaded = loading::load(&args.file, args.model.as_deref())?;
    let index = choose(args, &loaded)?;
    let Some(session) = loaded.document.sessions.get(index) else {
        return Err(Failure::NothingUsable { files: 1 });
    };
    let counter = loading::counter(session, args.model.as_deref());
    let compacted = compact(session, args, &*counter);
    if args.json {
        report(session, &compacted, console)?;
    } else if args.summary_only {
        if let Some(summary) = &compacted.summary {
            console.line(summary)?;
        }
    } else {
        let bytes = loaded
            .document
            .render(index, &compacted.shown)
            .map_err(|error| Failure::reported(&error, &args.file))?;
        console.data(&bytes)?;
    }
    remark(session, &compacted, args.keep_recent, console);
    if compacted.summary_tokens > args.budget {
        console.remark(format!(
            "the summary is longer than {} tokens: its headings and the newest request always stand",
            figures::count(args.budget.get())
        ));
    }
    Ok(Exit::Done)
}

/// The index of the session that is meant: the only one, or the one that was named.
fn choose(args: &CompactArgs, loaded: &Loaded) -> Result<usize, Failure> {
    loaded.chosen(args.session)?;
    match (args.session, loaded.document.sessions.len()) {
        (Some(number), _) => Ok(number.saturating_sub(1)),
        (None, 1) => Ok(0),
        (None, held) => Err(Failure::SeveralSessions {
            path: args.file.clone(),
            held,
        }),
    }
}

/// System turns at the beginning stay; of the rest, what is older than the newest `keep_recent`
/// tokens is replaced by its summary, unless that would not be smaller.
fn compact(session: &Session, args: &CompactArgs, counter: &dyn TokenCounter) -> Compacted {
    let turns = &session.turns;
    let leading = turns
        .iter()
        .take_while(|turn| turn.role() == Role::System)
        .count();
    let (system, said) = turns.split_at_checked(leading).unwrap_or((&[], turns));
    let (old, kept) = if args.keep_recent == Tokens::ZERO && is_finished(said) {
        (said, &[][..])
    } else {
        let cut = split::by_tokens(said, args.keep_recent, Rule::Provider);
        said.split_at_checked(cut).unwrap_or((&[], said))
    };
    let old_tokens: Tokens = old.iter().map(Turn::tokens).sum();
    let summary = extract(old, kept, args.budget, counter);
    let tokens = summary.tokens(counter);
    if old.is_empty() || tokens >= old_tokens {
        return Compacted {
            shown: turns.clone(),
            summary: None,
            summary_tokens: Tokens::ZERO,
        };
    }
    Compacted {
        shown: shown(system, &summary, kept, counter),
        summary: Some(summary.render()),
        summary_tokens: tokens,
    }
}

/// Whether nobody waits for anything: the assistant spoke last and called no tool.
fn is_finished(turns: &[Turn]) -> bool {
    turns.last().is_some_and(|turn| {
        let calls = |part: &Part| matches!(part, Part::Call(_));
        turn.role() == Role::Assistant && !turn.parts().iter().any(calls)
    })
}

fn shown(
    system: &[Turn],
    summary: &Summary,
    kept: &[Turn],
    counter: &dyn TokenCounter,
) -> Vec<Turn> {
    let parent = system.last().map_or(TurnId::ROOT, Turn::id);
    let mut shown = system.to_vec();
    shown.push(summary.draft().after(parent, counter));
    shown.extend(kept.iter().cloned());
    shown
}

fn report(session: &Session, compacted: &Compacted, console: &mut Console) -> Result<(), Failure> {
    console.json(&Report {
        schema: SCHEMA,
        title: &session.title,
        format: lab::replay::format_name(session.format),
        turns_before: session.turns.len(),
        turns_after: compacted.shown.len(),
        tokens_before: tokens(&session.turns).get(),
        tokens_after: tokens(&compacted.shown).get(),
        summary_tokens: compacted.summary_tokens.get(),
        summary: compacted.summary.as_deref(),
    })
}

/// What was done, for the person who waits.
fn remark(session: &Session, compacted: &Compacted, keep_recent: Tokens, console: &mut Console) {
    let before = tokens(&session.turns);
    let why = if keep_recent == Tokens::ZERO {
        "what is finished is smaller than its summary would be"
    } else {
        "a smaller --keep-recent or --budget leaves more to summarise"
    };
    console.remark(match &compacted.summary {
        None => format!(
            "nothing to compact: {} tokens in {}; {why}",
            figures::count(before.get()),
            figures::plural(session.turns.len(), "turn"),
        ),
        Some(_) => format!(
            "{} → {} tokens, {} → {}, summary of {} tokens",
            figures::count(before.get()),
            figures::count(tokens(&compacted.shown).get()),
            figures::count(session.turns.len() as u64),
            figures::plural(compacted.shown.len(), "turn"),
            figures::count(compacted.summary_tokens.get()),
        ),
    });
}

fn tokens(turns: &[Turn]) -> Tokens {
    turns.iter().map(Turn::tokens).sum()
}
