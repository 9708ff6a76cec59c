//! Small values to store.

use context::pin::{Origin, Pin, PinId};
use context::turn::{Attachment, Digest, Opaque, Outcome, ToolCall, ToolResult};
use context::{CallId, Heuristic, Part, Provenance, Role, Text, Tokens, Turn, TurnDraft, TurnId};
use jiff::Timestamp;
use jiff::civil::date;

use crate::account::Spent;
use crate::conversation::{Conversation, ConversationId, Labels, Standing, Totals};
use crate::edition::{Change, Edition};
use crate::engine::Pinned;
use crate::mark::{Mark, MarkId, Route};

/// Creates a turn with one text after `parent`.
pub fn turn(parent: TurnId, text: &str) -> Turn {
    TurnDraft::text(Role::User, text).after(parent, &Heuristic)
}

/// Creates a path with one turn per text.
pub fn line(texts: &[&str]) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let after = |text: &&str| {
        let turn = turn(parent, text);
        parent = turn.id();
        turn
    };
    texts.iter().map(after).collect()
}

/// Creates what one request with a model costs.
pub fn spent(model: &str) -> Spent {
    Spent {
        day: date(2026, 1, 2),
        model: Text::from(model),
        requests: 1,
        micros: 5,
        micros_without: 7,
    }
}

/// Returns the id of the last turn, or the root without turns.
pub fn head(turns: &[Turn]) -> TurnId {
    turns.last().map_or(TurnId::ROOT, Turn::id)
}

/// Creates a path with every role, kind of part and provenance, with timestamps and odd texts.
pub fn everything() -> Vec<Turn> {
    let call = |id: &str| CallId::from(id);
    let digest = Digest::of(b"picture");
    let drafts = [
        TurnDraft::text(Role::System, "").at(moment(1)),
        TurnDraft::said(
            Role::User,
            vec![
                Part::Text(Text::from(
                    "zero \0 tab \t quote \" unicode \u{1F30A}\u{FEFF}\r\n",
                )),
                Part::Attachment(Attachment {
                    kind: Text::from("image/png"),
                    bytes: 123_456,
                    digest,
                }),
            ],
        ),
        TurnDraft::said(
            Role::Assistant,
            vec![
                Part::Thinking(Text::from("let me see")),
                Part::Call(ToolCall {
                    id: call("toolu_1"),
                    name: Text::from("read"),
                    arguments: Text::from(r#"{"path":"a\"b"}"#),
                }),
                Part::Opaque(Opaque {
                    kind: Text::from("server_tool_use"),
                    bytes: 0,
                    digest,
                }),
            ],
        )
        .at(moment(-5)),
        TurnDraft::said(
            Role::Tool,
            vec![
                Part::Result(ToolResult {
                    call: call("toolu_1"),
                    text: Text::from("x".repeat(100_000)),
                    outcome: Outcome::Failed,
                }),
                Part::Result(ToolResult {
                    call: call(""),
                    text: Text::default(),
                    outcome: Outcome::Succeeded,
                }),
            ],
        )
        .from_provenance(Provenance::Shrunk),
        TurnDraft::said(Role::Other, vec![]).from_provenance(Provenance::Note),
        TurnDraft::text(Role::User, "summary").from_provenance(Provenance::Summary),
        TurnDraft::text(Role::User, "pins").from_provenance(Provenance::Pins),
    ];
    let mut parent = TurnId::ROOT;
    let after = |draft: TurnDraft| {
        let turn = draft.after(parent, &Heuristic);
        parent = turn.id();
        turn
    };
    drafts.into_iter().map(after).collect()
}

/// Creates a timestamp relative to 1970-01-01, with nanoseconds after it.
pub fn moment(second: i64) -> Timestamp {
    Timestamp::new(second, 7 * i32::from(second > 0)).unwrap_or_default()
}

/// Creates a mark at a node.
pub fn mark(node: TurnId, summary: &str) -> Mark {
    Mark {
        node,
        made_from: TurnId::from_bytes([9; 16]),
        summary: Text::from(summary),
        tokens: Tokens::new(1_234),
        route: Route::Native,
        at: moment(77),
    }
}

/// Returns the id of the n-th conversation.
pub const fn conversation_id(n: u8) -> ConversationId {
    ConversationId::from_bytes([n; 16])
}

/// Creates the n-th conversation with few details.
pub fn conversation(n: u8, head: TurnId, seen: Timestamp) -> Conversation {
    Conversation {
        id: conversation_id(n),
        parent: None,
        head,
        turns: 1,
        labels: Labels::default(),
        title: None,
        model: Text::from("claude-sonnet-5"),
        standing: Standing::WHOLE,
        strategy: None,
        totals: Totals::default(),
        began: Timestamp::UNIX_EPOCH,
        seen,
    }
}

/// Creates the n-th conversation with all details and the largest numbers.
pub fn full_conversation(n: u8, head: TurnId, seen: Timestamp) -> Conversation {
    let text = |text: &str| Some(Text::from(text));
    Conversation {
        parent: Some(conversation_id(200)),
        turns: u64::MAX,
        labels: Labels {
            session: text("session"),
            agent: text(""),
            parent_agent: text("parent \0 agent"),
            user: text("\u{1F30A}"),
        },
        title: text("ledger: the parser"),
        standing: Standing {
            from: TurnId::from_bytes([3; 16]),
            cleared: TurnId::from_bytes([4; 16]),
            stripped: TurnId::from_bytes([5; 16]),
            mark: Some(MarkId::from_bytes([6; 16])),
            compactions: u32::MAX,
            noted: 7,
            inherited: 8,
        },
        strategy: text("{\"state\":[]}"),
        totals: Totals {
            requests: 1,
            fresh: Tokens::new(u64::MAX),
            cache_read: Tokens::new(2),
            cache_write: Tokens::new(3),
            output: Tokens::new(4),
            micros: u64::MAX,
            micros_without: 5,
            stalls_avoided: 6,
        },
        began: moment(-3),
        ..conversation(n, head, seen)
    }
}

/// Creates a pin.
pub fn pin(text: &str) -> Pinned {
    Pinned {
        pin: Pin {
            id: PinId::of(text),
            text: Text::from(text),
            origin: Origin::Agent,
            at: Some(moment(9)),
            tokens: Tokens::new(3),
        },
        said_in: Some(TurnId::from_bytes([8; 16])),
    }
}

/// Creates an edition that appends a block to a turn.
pub fn appended(turn: TurnId, text: &str) -> Edition {
    Edition {
        turn,
        change: Change::Appended(Text::from(text)),
        at: moment(11),
    }
}

/// Creates an edition that shortens a tool result of a turn.
pub fn shrunk(turn: TurnId, result: u32, text: &str) -> Edition {
    Edition {
        turn,
        change: Change::Shrunk {
            result,
            text: Text::from(text),
        },
        at: moment(12),
    }
}
