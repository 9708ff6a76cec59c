//! `ebbtide compact`: replaces the older part of a conversation with a summary, without a model.

use std::path::PathBuf;

use clap::Args;
use context::cut::Rule;
use context::extract::receipt::{Loss, Receipt};
use context::extract::{extract, front};
use context::quality::{self, Quality};
use context::split::{self, CompactionRatio};
use context::summary::Summary;
use context::{Part, Role, TokenCounter, Tokens, Turn, TurnId};
use lab::figures;
use serde_json::{Value, json};
use wire::session::Session;

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::loading::{self, Loaded};
use crate::size;

#[derive(Debug, Args)]
#[command(after_help = "\
The output has the format of the input file. The newest messages stay unchanged, \
and a tool call stays with its results. The file itself is the only copy of what \
the summary replaces, so keep it.

Examples:
  ebbtide compact session.jsonl > shorter.jsonl
  ebbtide compact session.jsonl --summary-only --budget 2k
  ebbtide compact session.jsonl --lost 10
  ebbtide compact session.jsonl --ratio 0.8 > shorter.jsonl
  ebbtide compact messages.json --keep-recent 8k --json
  cat messages.json | ebbtide compact - | jq .")]
pub struct CompactArgs {
    /// Session file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Maximum size of the summary, in tokens; your own words have up to half of it
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = size::parse)]
    pub budget: Tokens,
    /// Tokens of the newest messages that stay unchanged; the last step always stays, except that 0
    /// also replaces a finished last step, and with --summary-only any last step
    #[arg(long, value_name = "SIZE", default_value = "20k", value_parser = size::parse_any)]
    pub keep_recent: Tokens,
    /// Replace this share of the messages, such as 0.8, instead of all but --keep-recent
    #[arg(long, value_name = "SHARE", value_parser = ratio, conflicts_with = "keep_recent")]
    pub ratio: Option<CompactionRatio>,
    /// Compact the Nth session of the file
    #[arg(long, value_name = "N")]
    pub session: Option<usize>,
    /// Count tokens for this model, instead of the one that the session names
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print only the summary
    #[arg(long)]
    pub summary_only: bool,
    /// Print the N statements, tasks, actions and names that the summary leaves out and that are most
    /// likely to be needed, each with its turn; inspect --at shows a turn
    #[arg(long, value_name = "N", conflicts_with = "summary_only")]
    pub lost: Option<usize>,
    /// Print the summary and its token counts as JSON
    #[arg(long)]
    pub json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.compact/1";

/// A conversation after compaction.
struct Compacted {
    /// System turns, standing matter, the summary, the newest turns.
    turns: Vec<Turn>,
    /// `None` if a summary would not have been smaller.
    summary: Option<String>,
    summary_tokens: Tokens,
    /// The quality of the summary: its size, and how much it keeps.
    quality: Option<Quality>,
    /// The losses of the summary. Its turns are those of the session.
    lost: Receipt,
}

pub fn run(args: &CompactArgs, console: &mut Console) -> Result<Exit, Failure> {
    loading::note_counting(args.model.as_deref(), console);
    let loaded = loading::load(&args.file, args.model.as_deref())?;
    let index = choose(args, &loaded)?;
    let Some(session) = loaded.document.sessions.get(index) else {
        return Err(Failure::NothingUsable { files: 1 });
    };
    let counter = loading::counter(session, args.model.as_deref());
    let compacted = compact(session, args, &*counter);
    if args.json {
        report(session, &compacted, args.lost, console)?;
    } else if let Some(most) = args.lost {
        for line in compacted.lost.lines(most) {
            console.line(line)?;
        }
    } else if args.summary_only {
        if let Some(summary) = &compacted.summary {
            console.original(format!("{summary}\n").as_bytes())?;
        }
    } else {
        let bytes = loaded
            .document
            .render(index, &compacted.turns)
            .map_err(|error| Failure::of(&error).at(&args.file.display()))?;
        console.original(&bytes)?;
    }
    note_skipped(session, args, console);
    note_sizes(session, &compacted, args.keep_recent, console);
    if let Some(quality) = compacted.quality {
        console.note(format!(
            "quality {}: {} shorter, {} of the frequent names and words kept",
            word(&quality),
            times(&quality),
            figures::percent(1.0 - quality.error()),
        ));
    }
    if compacted.summary_tokens > args.budget {
        console.note(format!(
            "the summary exceeds {} tokens: it always keeps its headings and the newest request",
            figures::count(args.budget.get())
        ));
    }
    Ok(Exit::Success)
}

fn ratio(text: &str) -> Result<CompactionRatio, String> {
    let ratio = text.parse().ok().and_then(CompactionRatio::new);
    ratio.ok_or_else(|| "expected a share from 0 to 1".to_owned())
}

/// The quality in one word.
fn word(quality: &Quality) -> &'static str {
    if quality.is_high() {
        "high"
    } else if quality.is_valid() {
        "fair"
    } else {
        "low"
    }
}

/// The ratio in words. The quality counts it up to a limit.
fn times(quality: &Quality) -> String {
    if quality.ratio() < Quality::MAX_RATIO {
        format!("{:.1} times", quality.ratio())
    } else {
        format!("more than {} times", Quality::MAX_RATIO)
    }
}

/// The index of the selected session, or of the only one.
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

