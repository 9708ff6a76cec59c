//! A provider that is stricter than the real ones, in process and over HTTP.

mod anthropic;
mod cache;
mod config;
mod exchange;
mod faults;
mod latency;
mod lexicon;
mod log;
mod openai;
mod organisation;
mod provider;
mod refusal;
mod script;
mod seal;
mod server;

pub use config::{Binding, Config, Signatures, Threads};
pub use exchange::{Answer, Body, End, Incoming, Timed};
pub use faults::{Fault, When};
pub use latency::Latency;
pub use log::Log;
pub use organisation::Account;
pub use provider::{LONGEST_BODY, Provider};
pub use refusal::Refusal;
pub use script::{Function, Prompt, Say, Script};
pub use server::{Clock, Running, serve};
