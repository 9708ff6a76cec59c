//! Builds the request bodies.

use std::path::PathBuf;

use bytes::Bytes;
use context::{Role, Turn};
use wire::api::{Conversation, Dialect};

use crate::Failed;

const SESSION: &str = "entire-cli/2026-01-13-44df7d08-6bc4-4532-bef8-167ea3797cee.jsonl";
pub const MODEL: &str = "claude-sonnet-4-5";

/// The recorded session's turns; `None`, with a printed line, without a corpus.
pub fn session() -> Result<Option<Vec<Turn>>, Failed> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder =
        std::env::var_os("EBBTIDE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let Ok(bytes) = std::fs::read(folder.join(SESSION)) else {
        eprintln!("skipped: no corpus");
        return Ok(None);
    };
    let counter = tokens::counter_for(MODEL);
    let document = wire::session::load(&bytes, "bench", &*counter)?;
    Ok(document
        .sessions
        .into_iter()
        .next()
        .map(|session| session.turns))
}

/// The last `most` requests of the session: each holds everything before one assistant turn.
pub fn requests(turns: &[Turn], most: usize) -> Vec<Bytes> {
    let answered: Vec<usize> = (1..turns.len())
        .filter(|&at| {
            turns[at].role() == Role::Assistant && turns[at - 1].role() != Role::Assistant
        })
        .collect();
    let from = answered.len().saturating_sub(most);
    answered[from..]
        .iter()
        .map(|&at| {
            let said = Conversation::from_turns(Dialect::Anthropic, &turns[..at]);
            Bytes::from(said.body(MODEL, Some(1024)))
        })
        .collect()
}

/// The requests of small conversations; each request is one exchange longer than the one before.
pub fn short(most: usize) -> Vec<Bytes> {
    /// Exchanges of each conversation; a question and its answer are 1.2 kB.
    const EXCHANGES: usize = 12;
    let message = |conversation: usize, at: usize| {
        let (role, words) = match at % 2 {
            0 => ("user", "and what does the function do with an empty list? "),
            _ => (
                "assistant",
                "it answers with the default that was given, and says so in the log; ",
            ),
        };
        let text = words.repeat(if role == "user" { 6 } else { 13 });
        format!(r#"{{"role":"{role}","content":"{conversation}.{at}: {text}"}}"#)
    };
    (0..most)
        .map(|request| {
            let (conversation, exchange) = (request / EXCHANGES, request % EXCHANGES);
            let messages = (0..=2 * exchange).map(|at| message(conversation, at));
            let list = messages.collect::<Vec<_>>().join(",");
            Bytes::from(format!(
                r#"{{"model":"{MODEL}","max_tokens":1024,"messages":[{list}]}}"#
            ))
        })
        .collect()
}

/// About `bytes` bytes of messages from the session, without the brackets of the list.
pub fn messages(turns: &[Turn], bytes: usize) -> Vec<String> {
    let said = Conversation::from_turns(Dialect::Anthropic, turns);
    let mut size = 0;
    said.messages()
        .iter()
        .take_while(|message| {
            size += message.len();
            size < bytes
        })
        .cloned()
        .collect()
}

/// First requests of conversations of about 0.8 MB that have nothing in common but their words.
pub fn first(turns: &[Turn], most: usize) -> Vec<Bytes> {
    let list = messages(turns, 800_000).join(",");
    (0..most)
        .map(|conversation| {
            Bytes::from(format!(
                r#"{{"model":"{MODEL}","max_tokens":1024,"messages":[{{"role":"user","content":"conversation {conversation}"}},{list}]}}"#
            ))
        })
        .collect()
}
