//! `ebbtide inspect`: prints the contents of a session.

mod pulses;
mod window;

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use context::Tokens;
use context::coded::ErrorCode;
use jiff::Timestamp;
use lab::figures;
use serde::Serialize;
use serde_json::{Value, json};
use wire::session::{Problem, Session};

use crate::codes;
use crate::console::{Console, Tone};
use crate::failure::{Exit, Failure};
use crate::input;
use crate::inspection::{Compactor, Inspection, Kind};
use crate::loading::{self, Loaded};
use crate::size;
use crate::table::{self, Column};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide inspect session.jsonl
  ebbtide inspect session.jsonl --problems
  ebbtide inspect trajectories.json --session 3
  ebbtide inspect session.jsonl --at 120 --around 10
  ebbtide inspect session.jsonl --at 120 --fit 32k
  ebbtide inspect session.jsonl --pulses > pulses.log
  cat session.jsonl | ebbtide inspect - --json")]
pub struct InspectArgs {
    /// Session file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show only the Nth session of the file
    #[arg(long, value_name = "N")]
    pub session: Option<usize>,
    /// List the problems in the file, with line numbers
    #[arg(long)]
    pub problems: bool,
    /// Show the window at this turn, one line a turn: role, kind, class, tokens, text
    #[arg(
        long,
        value_name = "TURN",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..),
        conflicts_with_all = ["problems", "json"]
    )]
    pub at: Option<usize>,
    /// With --at: show only this many turns before and after it
    #[arg(long, value_name = "TURNS", requires = "at")]
    pub around: Option<usize>,
    /// With --at: make the window fit this size. Droppable turns leave first, required ones are
    /// summarized, preserved ones stay
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "at")]
    pub fit: Option<Tokens>,
    /// With --fit: keep the newest turns of this size verbatim
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "fit")]
    pub keep: Option<Tokens>,
    /// With --at: preserve everything that the user sends, not only what the user demands
    #[arg(long, requires = "at")]
    pub all_words: bool,
    /// Print one line per step of the agent, with its pressure and fingerprints, and whether it loops.
    /// A file of such lines is read back
    #[arg(long, conflicts_with_all = ["problems", "json", "at"])]
    pub pulses: bool,
    /// Count tokens for this model, instead of the one that the session names
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The schema of `--json`.
const SCHEMA: &str = "ebbtide.inspect/1";

/// Above this many sessions, the output is a list with one line per session.
const SHOWN_IN_FULL: usize = 3;

pub fn run(args: &InspectArgs, console: &mut Console) -> Result<Exit, Failure> {
    let bytes = input::read(&args.file)?;
    loading::note_counting(args.model.as_deref(), console);
    if args.pulses
        && let Some(log) = pulses::lines(&bytes)
    {
        pulses::print_log(log, &args.file.display().to_string(), console)?;
        return Ok(Exit::Success);
    }
    let loaded = loading::read(&args.file, &bytes, args.model.as_deref())?;
    let sessions = loaded.chosen(args.session)?;
    if args.pulses {
        for session in sessions {
            pulses::print(session, console)?;
        }
        return Ok(Exit::Success);
    }
    if let Some(at) = args.at {
        for session in sessions {
            let counter = loading::counter(session, args.model.as_deref());
            let place = window::Focus {
                at,
                around: args.around,
                fit: args.fit,
                keep: args.keep.unwrap_or(Tokens::ZERO),
                all_words: args.all_words,
            };
            window::print(session, place, &*counter, console)?;
        }
        return Ok(Exit::Success);
    }
    let inspected: Vec<Inspected<'_>> = sessions
        .into_iter()
        .map(|session| inspect(session, args.model.as_deref()))
        .collect();
    if args.json {
        print_json(&inspected, console)?;
    } else if args.problems {
        print_problems(&loaded, &inspected, console)?;
    } else if inspected.len() > SHOWN_IN_FULL {
        print_list(&loaded, &inspected, console)?;
    } else {
        for (index, (session, counts)) in inspected.iter().enumerate() {
            if index > 0 {
                console.line("")?;
            }
            print(&loaded, session, counts, console)?;
        }
    }
    Ok(Exit::Success)
}

/// A session with its counts.
type Inspected<'a> = (&'a Session, Inspection);

fn inspect<'a>(session: &'a Session, model: Option<&str>) -> Inspected<'a> {
    let counter = loading::counter(session, model);
    let counts = Inspection::of(session, &*counter, loading::counted(session, model));
    (session, counts)
}

