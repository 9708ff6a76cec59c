//! The session's client: the requests that it would have sent, byte for byte.

use std::collections::BTreeSet;

use context::{Role, TokenCounter, Tokens, Turn};
use serde_json::json;
use wire::api::{Dialect, Request, ResultPlace, render_turn};
use wire::session::{Format, Session};

/// The requests of a session. A request holds everything that was said before one assistant turn.
#[derive(Debug)]
pub struct Client {
    dialect: Dialect,
    /// The body up to the list of messages.
    head: String,
    /// The body behind it.
    tail: &'static str,
    /// The elements of the list of messages, with commas between.
    elements: String,
    /// For each turn the bytes of `elements` up to its end.
    ends: Vec<usize>,
    /// For each turn and the end, the index of its first message.
    messages: Vec<usize>,
    /// The messages, as the gateway reads them.
    turns: Vec<Turn>,
}

impl Client {
    /// The client of a session, which asks this model. Its instructions contain a stand-in for what the
    /// log leaves out, of `unlogged` tokens.
    #[must_use]
    pub fn new(
        session: &Session,
        model: &str,
        counter: &dyn TokenCounter,
        unlogged: Tokens,
    ) -> Self {
        let dialect = dialect_of(session.format);
        let instructions = instructions(session, dialect);
        let mut client = Self {
            dialect,
            head: head(
                session,
                model,
                (dialect, instructions),
                stand_in(unlogged, counter),
            ),
            tail: "]}",
            elements: String::new(),
            ends: Vec::with_capacity(session.turns.len()),
            messages: Vec::with_capacity(session.turns.len() + 1),
            turns: Vec::new(),
        };
        // The first element of each turn, and the number of all.
        let mut firsts = Vec::with_capacity(session.turns.len() + 1);
        let mut count = 0;
        for (index, turn) in session.turns.iter().enumerate() {
            firsts.push(count);
            if index >= instructions {
                let written = render_turn(dialect, turn);
                if !written.is_empty() {
                    if !client.elements.is_empty() {
                        client.elements.push(',');
                    }
                    client.elements.push_str(&written);
                    count += elements_in(dialect, &written);
                }
            }
            client.ends.push(client.elements.len());
        }
        firsts.push(count);
        client.read(&firsts, counter);
        client
    }

    /// Reads the whole list, to know which messages each turn is.
    fn read(&mut self, firsts: &[usize], counter: &dyn TokenCounter) {
        let body = self.body(self.ends.len());
        let Ok(request) = Request::parse(self.dialect, body.as_bytes()) else {
            // What this writes, it reads; a session without any message is all that is left.
            self.messages = firsts.iter().map(|_| 0).collect();
            return;
        };
        let mut message = 0;
        for &first in firsts {
            while message < request.len() && request.elements_of(message).end <= first {
                message += 1;
            }
            self.messages.push(message);
        }
        self.turns = request.turns(counter);
    }

    /// The dialect it speaks.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The body of the request before the turn with this index.
    #[must_use]
    pub fn body(&self, turn: usize) -> String {
        let end = turn.checked_sub(1).and_then(|last| self.ends.get(last));
        let said = end.and_then(|&end| self.elements.get(..end));
        [&self.head, said.unwrap_or_default(), self.tail].concat()
    }

    /// The messages of all requests, as turns.
    #[must_use]
    pub fn messages(&self) -> &[Turn] {
        &self.turns
    }

    /// The index of the first message of a turn; the number of messages before it.
    #[must_use]
    pub fn message_of(&self, turn: usize) -> usize {
        let all = self.turns.len();
        self.messages.get(turn).copied().unwrap_or(all)
    }

    /// The index of the turn whose first message this is.
    #[must_use]
    pub fn turn_of(&self, message: usize) -> usize {
        self.messages.partition_point(|&first| first < message)
    }
}

/// The number of elements of the list in a written turn.
fn elements_in(dialect: Dialect, written: &str) -> usize {
    // Where results are blocks, a turn is one message, which need not be read.
    if dialect.facts().layout.results == ResultPlace::Blocks {
        return 1;
    }
    let list: Result<Vec<serde::de::IgnoredAny>, _> = serde_json::from_str(&format!("[{written}]"));
    list.map_or(1, |list| list.len())
}

/// The dialect that the client of a format speaks.
const fn dialect_of(format: Format) -> Dialect {
    match format {
        Format::ClaudeCode | Format::Anthropic | Format::Pi => Dialect::Anthropic,
        Format::Codex => Dialect::Responses,
        Format::OpenAiChat | Format::LangChain | Format::Copilot => Dialect::Chat,
    }
}

/// The number of leading turns beside the messages: Anthropic's instructions are not a message.
fn instructions(session: &Session, dialect: Dialect) -> usize {
    if dialect.facts().layout.keeps_system {
        0
    } else {
        super::facts::leading_system_turns(session)
    }
}

/// A text of so many tokens for instructions and tools that the log does not contain.
fn stand_in(unlogged: Tokens, counter: &dyn TokenCounter) -> Option<String> {
    const SAMPLE: usize = 1_000;
    if unlogged == Tokens::ZERO {
        return None;
    }
    let words = |count: usize| "instructions ".repeat(count);
    let sample = counter.count(&words(SAMPLE)).as_f64() / SAMPLE as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive count of words"
    )]
    let count = (unlogged.as_f64() / sample.max(0.1)) as usize;
    Some(words(count))
}

/// A body up to its messages: model, instructions and the tools that the session calls.
fn head(
    session: &Session,
    model: &str,
    (dialect, instructions): (Dialect, usize),
    stand_in: Option<String>,
) -> String {
    let assistant = session.turns.iter();
    let calls = assistant
        .filter(|turn| turn.role() == Role::Assistant)
        .flat_map(Turn::calls);
    let names: BTreeSet<&str> = calls.map(|call| call.name.as_str()).collect();
    let any = json!({ "type": "object" });
    let tools = names.into_iter().map(|name| dialect.tool(name, None, &any));
    let tools: Vec<String> = tools.collect();
    let (keys, own) = (&dialect.facts().keys, &dialect.facts().own);
    let mut body = format!("{{\"model\":{}", json!(model));
    if !tools.is_empty() {
        body += &format!(",\"tools\":[{}]", tools.join(","));
    }
    if own.needs_limit {
        body += &format!(",\"{}\":8192", keys.longest_answer);
    }
    let lead = session.turns.get(..instructions).unwrap_or_default();
    let system: Vec<String> = lead.iter().map(Turn::readable).chain(stand_in).collect();
    if let Some(key) = keys.instructions.filter(|_| !system.is_empty()) {
        body += &format!(",\"{key}\":{}", json!(system.join("\n\n")));
    }
    format!("{body},\"{}\":[", keys.list)
}
