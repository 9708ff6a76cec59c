//! Requests as the provider received them, byte for byte.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use context::TokenCounter;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use wire::api::{Dialect, Request};

use crate::talk::{MARK, NUMBER};

/// The log of a provider, kept in memory.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("nobody panicked")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A phrase of every prompt of ours for a summary.
const ASKS_FOR_A_RECORD: &str = "reads your record and nothing of what it replaces";

#[derive(Deserialize)]
struct Line<'a> {
    headers: Value,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// A request of the client as it was received.
#[derive(Debug)]
pub struct Received {
    pub number: usize,
    /// The bytes in front of the messages.
    pub head: String,
    /// The messages, without the breakpoint that moves.
    pub messages: Vec<String>,
}

/// The tokens that are put beside what the client said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inserted {
    /// All of them.
    pub all: u64,
    /// Those that the next request has again.
    pub staying: u64,
}

impl Received {
    /// The texts in the newest message behind the client's own `blocks`, and behind that message. All of
    /// it is behind the client's breakpoint.
    pub fn inserted(&self, blocks: usize, counter: &dyn TokenCounter) -> Inserted {
        let mut inserted = Inserted::default();
        for message in self.messages.iter().rev() {
            let message: Value = serde_json::from_str(message).expect("a message");
            let own = message["role"] == "user";
            let texts: Vec<&str> = match &message["content"] {
                Value::String(text) => vec![text],
                Value::Array(all) => {
                    let behind = all.iter().skip(if own { blocks } else { 0 });
                    behind.filter_map(|block| block["text"].as_str()).collect()
                }
                _ => Vec::new(),
            };
            let tokens = texts
                .iter()
                .map(|text| counter.count(text).get())
                .sum::<u64>();
            let tokens = tokens + if own { 0 } else { FRAME };
            inserted.all += tokens;
            if message.get("clear_at").is_none() {
                inserted.staying += tokens;
            }
            if own {
                break;
            }
        }
        inserted
    }
}

/// The tokens that the provider counts for a change of speaker.
const FRAME: u64 = 4;

impl Kept {
    /// The requests of the client in order, without those that the gateway made for itself.
    pub fn requests(&self) -> Vec<Received> {
        let log = self.0.lock().expect("nobody panicked").clone();
        let log = String::from_utf8(log).expect("text");
        let mut all: Vec<Received> = log.lines().filter_map(received).collect();
        all.sort_by_key(|received| received.number);
        all
    }
}

fn received(line: &str) -> Option<Received> {
    let line: Line<'_> = serde_json::from_str(line).expect("a line of the log");
    let number = line.headers.get(NUMBER)?.as_str()?.parse().ok()?;
    let body = line.body.get();
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).expect("a request");
    if request.field("compaction").is_some() || body.contains(ASKS_FOR_A_RECORD) {
        return None;
    }
    let head = body.split(r#""messages":["#).next().unwrap_or_default();
    Some(Received {
        number,
        head: head.to_owned(),
        messages: request
            .messages()
            .map(|message| message.raw().replace(MARK, ""))
            .collect(),
    })
}