fn print(
    loaded: &Loaded,
    session: &Session,
    seen: &Inspection,
    console: &mut Console,
) -> Result<(), Failure> {
    let title = table::shorten(&session.title, console.width);
    console.line(console.palette.paint(Tone::Heading, &title))?;
    let model = session.model.clone();
    let about = [
        loading::format_name(session.format).to_owned(),
        model.unwrap_or_else(|| "unknown model".to_owned()),
        figures::bytes(loaded.bytes),
    ];
    console.paragraph(&about.join(" · "))?;
    console.line("")?;
    for (label, value) in facts(seen) {
        fact(label, &value, console)?;
    }
    problems_fact(loaded, session, console)?;
    console.line("")?;
    console.lines(kinds_table(&seen.kinds, seen.tokens, console.width))
}

/// Prints a label and its value, wrapped with a hanging indent.
fn fact(label: &str, value: &str, console: &mut Console) -> Result<(), Failure> {
    const LABEL: usize = 13;
    let room = console.width.saturating_sub(LABEL).max(20);
    for (index, line) in table::wrap(value, room).into_iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        console.line(format!("{label:LABEL$}{line}"))?;
    }
    Ok(())
}

/// The counts as labels and values. Facts without any occurrence are left out.
fn facts(seen: &Inspection) -> Vec<(&'static str, String)> {
    let mut facts = vec![("turns", turns(seen)), ("steps", steps(seen))];
    if let Some(span) = &seen.span {
        facts.push(("time", time_span(span.from, span.to)));
    }
    facts.push((
        "tokens",
        format!("{}, {}", figures::count(seen.tokens), seen.counted),
    ));
    if let Some(usage) = &seen.usage {
        facts.push((
            "reported",
            format!(
                "{}: input {} uncached, {} read from cache, {} written to it; output {}; largest \
                 request {}",
                figures::plural(usage.responses, "response"),
                short(usage.input),
                short(usage.cache_read),
                short(usage.cache_write),
                short(usage.output),
                short(usage.largest_request),
            ),
        ));
    }
    let repeats = &seen.repeats;
    if repeats.same_call + repeats.same_file > 0 {
        facts.push((
            "repeated",
            format!(
                "{} with the same arguments, and {} of a file read before: {} tokens",
                figures::plural(repeats.same_call, "call"),
                figures::plural(repeats.same_file, "read"),
                figures::count(repeats.tokens),
            ),
        ));
    }
    for compaction in &seen.compactions {
        let before = compaction.tokens_before.map_or_else(String::new, |tokens| {
            format!(" at {} tokens", figures::count(tokens))
        });
        facts.push((
            "compaction",
            format!(
                "by {}, before turn {}{before}; summary of {} tokens",
                match compaction.by {
                    Compactor::Client => "the client",
                    Compactor::Ebbtide => "Ebbtide",
                },
                figures::count(compaction.before_turn as u64),
                figures::count(compaction.summary_tokens),
            ),
        ));
    }
    facts
}

fn turns(seen: &Inspection) -> String {
    let turns = &seen.turns;
    let roles = [
        (turns.system, "system"),
        (turns.user, "user"),
        (turns.assistant, "assistant"),
        (turns.tool, "tool"),
        (turns.other, "other"),
    ];
    format!("{}: {}", figures::count(turns.all as u64), listed(&roles))
}

fn steps(seen: &Inspection) -> String {
    let calls = &seen.calls;
    let noun = if calls.all == 1 {
        "tool call"
    } else {
        "tool calls"
    };
    let details = [
        (calls.all, noun),
        (calls.parallel_groups, "with parallel calls"),
        (calls.failed, "failed"),
        (calls.unanswered, "without a result"),
        (calls.orphan_results, "results without a call"),
        (calls.reused_ids, "call ids used twice"),
    ];
    format!(
        "{}: {}",
        figures::count(calls.steps as u64),
        listed(&details)
    )
}

/// Joins the counts that are not zero with their names.
fn listed(counts: &[(usize, &str)]) -> String {
    let some: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{} {name}", figures::count(*count as u64)))
        .collect();
    if some.is_empty() {
        "none".to_owned()
    } else {
        some.join(", ")
    }
}

fn time_span(from: Timestamp, to: Timestamp) -> String {
    let minute = |time: Timestamp| time.strftime("%Y-%m-%d %H:%M").to_string();
    let seconds = to.as_second() - from.as_second();
    let lasted = figures::seconds(u32::try_from(seconds).map_or(f64::INFINITY, f64::from));
    format!("{} to {} UTC, {lasted}", minute(from), minute(to))
}

