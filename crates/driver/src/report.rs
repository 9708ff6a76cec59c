//! Reports of a running network to its host.

use std::sync::Arc;

use plumb::machine::Fault;
use plumb::value::Value;

use crate::error::Problem;

/// One event of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// A message left the network.
    Output {
        /// The number of the output.
        port: u32,
        /// The message.
        message: Value,
    },
    /// No more will come on this output.
    Ended {
        /// The number of the output.
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
        /// The event.
        control: Control,
    },
}

/// An activity of an agent or a tool, without the text of messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A message came in on a port other than `ctrl_in`, and is worked on from now on.
    Asked {
        /// The port.
        port: Arc<str>,
    },
    /// A message was answered on a port.
    Answered {
        /// The port.
        port: Arc<str>,
    },
    /// An answer was not of the type that was asked for, and is asked for again.
    Again {
        /// The reason.
        why: String,
    },
    /// A command on `ctrl_in` is carried out.
    Command {
        /// Its name: `pause`, `set_memory`.
        name: Arc<str>,
    },
    /// A command is acknowledged on `ctrl_out`.
    Acknowledged {
        /// The name of the acknowledgement: `paused`, `memory_set`, `refused`.
        name: Arc<str>,
    },
    /// An agent calls a tool.
    Called {
        /// The tool.
        tool: Arc<str>,
    },
    /// An agent or a tool failed, and the program handles it.
    Failed {
        /// The word of the error.
        code: Arc<str>,
    },
    /// A program that serves tools had ended, and is started again.
    Restarted {
        /// The program.
        program: Arc<str>,
        /// The restarts in a row, this one included.
        attempt: u32,
        /// The maximum.
        most: u32,
    },
    /// A record of telemetry; it holds figures only.
    Telemetry(Value),
}
