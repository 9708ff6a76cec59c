//! Builds the request for a text: appended to a request that was sent, or on its own.

use bytes::Bytes;
use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};
use history::Route;
use tokens::ModelTable;
use wire::api::{Conversation, Piece, Request, Stop, TextAsk};

use crate::endpoint::Endpoint;
use crate::error::ModelError;
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

/// The failed attempt before a repetition.
pub(crate) struct Before<'a> {
    /// The text that was answered.
    pub text: &'a str,
    /// The stop reason of the answer.
    pub stop: Option<&'a Stop>,
    /// The remark that asks for a better text.
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

/// Checks that a text can be asked for behind a sent request, with a prompt of `prompt` tokens: the request shows
/// the originals, all of it reaches the model, and there is room. Returns how long the text may be: `longest`
/// tokens, or as many as there is room for, `least` at least.
pub(crate) fn fits(
    sent: &Sent,
    prompt: Tokens,
    (longest, least): (Tokens, Tokens),
) -> Result<Tokens, ModelError> {
    if sent.shows == Shows::Part {
        return Err(not_open("the sent request does not show the originals"));
    }
    let request = Request::parse(sent.endpoint.dialect(), &sent.body)?;
    let answer = request.answer_room(&text_ask(&request, longest, None));
    let thinking = answer.saturating_sub(longest);
    let room = sent.window.saturating_sub(sent.tokens + prompt + thinking);
    if room < least {
        return Err(not_open("the window has no room behind the sent request"));
    }
    if request.sets("context_management") || request.is_held_by_provider() {
        return Err(not_open("the provider holds or edits the conversation"));
    }
    if request.sets("compaction") {
        return Err(not_open("the request already asks for a compaction"));
    }
    Ok(longest.min(room))
}

/// The sent request with the prompt behind its messages. Fields that would keep the answer from being a text are
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
    let ask = text_ask(&request, longest, before);
    let edit = request.edit().messages(pieces).asking_for_text(&ask);
    Ok(Bytes::from(edit.render()?))
}

