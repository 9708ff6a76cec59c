//! OpenAI Chat Completions, as many other servers speak it too.

mod read;
mod reply;
mod request;
mod stream;
mod write;

use super::{
    Betas, Compaction, Facts, Keys, Layout, Messages, OwnRequests, Provider, Replies, Requests,
    ResultPlace, Server, SystemBetween, Table, plain_front,
};

const NO_CALLS: &str = "\"none\"";

const NO_COMPACTION: &str = "Chat Completions has no compaction";

/// Asks for the usage at the end of the stream.
const WITH_USAGE: (&str, &str) = ("stream_options", r#"{"include_usage":true}"#);

pub(super) static TABLE: Table = Table {
    facts: Facts {
        name: "chat",
        keys: Keys {
            list: "messages",
            instructions: None,
            longest_answer: "max_completion_tokens",
            cache_breakpoint: "prompt_cache_breakpoint",
            cache_marker: None,
            provider_state: &[],
            previous_answer: None,
            not_kept: None,
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
            bridged: None,
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
            all_compaction: &[],
            clear_at: &[],
            cache_question: &[],
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
        message: |pieces| pieces.join(","),
        stream: || Box::<stream::Chunks>::default(),
        say: reply::say,
        say_compaction: |_, _| None,
        sealed_piece: |_, _| None,
        say_sealed: |_, _, _| None,
        prefix: |_| None,
    },
    requests: Requests {
        front: plain_front,
        note: request::note,
        compacts: |_| None,
        may_carry: |_, _| Err(NO_COMPACTION),
        carrying: |_| Err(NO_COMPACTION),
        ask_for_compaction: |_, _| Err(NO_COMPACTION),
        ask_for_text: request::ask_for_text,
        answer_room: |_, ask| ask.longest,
        unseal: |_, _| None,
        thread_refusal: |_| None,
        unknown_answer: |_| None,
        tool: request::tool,
    },
};
