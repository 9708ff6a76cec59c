//! `ebbtide inspect`: what is in a session.

use std::path::PathBuf;

use clap::Args;
use context::coded::ErrorCode;
use jiff::Timestamp;
use lab::figures;
use serde::Serialize;
use wire::session::{Problem, Session};

use crate::codes;
use crate::console::{Console, Tone};
use crate::failure::{Exit, Failure};
use crate::inspection::{Inspection, Kind};
use crate::loading::{self, Loaded};
use crate::table::{self, Column};
use crate::view;

/// What `ebbtide inspect` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide inspect session.jsonl
  ebbtide inspect session.jsonl --problems
  ebbtide inspect trajectories.json --session 3
  cat session.jsonl | ebbtide inspect - --json")]
pub struct InspectArgs {
    /// The session file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Of a file that holds several sessions, only this one, counted from 1
    #[arg(long, value_name = "N")]
    pub session: Option<usize>,
    /// Show everything that is broken or odd in the file, with its line
    #[arg(long)]
    pub problems: bool,
    /// Count tokens as this model does, instead of the one that the session names
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The name and version of the shape of `--json`.
const SCHEMA: &str = "ebbtide.inspect/1";

/// How many sessions of one file are shown in full where none is named.
const SHOWN_IN_FULL: usize = 3;

/// Says what is in a session.
pub fn run(args: &InspectArgs, console: &mut Console) -> Result<Exit, Failure> {
    let loaded = loading::load(&args.file, args.model.as_deref())?;
    let sessions = loaded.chosen(args.session)?;
    let views: Vec<View<'_>> = sessions
        .into_iter()
        .map(|session| View::of(session, args.model.as_deref()))
        .collect();
    if args.json {
        print_json(&views, console)?;
    } else if args.problems {
        for view in &views {
            print_problems(view, console)?;
        }
    } else if views.len() > SHOWN_IN_FULL {
        print_list(&loaded, &views, console)?;
    } else {
        for (index, view) in views.iter().enumerate() {
            if index > 0 {
                console.line("")?;
            }
            print(&loaded, view, console)?;
        }
    }
    Ok(Exit::Done)
}

/// A session with what was counted in it.
struct View<'a> {
    session: &'a Session,
    inspection: Inspection,
}

impl<'a> View<'a> {
    fn of(session: &'a Session, model: Option<&str>) -> Self {
        let counter = loading::counter(session, model);
        Self {
            session,
            inspection: Inspection::of(session, &*counter, loading::counted(session, model)),
        }
    }
}

fn print(loaded: &Loaded, view: &View<'_>, console: &mut Console) -> Result<(), Failure> {
    let (session, seen) = (view.session, &view.inspection);
    let title = table::shorten(&session.title, console.width);
    console.line(console.palette.paint(Tone::Heading, &title))?;
    let model = session.model.clone();
    let about = [
        loading::format_name(session.format).to_owned(),
        model.unwrap_or_else(|| "no model named".to_owned()),
        figures::bytes(loaded.bytes),
    ];
    view::paragraph(&about.join(" · "), console)?;
    console.line("")?;
    for (label, value) in facts(seen) {
        fact(label, &value, console)?;
    }
    problems_fact(loaded, session, console)?;
    console.line("")?;
    for line in kinds_table(&seen.kinds, seen.tokens, console.width) {
        console.line(line)?;
    }
    Ok(())
}

/// One fact: its label, then its value, wrapped at the console's width under itself.
fn fact(label: &str, value: &str, console: &mut Console) -> Result<(), Failure> {
    const LABEL: usize = 13;
    let room = console.width.saturating_sub(LABEL).max(20);
    for (index, line) in table::wrap(value, room).into_iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        console.line(format!("{label:LABEL$}{line}"))?;
    }
    Ok(())
}

