//! Codex rollout JSON Lines: `{"timestamp","type","payload"}`, and the older form whose lines are the
//! payloads themselves.
//!
//! `response_item` records are what the model saw. The parts of one response (reasoning,
//! text and calls) are adjacent records; they become one turn.

use context::turn::{Outcome, Part, Provenance, Role};
use context::{Text, TokenCounter, Tokens};

use super::blocks::{Parts, outcome, readable, texts};
use super::chat::{role, unquoted};
use super::error::code;
use super::fields::object;
use super::lines::Line;
use super::recording::{Recorded, Recording, Said};
use super::{Compaction, Format, ReportedUsage};
use crate::api::json::scan::Kind;
use crate::api::json::tree::Value;
use crate::api::parts;

/// Reads the session of a log.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let mut reader = Reader::default();
    for (line, record) in reader.recording.records(bytes, lines) {
        reader.record(record.root(), line);
    }
    let recorded = reader
        .recording
        .finish(Format::Codex, title.to_owned(), counter);
    vec![recorded]
}

#[derive(Debug, Default)]
struct Reader {
    recording: Recording,
    /// The turn of the model's that is being put together.
    open: Option<usize>,
    /// The context size at the last report.
    size: Option<Tokens>,
}

impl Reader {
    fn record(&mut self, record: Value<'_>, line: usize) {
        let (kind, payload) = match record.field("payload") {
            Some(payload) => (record.word("type"), payload),
            None if is_header(record) => return self.recording.headers.push(line),
            None => ("response_item".into(), record),
        };
        if payload.kind() != Kind::Object {
            let message = "the payload has an unknown shape";
            return self.recording.problem(line, code::BROKEN, message);
        }
        match &*kind {
            "response_item" => self.item(payload, record, line),
            "compacted" => self.compacted(payload, record, line),
            "event_msg" => self.event(payload, line),
            "session_meta" => {
                self.recording.works_in(payload.get_text("cwd"));
                self.recording.headers.push(line);
            }
            "turn_context" => {
                if let Some(model) = payload.get_text("model") {
                    self.recording.model = Some(model.into_owned());
                }
                self.recording.asides.push(line);
            }
            kind => {
                self.recording.unknown_record(kind, line);
                self.recording.asides.push(line);
            }
        }
    }

    fn item(&mut self, payload: Value<'_>, record: Value<'_>, line: usize) {
        let Some((role, parts)) = item(payload) else {
            return self.recording.asides.push(line);
        };
        match self.open {
            Some(turn) if role == Role::Assistant => self.recording.say_more(turn, parts, line),
            _ => {
                let at = record.time("timestamp");
                let turn = self.recording.say(role, parts, at, line);
                self.open = (role == Role::Assistant).then_some(turn);
            }
        }
    }

    fn compacted(&mut self, payload: Value<'_>, record: Value<'_>, line: usize) {
        self.open = None;
        let message = payload.word("message");
        let summary = if message.is_empty() {
            Text::from(replacement(payload))
        } else {
            Text::from(&*message)
        };
        let compaction = Compaction {
            before: self.recording.said.len(),
            tokens_before: self.size,
            summary,
            by_hand: false,
        };
        let (originals, at) = (self.recording.originals(is_typed), record.time("timestamp"));
        self.recording
            .compacted(compaction, originals, at, vec![line]);
    }

    fn event(&mut self, payload: Value<'_>, line: usize) {
        match &*payload.word("type") {
            "token_count" => self.token_count(payload),
            "task_started" => self.window(payload),
            "thread_name_updated" => self.recording.called(payload.get_text("thread_name")),
            "thread_rolled_back" => self.roll_back(payload, line),
            _ => {}
        }
        self.recording.asides.push(line);
    }

    fn window(&mut self, holder: Value<'_>) {
        if let Some(window) = holder.count("model_context_window").filter(|it| *it > 0) {
            self.recording.window = Some(Tokens::new(window));
        }
    }

    fn token_count(&mut self, payload: Value<'_>) {
        let info = payload.get("info");
        if let Some(info) = info {
            self.window(info);
        }
        let Some(last) = info.and_then(|info| info.inner("last_token_usage")) else {
            return;
        };
        let (input, output) = (last.tokens("input_tokens"), last.tokens("output_tokens"));
        let cached = last.tokens("cached_input_tokens");
        self.size = Some(input + output);
        let said = &self.recording.said;
        let answer = said
            .iter()
            .rposition(|said| said.draft.role == Role::Assistant);
        if let Some(turn) = answer {
            let usage = ReportedUsage {
                input: input.saturating_sub(cached),
                output,
                cache_read: cached,
                ..ReportedUsage::default()
            };
            self.recording.report(turn, usage);
        }
    }

    /// Removes the last user turns with everything behind them.
    fn roll_back(&mut self, payload: Value<'_>, line: usize) {
        self.open = None;
        let count = payload.count("num_turns").unwrap_or_default();
        let prompts: Vec<usize> = (0..self.recording.said.len())
            .filter(|turn| self.recording.said.get(*turn).is_some_and(is_prompt))
            .collect();
        let taken_back = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(prompts.len());
        let Some(first) = prompts.get(prompts.len() - taken_back).copied() else {
            return;
        };
        let lines: usize = self
            .recording
            .said
            .drain(first..)
            .map(|said| said.pieces.len())
            .sum();
        self.recording.usage.retain(|turn, _| *turn < first);
        for compaction in &mut self.recording.compactions {
            compaction.before = compaction.before.min(first);
        }
        let message = format!("{lines} lines before this one were rolled back");
        self.recording.problem(line, code::ABANDONED, message);
    }
}