fn text_ask(request: &Request<'_>, longest: Tokens, before: Option<&Before<'_>>) -> TextAsk {
    let model = request.model().unwrap_or_default();
    TextAsk {
        longest,
        most: ModelTable::shipped().find(&model).max_output,
        forbid_calls: before.is_some_and(|before| before.stop == Some(&Stop::ToolUse)),
    }
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
    let edit = dialect.facts().own.fields.iter();
    let edit = edit.fold(request.edit(), |edit, (key, json)| edit.set(key, *json));
    Ok(Bytes::from(edit.render()?))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use context::Tokens;
    use serde_json::{Value, json};
    use wire::api::{Dialect, Stop};

    use super::{Asking, Before, fits};
    use crate::endpoint::Endpoint;
    use crate::order::{Sent, Shows};

    fn sent(dialect: Dialect, body: &Value) -> Sent {
        Sent {
            endpoint: Endpoint::new(dialect, "http://h").unwrap(),
            body: Bytes::from(body.to_string()),
            shows: Shows::Originals,
            tokens: Tokens::new(1_000),
            window: Tokens::new(200_000),
        }
    }

    /// The body that asks alongside, first or again.
    fn asked(sent: &Sent, before: Option<&Before<'_>>) -> Value {
        let prompt = "sum up".to_owned();
        let asking = Asking::Alongside { sent, prompt };
        let body = asking.body(Tokens::new(900), before).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn claude() -> Value {
        json!({"model": "claude-opus-5-5", "max_tokens": 50, "system": "s", "stop_sequences": ["x"],
            "tools": [{"name": "read", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": "hi"}],
            "output_config": {"effort": "high", "format": {"type": "json_schema"}}})
    }

    #[test]
    fn nothing_before_the_prompt_differs() {
        let body = claude();
        let request = sent(Dialect::Anthropic, &body);
        let asked = asked(&request, None);
        for key in ["model", "system", "tools"] {
            assert_eq!(asked[key], body[key]);
        }
        assert_eq!(asked["messages"][0], body["messages"][0]);
        assert_eq!(asked["messages"][1]["role"], "user");
        assert_eq!(asked["messages"].as_array().unwrap().len(), 2);
        assert_eq!(asked["max_tokens"], 900);
        assert_eq!(asked["stream"], true);
        assert_eq!(asked["output_config"], json!({"effort": "high"}));
        assert!(asked.get("stop_sequences").is_none() && asked.get("tool_choice").is_none());
    }

    #[test]
    fn a_model_that_insists_on_a_call_may_make_none_the_second_time() {
        let request = sent(Dialect::Anthropic, &claude());
        let mut before = Before {
            text: "",
            stop: Some(&Stop::ToolUse),
            remark: "again",
        };
        let second = asked(&request, Some(&before));
        assert_eq!(second["tool_choice"], json!({"type": "none"}));
        assert_eq!(second["messages"].as_array().unwrap().len(), 3);
        before.text = "half a record";
        before.stop = Some(&Stop::EndOfTurn);
        let second = asked(&request, Some(&before));
        assert!(second.get("tool_choice").is_none());
        assert_eq!(second["messages"][2]["role"], "assistant");
        let mut forced = claude();
        forced["tool_choice"] = json!({"type": "tool", "name": "read"});
        let first = asked(&sent(Dialect::Anthropic, &forced), None);
        assert!(first.get("tool_choice").is_none());
    }

    #[track_caller]
    fn check_most(budget: u64, expected: u64) {
        let mut body = claude();
        body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
        let asked = asked(&sent(Dialect::Anthropic, &body), None);
        assert_eq!(asked["max_tokens"], expected);
    }

    #[test]
    fn thinking_has_its_room_as_far_as_the_model_writes() {
        check_most(4_000, 4_900);
        check_most(127_500, 128_000);
        check_most(128_000, 128_001);
    }

    #[test]
    fn openai_is_asked_for_a_text_only() {
        let tools = json!([{"type": "function", "function": {"name": "read"}}]);
        let messages = json!([{"role": "user", "content": "hi"}]);
        let chat = json!({"model": "m", "messages": messages, "tools": tools, "n": 2, "stop": "x",
            "max_tokens": 5, "response_format": {"type": "json_object"}});
        let got = asked(&sent(Dialect::Chat, &chat), None);
        assert_eq!(got["tool_choice"], "none");
        assert_eq!(got["max_tokens"], 900);
        assert_eq!(got["stream_options"]["include_usage"], true);
        for key in ["n", "stop", "response_format", "max_completion_tokens"] {
            assert!(got.get(key).is_none(), "{key}");
        }
        let bare = json!({"model": "m", "input": "hi", "text": {"format": {"type": "text"}}});
        let got = asked(&sent(Dialect::Responses, &bare), None);
        assert_eq!(got["input"][0], json!({"role": "user", "content": "hi"}));
        assert_eq!(got["input"].as_array().unwrap().len(), 2);
        assert!(got.get("text").is_none() && got.get("tool_choice").is_none());
    }

    #[track_caller]
    fn check_fits(change: impl Fn(&mut Sent), extra: Option<(&str, Value)>, expected: Option<u64>) {
        let mut body = claude();
        if let Some((key, value)) = extra {
            body[key] = value;
        }
        let mut sent = sent(Dialect::Anthropic, &body);
        change(&mut sent);
        let answers = (Tokens::new(900), Tokens::new(600));
        let fits = fits(&sent, Tokens::new(100), answers);
        assert_eq!(fits.ok().map(Tokens::get), expected);
    }

    #[test]
    fn when_a_sent_request_may_be_asked_behind() {
        let same = |_: &mut Sent| {};
        check_fits(same, None, Some(900));
        check_fits(|sent| sent.window = Tokens::new(2_000), None, Some(900));
        check_fits(|sent| sent.window = Tokens::new(1_999), None, Some(899));
        check_fits(|sent| sent.window = Tokens::new(1_700), None, Some(600));
        check_fits(|sent| sent.window = Tokens::new(1_699), None, None);
        check_fits(|sent| sent.shows = Shows::Part, None, None);
        check_fits(
            same,
            Some(("context_management", json!({"edits": []}))),
            None,
        );
        check_fits(same, Some(("context_management", Value::Null)), Some(900));
        check_fits(
            same,
            Some(("compaction", json!({"type": "summarize"}))),
            None,
        );
        let thinking = json!({"type": "enabled", "budget_tokens": 2_000});
        check_fits(
            |sent| sent.window = Tokens::new(3_000),
            Some(("thinking", thinking)),
            None,
        );
    }
}
