//! One agent or tool of a network, with its queues of incoming messages and outgoing acts.

use std::collections::VecDeque;
use std::sync::Arc;

use plumb::graph::{External, ExternalKind, ExternalPort};
use plumb::machine::{EffectId, Failure};
use plumb::span::Span;
use plumb::value::Value;

use crate::agent::{Acknowledged, Agent, AgentAnswer, verb};
use crate::driver::Driver;
use crate::error::{Problem, SetupError};
use crate::memory::Memory;
use crate::network::Log;
use crate::report::Control;
use crate::settings::max_failures;
use crate::state::{self, Entry, StateError};
use crate::tool::Tool;

/// A message or a command that waits.
#[derive(Debug)]
pub(crate) struct Asked {
    pub effect: EffectId,
    pub message: Value,
}

/// A result that the machine still has to receive.
#[derive(Debug)]
pub(crate) enum Act {
    Answer(EffectId, u32, Value),
    Finish(EffectId),
    /// There is no answer; the problem is reported if the program does not handle it.
    Fail(EffectId, Failure, Box<Problem>),
}

/// The agent or the tool of a node.
#[derive(Debug)]
pub(crate) enum Body {
    Agent(Box<Agent>),
    Tool(Tool),
}

impl Body {
    /// Answers a message, and gives itself back.
    pub async fn answer(self, message: Value, driver: &Driver, log: &Log) -> (Self, AgentAnswer) {
        match self {
            Self::Agent(agent) => {
                let (agent, answer) = agent.hear(message).await;
                (Self::Agent(agent), answer)
            }
            Self::Tool(tool) => {
                let answer = tool.call(driver, message, log).await;
                let answered = AgentAnswer {
                    answer,
                    attempts: 1,
                    telemetry: Vec::new(),
                };
                (Self::Tool(tool), answered)
            }
        }
    }
}

/// The failures in a row that the program handles itself. A failure may lead to the next message, and so to the
/// next failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failures {
    /// The number since the last answer, input or pause.
    pub count: u32,
    /// The setting `max_failures`.
    pub most: u32,
}

impl Failures {
    pub const fn are_spent(self) -> bool {
        self.count >= self.most
    }

    pub const fn end(&mut self) {
        self.count = 0;
    }
}

/// A node that stands for an agent or a tool.
#[derive(Debug)]
pub(crate) struct Instance {
    /// The name in reports.
    pub at: Arc<str>,
    pub span: Span,
    /// `None` while it is busy with a message.
    pub body: Option<Body>,
    /// The hash of an agent's declaration.
    pub declared: String,
    /// The memory of an agent from before the message that it is busy with.
    before: Option<Memory>,
    pub log: Log,
    pub failures: Failures,
    inputs: Box<[Arc<str>]>,
    outputs: Box<[Arc<str>]>,
    pub commands: VecDeque<Asked>,
    pub messages: VecDeque<Asked>,
    pub acts: VecDeque<Act>,
}

impl Instance {
    /// The instance of a declaration.
    ///
    /// # Errors
    /// If a setting cannot be carried out.
    pub fn new(declared: &External, driver: &Driver, log: Log) -> Result<Self, SetupError> {
        let names = |ports: &[ExternalPort]| ports.iter().map(|port| port.name.clone()).collect();
        let answers = driver.answers(declared);
        let body = match declared.kind {
            ExternalKind::Agent => {
                Body::Agent(Box::new(Agent::new(declared, driver, log.clone())?))
            }
            ExternalKind::Tool => Body::Tool(Tool::new(declared, answers.clone())?),
        };
        Ok(Self {
            at: log.at().clone(),
            span: declared.span,
            body: Some(body),
            declared: state::declaration(declared, &answers),
            before: None,
            log,
            failures: Failures {
                count: 0,
                most: max_failures(declared),
            },
            inputs: names(&declared.inputs),
            outputs: names(&declared.outputs),
            commands: VecDeque::new(),
            messages: VecDeque::new(),
            acts: VecDeque::new(),
        })
    }

    /// Takes the body away for a message.
    pub fn take_body(&mut self) -> Option<Body> {
        self.before = self.memory().cloned();
        self.body.take()
    }

    /// The memory of an agent, without the message that it is busy with.
    pub fn memory(&self) -> Option<&Memory> {
        match &self.body {
            Some(Body::Agent(agent)) => Some(agent.memory()),
            Some(Body::Tool(_)) => None,
            None => self.before.as_ref(),
        }
    }

    /// Gives an agent the memory of an earlier run.
    ///
    /// # Errors
    /// If it is not declared like that one, or the memory is damaged.
    pub fn restore(&mut self, entry: Entry) -> Result<(), StateError> {
        let foreign = |what: &str| StateError::Foreign {
            why: format!("`{}` {what}", self.at),
        };
        match &mut self.body {
            Some(Body::Agent(_)) if entry.declared != self.declared => {
                Err(foreign("is declared differently in it"))
            }
            Some(Body::Agent(agent)) => agent
                .remember(entry.memory)
                .map_err(|why| StateError::Damaged { why }),
            _ => Err(foreign("is no agent")),
        }
    }

    /// Queues a message from a port.
    pub fn take(&mut self, port: u32, asked: Asked) {
        match self.inputs.get(port as usize) {
            Some(name) if **name == *"ctrl_in" => self.commands.push_back(asked),
            _ => self.messages.push_back(asked),
        }
    }

    /// Drops the queued messages of an effect.
    pub fn forget(&mut self, effect: EffectId) {
        self.commands.retain(|asked| asked.effect != effect);
        self.messages.retain(|asked| asked.effect != effect);
    }

    /// Returns true for an agent that takes no messages.
    pub fn is_paused(&self) -> bool {
        matches!(&self.body, Some(Body::Agent(agent)) if agent.is_paused())
    }

    /// Returns true if messages wait for an agent that is paused.
    pub fn is_stuck(&self) -> bool {
        self.is_paused() && !self.messages.is_empty()
    }

    /// Says something on a port, if anybody listens there.
    pub fn say(&mut self, effect: EffectId, port: &str, message: Value) {
        let number = self.outputs.iter().position(|name| **name == *port);
        if let Some(number) = number.and_then(|number| u32::try_from(number).ok()) {
            self.acts.push_back(Act::Answer(effect, number, message));
        }
    }

    /// Says something on `telemetry`.
    pub fn report(&mut self, effect: EffectId, record: Value) {
        self.log.tell(Control::Telemetry(record.clone()));
        self.say(effect, "telemetry", record);
    }

    /// Carries out the next command, unless the agent is busy. Returns true if it carried one out.
    pub fn obey(&mut self) -> bool {
        let Some(Body::Agent(agent)) = &mut self.body else {
            return false;
        };
        let Some(Asked { effect, message }) = self.commands.pop_front() else {
            return false;
        };
        self.log.tell(Control::Command {
            name: verb(&message),
        });
        let Acknowledged { answer, telemetry } = agent.command(&message);
        self.log.tell(Control::Acknowledged {
            name: verb(&answer),
        });
        self.say(effect, "ctrl_out", answer);
        for record in telemetry {
            self.report(effect, record);
        }
        self.acts.push_back(Act::Finish(effect));
        true
    }
}