fn short(tokens: u64) -> String {
    figures::short(context::Tokens::new(tokens))
}

/// Prints the problems by code, and the command that lists them.
fn problems_fact(loaded: &Loaded, session: &Session, console: &mut Console) -> Result<(), Failure> {
    if session.problems.is_empty() {
        return Ok(());
    }
    let summary = summary(&session.problems);
    fact("problems", &summary, console)?;
    let see = format!("ebbtide inspect {} --problems", loaded.path.display());
    console.line(format!("{:13}{see}", ""))
}

/// Counts problems by code, the most frequent first: `19 × a message has no content (E0134)`.
pub fn summary(problems: &[Problem]) -> String {
    let mut codes: Vec<(ErrorCode, usize)> = Vec::new();
    for problem in problems {
        match codes.iter_mut().find(|(code, _)| *code == problem.code) {
            Some((_, count)) => *count += 1,
            None => codes.push((problem.code, 1)),
        }
    }
    codes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let each: Vec<String> = codes
        .into_iter()
        .map(|(code, count)| {
            let meaning = codes::meaning(code);
            format!("{} × {meaning} ({code})", figures::count(count as u64))
        })
        .collect();
    each.join(", ")
}

fn kinds_table(kinds: &[Kind], all: u64, width: usize) -> Vec<String> {
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| table::shorten(&kind.name, width.saturating_sub(28)))
        .collect();
    let whole = context::Tokens::new(all);
    let share = |kind: &Kind| context::Tokens::new(kind.tokens).share_of(whole);
    let columns = [
        Column::of("parts", kinds, |kind| figures::count(kind.parts as u64)),
        Column::of("tokens", kinds, |kind| figures::count(kind.tokens)),
        Column::of("share", kinds, |kind| figures::percent(share(kind))),
    ];
    table::render("tokens by kind", &names, &columns, width)
}

/// Prints one line per session.
fn print_list(
    loaded: &Loaded,
    inspected: &[Inspected<'_>],
    console: &mut Console,
) -> Result<(), Failure> {
    console.line(format!(
        "{} in {} ({})",
        figures::plural(inspected.len(), "session"),
        loaded.path.display(),
        figures::bytes(loaded.bytes)
    ))?;
    console.line("")?;
    let names: Vec<String> = (1..=inspected.len()).map(|n| n.to_string()).collect();
    let column = |heading: &str, figure: fn(&Inspected<'_>) -> u64| {
        Column::of(heading, inspected, |one| figures::count(figure(one)))
    };
    let columns = [
        column("turns", |(session, _)| session.turns.len() as u64),
        column("steps", |(_, counts)| counts.calls.steps as u64),
        column("tokens", |(_, counts)| counts.tokens),
        column("failed", |(_, counts)| counts.calls.failed as u64),
        column("problems", |(session, _)| session.problems.len() as u64),
    ];
    console.lines(table::render("session", &names, &columns, console.width))?;
    console.line("")?;
    console.line(format!(
        "To inspect one: ebbtide inspect {} --session N",
        loaded.path.display()
    ))
}

fn print_problems(
    loaded: &Loaded,
    inspected: &[Inspected<'_>],
    console: &mut Console,
) -> Result<(), Failure> {
    let path = loaded.path.display();
    let problems = || inspected.iter().flat_map(|(session, _)| &session.problems);
    for problem in problems() {
        console.line(format!(
            "{path}:{}: {}: {}",
            problem.line, problem.code, problem.message
        ))?;
    }
    if problems().next().is_none() {
        console.note(format!("{path}: no problems"));
    }
    Ok(())
}

/// One session in the JSON report.
#[derive(Serialize)]
struct SessionReport<'a> {
    title: &'a str,
    format: &'static str,
    model: Option<&'a str>,
    #[serde(flatten)]
    inspection: &'a Inspection,
    problems: Vec<Value>,
}

fn print_json(inspected: &[Inspected<'_>], console: &mut Console) -> Result<(), Failure> {
    let problem = |problem: &Problem| {
        json!({
            "line": problem.line,
            "code": problem.code.as_str(),
            "message": problem.message,
        })
    };
    let sessions = inspected.iter().map(|(session, inspection)| SessionReport {
        title: &session.title,
        format: lab::replay::format_name(session.format),
        model: session.model.as_deref(),
        inspection,
        problems: session.problems.iter().map(problem).collect(),
    });
    let sessions: Vec<SessionReport<'_>> = sessions.collect();
    console.json(&json!({ "schema": SCHEMA, "sessions": sessions }))
}
