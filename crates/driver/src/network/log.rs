//! The handle through which agents and tools send reports to their network.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::report::{Control, Report};

/// The log of one agent or tool: it goes into the reports of its network.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    at: Arc<str>,
    /// The nesting depth of tool calls around its network.
    depth: u32,
    reports: UnboundedSender<Report>,
}

impl Log {
    /// The log of a network, within that of the tool that it stands for.
    pub fn new(within: Option<&Self>) -> (Self, UnboundedReceiver<Report>) {
        let (reports, receiver) = unbounded_channel();
        let log = Self {
            at: within.map_or_else(|| "".into(), |tool| format!("{}/", tool.at).into()),
            depth: within.map_or(0, |tool| tool.depth + 1),
            reports,
        };
        (log, receiver)
    }

    /// The log of one of its agents or tools.
    pub fn of(&self, name: &str) -> Self {
        Self {
            at: format!("{}{name}", self.at).into(),
            ..self.clone()
        }
    }

    /// The name.
    pub const fn at(&self) -> &Arc<str> {
        &self.at
    }

    /// The nesting depth of tool calls around it.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Sends an event. A closed channel means that the network is gone, so the error is ignored.
    pub fn tell(&self, control: Control) {
        self.pass(Report::Control {
            at: self.at.clone(),
            control,
        });
    }

    /// Passes something on.
    pub fn pass(&self, report: Report) {
        let _ = self.reports.send(report);
    }
}
