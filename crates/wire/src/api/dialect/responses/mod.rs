//! OpenAI Responses.

mod read;
mod reply;
mod request;
mod sealed;
mod stream;
mod write;

use context::Role;

use super::{
    Betas, Compaction, Facts, Keys, Layout, Messages, OwnRequests, Provider, Replies, Requests,
    ResultPlace, Server, SystemBetween, Table, plain_front,
};
use crate::api::insertion::Insertion;

const NO_CALLS: &str = "\"none\"";

pub(super) static TABLE: Table = Table {
    facts: Facts {
        name: "responses",
        keys: Keys {
            list: "input",
            instructions: Some("instructions"),
            longest_answer: "max_output_tokens",
            cache_breakpoint: "prompt_cache_breakpoint",
            cache_marker: None,
            provider_state: &["previous_response_id", "conversation"],
            previous_answer: Some("previous_response_id"),
            not_kept: Some(("store", "false")),
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
            bridged: Some("/chat/completions"),
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
            all_compaction: &[],
            clear_at: &[],
            cache_question: &[],
        },
    },
    messages: Messages {
        role: read::role,
        draft: read::draft,
        results: read::results,
        text_type,
        write: write::write,
    },
    replies: Replies {
        read: reply::read,
        parts: reply::parts,
        message: |pieces| pieces.join(","),
        stream: || Box::<stream::Items>::default(),
        say: reply::say,
        say_compaction: |_, _| None,
        sealed_piece: sealed::piece,
        say_sealed: sealed::say,
        prefix: sealed::prefix,
    },
    requests: Requests {
        front: plain_front,
        note: |_, _, _, text| Some(Insertion::after("developer", text)),
        compacts: request::compacts,
        may_carry: |_, _| Ok(()),
        carrying: |edit| Ok(edit),
        ask_for_compaction: request::ask_for_compaction,
        ask_for_text: request::ask_for_text,
        answer_room: |_, ask| ask.longest,
        unseal: sealed::unseal,
        thread_refusal: |_| None,
        unknown_answer: request::unknown_answer,
        tool: request::tool,
    },
};

/// The type of a text block in a message of `role`.
fn text_type(role: Role) -> &'static str {
    match role {
        Role::Assistant => "output_text",
        _ => "input_text",
    }
}
