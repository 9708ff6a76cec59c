//! What a running network tells whoever runs it.

use std::sync::Arc;

use plumb::machine::Fault;
use plumb::value::Value;

use crate::error::Problem;

/// One thing that came of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// A message left the network.
    Output {
        /// By which of its outputs.
        port: u32,
        /// The message.
        message: Value,
    },
    /// No more will come on this output.
    Ended {
        /// Which.
        port: u32,
    },
    /// Something went wrong in the network itself.
    Fault(Fault),
    /// Something may go wrong: a queue has become long.
    Warning(Fault),
    /// An agent or a tool did not answer a message.
    Problem(Problem),
    /// An agent or a tool was asked something or said something: for logs. It has no text of messages.
    Control {
        /// The node, as the network calls it; of a process that was called as a tool, with that tool in
        /// front: `search/finder`.
        at: Arc<str>,
        /// What.
        control: Control,
    },
}

/// What an agent or a tool was asked, or said.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A message came in on a port other than `ctrl_in`, and is worked on from now on.
    Asked {
        /// The port.
        port: Arc<str>,
    },
    /// It was answered on a port.
    Answered {
        /// The port.
        port: Arc<str>,
    },
    /// An answer was not of the type that was asked for, and is asked for again.
    Again {
        /// What was wrong with it.
        why: String,
    },
    /// A command on `ctrl_in` is carried out.
    Command {
        /// Its name: `pause`, `set_memory`.
        name: Arc<str>,
    },
    /// It is acknowledged on `ctrl_out`.
    Acknowledged {
        /// The name of the acknowledgement: `paused`, `memory_set`, `refused`.
        name: Arc<str>,
    },
    /// An agent calls a tool.
    Called {
        /// The tool.
        tool: Arc<str>,
    },
    /// A record of telemetry; it holds figures only.
    Telemetry(Value),
}
