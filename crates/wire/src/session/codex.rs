//! Codex rollout JSON Lines: `{"timestamp","type","payload"}`, and the older form whose lines are the
//! payloads themselves.
//!
//! `response_item` records are what the model saw. The parts of one response (reasoning,
//! text and calls) are adjacent records; they become one turn.

use context::turn::{Outcome, Part, Role};
use context::{Text, TokenCounter, Tokens};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, attachment, call, opaque, outcome, readable};
use super::chat::{role, unquoted};
use super::error::code;
use super::lines::Line;
use super::recording::{Recorded, Recording, time};
use super::scalar::{Content, Scalar, parse};
use super::{Compaction, Format, ReportedUsage};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    timestamp: Scalar<'a>,
    payload: Option<&'a RawValue>,
    record_type: Scalar<'a>,
    instructions: Option<&'a RawValue>,
}

/// Every field of interest that a payload of any type may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Payload<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    role: Scalar<'a>,
    content: Content<'a>,
    summary: Content<'a>,
    encrypted_content: Scalar<'a>,
    name: Scalar<'a>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    action: Option<&'a RawValue>,
    id: Scalar<'a>,
    call_id: Scalar<'a>,
    output: Option<&'a RawValue>,
    tools: Option<&'a RawValue>,
    message: Scalar<'a>,
    replacement_history: Content<'a>,
    model: Scalar<'a>,
    info: Option<&'a RawValue>,
    num_turns: Scalar<'a>,
}

/// Reads the session of a log.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let mut reader = Reader::default();
    for (line, text, record) in reader.recording.records(bytes, lines) {
        reader.record(&record, text, line);
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
    fn record(&mut self, record: &Record<'_>, text: &[u8], line: usize) {
        let (kind, payload) = match record.payload {
            Some(raw) => (record.kind.or_empty(), serde_json::from_str(raw.get())),
            None => ("response_item", serde_json::from_slice(text)),
        };
        let Ok(payload) = payload else {
            let message = "the payload has an unknown shape";
            return self.recording.problem(line, code::BROKEN, message);
        };
        let beginning = record.payload.is_none() && record.kind == Scalar::Null;
        if beginning && (record.instructions.is_some() || record.record_type != Scalar::Null) {
            return self.recording.headers.push(line);
        }
        match kind {
            "response_item" => self.item(&payload, record, line),
            "compacted" => self.compacted(&payload),
            "event_msg" => self.event(&payload, line),
            "session_meta" => self.recording.headers.push(line),
            "turn_context" => {
                if let Some(model) = payload.model.text() {
                    self.recording.model = Some(model.to_owned());
                }
                self.recording.asides.push(line);
            }
            kind => {
                self.recording.unknown_record(kind, line);
                self.recording.asides.push(line);
            }
        }
    }

    fn item(&mut self, payload: &Payload<'_>, record: &Record<'_>, line: usize) {
        let Some((role, parts)) = item(payload, record) else {
            return self.recording.asides.push(line);
        };
        match self.open {
            Some(turn) if role == Role::Assistant => self.recording.say_more(turn, parts, line),
            _ => {
                let turn = self
                    .recording
                    .say(role, parts, time(&record.timestamp), line);
                self.open = (role == Role::Assistant).then_some(turn);
            }
        }
    }

    fn compacted(&mut self, payload: &Payload<'_>) {
        self.open = None;
        let summary = match payload.message.text() {
            Some(message) if !message.is_empty() => Text::from(message),
            _ => Text::from(replacement(&payload.replacement_history)),
        };
        self.recording.compactions.push(Compaction {
            before: self.recording.said.len(),
            tokens_before: self.size,
            summary,
        });
    }

    fn event(&mut self, payload: &Payload<'_>, line: usize) {
        match payload.kind.or_empty() {
            "token_count" => self.token_count(payload.info),
            "thread_rolled_back" => self.roll_back(payload, line),
            _ => {}
        }
        self.recording.asides.push(line);
    }

    fn token_count(&mut self, info: Option<&RawValue>) {
        #[derive(Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Info<'a> {
            last_token_usage: Option<Last<'a>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Last<'a> {
            input_tokens: Scalar<'a>,
            cached_input_tokens: Scalar<'a>,
            output_tokens: Scalar<'a>,
        }
        let Some(last) = parse::<Info<'_>>(info).last_token_usage else {
            return;
        };
        let (input, cached) = (
            last.input_tokens.tokens(),
            last.cached_input_tokens.tokens(),
        );
        let output = last.output_tokens.tokens();
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
    fn roll_back(&mut self, payload: &Payload<'_>, line: usize) {
        self.open = None;
        let count = payload.num_turns.count().unwrap_or_default();
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

/// Returns `true` for a prompt, not for the context that Codex inserts as user messages.
fn is_prompt(said: &super::recording::Said) -> bool {
    let text = said.draft.parts.iter().find_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let context = [
        "<environment_context>",
        "<user_instructions>",
        "# AGENTS.md",
    ];
    said.draft.role == Role::User
        && !text.is_some_and(|text| context.iter().any(|start| text.starts_with(start)))
}

/// The role and the parts of an item; `None` for items that the model does not see.
fn item(payload: &Payload<'_>, record: &Record<'_>) -> Option<(Role, Parts)> {
    let mut parts = Parts::default();
    let call = |name: &str, arguments: Option<&RawValue>| {
        let name = payload.name.text().unwrap_or(name);
        call(call_id(payload), name, &unquoted(arguments))
    };
    match payload.kind.or_empty() {
        "message" => return Some((role(payload.role.or_empty()), Parts::of(&payload.content))),
        "reasoning" => parts.parts.push(reasoning(payload)),
        "function_call" => parts.parts.push(call("", payload.arguments)),
        "custom_tool_call" => parts.parts.push(call("", payload.input)),
        "local_shell_call" => parts.parts.push(call("local_shell", payload.action)),
        "tool_search_call" => parts.parts.push(call("tool_search", payload.arguments)),
        "image_generation_call" => parts.parts.push(attachment("image", raw(record))),
        // Run by the provider: its result is in the next message of the model's.
        kind @ "web_search_call" => parts.parts.push(opaque(kind, raw(record))),
        "ghost_snapshot" => return None,
        kind if kind.ends_with("_output") => {
            let answer = payload.output.or(payload.tools);
            let (text, failed) = answer_of(answer);
            parts.result(call_id(payload), None, failed);
            if let Some(Part::Result(result)) = parts.parts.first_mut() {
                result.text = text;
            }
            return Some((Role::Tool, parts));
        }
        kind => {
            parts.unknown.push(kind.to_owned());
            parts.parts.push(opaque(kind, raw(record)));
            return Some((Role::Other, parts));
        }
    }
    Some((Role::Assistant, parts))
}

/// The raw payload.
fn raw<'a>(record: &Record<'a>) -> &'a [u8] {
    record.payload.map_or(&[], |raw| raw.get().as_bytes())
}

