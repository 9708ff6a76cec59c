//! Counts the contents of a session. `ebbtide inspect` prints the counts as text or JSON.

use std::collections::{BTreeMap, HashMap, HashSet};

use context::summary::is_summary;
use context::turn::{CallId, Outcome, ToolCall};
use context::{Part, Provenance, Role, TokenCounter, Tokens, Turn};
use jiff::Timestamp;
use serde::Serialize;
use wire::session::Session;

/// The counts of one session.
#[derive(Debug, Serialize)]
pub struct Inspection {
    pub turns: Roles,
    /// Tokens of all turns, with the overhead of each message.
    pub tokens: u64,
    /// The counting method, in words.
    pub counted: String,
    /// Largest first.
    pub kinds: Vec<Kind>,
    pub calls: Calls,
    pub repeats: Repeats,
    /// `None` if no turn has a time.
    pub span: Option<Span>,
    /// The compactions that the file records.
    pub compactions: Vec<RecordedCompaction>,
    /// `None` if the file reports no usage.
    pub usage: Option<Usage>,
}

/// Turns by role.
#[derive(Debug, Default, Serialize)]
pub struct Roles {
    pub all: usize,
    /// System and developer messages.
    pub system: usize,
    pub user: usize,
    pub assistant: usize,
    pub tool: usize,
    /// Turns with an unknown role.
    pub other: usize,
}

/// Parts of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// For results, `results of` and the tool's name.
    pub name: String,
    pub parts: usize,
    /// Tokens of the parts, without the overhead of their messages.
    pub tokens: u64,
}

/// Tool calls and their results.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    pub all: usize,
    /// Assistant turns with calls; a step is such a turn with its results.
    pub steps: usize,
    /// Steps with two or more calls.
    pub parallel_groups: usize,
    /// Results that report a failure.
    pub failed: usize,
    /// Calls without a result.
    pub unanswered: usize,
    /// Results without a call.
    pub orphan_results: usize,
    /// Call IDs that two or more calls share.
    pub reused_ids: usize,
}

/// Repeated tool calls.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// Calls with the tool and arguments of an earlier call.
    pub same_call: usize,
    /// Other reads of a file that was read before.
    pub same_file: usize,
    /// Tokens of the results of both.
    pub tokens: u64,
}

/// The first and the last time of any turn.
#[derive(Debug, Serialize)]
pub struct Span {
    #[serde(serialize_with = "as_text")]
    pub from: Timestamp,
    #[serde(serialize_with = "as_text")]
    pub to: Timestamp,
}

fn as_text<S: serde::Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(time)
}

/// The maker of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compactor {
    /// The recording client.
    Client,
    /// `ebbtide compact`, which marks its summary like the client's own.
    Ebbtide,
}

/// A compaction that the file records.
#[derive(Debug, Serialize)]
pub struct RecordedCompaction {
    pub by: Compactor,
    /// The index of the turn that follows it.
    pub before_turn: usize,
    /// The context size that the client reports.
    pub tokens_before: Option<u64>,
    pub summary_tokens: u64,
}

/// The token usage that the provider reported, summed.
#[derive(Debug, Default, Serialize)]
pub struct Usage {
    /// Responses with a usage report.
    pub responses: usize,
    /// Uncached input.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The most input of one request: uncached, cache reads and cache writes.
    pub largest_request: u64,
}

impl Inspection {
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
                .map(|compaction| RecordedCompaction {
                    by: match is_summary(&compaction.summary) {
                        true => Compactor::Ebbtide,
                        false => Compactor::Client,
                    },
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

/// The calls of a session, matched with their results.
struct Matched<'a> {
    /// The call that a result answers, keyed by the turn and part of the result.
    call_of: HashMap<(usize, usize), &'a ToolCall>,
    unanswered: usize,
    orphans: usize,
    reused_ids: usize,
}

/// Matches each result with the latest unanswered call of the same ID, since IDs repeat in real
/// sessions.
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
                Part::Text(_) if turn.provenance() == Provenance::Summary => "summaries".to_owned(),
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

/// The path that a call reads; `None` unless the tool's name says that it reads a file.
fn file_read(call: &ToolCall) -> Option<String> {
    let name = call.own_name().to_ascii_lowercase();
    let reads = ["read", "view", "open", "cat"]
        .iter()
        .any(|verb| name == *verb || name.starts_with(&format!("{verb}_")));
    if !reads {
        return None;
    }
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
    let names = [
        "file_path",
        "filePath",
        "absolute_path",
        "path",
        "file",
        "filename",
        "target_file",
    ];
    names
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
            name: None,
            folder: None,
            model: None,
            turns,
            compactions: Vec::new(),
            window: None,
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
    fn calls_are_matched_with_their_results() {
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
    fn a_repeated_read_differs_from_a_repeated_call() {
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