/// Keeps the leading system turns and the newest `keep_recent` tokens, and replaces the turns between
/// them with a summary, if that is smaller.
fn compact(session: &Session, args: &CompactArgs, counter: &dyn TokenCounter) -> Compacted {
    let turns = &session.turns;
    let leading = turns
        .iter()
        .take_while(|turn| turn.role() == Role::System)
        .count();
    let (system, said) = turns.split_at_checked(leading).unwrap_or((&[], turns));
    // Where the summary is printed alone, no step stands behind it.
    let is_all = args.summary_only || is_finished(said);
    let (old, kept) = if args.keep_recent == Tokens::ZERO && is_all {
        (said, &[][..])
    } else {
        let cut = match args.ratio {
            Some(ratio) => split::by_ratio(said, ratio, Rule::Provider),
            None => split::by_tokens(said, args.keep_recent, Rule::Provider),
        };
        said.split_at_checked(cut).unwrap_or((&[], said))
    };
    let old_tokens: Tokens = old.iter().map(Turn::tokens).sum();
    let summary = extract(old, kept, args.budget, counter);
    let tokens = summary.tokens(counter);
    let text = summary.render();
    let words: Vec<String> = old.iter().map(Turn::readable).collect();
    let lost = quality::summary_error(&words.join("\n"), &text);
    if old.is_empty() || tokens >= old_tokens {
        return Compacted {
            turns: turns.clone(),
            summary: None,
            summary_tokens: Tokens::ZERO,
            quality: None,
            lost: Receipt::default(),
        };
    }
    let turns = joined((system, old), &summary, kept, counter);
    let front: Vec<String> = turns.iter().map(Turn::readable).collect();
    let front = front.get(..turns.len() - kept.len()).unwrap_or_default();
    let mut receipt = Receipt::of(old, kept, &front.join("\n"));
    receipt.lost.iter_mut().for_each(|it| it.turn += leading);
    Compacted {
        turns,
        lost: receipt,
        summary: Some(text),
        summary_tokens: tokens,
        quality: Some(Quality::new(tokens, old_tokens, lost)),
    }
}

/// Says if the last turn is the assistant's and calls no tool.
fn is_finished(turns: &[Turn]) -> bool {
    turns.last().is_some_and(|turn| {
        let calls = |part: &Part| matches!(part, Part::Call(_));
        turn.role() == Role::Assistant && !turn.parts().iter().any(calls)
    })
}

/// System turns, what the client put into the conversation by itself, the summary, the newest turns.
fn joined(
    (system, old): (&[Turn], &[Turn]),
    summary: &Summary,
    kept: &[Turn],
    counter: &dyn TokenCounter,
) -> Vec<Turn> {
    let mut turns = system.to_vec();
    for draft in front(old, summary) {
        let parent = turns.last().map_or(TurnId::ROOT, Turn::id);
        turns.push(draft.after(parent, counter));
    }
    turns.extend_from_slice(kept);
    turns
}

fn report(
    session: &Session,
    compacted: &Compacted,
    lost: Option<usize>,
    console: &mut Console,
) -> Result<(), Failure> {
    let lost: Option<Vec<Value>> = lost.map(|most| {
        let entries = compacted.lost.lost.iter().take(most);
        let entry =
            |it: &Loss| json!({ "kind": it.kind.as_str(), "turn": it.turn, "text": it.text });
        entries.map(entry).collect()
    });
    console.json(&json!({
        "schema": SCHEMA,
        "title": session.title,
        "format": lab::replay::format_name(session.format),
        "turns_before": session.turns.len(),
        "turns_after": compacted.turns.len(),
        "tokens_before": tokens(&session.turns).get(),
        "tokens_after": tokens(&compacted.turns).get(),
        "summary_tokens": compacted.summary_tokens.get(),
        "summary": compacted.summary,
        "lost": lost,
    }))
}

/// Says how many lines could not be read, which the summary and the new file leave out.
fn note_skipped(session: &Session, args: &CompactArgs, console: &mut Console) {
    let count = session.problems.iter().filter(|it| it.is_unread()).count();
    if count > 0 {
        console.note(format!(
            "warning: {} could not be read; to list them: ebbtide inspect {} --problems",
            figures::plural(count, "line"),
            args.file.display(),
        ));
    }
}

fn note_sizes(
    session: &Session,
    compacted: &Compacted,
    keep_recent: Tokens,
    console: &mut Console,
) {
    let before = tokens(&session.turns);
    let why = if keep_recent == Tokens::ZERO {
        "the summary would be larger than the conversation"
    } else {
        "try a smaller --keep-recent or --budget"
    };
    console.note(match &compacted.summary {
        None => format!(
            "nothing to compact: {} tokens in {}; {why}",
            figures::count(before.get()),
            figures::plural(session.turns.len(), "turn"),
        ),
        Some(_) => format!(
            "{} → {} tokens, {} → {}, summary of {} tokens",
            figures::count(before.get()),
            figures::count(tokens(&compacted.turns).get()),
            figures::count(session.turns.len() as u64),
            figures::plural(compacted.turns.len(), "turn"),
            figures::count(compacted.summary_tokens.get()),
        ),
    });
}

fn tokens(turns: &[Turn]) -> Tokens {
    turns.iter().map(Turn::tokens).sum()
}
