//! Prompts by which clients ask a model to compact, told by a few words of theirs.
//!
//! Each is recognised by how it begins *and* by words that only it holds further on, so that a text which
//! speaks of compaction is not taken for one. Custom prompts are not recognised: they are passed on.

use super::{Form, Wants};

/// A prompt of a client.
struct Prompt {
    client: &'static str,
    /// The openings, one of which the prompt has.
    opens: &'static [&'static str],
    /// Phrases that the prompt contains.
    holds: &'static [&'static str],
    wants: Wants,
}

const PROMPTS: &[Prompt] = &[
    // Only of the newest part of the conversation: what is before it stays with the client.
    Prompt {
        client: "claude-code",
        opens: CLAUDE_CODE,
        holds: &["detailed summary of the RECENT portion", "<summary>"],
        wants: Wants::Foreign,
    },
    // With a wish of the user's, which a summary that was prepared before does not know.
    Prompt {
        client: "claude-code",
        opens: CLAUDE_CODE,
        holds: &[
            "detailed summary of the conversation so far",
            "Additional Instructions:",
        ],
        wants: Wants::Foreign,
    },
    Prompt {
        client: "claude-code",
        opens: CLAUDE_CODE,
        holds: &[
            "detailed summary of the conversation so far",
            "<analysis>",
            "<summary>",
        ],
        wants: Wants::Text(Form::Summary),
    },
    Prompt {
        client: "anthropic-sdk",
        opens: &["You have been working on the task described above"],
        holds: &["continuation summary", "<summary>"],
        wants: Wants::Text(Form::Summary),
    },
    Prompt {
        client: "codex",
        opens: &["You are performing a CONTEXT CHECKPOINT COMPACTION"],
        holds: &["handoff summary"],
        wants: Wants::Text(Form::Plain),
    },
    Prompt {
        client: "opencode",
        opens: &["Provide a detailed prompt for continuing our conversation above."],
        holds: &["continuing the conversation, including what we did"],
        wants: Wants::Text(Form::Plain),
    },
    Prompt {
        client: "roo-code",
        opens: &["Summarize the conversation so far, as described in the prompt instructions."],
        holds: &[],
        wants: Wants::Text(Form::Plain),
    },
    Prompt {
        client: "gemini-cli",
        opens: &["First, reason in your scratchpad. Then, generate the <state_snapshot>."],
        holds: &[],
        wants: Wants::Text(Form::Snapshot),
    },
    Prompt {
        client: "pi",
        opens: &["The messages above are a conversation to summarize."],
        holds: &["context checkpoint summary"],
        wants: Wants::Text(Form::Plain),
    },
    Prompt {
        client: "pi",
        opens: &["<conversation>"],
        holds: &[
            "The messages above are a conversation to summarize.",
            "context checkpoint summary",
        ],
        wants: Wants::Foreign,
    },
    Prompt {
        client: "langchain",
        opens: &["<role>\nContext Extraction Assistant"],
        holds: &["Messages to summarize:"],
        wants: Wants::Foreign,
    },
    Prompt {
        client: "openhands",
        opens: &["You are maintaining a context-aware state summary"],
        holds: &["events"],
        wants: Wants::Foreign,
    },
    Prompt {
        client: "goose",
        opens: &["Please summarize the conversation history provided in the system prompt."],
        holds: &[],
        wants: Wants::Foreign,
    },
];

const CLAUDE_CODE: &[&str] = &[
    "Your task is to create a detailed summary of",
    "CRITICAL: Respond with TEXT ONLY.",
];

/// The tags around text that a client adds to a user's message.
const REMINDER: [&str; 2] = ["<system-reminder>", "</system-reminder>"];

/// Whose prompt a text is, and what it wants.
pub(super) fn recognise(text: &str) -> Option<(&'static str, Wants)> {
    let found = PROMPTS.iter().find(|prompt| {
        prompt.opens.iter().any(|opening| text.starts_with(opening))
            && prompt.holds.iter().all(|words| text.contains(words))
    });
    found.map(|prompt| (prompt.client, prompt.wants))
}

/// A user's text without what its client put before it on its own.
pub(super) fn without_reminders(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, after)) = rest
        .strip_prefix(REMINDER[0])
        .and_then(|inside| inside.split_once(REMINDER[1]))
    {
        rest = after.trim_start();
    }
    rest
}