/// What was counted, as lines of a label and a value; what did not occur has no line.
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
                "{}: input {} fresh, {} from cache, {} written to it; output {}; largest request {}",
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
            "asked again",
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
                "by the product, before turn {}{before}; summary of {} tokens",
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
    let details = [
        (
            calls.all,
            if calls.all == 1 {
                "tool call"
            } else {
                "tool calls"
            },
        ),
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

/// The counts that are not zero, with their names.
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

/// All problems in one line, by code, the most frequent first, and how to see them.
fn problems_fact(loaded: &Loaded, session: &Session, console: &mut Console) -> Result<(), Failure> {
    if session.problems.is_empty() {
        return Ok(());
    }
    let summary = summary(&session.problems);
    fact("problems", &summary, console)?;
    let see = format!("ebbtide inspect {} --problems", loaded.path.display());
    console.line(format!("{:13}{see}", ""))
}

/// Problems by what they mean, the most frequent first: `19 × a message has no content (E0134)`.
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
    let column = |show: &dyn Fn(&Kind) -> String| kinds.iter().map(show).collect();
    let whole = context::Tokens::new(all);
    let columns = [
        Column::new("parts", column(&|kind| figures::count(kind.parts as u64))),
        Column::new("tokens", column(&|kind| figures::count(kind.tokens))),
        Column::new(
            "share",
            column(&|kind| figures::percent(context::Tokens::new(kind.tokens).share_of(whole))),
        ),
    ];
    table::render("tokens by kind", &names, &columns, width)
}

/// One line a session, where a file holds many.
fn print_list(loaded: &Loaded, views: &[View<'_>], console: &mut Console) -> Result<(), Failure> {
    console.line(format!(
        "{} in {} ({})",
        figures::plural(views.len(), "session"),
        loaded.path.display(),
        figures::bytes(loaded.bytes)
    ))?;
    console.line("")?;
    let names: Vec<String> = (1..=views.len()).map(|number| number.to_string()).collect();
    let column = |show: &dyn Fn(&View<'_>) -> String| views.iter().map(show).collect();
    let columns = [
        Column::new(
            "turns",
            column(&|view| figures::count(view.session.turns.len() as u64)),
        ),
        Column::new(
            "steps",
            column(&|view| figures::count(view.inspection.calls.steps as u64)),
        ),
        Column::new(
            "tokens",
            column(&|view| figures::count(view.inspection.tokens)),
        ),
        Column::new(
            "failed",
            column(&|view| figures::count(view.inspection.calls.failed as u64)),
        ),
        Column::new(
            "problems",
            column(&|view| figures::count(view.session.problems.len() as u64)),
        ),
    ];
    for line in table::render("session", &names, &columns, console.width) {
        console.line(line)?;
    }
    console.line("")?;
    console.line(format!(
        "One of them: ebbtide inspect {} --session N",
        loaded.path.display()
    ))
}

fn print_problems(view: &View<'_>, console: &mut Console) -> Result<(), Failure> {
    for problem in &view.session.problems {
        console.line(format!(
            "{}:{}: {}: {}",
            view.session.title, problem.line, problem.code, problem.message
        ))?;
    }
    if view.session.problems.is_empty() {
        console.remark(format!("{}: no problems", view.session.title));
    }
    Ok(())
}

/// The shape of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    sessions: Vec<SessionReport<'a>>,
}

/// One session in it.
#[derive(Serialize)]
struct SessionReport<'a> {
    title: &'a str,
    format: &'static str,
    model: Option<&'a str>,
    #[serde(flatten)]
    inspection: &'a Inspection,
    problems: Vec<ProblemReport<'a>>,
}

/// One problem in it.
#[derive(Serialize)]
struct ProblemReport<'a> {
    line: usize,
    code: &'static str,
    message: &'a str,
}

fn print_json(views: &[View<'_>], console: &mut Console) -> Result<(), Failure> {
    let sessions = views.iter().map(|view| SessionReport {
        title: &view.session.title,
        format: lab::replay::format_name(view.session.format),
        model: view.session.model.as_deref(),
        inspection: &view.inspection,
        problems: view
            .session
            .problems
            .iter()
            .map(|problem| ProblemReport {
                line: problem.line,
                code: problem.code.as_str(),
                message: &problem.message,
            })
            .collect(),
    });
    console.json(&Report {
        schema: SCHEMA,
        sessions: sessions.collect(),
    })
}
