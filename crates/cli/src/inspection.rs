//! What is in a session: counted once, shown by `inspect` as text or JSON.

use std::collections::{BTreeMap, HashMap, HashSet};

use context::turn::{CallId, Outcome, ToolCall};
use context::{Part, Role, TokenCounter, Tokens, Turn};
use jiff::Timestamp;
use serde::Serialize;
use wire::session::Session;

/// Everything that `inspect` says about one session.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// Turns by role.
    pub turns: Roles,
    /// Tokens of all turns, frames included.
    pub tokens: u64,
    /// How they were counted, in words.
    pub counted: String,
    /// Parts and tokens by kind, the largest first.
    pub kinds: Vec<Kind>,
    /// Tool calls and what became of them.
    pub calls: Calls,
    /// The same thing asked for again.
    pub repeats: Repeats,
    /// From the first to the last turn that has a time.
    pub span: Option<Span>,
    /// Where the product compacted by itself.
    pub compactions: Vec<OwnCompaction>,
    /// What the provider reported, summed.
    pub usage: Option<Usage>,
}

/// Turns by role.
#[derive(Debug, Default, Serialize)]
pub struct Roles {
    /// All.
    pub all: usize,
    /// System and developer messages.
    pub system: usize,
    /// The person.
    pub user: usize,
    /// The model.
    pub assistant: usize,
    /// Tool results.
    pub tool: usize,
    /// Roles that are not known.
    pub other: usize,
}

/// Parts of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// What it is; for results, `results of` and the tool.
    pub name: String,
    /// How many parts.
    pub parts: usize,
    /// Their tokens, without the frames of the turns.
    pub tokens: u64,
}

/// Tool calls and what became of them.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// All calls.
    pub all: usize,
    /// Assistant turns with calls, each a step with its results.
    pub steps: usize,
    /// Steps of two calls and more.
    pub parallel_groups: usize,
    /// Results that report a failure.
    pub failed: usize,
    /// Calls that no result answers.
    pub unanswered: usize,
    /// Results that answer no call.
    pub orphan_results: usize,
    /// Ids that stand for two calls and more.
    pub reused_ids: usize,
}

/// The same thing asked for again.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// Calls of the same tool with the same arguments as an earlier one.
    pub same_call: usize,
    /// Reads of a file that was read before, the same lines or others.
    pub same_file: usize,
    /// Tokens of the results of both.
    pub tokens: u64,
}

/// From the first to the last turn that has a time.
#[derive(Debug, Serialize)]
pub struct Span {
    /// The first.
    #[serde(serialize_with = "as_text")]
    pub from: Timestamp,
    /// The last.
    #[serde(serialize_with = "as_text")]
    pub to: Timestamp,
}

fn as_text<S: serde::Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(time)
}

/// Where the product compacted by itself.
#[derive(Debug, Serialize)]
pub struct OwnCompaction {
    /// Before the turn with this index.
    pub before_turn: usize,
    /// The context size that the product reports.
    pub tokens_before: Option<u64>,
    /// The size of its summary.
    pub summary_tokens: u64,
}

/// What the provider reported, summed.
#[derive(Debug, Default, Serialize)]
pub struct Usage {
    /// Responses with a report.
    pub responses: usize,
    /// Input that was not cached.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// The most that one request took in: input, cache reads and cache writes.
    pub largest_request: u64,
}

impl Inspection {
    /// Counts everything in `session`.
    pub fn of(session: &Session, counter: &dyn TokenCounter, counted: String) -> Self {
        let matched = match_calls(&session.turns);
        Self {
            turns: roles(&session.turns),
            tokens: session.turns.iter().map(Turn::tokens).sum::<Tokens>().get(),
            counted,
            kinds: kinds(&session.turns, &matched, counter),
            calls: calls(&session.turns, &matched),
            repeats: repeats(&session.turns, &matched, counter),
            span: span(&session.turns),
            compactions: session
                .compactions
                .iter()
                .map(|compaction| OwnCompaction {
                    before_turn: compaction.before,
                    tokens_before: compaction.tokens_before.map(Tokens::get),
                    summary_tokens: counter.count(&compaction.summary).get(),
                })
                .collect(),
            usage: usage(session),
        }
    }
}

