//! Memory for long-running LLM agents: an engine over the bytes of requests and answers.
//!
//! An agent sends its whole conversation with every request. The [`Engine`] takes that body and gives the one
//! to send: the same bytes, until the model's window fills up; then a summary in place of the older messages,
//! prepared ahead and swapped in between two requests. Pinned texts, the newest messages, instructions and
//! tools stay as they are, byte for byte. Nothing of the conversation is lost: the engine's history holds the
//! originals.
//!
//! The engine is synchronous. It calls no model and reads no clock: the caller sends, and passes the time. It has no
//! thread either: requests let conversations that are idle leave memory, a few at a time (see [`Engine::rest`]).
//!
//! | call | takes | gives |
//! |---|---|---|
//! | [`Engine::builder`] | strategy, window, mode, store | an engine |
//! | [`Engine::client`] | the key or name of a tenant | a sender of requests: its dialect and labels |
//! | [`Engine::request`] | a body | [`Next`]: the body to send with its [`Ticket`], or a hold |
//! | [`Engine::observe`] | the ticket and the answer | [`Work`] where a summary is due |
//! | [`Engine::answered`] | the ticket that [heard](Ticket::hear) a stream | the same |
//! | [`Engine::refused`] | the ticket, a status, a body | the body to send instead, if any |
//! | [`Engine::prepared`], [`failed`](Engine::failed), [`extract`](Engine::extract) | work, and what became of it | |
//! | [`Engine::resume`] | a held request whose work is done | [`Next`] |
//! | [`Engine::pin`], [`unpin`](Engine::unpin) | a conversation and a text | a pin that survives every summary |
//! | [`Engine::compact`] | a conversation | a summary as soon as possible |
//! | [`Engine::expand`] | a conversation and a summary | the original turns behind it |
//! | [`Engine::lost`] | a conversation and a summary | what the model can no longer see, with handles |
//! | [`Engine::original`] | a conversation and a handle | the original text |
//! | [`Engine::undo`], [`redo`](Engine::redo) | a conversation | the view before the swap, and the one after |
//! | [`Engine::shorten`] | a tool result | a shorter one, where it is too long |
//! | [`Engine::archived`] | its handle | its original |
//! | [`Engine::digest`] | a body and the part to keep | a summary of the other part |
//! | [`Engine::explain`] | a conversation | figures, pins, summaries, and the journal of what happened |
//! | [`Engine::window`] | a conversation | its turns with their classes, as a window to move through |
//! | [`Engine::conversations`] | a client | its conversations |
//! | [`Engine::purge`] | one conversation, or all before a time | what was removed |
//! | [`Engine::rest`] | the time | room in memory |
//!
//! # One request
//!
//! ```
//! use ebbtide::{Engine, Next, Timestamp};
//!
//! let engine = Engine::builder().window(32_000).open()?;
//! let client = engine.client("my key").session("first");
//! let now = Timestamp::UNIX_EPOCH;
//! let body = r#"{"model":"claude-opus-4-5","max_tokens":99,"messages":[{"role":"user","content":"Hello"}]}"#;
//! let Next::Send(out) = engine.request(&client, body, now)? else {
//!     panic!("nothing is held by default");
//! };
//! assert_eq!(out.body, body, "a short conversation is not changed");
//! // Send `out.body` to the provider; then:
//! let answer = br#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi!"}],
//!     "stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}"#;
//! engine.observe(out.ticket, answer, now)?;
//! assert_eq!(engine.conversations(&client)?[0].totals.requests, 1);
//! # Ok::<(), ebbtide::EngineError>(())
//! ```
//!
//! # Pins, and why the view is what it is
//!
//! ```
//! # use ebbtide::{Engine, Next, Timestamp};
//! # let engine = Engine::builder().open()?;
//! # let client = engine.client("my key");
//! # let now = Timestamp::UNIX_EPOCH;
//! # let body = r#"{"model":"claude-opus-4-5","max_tokens":99,"messages":[{"role":"user","content":"Hello"}]}"#;
//! # let Next::Send(out) = engine.request(&client, body, now)? else { panic!() };
//! let conversation = out.ticket.conversation().expect("a request that was read has one");
//! engine.pin(&client, conversation, "Never push to main.", now)?;
//! let told = engine.explain(&client, conversation)?;
//! assert_eq!(told.pins[0].text.as_str(), "Never push to main.");
//! assert_eq!(told.journal[0].1, "began");
//! # Ok::<(), ebbtide::EngineError>(())
//! ```
//!
//! # Summaries by your own model
//!
//! With [`Summaries::ByCaller`], [`Engine::observe`] returns [`Work`]. Its [prompt](Work::prompt) asks for a
//! text by a template; the engine checks the text and completes it from the originals. A failed text is
//! replaced by a summary without a model, so that no conversation runs into its limit.
//!
//! ```
//! # use ebbtide::{Engine, Next, Summaries, Timestamp, Tokens};
//! # fn ask_my_model(system: &str, source: &str) -> String {
//! #     "## Goal\n- count words\n## Where the work stands\n- counting\n".to_owned()
//! # }
//! # let now = Timestamp::UNIX_EPOCH;
//! let engine = Engine::builder().window(4_000).summaries(Summaries::ByCaller).open()?;
//! let client = engine.client("my key");
//! let mut messages = Vec::new();
//! let mut written = 0;
//! for _ in 0..12 {
//!     messages.push(format!(r#"{{"role":"user","content":"{}"}}"#, "count these words ".repeat(100)));
//!     let list = messages.join(",");
//!     let body = format!(r#"{{"model":"claude-opus-4-5","max_tokens":99,"messages":[{list}]}}"#);
//!     let Next::Send(out) = engine.request(&client, body, now)? else { continue };
//!     let answer = r#"{"role":"assistant","content":"done"}"#;
//!     messages.push(answer.to_owned());
//!     if let Some(work) = engine.observe(out.ticket, answer.as_bytes(), now)? {
//!         let prompt = work.prompt(Tokens::new(100_000));
//!         let text = ask_my_model(&prompt.system, &prompt.source);
//!         // An error says that the text was turned away; the conversation goes on.
//!         let _ = engine.prepared(work, &text, now);
//!         written += 1;
//!     }
//! }
//! assert!(written > 0);
//! # Ok::<(), ebbtide::EngineError>(())
//! ```
//!
//! # Errors
//!
//! Every error has a stable [code](Coded::code) and a [hint](Coded::hint); `docs/errors.md` lists them. A request
//! that the engine fails to handle is still the caller's own: send it as it is.
//!
//! # Limits
//!
//! The provider's own compaction blocks are not ordered here, and a client's own compaction is sent on and not
//! answered; the gateway does both.

mod builder;
mod carry;
mod client;
mod digest;
mod engine;
mod error;
mod manage;
mod rest;
mod results;
mod retrieve;
mod ticket;
mod told;
mod window;
mod work;

pub use context::coded::Coded;
pub use context::linearity::ResourceClass;
pub use context::pin::{Pin, PinId};
pub use context::store::Store;
pub use context::window::ContextWindow;
pub use context::{Role, Text, Tokens, Turn};
pub use conversation::Mode;
pub use conversation::words::Did;
pub use history::{self, ConversationId, MarkId, Purged, Route, Totals};
pub use jiff::{SignedDuration, Timestamp};
pub use model::Prompt;
pub use wire::api::Dialect;

pub use builder::{Builder, Summaries};
pub use client::Client;
pub use digest::{Digest, Keep};
pub use engine::Engine;
pub use error::{CODES, EngineError};
pub use manage::Selection;
pub use results::{Shortened, ToolResult};
pub use ticket::{Held, Next, Outgoing, Ticket};
pub use told::{Excerpt, Explanation, Loss, Lost, Original, Overview, SummaryReport};
pub use work::Work;
