//! The two ways to ask a model for a text: alongside a request that was sent, and apart from it.

use bytes::Bytes;
use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};
use history::Route;
use serde_json::{Value, json};
use wire::api::{Conversation, Dialect, Piece, Reply, Request, Stop};

use crate::endpoint::Endpoint;
use crate::error::ModelError;
use crate::native::{forces_a_call, without};
use crate::order::{Sent, Shows, Writer};
use crate::work::message;

/// Whom a text is asked from, and with what.
pub(crate) enum Asking<'a> {
    /// The agent's own model: the sent request's bytes and one more message. So long as nothing before
    /// that message differs, the provider reads all of it from its cache.
    Alongside {
        /// The request.
        sent: &'a Sent,
        /// The message.
        prompt: String,
    },
    /// Any model: instructions and a transcript.
    Apart {
        /// The model.
        writer: &'a Writer,
        /// The instructions.
        system: String,
        /// The transcript.
        source: String,
    },
}

/// What came before the text is asked for again.
pub(crate) struct Before<'a> {
    /// The text that was answered.
    pub text: &'a str,
    /// Why the answer stopped.
    pub stop: Option<&'a Stop>,
    /// What is said about it.
    pub remark: &'a str,
}

impl Asking<'_> {
    pub const fn endpoint(&self) -> &Endpoint {
        match self {
            Self::Alongside { sent, .. } => &sent.endpoint,
            Self::Apart { writer, .. } => &writer.endpoint,
        }
    }

    /// The name of the model that answers.
    pub fn model(&self) -> String {
        match self {
            Self::Alongside { sent, .. } => model_of(sent),
            Self::Apart { writer, .. } => writer.model.clone(),
        }
    }

    /// The body that asks for a text of `longest` tokens, or asks for it again.
    pub fn body(&self, longest: Tokens, before: Option<&Before<'_>>) -> Result<Bytes, ModelError> {
        match self {
            Self::Alongside { sent, prompt } => alongside(sent, prompt, longest, before),
            Self::Apart {
                writer,
                system,
                source,
            } => apart(writer, [system, source], longest, before),
        }
    }
}

fn model_of(sent: &Sent) -> String {
    let request = Request::parse(sent.endpoint.dialect(), &sent.body);
    let model = request.as_ref().ok().and_then(Request::model);
    model.unwrap_or_default().into_owned()
}

const fn not_open(why: &'static str) -> ModelError {
    ModelError::NotOpen {
        route: Route::Readable,
        why,
    }
}

/// Whether a text of `longest` tokens can be asked for behind a sent request, whose prompt has `prompt`
/// tokens: the request shows the originals, all of it reaches the model, and there is room.
pub(crate) fn fits(sent: &Sent, prompt: Tokens, longest: Tokens) -> Result<(), ModelError> {
    if sent.shows == Shows::Part {
        return Err(not_open("the sent request does not show the originals"));
    }
    if sent.tokens + prompt + longest > sent.window {
        return Err(not_open("the window has no room behind the sent request"));
    }
    let request = Request::parse(sent.endpoint.dialect(), &sent.body)?;
    let set = |key: &str| request.field(key).is_some_and(|it| it.value != "null");
    let held = ["context_management", "previous_response_id", "conversation"];
    if held.iter().any(|key| set(key)) {
        return Err(not_open(
            "the provider itself changes or holds what is shown",
        ));
    }
    if set("compaction") {
        return Err(not_open("the request asks for a compaction itself"));
    }
    Ok(())
}

