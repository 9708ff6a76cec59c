//! Anthropic Messages.

mod compaction;
mod front;
mod read;
mod reply;
mod request;
mod sealed;
mod stream;
mod write;

use super::{
    Betas, Compaction, Facts, Keys, Layout, Messages, OwnRequests, Provider, Replies, Requests,
    ResultPlace, Server, SystemBetween, Table,
};
use crate::api::beta;

/// The value of `tool_choice` that forbids calls.
const NO_CALLS: &str = r#"{"type":"none"}"#;

pub(super) static TABLE: Table = Table {
    facts: Facts {
        name: "anthropic",
        keys: Keys {
            list: "messages",
            instructions: Some("system"),
            longest_answer: "max_tokens",
            cache_breakpoint: "cache_control",
            cache_marker: Some(r#"{"type":"ephemeral"}"#),
            provider_state: &[],
            previous_answer: None,
            not_kept: None,
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
            bridged: None,
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
            all_compaction: &[beta::COMPACT, beta::COMPACT_THRESHOLD],
            clear_at: &[beta::CLEAR_AT],
            cache_question: &[beta::DIAGNOSIS],
        },
    },
    messages: Messages {
        role: read::role,
        draft: read::draft,
        results: read::results,
        text_type: |_| "text",
        write: write::write,
    },
    replies: Replies {
        read: reply::read,
        parts: reply::parts,
        message: reply::message,
        stream: || Box::<stream::Events>::default(),
        say: reply::say,
        say_compaction: reply::say_compaction,
        sealed_piece: sealed::piece,
        say_sealed: sealed::say,
        prefix: sealed::prefix,
    },
    requests: Requests {
        front: front::front,
        note: request::note,
        compacts: compaction::compacts,
        may_carry: compaction::may_carry,
        carrying: compaction::carrying,
        ask_for_compaction: compaction::ask,
        ask_for_text: request::ask_for_text,
        answer_room: request::answer_room,
        unseal: sealed::unseal,
        thread_refusal: request::thread_refusal,
        unknown_answer: |_| None,
        tool: request::tool,
    },
};