/// Returns `true` for the first line of the older form.
fn is_header(record: Value<'_>) -> bool {
    let has = |key| record.field(key).is_some();
    !has("type") && (has("instructions") || has("record_type"))
}

/// Returns `true` for a prompt, not for a summary or the context that Codex inserts as user messages.
fn is_prompt(said: &Said) -> bool {
    let context = [
        "<environment_context>",
        "<user_instructions>",
        "# AGENTS.md",
    ];
    let inserted = |text: &&str| context.iter().any(|start| text.starts_with(start));
    let is_said = said.draft.role == Role::User && said.draft.provenance == Provenance::Said;
    is_said && !texts(&said.draft.parts).first().is_some_and(inserted)
}

/// Returns true for a prompt that a person may have typed: what clients insert stands in tags.
fn is_typed(said: &Said) -> bool {
    let is_tagged = |text: &&str| text.starts_with('<');
    is_prompt(said) && !texts(&said.draft.parts).first().is_some_and(is_tagged)
}

/// The role and the parts of an item; `None` for items that the model does not see.
fn item(payload: Value<'_>) -> Option<(Role, Parts)> {
    let mut out = Parts::default();
    let id = payload.get_text("call_id");
    let id = id.unwrap_or_else(|| payload.word("id"));
    let mut call = |name: &str, key: &str| {
        let own = parts::called(payload);
        let arguments = unquoted(payload.field(key));
        out.call(&id, if own.is_empty() { name } else { &own }, &arguments);
    };
    match &*payload.word("type") {
        "message" => {
            let role = role(&payload.word("role"));
            return Some((role, Parts::of(payload.get("content"))));
        }
        "reasoning" => out.parts.push(reasoning(payload)),
        "function_call" => call("", "arguments"),
        "custom_tool_call" => call("", "input"),
        "local_shell_call" => call("local_shell", "action"),
        "tool_search_call" => call("tool_search", "arguments"),
        "image_generation_call" => out.parts.push(parts::attachment(payload, "image")),
        // Run by the provider: its result is in the next message of the model's.
        kind @ "web_search_call" => out.parts.push(parts::opaque_of(payload, kind)),
        "ghost_snapshot" => return None,
        kind if kind.ends_with("_output") => {
            let answer = payload.field("output").or_else(|| payload.field("tools"));
            let (text, outcome) = answer_of(answer);
            let call = Text::from(&*id);
            out.parts.push(parts::result(&call, text, outcome));
            return Some((Role::Tool, out));
        }
        kind => {
            out.unknown.push(kind.to_owned());
            out.parts.push(parts::opaque_of(payload, kind));
            return Some((Role::Other, out));
        }
    }
    Some((Role::Assistant, out))
}

/// The readable part of reasoning, or its encrypted form where nothing is readable.
fn reasoning(payload: Value<'_>) -> Part {
    let pieces = payload.list("summary").chain(payload.list("content"));
    let texts: Vec<_> = pieces.filter_map(|piece| piece.get_text("text")).collect();
    let encrypted = payload.get("encrypted_content");
    let encrypted = encrypted.filter(|it| it.text().is_some_and(|text| !text.is_empty()));
    match encrypted.filter(|_| texts.is_empty()) {
        Some(encrypted) => parts::opaque_of(encrypted, "reasoning"),
        None => Part::Thinking(Text::from(texts.join("\n"))),
    }
}

/// The text and the outcome of a tool call. Answers are text, lists of blocks, or objects
/// with `content` and `success`; older shells answer with JSON text that holds `output` and an exit
/// code.
fn answer_of(answer: Option<Value<'_>>) -> (Text, Outcome) {
    let (text, _) = readable(answer);
    if !text.starts_with('{') {
        let code = text
            .strip_prefix("Exit code: ")
            .and_then(|rest| rest.lines().next())
            .and_then(|code| code.trim().parse::<i64>().ok());
        let failed = code.is_some_and(|code| code != 0);
        return (text, outcome(failed));
    }
    let Some(tree) = object(text.as_bytes()) else {
        return (text, Outcome::Succeeded);
    };
    let inner = tree.root();
    let exit_code = inner.get("metadata").and_then(|it| it.get("exit_code"));
    let refused = inner.get("success").is_some_and(|it| it.raw() == "false");
    let failed = refused
        || exit_code
            .and_then(Value::number)
            .is_some_and(|code| code != 0.0);
    let shown = match (inner.get_text("output"), inner.field("content")) {
        (Some(output), _) => Text::from(&*output),
        (None, Some(content)) => readable(Some(content)).0,
        (None, None) => text.clone(),
    };
    (shown, outcome(failed))
}

/// The readable text of the items that replaced a history.
fn replacement(payload: Value<'_>) -> String {
    let items = payload.list("replacement_history");
    let said: Vec<Part> = items
        .flat_map(|item| Parts::of(item.get("content")).parts)
        .collect();
    texts(&said).join("\n\n")
}
