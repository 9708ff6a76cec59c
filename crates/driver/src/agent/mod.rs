//! Agents: answers to messages, and commands.

mod command;
mod compressor;
mod exchange;
mod tools;
mod vitals;

use context::note;
use plumb::graph::External;
use plumb::types::Type;
use plumb::value::Value;

use crate::answer;
use crate::driver::Driver;
use crate::error::{FailureReason, SetupError};
use crate::memory::{Memory, SavedMemory};
use crate::network::Log;
use crate::provider::{Provider, ToolDescription};
use crate::report::Control;
use crate::settings::Settings;

pub(crate) use command::{Acknowledged, verb};
use tools::Offered;
use vitals::Vitals;

/// An instance of an agent.
#[derive(Debug)]
pub(crate) struct Agent {
    settings: Settings,
    /// The type of its answers.
    kind: Type,
    provider: Provider,
    memory: Memory,
    temperature: Option<f64>,
    paused: bool,
    /// The tools that the agent can call; `cards` describes them in the same order.
    tools: Vec<Offered>,
    cards: Vec<ToolDescription>,
    vitals: Vitals,
    /// The number of answers to the current message so far.
    tried: u32,
    driver: Driver,
    log: Log,
}

/// The result of a message.
#[derive(Debug)]
pub(crate) struct AgentAnswer {
    pub answer: Result<Value, FailureReason>,
    /// The number of answers that were tried.
    pub attempts: u32,
    /// Records to send on `telemetry`, in order.
    pub telemetry: Vec<Value>,
}

impl Agent {
    /// An agent as its program declares it.
    ///
    /// # Errors
    /// If a setting cannot be carried out or a file not be read.
    pub fn new(declared: &External, driver: &Driver, log: Log) -> Result<Self, SetupError> {
        let settings = Settings::read(declared, driver.folder())?;
        let provider = driver.provider(declared, &settings)?;
        let tools = tools::processes(&settings.tools, driver)?;
        let (cards, tools) = tools.into_iter().unzip();
        let memory = Memory::new(provider.window());
        Ok(Self {
            kind: answer::of_itself(driver.answers(declared)),
            temperature: settings.sampling.temperature,
            settings,
            provider,
            memory,
            paused: false,
            tools,
            cards,
            vitals: Vitals::default(),
            tried: 0,
            driver: driver.clone(),
            log,
        })
    }

    /// Returns true if it takes no messages.
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// The memory.
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Gives it the memory of an earlier run.
    ///
    /// # Errors
    /// If the parts of the memory do not fit together, as a phrase.
    pub fn remember(&mut self, saved: SavedMemory) -> Result<(), String> {
        self.memory = Memory::restored(saved, self.provider.window())?;
        Ok(())
    }

    fn log(&self, control: Control) {
        self.log.tell(control);
    }

    /// The note that tells the agent about its own memory.
    fn note(&self) -> String {
        let pins: Vec<&str> = self.memory.pins().collect();
        let context = note::RuntimeContext {
            now: Some(self.driver.now()),
            last_message: self.vitals.last,
            used: self.vitals.used,
            window: Some(self.provider.window()),
            compactions: Some(self.memory.compactions()),
            removed: None,
            pins: Some(&pins),
            ..note::RuntimeContext::default()
        };
        context.render()
    }

    /// Answers a message.
    pub async fn hear(mut self: Box<Self>, message: Value) -> (Box<Self>, AgentAnswer) {
        let mut telemetry = Vec::new();
        self.tried = 0;
        let limit = self.settings.limits.waits.timeout;
        let exchange = self.exchange(&message, &mut telemetry);
        let answer = match limit {
            Some(limit) => {
                let answer = tokio::time::timeout(limit, exchange).await;
                answer.unwrap_or(Err(FailureReason::TimedOut { limit }))
            }
            None => exchange.await,
        };
        if let Err(why) = &answer {
            telemetry.push(crate::telemetry::error(why.word(), self.tried));
        }
        self.vitals.last = Some(self.driver.now());
        let attempts = self.tried;
        let answered = AgentAnswer {
            answer,
            attempts,
            telemetry,
        };
        (self, answered)
    }
}
