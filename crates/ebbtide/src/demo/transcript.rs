//! Writes a session as a Claude Code log, so that it is read back by the same code as a real one.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The model in whose name the scripted agent speaks: its tokens and its prices are used.
pub const MODEL: &str = "claude-sonnet-4-5";

/// The name of the session in the log.
const SESSION: &str = "00000000-0000-4000-8000-00000000de30";

/// Characters a token, about; only to know when the session is long enough.
const CHARACTERS_PER_TOKEN: usize = 3;

/// A tool call with its result.
pub struct Exchange {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Value,
    /// Its result.
    pub result: String,
    /// Whether the tool reports a failure.
    pub failed: bool,
}

/// A log that is being written, in virtual time.
pub struct Transcript {
    lines: Vec<u8>,
    records: usize,
    calls: usize,
    characters: usize,
    now: Timestamp,
}

impl Transcript {
    /// An empty log that begins at a fixed time.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lines: Vec::new(),
            records: 0,
            calls: 0,
            characters: 0,
            // 2026-01-05 09:00 UTC; no clock is read, so that the log is always the same.
            now: Timestamp::from_second(1_767_603_600).unwrap_or(Timestamp::UNIX_EPOCH),
        }
    }

    /// About how many tokens it holds.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.characters / CHARACTERS_PER_TOKEN
    }

    /// The user says something, after thinking for a while.
    pub fn user(&mut self, text: &str) {
        self.pass(25_000);
        self.characters += text.len();
        self.record("user", &json!({ "role": "user", "content": text }));
    }

    /// The assistant says something and ends its turn.
    pub fn assistant(&mut self, text: &str) {
        let content = json!([{ "type": "text", "text": text }]);
        self.characters += text.len();
        self.write_for(text.len());
        self.say(&content, "end_turn");
    }

    /// The assistant says something, calls tools in parallel, and gets their results.
    pub fn step(&mut self, text: &str, exchanges: Vec<Exchange>) {
        let mut content = vec![json!({ "type": "text", "text": text })];
        let mut results = Vec::new();
        let mut written = text.len();
        for exchange in exchanges {
            self.calls += 1;
            let id = format!("toolu_demo{:05}", self.calls);
            written += exchange.arguments.to_string().len();
            self.characters += exchange.result.len();
            content.push(json!({
                "type": "tool_use", "id": id, "name": exchange.tool, "input": exchange.arguments,
            }));
            results.push(json!({
                "type": "tool_result", "tool_use_id": id, "content": exchange.result,
                "is_error": exchange.failed,
            }));
        }
        self.characters += written;
        self.write_for(written);
        self.say(&Value::Array(content), "tool_use");
        self.pass(400);
        self.record("user", &json!({ "role": "user", "content": results }));
    }

    /// The log.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.lines
    }

    /// Time passes as a model writes: a second, and 60 tokens in each that follows.
    fn write_for(&mut self, characters: usize) {
        let tokens = characters / CHARACTERS_PER_TOKEN;
        self.pass(1_000 + i64::try_from(tokens).unwrap_or(0) * 1_000 / 60);
    }

    fn pass(&mut self, milliseconds: i64) {
        self.now += SignedDuration::from_millis(milliseconds);
    }

    fn say(&mut self, content: &Value, stop: &str) {
        let id = format!("msg_demo{:05}", self.records + 1);
        self.record(
            "assistant",
            &json!({
                "id": id, "type": "message", "role": "assistant", "model": MODEL,
                "content": content, "stop_reason": stop,
            }),
        );
    }

    fn record(&mut self, kind: &str, message: &Value) {
        let name = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
        let parent = (self.records > 0).then(|| name(self.records));
        self.records += 1;
        let record = json!({
            "type": kind, "uuid": name(self.records), "parentUuid": parent,
            "sessionId": SESSION, "isSidechain": false, "version": "demo",
            "timestamp": format!("{:.3}", self.now), "message": message,
        });
        self.lines.extend(record.to_string().into_bytes());
        self.lines.push(b'\n');
    }
}