fn roles(turns: &[Turn]) -> Roles {
    let mut roles = Roles {
        all: turns.len(),
        ..Roles::default()
    };
    for turn in turns {
        *match turn.role() {
            Role::System => &mut roles.system,
            Role::User => &mut roles.user,
            Role::Assistant => &mut roles.assistant,
            Role::Tool => &mut roles.tool,
            Role::Other => &mut roles.other,
        } += 1;
    }
    roles
}

/// Which call each result answers.
struct Matched<'a> {
    /// By turn and part of a result: the call.
    call_of: HashMap<(usize, usize), &'a ToolCall>,
    unanswered: usize,
    orphans: usize,
    reused_ids: usize,
}

/// An id is not unique in real sessions, so each result is given to the latest call with its id that
/// has none yet.
fn match_calls(turns: &[Turn]) -> Matched<'_> {
    let mut open: HashMap<&CallId, Vec<&ToolCall>> = HashMap::new();
    let mut uses: HashMap<&CallId, usize> = HashMap::new();
    let mut call_of = HashMap::new();
    let mut orphans = 0;
    for (index, turn) in turns.iter().enumerate() {
        for (position, part) in turn.parts().iter().enumerate() {
            match part {
                Part::Call(call) => {
                    open.entry(&call.id).or_default().push(call);
                    *uses.entry(&call.id).or_default() += 1;
                }
                Part::Result(result) => match open.get_mut(&result.call).and_then(Vec::pop) {
                    Some(call) => {
                        call_of.insert((index, position), call);
                    }
                    None => orphans += 1,
                },
                _ => {}
            }
        }
    }
    Matched {
        call_of,
        unanswered: open.values().map(Vec::len).sum(),
        orphans,
        reused_ids: uses.values().filter(|&&times| times > 1).count(),
    }
}

fn kinds(turns: &[Turn], matched: &Matched<'_>, counter: &dyn TokenCounter) -> Vec<Kind> {
    let mut sums: BTreeMap<String, (usize, Tokens)> = BTreeMap::new();
    for (index, turn) in turns.iter().enumerate() {
        for (position, part) in turn.parts().iter().enumerate() {
            let name = match part {
                Part::Text(_) => format!("{} text", turn.role()),
                Part::Thinking(_) => "thinking".to_owned(),
                Part::Call(_) => "tool calls".to_owned(),
                Part::Result(_) => matched.call_of.get(&(index, position)).map_or_else(
                    || "results without a call".to_owned(),
                    |call| format!("results of {}", call.name),
                ),
                Part::Attachment(_) => "images and documents".to_owned(),
                Part::Opaque(_) => "blocks of unknown types".to_owned(),
            };
            let sum = sums.entry(name).or_default();
            sum.0 += 1;
            sum.1 += counter.count_part(part);
        }
    }
    let mut kinds: Vec<Kind> = sums
        .into_iter()
        .map(|(name, (parts, tokens))| Kind {
            name,
            parts,
            tokens: tokens.get(),
        })
        .collect();
    kinds.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.name.cmp(&b.name)));
    kinds
}

fn calls(turns: &[Turn], matched: &Matched<'_>) -> Calls {
    let mut calls = Calls {
        unanswered: matched.unanswered,
        orphan_results: matched.orphans,
        reused_ids: matched.reused_ids,
        ..Calls::default()
    };
    for turn in turns {
        let here = turn.calls().count();
        calls.all += here;
        calls.steps += usize::from(here > 0);
        calls.parallel_groups += usize::from(here > 1);
        calls.failed += turn
            .results()
            .filter(|result| result.outcome == Outcome::Failed)
            .count();
    }
    calls
}

fn repeats(turns: &[Turn], matched: &Matched<'_>, counter: &dyn TokenCounter) -> Repeats {
    let mut repeats = Repeats::default();
    let mut calls_seen: HashSet<(&str, &str)> = HashSet::new();
    let mut files_seen: HashSet<String> = HashSet::new();
    for (index, turn) in turns.iter().enumerate() {
        for (position, part) in turn.parts().iter().enumerate() {
            let Some(call) = matched.call_of.get(&(index, position)) else {
                continue;
            };
            let same_call = !calls_seen.insert((&call.name, &call.arguments));
            let same_file = file_read(call).is_some_and(|file| !files_seen.insert(file));
            if same_call {
                repeats.same_call += 1;
            } else if same_file {
                repeats.same_file += 1;
            }
            if same_call || same_file {
                repeats.tokens += counter.count_part(part).get();
            }
        }
    }
    repeats
}

