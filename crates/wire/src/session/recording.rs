//! The state of a reader while it walks a file, and the session made from it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};

use context::coded::ErrorCode;
use context::turn::{CallId, Provenance, Role, Turn, TurnDraft, TurnId};
use context::{Text, TokenCounter, Tokens};
use jiff::Timestamp;

use super::blocks::Parts;
use super::error::code;
use super::fields::object;
use super::layout::{Layout, PieceKind};
use super::lines::{Line, slice};
use super::{Compaction, Format, Problem, ReportedUsage, Session};
use crate::api::Usage;
use crate::api::json::tree::{Tree, Value};

/// A message with its pieces of the file (lines or elements, counted from 0).
#[derive(Debug)]
pub(super) struct Said {
    pub(super) draft: TurnDraft,
    pub(super) pieces: Vec<usize>,
}

/// The place of the turns that a compaction replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Originals {
    /// In the file, before the compaction.
    Here,
    /// Not in the file, as where `ebbtide compact` wrote it: the summary is the only record of them.
    Gone,
}

/// A session in the making.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) said: Vec<Said>,
    pub(super) name: Option<Text>,
    pub(super) folder: Option<String>,
    pub(super) model: Option<String>,
    /// True if the last message is an action of SWE-agent's, outside of a demonstration.
    pub(super) acts: bool,
    pub(super) compactions: Vec<Compaction>,
    /// The window that the log names last.
    pub(super) window: Option<Tokens>,
    /// Usage by the index of the assistant turn; the last report for a turn wins.
    pub(super) usage: BTreeMap<usize, ReportedUsage>,
    pub(super) problems: Vec<Problem>,
    /// The first lines of every written file, whatever turns it shows.
    pub(super) headers: Vec<usize>,
    /// Lines that are not turns but may stand between shown turns.
    pub(super) asides: Vec<usize>,
    pub(super) unknown_records: BTreeMap<String, (usize, usize)>,
}

/// A session with the places of its turns in the file.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) session: Session,
    pub(super) layout: Layout,
}