fn call_id<'a>(payload: &'a Payload<'_>) -> &'a str {
    payload.call_id.text().unwrap_or(payload.id.or_empty())
}

/// The readable part of reasoning, or its encrypted form where nothing is readable.
fn reasoning(payload: &Payload<'_>) -> Part {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Piece<'a> {
        text: Scalar<'a>,
    }
    let mut texts = Vec::new();
    for list in [&payload.summary, &payload.content] {
        if let Content::Blocks(pieces) = list {
            let pieces = pieces.iter().map(|raw| parse::<Piece<'_>>(Some(raw)));
            texts.extend(pieces.filter_map(|piece| piece.text.text().map(str::to_owned)));
        }
    }
    let encrypted = payload.encrypted_content.or_empty();
    if texts.is_empty() && !encrypted.is_empty() {
        return opaque("reasoning", encrypted.as_bytes());
    }
    Part::Thinking(Text::from(texts.join("\n")))
}

/// The text and the outcome of a tool call. Answers are text, lists of blocks, or objects
/// with `content` and `success`; older shells answer with JSON text that holds `output` and an exit
/// code.
fn answer_of(answer: Option<&RawValue>) -> (Text, Outcome) {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Answer<'a> {
        content: Option<&'a RawValue>,
        output: Scalar<'a>,
        success: Scalar<'a>,
        metadata: Option<Metadata<'a>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Metadata<'a> {
        exit_code: Scalar<'a>,
    }
    let (text, _) = readable(answer);
    if !text.starts_with('{') {
        let code = text
            .strip_prefix("Exit code: ")
            .and_then(|rest| rest.lines().next())
            .and_then(|code| code.trim().parse::<i64>().ok());
        let failed = code.is_some_and(|code| code != 0);
        return (Text::from(text.as_ref()), outcome(failed));
    }
    let Ok(inner) = serde_json::from_str::<Answer<'_>>(&text) else {
        return (Text::from(text.as_ref()), Outcome::Succeeded);
    };
    let exit_code = inner.metadata.as_ref().map(|metadata| &metadata.exit_code);
    let failed = inner.success == Scalar::Bool(false)
        || exit_code.is_some_and(|code| matches!(code, Scalar::Number(code) if *code != 0.0));
    let shown = match (inner.output.text(), inner.content) {
        (Some(output), _) => Text::from(output),
        (None, Some(content)) => Text::from(readable(Some(content)).0.as_ref()),
        (None, None) => Text::from(text.as_ref()),
    };
    (shown, outcome(failed))
}

/// The readable text of the items that replaced a history.
fn replacement(history: &Content<'_>) -> String {
    let Content::Blocks(items) = history else {
        return String::new();
    };
    let mut texts = Vec::new();
    for raw in items {
        let payload: Payload<'_> = parse(Some(raw));
        for part in Parts::of(&payload.content).parts {
            if let Part::Text(text) = part {
                texts.push(text.as_str().to_owned());
            }
        }
    }
    texts.join("\n\n")
}
