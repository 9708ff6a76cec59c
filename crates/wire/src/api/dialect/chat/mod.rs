//! OpenAI Chat Completions, as many other servers speak it too.

mod read;
mod reply;
mod stream;
mod write;

use context::{Part, Role, Tokens, TurnDraft};
use serde_json::json;

use super::{
    Betas, Compaction, CompactionAsk, Facts, Keys, Layout, OwnRequests, Provider, ResultPlace,
    Server, SystemBetween, Table, TextAsk, plain_front,
};
use crate::api::edit::Edit;
use crate::api::insertion::{Insertion, SystemMessages};
use crate::api::json::tree::{Tree, Value};
use crate::api::limits::DEEPEST;
use crate::api::message::Message;
use crate::api::reply::Stop;
use crate::api::request::Request;
use crate::api::stream::Stream;
use crate::api::synthetic::{Frame, Written};

pub(super) struct Chat;

const NO_CALLS: &str = "\"none\"";

const NO_COMPACTION: &str = "Chat Completions has no compaction";

/// Asks for the usage at the end of the stream.
const WITH_USAGE: (&str, &str) = ("stream_options", r#"{"include_usage":true}"#);

static FACTS: Facts = Facts {
    name: "chat",
    tag: b'C',
    keys: Keys {
        list: "messages",
        instructions: None,
        longest_answer: "max_completion_tokens",
        cache_breakpoint: "prompt_cache_breakpoint",
        provider_state: &[],
        cache_question: None,
    },
    layout: Layout {
        loose_list: false,
        joins_assistant: false,
        alternates: false,
        keeps_system: true,
        system_between: SystemBetween::OpenAiOnly,
        results: ResultPlace::Messages,
        after_tool: "user",
        binds_thinking: false,
        longest_id: 40,
        plain_ids: false,
    },
    server: Server {
        provider: Provider::OpenAi,
        base_url: "https://api.openai.com/v1",
        path: "/chat/completions",
        generate: (&["/chat/completions"], "chat_completions"),
        count: (&[], "input_tokens"),
        key: ("authorization", "Bearer "),
        headers: &[],
    },
    compaction: Compaction {
        native: false,
        client: "openai-api",
        path: None,
    },
    own: OwnRequests {
        fields: &[("stream", "true"), WITH_USAGE],
        auto_cache: None,
        no_calls: NO_CALLS,
        needs_limit: false,
        thinking_budget: false,
    },
    betas: Betas {
        compaction: &[],
        clear_at: &[],
        cache_question: &[],
    },
};

impl Table for Chat {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn role(&self, _: Option<&str>, role: Option<&str>) -> Role {
        read::role(role)
    }

    fn draft(&self, role: Role, elements: &[Tree<'_>]) -> TurnDraft {
        let draft = elements.first().map(|tree| read::draft(tree.root()));
        draft.unwrap_or_else(|| TurnDraft::said(role, Vec::new()))
    }

    fn results<'t>(&self, element: Value<'t>) -> Vec<Option<Value<'t>>> {
        let role = element.get_text("role");
        if read::role(role.as_deref()) == Role::Tool {
            vec![element.get("content")]
        } else {
            Vec::new()
        }
    }

    fn text_type(&self, _: Role) -> &'static str {
        "text"
    }

    fn write(&self, role: Role, parts: &[Part]) -> Vec<String> {
        write::write(role, parts)
    }

    fn read_reply(&self, body: Value<'_>) -> (Vec<String>, Option<Stop>) {
        reply::read(body)
    }

    fn draft_reply(&self, pieces: &[String]) -> TurnDraft {
        let first = pieces.first();
        let message = first.and_then(|message| Tree::parse(message, DEEPEST).ok());
        message.map_or_else(
            || TurnDraft::said(Role::Assistant, Vec::new()),
            |tree| read::said(Role::Assistant, tree.root()),
        )
    }

    fn message_of(&self, pieces: &[String]) -> String {
        pieces.join(",")
    }

    fn stream(&self) -> Box<dyn Stream> {
        Box::<stream::Chunks>::default()
    }

    fn say(&self, frame: &Frame, text: &str) -> Written {
        reply::say(frame, text)
    }

    fn say_compaction(&self, _: &Frame, _: &str) -> Option<Written> {
        None
    }

    fn front(&self, _: &Request<'_>, _: usize, texts: &[&str]) -> String {
        plain_front(texts)
    }

    fn note(
        &self,
        _: &Request<'_>,
        newest: &Message<'_>,
        takes: SystemMessages,
        text: &str,
    ) -> Option<Insertion> {
        match takes {
            SystemMessages::Anywhere => Some(Insertion::after("system", text)),
            SystemMessages::InFront if newest.role() == Role::User => newest.appended(text),
            SystemMessages::InFront => None,
        }
    }

    fn compacts(&self, _: &Request<'_>) -> Option<usize> {
        None
    }

    fn may_carry(&self, _: &Request<'_>, _: usize) -> Result<(), &'static str> {
        Err(NO_COMPACTION)
    }

    fn carrying<'r>(&self, _: Edit<'r>) -> Result<Edit<'r>, &'static str> {
        Err(NO_COMPACTION)
    }

    fn ask_for_compaction<'r>(
        &self,
        _: Edit<'r>,
        _: &CompactionAsk<'_>,
    ) -> Result<Edit<'r>, &'static str> {
        Err(NO_COMPACTION)
    }

    fn ask_for_text<'r>(&self, edit: Edit<'r>, ask: &TextAsk) -> Edit<'r> {
        let request = edit.request();
        // Servers beside OpenAI's know only the older key.
        let limit = match request.field("max_tokens") {
            Some(_) => "max_tokens",
            None => FACTS.keys.longest_answer,
        };
        let edit = edit
            .set(limit, ask.longest.to_string())
            .set(WITH_USAGE.0, WITH_USAGE.1)
            .remove_all(&["stop", "n", "response_format"]);
        if request.has_tools() {
            edit.set("tool_choice", NO_CALLS)
        } else {
            edit
        }
    }

    fn answer_room(&self, _: &Request<'_>, ask: &TextAsk) -> Tokens {
        ask.longest
    }

    fn thread_refusal(&self, _: &Request<'_>) -> Option<String> {
        None
    }

    fn tool(&self, name: &str, description: &str, schema: &serde_json::Value) -> String {
        let function = json!({"name": name, "description": description, "parameters": schema});
        json!({"type": "function", "function": function}).to_string()
    }
}