impl Recording {
    /// The records of a log with their lines. Reports broken lines and skips blank ones.
    pub(super) fn records<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: &[Line],
    ) -> Vec<(usize, Tree<'a>)> {
        let mut records = Vec::with_capacity(lines.len());
        for (line, place) in lines.iter().enumerate() {
            let text = slice(bytes, place.text.clone());
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match object(text) {
                Some(record) => records.push((line, record)),
                None => self.problem(line, code::BROKEN, "not a JSON object"),
            }
        }
        records
    }

    /// Reports lines that were left out, at the first of them.
    pub(super) fn left_out(&mut self, lines: &[usize], code: ErrorCode, why: &str) {
        if let Some(first) = lines.first() {
            let message = format!("{} lines {why}, the first here", lines.len());
            self.problem(*first, code, message);
        }
    }

    /// Adds a message and returns its index.
    pub(super) fn say(
        &mut self,
        role: Role,
        parts: Parts,
        at: Option<Timestamp>,
        piece: usize,
    ) -> usize {
        self.unknown_blocks(&parts.unknown, piece);
        let mut draft = TurnDraft::said(role, parts.parts);
        draft.at = at;
        self.said.push(Said {
            draft,
            pieces: vec![piece],
        });
        self.said.len() - 1
    }

    /// Notes a compaction. The summary of turns that are not in the file becomes a turn, made of `pieces`.
    pub(super) fn compacted(
        &mut self,
        mut compaction: Compaction,
        originals: Originals,
        at: Option<Timestamp>,
        pieces: Vec<usize>,
    ) {
        if originals == Originals::Gone && !compaction.summary.trim().is_empty() {
            let draft = TurnDraft::text(Role::User, compaction.summary.clone());
            let mut draft = draft.from_provenance(Provenance::Summary);
            draft.at = at;
            self.said.push(Said { draft, pieces });
            compaction.before = self.said.len();
        }
        self.compactions.push(compaction);
    }

    /// The place of the turns that a compaction here replaced. Only what a client sends by itself may stand
    /// before the summary that `ebbtide compact` wrote: no turn of the model's, no prompt and no other summary.
    pub(super) fn originals(&self, is_prompt: fn(&Said) -> bool) -> Originals {
        let is_original = |said: &Said| {
            said.draft.role == Role::Assistant
                || said.draft.provenance == Provenance::Summary
                || is_prompt(said)
        };
        match self.said.iter().any(is_original) {
            true => Originals::Here,
            false => Originals::Gone,
        }
    }

    /// Adds more of a message that was begun before.
    pub(super) fn say_more(&mut self, turn: usize, parts: Parts, piece: usize) {
        self.unknown_blocks(&parts.unknown, piece);
        if let Some(said) = self.said.get_mut(turn) {
            said.draft.parts.extend(parts.parts);
            said.pieces.push(piece);
        }
    }

    /// Reports something broken or odd in a piece of the file.
    pub(super) fn problem(&mut self, piece: usize, code: ErrorCode, message: impl Into<String>) {
        self.problems.push(Problem {
            line: piece + 1,
            code,
            message: message.into(),
        });
    }

    /// Notes a record of an unknown kind; reported once for each kind.
    pub(super) fn unknown_record(&mut self, kind: &str, piece: usize) {
        let shown: String = kind.chars().take(40).collect();
        let seen = self.unknown_records.entry(shown).or_insert((piece, 0));
        seen.1 += 1;
    }

    fn unknown_blocks(&mut self, unknown: &[String], piece: usize) {
        for kind in unknown {
            let shown: String = kind.chars().take(40).collect();
            self.problem(
                piece,
                code::UNKNOWN_BLOCK,
                format!("block of unknown type `{shown}`"),
            );
        }
    }

    /// Notes a name of the session; the last one counts.
    pub(super) fn called(&mut self, name: Option<Cow<'_, str>>) {
        if let Some(name) = name.filter(|name| !name.trim().is_empty()) {
            self.name = Some(Text::from(&*name));
        }
    }

    /// Notes the folder that the agent works in; the first one counts.
    pub(super) fn works_in(&mut self, folder: Option<Cow<'_, str>>) {
        if self.folder.is_none() {
            self.folder = folder.map(Cow::into_owned);
        }
    }

    /// Notes the usage that the provider reported for a turn.
    pub(super) fn report(&mut self, turn: usize, usage: ReportedUsage) {
        self.usage.insert(turn, ReportedUsage { turn, ..usage });
    }

    /// Takes the model and the usage from a message of the model, by any provider's names.
    pub(super) fn credit(&mut self, turn: usize, message: Value<'_>) {
        if let Some(model) = message.get_text("model") {
            self.model = Some(model.into_owned());
        }
        let reports = |usage: &Value<'_>| {
            ["input_tokens", "prompt_tokens"]
                .iter()
                .any(|key| usage.count(key).is_some())
        };
        if let Some(usage) = message.get("usage").filter(reports) {
            let counts = Usage::read(usage).counts;
            let usage = ReportedUsage {
                turn,
                input: counts.input,
                output: counts.output,
                cache_read: counts.cache_read,
                cache_write: counts.cache_write,
                cache_write_hour: counts.writes.hour_1,
            };
            self.usage.insert(turn, usage);
        }
    }

    /// Places and counts the turns, and reports odd ones.
    pub(super) fn finish(
        mut self,
        format: Format,
        title: String,
        counter: &dyn TokenCounter,
    ) -> Recorded {
        let unknown = std::mem::take(&mut self.unknown_records);
        for (kind, (first, count)) in unknown {
            self.problem(
                first,
                code::UNKNOWN_RECORD,
                format!("{count} records of unknown kind `{kind}`, the first here"),
            );
        }
        self.check_calls();
        let mut parent = TurnId::ROOT;
        let mut turns: Vec<Turn> = Vec::with_capacity(self.said.len());
        let mut pieces = Vec::with_capacity(self.said.len());
        for said in self.said {
            let turn = said.draft.after(parent, counter);
            parent = turn.id();
            turns.push(turn);
            pieces.push(said.pieces);
        }
        self.problems.sort_by_key(|problem| problem.line);
        Recorded {
            session: Session {
                format,
                title,
                name: self.name,
                folder: self.folder,
                model: self.model,
                turns,
                compactions: self.compactions,
                window: self.window,
                usage: self.usage.into_values().collect(),
                problems: self.problems,
            },
            layout: Layout {
                pieces,
                place: PieceKind::Lines {
                    headers: self.headers,
                    asides: self.asides,
                },
            },
        }
    }

    /// Reports results without calls, calls without results, ids used twice and empty messages.
    fn check_calls(&mut self) {
        let mut open: HashMap<CallId, VecDeque<usize>> = HashMap::new();
        let mut used: HashMap<CallId, usize> = HashMap::new();
        let mut found = Vec::new();
        for said in &self.said {
            let piece = said.pieces.first().copied().unwrap_or_default();
            if said.draft.parts.is_empty() {
                found.push((piece, code::EMPTY_MESSAGE, "message without content"));
            }
            for part in &said.draft.parts {
                match part {
                    context::Part::Call(call) => {
                        if used.insert(call.id.clone(), piece).is_some() {
                            let message = "call id of an earlier call";
                            found.push((piece, code::CALL_ID_REUSED, message));
                        }
                        open.entry(call.id.clone()).or_default().push_back(piece);
                    }
                    context::Part::Result(result) => {
                        let waiting = open.get_mut(&result.call);
                        // In order: of two calls with one id, the first result answers the first.
                        let answered = waiting.is_some_and(|calls| calls.pop_front().is_some());
                        if !answered {
                            let message = "tool result without its call";
                            found.push((piece, code::RESULT_WITHOUT_CALL, message));
                        }
                    }
                    _ => {}
                }
            }
        }
        for piece in open.into_values().flatten() {
            let message = "tool call without result";
            found.push((piece, code::CALL_WITHOUT_RESULT, message));
        }
        for (piece, code, message) in found {
            self.problem(piece, code, message);
        }
    }
}
