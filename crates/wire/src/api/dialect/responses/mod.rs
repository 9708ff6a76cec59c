//! OpenAI Responses.

mod read;
mod reply;
mod request;
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

pub(super) struct Responses;

const NO_CALLS: &str = "\"none\"";

static FACTS: Facts = Facts {
    name: "responses",
    tag: b'R',
    keys: Keys {
        list: "input",
        instructions: Some("instructions"),
        longest_answer: "max_output_tokens",
        cache_breakpoint: "prompt_cache_breakpoint",
        provider_state: &["previous_response_id", "conversation"],
        cache_question: None,
    },
    layout: Layout {
        loose_list: true,
        joins_assistant: true,
        alternates: false,
        keeps_system: true,
        system_between: SystemBetween::Always,
        results: ResultPlace::Messages,
        after_tool: "developer",
        binds_thinking: false,
        longest_id: 64,
        plain_ids: false,
    },
    server: Server {
        provider: Provider::OpenAi,
        base_url: "https://api.openai.com/v1",
        path: "/responses",
        // The conversation goes on from what `/responses/compact` answers.
        generate: (&["/responses", "/responses/compact"], "responses"),
        count: (&["/responses/input_tokens"], "input_tokens"),
        key: ("authorization", "Bearer "),
        headers: &[],
    },
    compaction: Compaction {
        native: true,
        client: "openai-api",
        path: Some("/responses/compact"),
    },
    own: OwnRequests {
        fields: &[("stream", "true"), ("store", "false")],
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

/// The type of a text block in a message of `role`.
fn text_type(role: Role) -> &'static str {
    match role {
        Role::Assistant => "output_text",
        _ => "input_text",
    }
}

impl Table for Responses {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn role(&self, kind: Option<&str>, role: Option<&str>) -> Role {
        read::role(kind, role)
    }

    fn draft(&self, role: Role, elements: &[Tree<'_>]) -> TurnDraft {
        read::draft(role, elements.iter().map(Tree::root))
    }

    fn results<'t>(&self, element: Value<'t>) -> Vec<Option<Value<'t>>> {
        if read::is_result(element) {
            vec![element.get("output")]
        } else {
            Vec::new()
        }
    }

    fn text_type(&self, role: Role) -> &'static str {
        text_type(role)
    }

    fn write(&self, role: Role, parts: &[Part]) -> Vec<String> {
        write::write(role, parts)
    }

    fn read_reply(&self, body: Value<'_>) -> (Vec<String>, Option<Stop>) {
        reply::read(body)
    }

    fn draft_reply(&self, pieces: &[String]) -> TurnDraft {
        let items = pieces.iter();
        let trees: Vec<_> = items
            .filter_map(|item| Tree::parse(item, DEEPEST).ok())
            .collect();
        read::draft(Role::Assistant, trees.iter().map(Tree::root))
    }

    fn message_of(&self, pieces: &[String]) -> String {
        pieces.join(",")
    }

    fn stream(&self) -> Box<dyn Stream> {
        Box::<stream::Items>::default()
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
        _: &Message<'_>,
        _: SystemMessages,
        text: &str,
    ) -> Option<Insertion> {
        Some(Insertion::after("developer", text))
    }

    fn compacts(&self, request: &Request<'_>) -> Option<usize> {
        request::compacts(request)
    }

    fn may_carry(&self, _: &Request<'_>, _: usize) -> Result<(), &'static str> {
        Ok(())
    }

    fn carrying<'r>(&self, edit: Edit<'r>) -> Result<Edit<'r>, &'static str> {
        Ok(edit)
    }

    fn ask_for_compaction<'r>(
        &self,
        edit: Edit<'r>,
        _: &CompactionAsk<'_>,
    ) -> Result<Edit<'r>, &'static str> {
        request::ask_for_compaction(edit)
    }

    fn ask_for_text<'r>(&self, edit: Edit<'r>, ask: &TextAsk) -> Edit<'r> {
        request::ask_for_text(edit, ask)
    }

    fn answer_room(&self, _: &Request<'_>, ask: &TextAsk) -> Tokens {
        ask.longest
    }

    fn thread_refusal(&self, _: &Request<'_>) -> Option<String> {
        None
    }

    fn tool(&self, name: &str, description: &str, schema: &serde_json::Value) -> String {
        json!({
            "type": "function",
            "name": name,
            "description": description,
            "parameters": schema,
        })
        .to_string()
    }
}