/// The file that a call reads, where the tool's name says that it reads one.
fn file_read(call: &ToolCall) -> Option<String> {
    let name = call.name.to_ascii_lowercase();
    let reads = ["read", "view", "open", "cat"]
        .iter()
        .any(|verb| name == *verb || name.starts_with(&format!("{verb}_")));
    if !reads {
        return None;
    }
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
    ["file_path", "path", "file", "filename", "target_file"]
        .iter()
        .find_map(|key| arguments.get(key)?.as_str())
        .map(str::to_owned)
}

fn span(turns: &[Turn]) -> Option<Span> {
    let times = || turns.iter().filter_map(Turn::at);
    Some(Span {
        from: times().min()?,
        to: times().max()?,
    })
}

fn usage(session: &Session) -> Option<Usage> {
    if session.usage.is_empty() {
        return None;
    }
    let mut sum = Usage::default();
    for report in &session.usage {
        let (read, write) = (report.cache_read.get(), report.cache_write.get());
        sum.responses += 1;
        sum.input += report.input.get();
        sum.output += report.output.get();
        sum.cache_read += read;
        sum.cache_write += write;
        sum.largest_request = sum.largest_request.max(report.input.get() + read + write);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{Calls, Inspection, Repeats};
    use context::turn::{Outcome, ToolCall, ToolResult};
    use context::{CallId, Heuristic, Part, Role, TurnDraft, TurnId};
    use wire::session::{Format, Session};

    fn call(id: &str, tool: &str, arguments: &str) -> Part {
        Part::Call(ToolCall {
            id: CallId::from(id),
            name: tool.into(),
            arguments: arguments.into(),
        })
    }

    fn result(id: &str, text: &str, outcome: Outcome) -> Part {
        Part::Result(ToolResult {
            call: CallId::from(id),
            text: text.into(),
            outcome,
        })
    }

    fn inspect(drafts: Vec<TurnDraft>) -> Inspection {
        let mut parent = TurnId::ROOT;
        let turns = drafts
            .into_iter()
            .map(|draft| {
                let turn = draft.after(parent, &Heuristic);
                parent = turn.id();
                turn
            })
            .collect();
        let session = Session {
            format: Format::OpenAiChat,
            title: String::new(),
            model: None,
            turns,
            compactions: Vec::new(),
            usage: Vec::new(),
            problems: Vec::new(),
        };
        Inspection::of(&session, &Heuristic, String::new())
    }

    fn assistant(parts: Vec<Part>) -> TurnDraft {
        TurnDraft::said(Role::Assistant, parts)
    }

    fn tool(parts: Vec<Part>) -> TurnDraft {
        TurnDraft::said(Role::Tool, parts)
    }

    #[test]
    fn calls_and_what_became_of_them() {
        let seen = inspect(vec![
            assistant(vec![call("1", "ls", "{}"), call("2", "grep", "{}")]),
            tool(vec![
                result("1", "a", Outcome::Succeeded),
                result("2", "no", Outcome::Failed),
            ]),
            assistant(vec![call("1", "ls", "{\"path\":\"b\"}")]),
            tool(vec![result("9", "stray", Outcome::Succeeded)]),
        ]);
        assert_eq!(
            seen.calls,
            Calls {
                all: 3,
                steps: 2,
                parallel_groups: 1,
                failed: 1,
                unanswered: 1,
                orphan_results: 1,
                reused_ids: 1,
            }
        );
    }

    #[test]
    fn a_file_read_again_is_told_from_the_same_call_again() {
        let read = |id: &str, offset: u32| {
            let arguments = format!("{{\"file_path\":\"a.rs\",\"offset\":{offset}}}");
            [
                assistant(vec![call(id, "Read", &arguments)]),
                tool(vec![result(id, "12345678", Outcome::Succeeded)]),
            ]
        };
        let seen = inspect([read("1", 0), read("2", 50), read("3", 50)].concat());
        let expected = Repeats {
            same_call: 1,
            same_file: 1,
            tokens: 4,
        };
        assert_eq!(seen.repeats, expected);
    }
}
