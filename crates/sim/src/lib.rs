//! A simulated LLM provider for tests, stricter than the real ones, in process and over HTTP.
//!
//! [`Provider`] is pure: a request and the time go in, an answer or the events of a stream with their
//! times come out. [`serve`] puts it on a socket. It speaks Anthropic Messages, OpenAI Chat
//! Completions and OpenAI Responses.
//!
//! | to | use |
//! |---|---|
//! | answer a request in process | [`Provider::answer`] |
//! | serve over HTTP | [`serve`], [`Running`] |
//! | script answers | [`Script`], or `@sim` lines in a user message ([`Script::Echo`]) |
//! | inject faults | [`Provider::inject`], or the header `x-sim-fault` ([`Fault::parse`]) |
//! | read usage and costs | [`Provider::accounts`], [`Provider::total`] |
//! | log every request | [`Log`] |
//!
//! # Enforced rules
//!
//! Tokens are counted by the model's counter of the `tokens` crate (for Claude an estimate), with 4
//! tokens for each change of speaker (Anthropic) or each item (OpenAI). Windows, output limits, prices
//! and cache rules come from the model table.
//!
//! | Anthropic | |
//! |---|---|
//! | key, `anthropic-version`, 32 MB (413), 100,000 messages, JSON, unknown fields, unknown block types | yes |
//! | fields behind beta headers: `compaction`, `context_management`, `diagnostics`, `thread`, `block_binding`, `clear_at`, compaction blocks, tool changes | yes |
//! | first message, merging of one role, empty content, prefill, `max_tokens`, `thinking`, `tool_choice`, unique tools | yes |
//! | calls and results: unique ids, all answered in the next user turn, results first, no orphans | yes |
//! | system messages between others: models, text only, `clear_at`, none between a call and its result | yes |
//! | breakpoints: four with the automatic one, order of lifetimes, none on thinking or empty text | yes |
//! | cache: look-back of 20 positions with runs as one, minimum, 5 m and 1 h, renewal, readable once answered, per organisation and model; a change of `tool_choice` or `thinking` costs the messages | yes |
//! | compaction on demand: every error code but the one below, incompatible parameters, usage in iterations, whole block in a stream, thinking in the tail stays valid only over a correct swap | yes |
//! | `compaction_unavailable` | as a fault |
//! | `compaction_too_many_tool_references` | no: the limit is not documented |
//! | `compaction_incomplete_turn` | an open call or an empty last assistant message |
//! | compaction by threshold: least trigger, pause, iterations, what stands before the block is ignored | yes |
//! | context editing: both edits, order, triggers, `clear_at_least`, exclusions, inputs, `applied_edits`, counts | yes |
//! | bound thinking: organisation, user, model, prefix in this order; error, drop, report; no gap; not put back | yes |
//! | threads: create, continue, five minutes, all five codes; refusal with both texts | yes; `hipaa`, `inference_hooks`, `thinking` and `cache_control` are never called unsupported |
//! | window: refusal, `model_context_window_exceeded`, `max_tokens`, stop sequences | yes |
//! | `count_tokens`, models, `HEAD /api/hello`, cache diagnostics (never `unavailable`) | yes |
//! | thinking that must open a tool-use turn, `output_config` values, images and documents, server tools, MCP, containers, fallbacks, memory tool, task budgets, batches, files | not checked |
//! | tool changes: what a removed or added tool means for later calls | no; they are recorded in `tool_changes` |
//!
//! | OpenAI | |
//! |---|---|
//! | key, body, model, window, `prompt_cache_options`, `stream_options`, `tool_choice` without tools | yes |
//! | Chat: roles, empty content, tool messages after their calls, all calls answered, unknown ids | yes |
//! | Responses: outputs after their calls, all calls answered, duplicate ids, reasoning followed by what it led to | yes |
//! | `previous_response_id`, `store`, `conversation` beside it | yes, per organisation; the earlier request's `instructions` do not count; `conversation` itself is not held |
//! | compaction: trigger last, threshold, `/responses/compact`, sealed items verified | yes; of the items before a compaction only user messages are shown (the documentation says they may be dropped) |
//! | `truncation`, `/responses/input_tokens`, `max_output_tokens` | yes |
//! | cache: 128-token steps from 1,024, 30 m and 12 h, `prompt_cache_key`, explicit mode up to the last breakpoint | yes, an entry ends with an item; the limits of 4 writes and 80 breakpoints and the rate per prefix are not kept |
//! | `prompt_cache_diagnostics` | yes, without `comparison_reusable_tokens` |
//! | unknown top-level fields, schemas of tools, response formats, background mode, images | not checked |
//!
//! With [`Compaction::Unknown`] the provider has never heard of compaction: `/responses/compact` is missing,
//! and fields, items, blocks and betas of compaction are refused as unknown.
//!
//! Rate limits, overload and broken connections happen only on demand. Faults strike only requests
//! that keep the rules.

mod anthropic;
mod cache;
mod config;
mod exchange;
mod faults;
mod form;
mod latency;
mod lexicon;
mod log;
mod members;
mod openai;
mod organisation;
mod provider;
mod refusal;
mod script;
mod seal;
mod server;

pub use config::{Binding, Compaction, Config, Signatures, Threads};
pub use exchange::{Answer, Body, End, Incoming, Timed};
pub use faults::{Fault, When};
pub use latency::Latency;
pub use log::Log;
pub use organisation::Account;
pub use provider::{LONGEST_BODY, Provider};
pub use refusal::Refusal;
pub use script::{Function, Prompt, Say, Script};
pub use server::{Clock, Running, serve};
