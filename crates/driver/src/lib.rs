//! Runs plumb programs: carries out the machine's effects with agents, tools and a clock.
//!
//! The machine of crate `plumb` is synchronous and does nothing by itself: a message for an agent is an
//! *effect*, which this crate carries out and answers:
//!
//! ```text
//!            push ──►┌─────────┐──► Report::Output, Report::Fault, …
//!                    │ Network │
//!   machine ─effect─►│         │──► one instance a node: Agent, Tool, timer
//!   machine ◄answer──│         │◄── one message at a time, commands first
//!                    └─────────┘
//! ```
//!
//! | to | use |
//! |---|---|
//! | set the environment of a program | [`Surroundings`] |
//! | run the processes of a checked program | [`Driver`], [`Driver::network`] |
//! | feed a network and read its reports | [`Network::push`], [`Network::next`] |
//! | keep the memories of agents from run to run | [`Network::state`], [`Network::restore`] |
//! | end a run | [`Network::close`], [`Network::abandon`], [`Driver::shutdown`] |
//!
//! # Agents
//!
//! An agent takes one message at a time. It sees its prompt, what it remembers and the message; its answer
//! is read as a value of its output's type. An answer of another type is returned with the mistake, at most
//! `max_retries` times, and those rounds are not remembered. Then the answer goes out,
//! behind it the telemetry.
//!
//! A command on `ctrl_in` is carried out between two messages, before any that waits, and acknowledged on
//! `ctrl_out` before the next command is looked at. The effects of an answer elsewhere in the network
//! (such as a homunculus that says `pause`) come before the agent's next message. A paused agent takes
//! none.
//!
//! # What it does not do
//!
//! It reads no clock and no environment: both come in with [`Surroundings`]. It logs no message. It writes no
//! file; it reads those that agents name, and starts the programs that a program names as servers of tools.

mod account;
mod agent;
mod answer;
mod driver;
mod error;
mod instance;
mod mcp;
mod memory;
mod network;
mod provider;
mod report;
mod schema;
mod settings;
mod state;
mod telemetry;
mod tool;

pub use account::Account;
pub use driver::{COMMANDS, Clock, Driver, Surroundings};
pub use error::{CODES, FailureReason, Problem, SetupError};
pub use network::Network;
pub use report::{Control, Report};
pub use state::StateError;
