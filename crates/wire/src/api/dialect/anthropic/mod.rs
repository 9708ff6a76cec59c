//! Anthropic Messages.

mod compaction;
mod front;
mod read;
mod reply;
mod request;
mod stream;
mod write;

use context::{Part, Role, Tokens, TurnDraft};

use super::{
    Betas, Compaction, CompactionAsk, Facts, Keys, Layout, OwnRequests, Provider, ResultPlace,
    Server, SystemBetween, Table, TextAsk,
};
use crate::api::beta;
use crate::api::edit::Edit;
use crate::api::insertion::{Insertion, SystemMessages};
use crate::api::json::tree::{Tree, Value};
use crate::api::json::write::{Object, list};
use crate::api::limits::DEEPEST;
use crate::api::message::Message;
use crate::api::reply::Stop;
use crate::api::request::Request;
use crate::api::stream::Stream;
use crate::api::synthetic::{Frame, Written};

pub(super) struct Anthropic;

/// The value of `tool_choice` that forbids calls.
const NO_CALLS: &str = r#"{"type":"none"}"#;

static FACTS: Facts = Facts {
    name: "anthropic",
    tag: b'A',
    keys: Keys {
        list: "messages",
        instructions: Some("system"),
        longest_answer: "max_tokens",
        cache_breakpoint: "cache_control",
        provider_state: &[],
        cache_question: Some("diagnostics"),
    },
    layout: Layout {
        loose_list: false,
        joins_assistant: false,
        alternates: true,
        keeps_system: false,
        system_between: SystemBetween::WithCapability,
        results: ResultPlace::Blocks,
        after_tool: "user",
        binds_thinking: true,
        longest_id: 64,
        plain_ids: true,
    },
    server: Server {
        provider: Provider::Anthropic,
        base_url: "https://api.anthropic.com",
        path: "/messages",
        generate: (&["/v1/messages"], "messages"),
        count: (&["/v1/messages/count_tokens"], "count_tokens"),
        key: ("x-api-key", ""),
        headers: &[("anthropic-version", "2023-06-01")],
    },
    compaction: Compaction {
        native: true,
        client: "anthropic-api",
        path: None,
    },
    own: OwnRequests {
        fields: &[("stream", "true")],
        auto_cache: Some(("cache_control", r#"{"type":"ephemeral"}"#)),
        no_calls: NO_CALLS,
        needs_limit: true,
        thinking_budget: true,
    },
    betas: Betas {
        compaction: &[beta::COMPACT],
        clear_at: &[beta::CLEAR_AT],
        cache_question: &[beta::DIAGNOSIS],
    },
};

impl Table for Anthropic {
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
        let blocks = element.get("content").into_iter();
        blocks
            .flat_map(Value::elements)
            .filter(|block| block.get("type").is_some_and(|it| it.is("tool_result")))
            .map(|block| block.get("content"))
            .collect()
    }

    fn text_type(&self, _: Role) -> &'static str {
        "text"
    }

    fn write(&self, role: Role, parts: &[Part]) -> Vec<String> {
        write::write(role, parts).into_iter().collect()
    }

    fn read_reply(&self, body: Value<'_>) -> (Vec<String>, Option<Stop>) {
        reply::read(body)
    }

    fn draft_reply(&self, pieces: &[String]) -> TurnDraft {
        let content = list(pieces);
        let tree = Tree::parse(&content, DEEPEST);
        let parts = tree.map(|tree| read::content_parts(tree.root()));
        TurnDraft::said(Role::Assistant, parts.unwrap_or_default())
    }

    fn message_of(&self, pieces: &[String]) -> String {
        let message = Object::new().text("role", "assistant");
        message.raw("content", &list(pieces)).end()
    }

    fn stream(&self) -> Box<dyn Stream> {
        Box::<stream::Events>::default()
    }

    fn say(&self, frame: &Frame, text: &str) -> Written {
        reply::say(frame, text)
    }

    fn say_compaction(&self, frame: &Frame, block: &str) -> Option<Written> {
        Some(reply::say_compaction(frame, block))
    }

    fn front(&self, request: &Request<'_>, from: usize, texts: &[&str]) -> String {
        front::front(request, from, texts)
    }

    fn note(
        &self,
        request: &Request<'_>,
        newest: &Message<'_>,
        takes: SystemMessages,
        text: &str,
    ) -> Option<Insertion> {
        request::note(request, newest, takes, text)
    }

    fn compacts(&self, request: &Request<'_>) -> Option<usize> {
        compaction::compacts(request)
    }

    fn may_carry(&self, request: &Request<'_>, from: usize) -> Result<(), &'static str> {
        compaction::may_carry(request, from)
    }

    fn carrying<'r>(&self, edit: Edit<'r>) -> Result<Edit<'r>, &'static str> {
        compaction::carrying(edit)
    }

    fn ask_for_compaction<'r>(
        &self,
        edit: Edit<'r>,
        ask: &CompactionAsk<'_>,
    ) -> Result<Edit<'r>, &'static str> {
        compaction::ask(edit, ask)
    }

    fn ask_for_text<'r>(&self, edit: Edit<'r>, ask: &TextAsk) -> Edit<'r> {
        request::ask_for_text(edit, ask)
    }

    fn answer_room(&self, request: &Request<'_>, ask: &TextAsk) -> Tokens {
        request::answer_room(request, ask)
    }

    fn thread_refusal(&self, request: &Request<'_>) -> Option<String> {
        request::thread_refusal(request)
    }

    fn tool(&self, name: &str, description: &str, schema: &serde_json::Value) -> String {
        request::tool(name, description, schema)
    }
}