/// The sent request with the prompt behind its messages. What would keep the answer from being a text is
/// changed; nothing else is, and nothing before the prompt.
fn alongside(
    sent: &Sent,
    prompt: &str,
    longest: Tokens,
    before: Option<&Before<'_>>,
) -> Result<Bytes, ModelError> {
    let dialect = sent.endpoint.dialect();
    let request = Request::parse(dialect, &sent.body)?;
    let mut pieces = vec![Piece::Kept(0..request.len())];
    let mut say = |role, text: &str| {
        pieces.push(Piece::Written(message(dialect, role, text).into()));
    };
    say(Role::User, prompt);
    if let Some(before) = before {
        if !before.text.trim().is_empty() {
            say(Role::Assistant, before.text);
        }
        say(Role::User, before.remark);
    }
    let mut edit = request.edit().messages(pieces).set("stream", "true");
    let has_tools = request
        .tools()
        .is_some_and(|tools| !matches!(tools.value, "[]" | "null"));
    match dialect {
        Dialect::Anthropic => {
            let most = longest + thinking_budget(&request);
            edit = edit.set("max_tokens", most.to_string());
            for key in ["stop_sequences", "output_format", "thread", "diagnostics"] {
                edit = edit.remove(key);
            }
            edit = without(edit, &request, "output_config", |config| {
                config.remove("format").is_some()
            });
            // Another choice makes the provider read the messages anew, so the client's stands, unless
            // it forces a call or the model insisted on one.
            let insists = before.is_some_and(|before| before.stop == Some(&Stop::ToolUse));
            if has_tools && insists {
                edit = edit.set("tool_choice", r#"{"type":"none"}"#);
            } else if forces_a_call(&request) {
                edit = edit.remove("tool_choice");
            }
        }
        Dialect::Chat => {
            let limit = match request.field("max_tokens") {
                Some(_) => "max_tokens",
                None => "max_completion_tokens",
            };
            edit = edit
                .set(limit, longest.to_string())
                .set("stream_options", r#"{"include_usage":true}"#)
                .remove("stop")
                .remove("n")
                .remove("response_format");
        }
        Dialect::Responses => {
            edit = edit
                .set("max_output_tokens", longest.to_string())
                .remove("background");
            edit = without(edit, &request, "text", |text| {
                text.remove("format").is_some()
            });
        }
    }
    if has_tools && dialect != Dialect::Anthropic {
        edit = edit.set("tool_choice", "\"none\"");
    }
    Ok(Bytes::from(edit.render()?))
}

/// What the client lets the model think, which counts into `max_tokens`.
fn thinking_budget(request: &Request<'_>) -> Tokens {
    let thinking = request.field("thinking");
    let thinking: Value = thinking
        .and_then(|it| serde_json::from_str(it.value).ok())
        .unwrap_or_default();
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
    Tokens::new(budget.unwrap_or_default())
}

/// A request of our own: instructions and source.
fn apart(
    writer: &Writer,
    [system, source]: [&str; 2],
    longest: Tokens,
    before: Option<&Before<'_>>,
) -> Result<Bytes, ModelError> {
    let dialect = writer.endpoint.dialect();
    let mut said = vec![(Role::System, system), (Role::User, source)];
    if let Some(before) = before {
        if !before.text.trim().is_empty() {
            said.push((Role::Assistant, before.text));
        }
        said.push((Role::User, before.remark));
    }
    let mut parent = TurnId::ROOT;
    let turns: Vec<Turn> = said
        .into_iter()
        .map(|(role, text)| {
            let turn = TurnDraft::text(role, text).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect();
    let conversation = Conversation::from_turns(dialect, &turns);
    let body = conversation.body(&writer.model, Some(longest.get()));
    let request = Request::parse(dialect, body.as_bytes())?;
    let mut edit = request.edit().set("stream", "true");
    match dialect {
        Dialect::Anthropic => {}
        Dialect::Chat => {
            let options = json!({"include_usage": true});
            edit = edit.set("stream_options", options.to_string());
        }
        Dialect::Responses => edit = edit.set("store", "false"),
    }
    Ok(Bytes::from(edit.render()?))
}

/// Whether an answer ended because it reached its longest length.
pub(crate) fn was_cut(reply: &Reply) -> bool {
    matches!(reply.stop, Some(Stop::MaxTokens | Stop::WindowExceeded))
}
