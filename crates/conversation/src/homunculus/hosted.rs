//! Strategies that are plumb programs, one machine a conversation.
//!
//! ```text
//!                 telemetry                      ctrl_in
//!   situation ──────────────► ┌───────────────┐ ──────────► commands, carried out at once
//!                 ctrl_out    │ main, a plumb │
//!   answers   ──────────────► │ process       │ ──────────► Mem.compressor: a preparation
//!                             └───────────────┘
//! ```
//!
//! Each time the strategy is asked, one record says how things stand, behind those of what happened since it
//! was asked last. Every command that comes out is carried
//! out or refused and answered before the next, until nothing moves. The program is compiled once and shared;
//! what a conversation has of it is a value of some hundred bytes, which can be stored and resumed.

mod control;
mod heard;
mod news;
mod program;
mod reads;
mod report;
mod terms;
#[cfg(test)]
mod tests;
mod vitals;

use std::collections::VecDeque;
use std::sync::Arc;

use context::Turn;
use context::regret::Regret;
use history::Route;
use jiff::Timestamp;
use plumb::commands::ControlCommand;
use plumb::machine::{Effect, EffectId, FaultKind, Machine, Request, State, Step};
use plumb::value::Value;
use serde::{Deserialize, Serialize};

use crate::homunculus::event::{Refusal, Telemetry, Verdict, Wish};
use crate::homunculus::machine::Orders;
use crate::homunculus::strategy::{Command, Stage, Strategy, When};
use control::{marked_at, memory, refused};
use heard::Heard;
use news::News;
use report::Report;
use vitals::Vitals;

pub use program::{EXAMPLES, SHIPPED, StrategyError, StrategyProgram};
pub use terms::{Guards, PinKeeping, Terms};

/// The input that takes answers.
const ANSWERS: u32 = 0;
/// The input that takes reports.
const REPORTS: u32 = 1;

/// The number of commands that one report may cause before the strategy is taken to loop.
const MOST_COMMANDS: usize = 64;

/// The most that a strategy may keep from one request to the next, since it is stored with the
/// conversation each time: 1 MiB, in units of 16 bytes. The shipped strategies keep some dozens of
/// units.
const MOST_KEPT: u64 = 1 << 16;

/// The name under which a summary is asked for, in answers and in [`Telemetry::Commanded`].
pub const COMPRESSOR: &str = "compressor";

/// The stand-in for a summary within a strategy: the host keeps the words.
const SUMMARY: &str = "kept by the host";

/// Settings that the host decides, for every strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostSettings {
    /// The route of summaries made in the background. A summary that a request waits for is never
    /// the provider's own, which could not be cut where the strategy wants.
    pub route: Route,
    /// The share of the window from which on the operator wants a strategy that works ahead to do so.
    pub soft: Option<f64>,
    /// True if the agent's behavior moved it: it is then no wish of the operator.
    pub is_moved: bool,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            route: Route::Readable,
            soft: None,
            is_moved: false,
        }
    }
}

/// A strategy's program in one conversation.
#[derive(Clone, Debug)]
pub struct Hosted {
    program: Arc<StrategyProgram>,
    settings: HostSettings,
    machine: Machine,
    waiting: Option<Waiting>,
    /// Requests are held, as far as there is something to wait for.
    paused: bool,
    /// Commands that it gave when it was asked about a pin. They are carried out when it is asked
    /// about the conversation.
    owed: Vec<Said>,
    news: News,
    vitals: Vitals,
    heard: Heard,
}

/// A compressor's request that waits for its preparation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Waiting {
    effect: u64,
    cut: usize,
}

/// The stored state of a conversation's strategy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredStrategy {
    waiting: Option<Waiting>,
    paused: bool,
    /// Commands that are still to be carried out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    owed: Vec<Value>,
    state: State,
    /// The tokens of the last view, as the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sent: Option<u64>,
    /// The tokens of the conversation as it was said, and of its view without the gateway's text, as the provider
    /// counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) whole: Option<(u64, u64)>,
    /// The view that there would be without the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alone: Option<crate::bill::Kept>,
    /// The tokens of the note in the last view that the provider takes out with the user's next message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clearing: Option<u64>,
    /// True if the client pays for cache entries of the longer kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) caches_long: bool,
    /// True if it was stored in mode observe: nothing left what was sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) noted: bool,
    /// The summary that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) undone: Option<String>,
}

/// A fault of a strategy. The default then takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum StrategyFailure {
    /// A message of it could not be worked on; an error of its network.
    #[error("{}: {what}", .at.as_deref().unwrap_or("in its network"))]
    Fault {
        /// Of which kind.
        kind: FaultKind,
        /// The place in its text, as `file:line:column`. A module without a file is given by name.
        at: Option<Box<str>>,
        /// At which node, and what precisely.
        what: Box<str>,
    },
    /// The program did not come to rest.
    #[error("it did not come to rest")]
    Restless,
    /// A message could not be given to it: its queues are full, or it has ended.
    #[error("it takes no more messages")]
    Unreachable,
    /// The program sent a value that is not a command.
    #[error("what it says is not a command: {0}")]
    NotACommand(Box<str>),
    /// The program keeps more than 1 MiB from one request to the next.
    #[error("it keeps more than 1 MiB")]
    Large,
}

impl StrategyFailure {
    /// A word for metrics.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Fault { kind, .. } => kind.word(),
            Self::Restless => "restless",
            Self::Unreachable => "unreachable",
            Self::NotACommand(_) => "not_a_command",
            Self::Large => "large",
        }
    }
}

impl Hosted {
    /// The strategy of a conversation that begins.
    #[must_use]
    pub fn new(program: Arc<StrategyProgram>, settings: HostSettings) -> Self {
        let machine = Machine::new(program.program());
        Self {
            program,
            settings,
            machine,
            waiting: None,
            paused: false,
            owed: Vec::new(),
            news: News::default(),
            vitals: Vitals::default(),
            heard: Heard::default(),
        }
    }

    /// The strategy of a conversation that was stored. The state of another program, or a damaged one, is
    /// not used: it begins anew.
    #[must_use]
    pub fn resume(
        program: Arc<StrategyProgram>,
        settings: HostSettings,
        stored: StoredStrategy,
    ) -> Self {
        match Machine::resume(program.program(), stored.state) {
            Ok(machine) => Self {
                program,
                settings,
                owed: owed(&machine, stored.waiting, stored.owed),
                machine,
                waiting: stored.waiting,
                paused: stored.paused,
                news: News::default(),
                vitals: Vitals::default(),
                heard: Heard::default(),
            },
            Err(_) => Self::new(program, settings),
        }
    }

    /// The state to store, so that the strategy can go on later.
    #[must_use]
    pub fn to_stored(&self) -> StoredStrategy {
        StoredStrategy {
            waiting: self.waiting,
            paused: self.paused,
            owed: self.owed.iter().filter_map(Said::command).collect(),
            state: self.machine.state().clone(),
            sent: None,
            whole: None,
            alone: None,
            clearing: None,
            caches_long: false,
            noted: false,
            undone: None,
        }
    }

    /// The program that runs: the default, once another has failed.
    #[must_use]
    pub const fn program(&self) -> &Arc<StrategyProgram> {
        &self.program
    }

    /// With what another one knew of how the agent of this conversation is.
    #[must_use]
    pub fn with_vitals_of(mut self, other: &Self) -> Self {
        self.settings.soft = other.settings.soft;
        self.settings.is_moved = other.settings.is_moved;
        if self.program.reads_pulses() {
            self.vitals.clone_from(&other.vitals);
        }
        if self.program.reads().said {
            self.heard.clone_from(&other.heard);
        }
        self
    }

    /// Moves the soft threshold; without a place to move to, it returns to where the operator `set` it.
    pub(crate) fn move_soft(&mut self, moved: Option<f64>, set: Option<f64>) {
        self.settings.soft = moved.or(set);
        self.settings.is_moved = moved.is_some();
    }

    /// The bytes it holds, its own included; messages within it count by their number.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let owed = self.owed.capacity() * size_of::<Said>();
        size_of::<Self>() - size_of::<State>()
            + self.machine.state().bytes()
            + self.news.bytes()
            + self.vitals.bytes()
            + self.heard.bytes()
            + owed
    }

    /// Tells the program how things stand and does what it says.
    fn consider(&mut self, orders: &mut Orders<'_>) -> Result<(), StrategyFailure> {
        self.settle(orders)?;
        let owed = std::mem::take(&mut self.owed);
        self.work_off(owed.into(), orders)?;
        for record in self.news.told(orders.situation().compactions) {
            self.tell(REPORTS, record, orders)?;
        }
        if self.heard.has_news() {
            for record in self.heard.told(&orders.situation()) {
                self.tell(REPORTS, Some(record), orders)?;
            }
        }
        if self.vitals.has_news() {
            for record in self.vitals.told(&orders.situation()) {
                self.tell(REPORTS, record, orders)?;
            }
        }
        let report = Report::of(&orders.situation(), self.settings).to_value();
        self.tell(REPORTS, report, orders)?;
        if self.machine.state().weight() > MOST_KEPT {
            return Err(StrategyFailure::Large);
        }
        Ok(())
    }

    /// Answers a compressor whose preparation has ended, well or not.
    fn settle(&mut self, orders: &mut Orders<'_>) -> Result<(), StrategyFailure> {
        let Some(Waiting { effect, cut }) = self.waiting else {
            return Ok(());
        };
        let effect = EffectId(effect);
        let made = match orders.situation().stage {
            Stage::Preparing { cut: at } if at == cut => return Ok(()),
            Stage::Ready { cut: at, .. } => at == cut,
            Stage::Preparing { .. } | Stage::None => false,
        };
        self.waiting = None;
        if !made {
            return self.give_up(effect, &Refusal::NothingReady, orders);
        }
        let summarised = (Some(SUMMARY), self.program.reads());
        let memory = memory(&orders.situation().path, cut, summarised);
        let field = Arc::from(ControlCommand::SetMemory.name());
        let message = memory.and_then(|memory| Value::record([(field, memory)]).ok());
        let message = message.ok_or(StrategyFailure::Unreachable)?;
        let step = self.machine.answer(effect, 0, message);
        self.follow(step.map_err(|_| StrategyFailure::Unreachable)?, orders)?;
        let step = self.machine.finished(effect);
        self.follow(step.map_err(|_| StrategyFailure::Unreachable)?, orders)
    }

    /// Says that there will be no summary.
    fn give_up(
        &mut self,
        effect: EffectId,
        why: &Refusal,
        orders: &mut Orders<'_>,
    ) -> Result<(), StrategyFailure> {
        self.paused = false;
        let step = self.machine.finished(effect);
        self.follow(step.map_err(|_| StrategyFailure::Unreachable)?, orders)?;
        orders.tell(Telemetry::CameToNothing(*why));
        self.tell(ANSWERS, refused(COMPRESSOR, why), orders)
    }

    /// Gives the program a message and does what it says.
    fn tell(
        &mut self,
        port: u32,
        message: Option<Value>,
        orders: &mut Orders<'_>,
    ) -> Result<(), StrategyFailure> {
        let message = message.ok_or(StrategyFailure::Unreachable)?;
        let step = self.machine.push(port, message);
        self.follow(step.map_err(|_| StrategyFailure::Unreachable)?, orders)
    }

    /// Does what a step says, and what the steps say that come of it.
    fn follow(&mut self, step: Step, orders: &mut Orders<'_>) -> Result<(), StrategyFailure> {
        let mut todo = VecDeque::new();
        self.take(step, &mut todo)?;
        self.work_off(todo, orders)
    }

    /// Does what was said, and what comes of it.
    fn work_off(
        &mut self,
        mut todo: VecDeque<Said>,
        orders: &mut Orders<'_>,
    ) -> Result<(), StrategyFailure> {
        for _ in 0..MOST_COMMANDS {
            let Some(next) = todo.pop_front() else {
                return Ok(());
            };
            let answer = match next {
                Said::Command(message) => Some(self.obey(&message, orders)?),
                Said::Effect(effect) => self.compress(&effect, orders, &mut todo)?,
            };
            if let Some(answer) = answer {
                let step = self.machine.push(ANSWERS, answer);
                self.take(step.map_err(|_| StrategyFailure::Unreachable)?, &mut todo)?;
            }
        }
        Err(StrategyFailure::Restless)
    }

    /// Appends the messages of a step to those that wait.
    fn take(&self, step: Step, todo: &mut VecDeque<Said>) -> Result<(), StrategyFailure> {
        if let Some(fault) = step.errors.first() {
            return Err(self.program.failure(fault));
        }
        // A violation of a session is a refusal, which this host has given and journaled itself.
        todo.extend(step.outputs.into_iter().map(|(_, it)| Said::Command(it)));
        todo.extend(step.effects.into_iter().map(Said::Effect));
        Ok(())
    }

    /// Tells the program of a pin. Its commands about pins are carried out at once; all others are owed,
    /// since the path may be on its way and there may be no request to send.
    fn consider_pin(
        &mut self,
        wish: &Wish<'_>,
        orders: &mut Orders<'_>,
    ) -> Result<(), StrategyFailure> {
        let id = wish.id;
        let wish = report::wish(wish, &orders.situation()).ok_or(StrategyFailure::Unreachable)?;
        let mut todo = VecDeque::new();
        let step = self.machine.push(REPORTS, wish);
        self.take(step.map_err(|_| StrategyFailure::Unreachable)?, &mut todo)?;
        for _ in 0..MOST_COMMANDS {
            let Some(next) = todo.pop_front() else {
                return Ok(());
            };
            let Some(message) = next.about_pin(id)? else {
                self.owed.push(next);
                continue;
            };
            let answer = self.obey(&message, orders)?;
            let step = self.machine.push(ANSWERS, answer);
            self.take(step.map_err(|_| StrategyFailure::Unreachable)?, &mut todo)?;
        }
        Err(StrategyFailure::Restless)
    }

    /// Carries out a command. The answer is what the program is told.
    fn obey(&mut self, message: &Value, orders: &mut Orders<'_>) -> Result<Value, StrategyFailure> {
        let command = control::read(message).ok_or_else(|| not_a_command(message))?;
        let name = command.name();
        let mut answer = Value::Bool(true);
        let outcome = match command {
            ControlCommand::Pause | ControlCommand::Resume => {
                self.paused = command == ControlCommand::Pause;
                Ok(())
            }
            ControlCommand::GetMemory | ControlCommand::Mark => {
                let marked = self.mark(message, orders);
                marked.map(|memory| answer = memory)
            }
            ControlCommand::SetMemory => set_memory(orders),
            ControlCommand::Prepare => is_summarised(message),
            ControlCommand::Swap => orders.give(Command::Swap),
            ControlCommand::Hold => orders.give(Command::Pause),
            ControlCommand::Extract => control::extract(message, orders),
            ControlCommand::DropTo => {
                control::drop_to(message, orders, self.program.terms().guards)
            }
            ControlCommand::Clear => control::clear(message, orders),
            ControlCommand::Abandon => orders.give(Command::Abandon),
            ControlCommand::Pin => named(message, command).map_or(Ok(()), |it| orders.pin(it)),
            ControlCommand::Unpin => {
                if let Some(named) = named(message, command) {
                    orders.unpin(named);
                }
                Ok(())
            }
            // Only agents have a temperature.
            ControlCommand::SetTemp => Err(Refusal::NothingReady),
        };
        let verdict = outcome.as_ref().err().copied();
        let verdict = verdict.map_or(Verdict::Done, Verdict::Refused);
        orders.tell(Telemetry::Commanded(name, verdict));
        let answer = match outcome {
            Ok(()) => command.acknowledge(answer).ok(),
            Err(refusal) => {
                // The event that the pause waited for may never come.
                self.paused = false;
                refused(name, &refusal)
            }
        };
        answer.ok_or(StrategyFailure::Unreachable)
    }

    /// Marks a place. The provider's own summary stands for a whole request, wherever the strategy would cut.
    fn mark(&self, message: &Value, orders: &Orders<'_>) -> Result<Value, Refusal> {
        let situation = orders.situation();
        let path = &situation.path;
        let cut = if self.route() == Route::Native {
            let end = path.ends_whole().then_some(path.len());
            end.ok_or(Refusal::IllegalCut)?
        } else {
            control::cut(message, &situation)?
        };
        if cut <= situation.shown.from {
            return Err(Refusal::NoProgress);
        }
        memory(path, cut, (None, self.program.reads())).ok_or(Refusal::IllegalCut)
    }

    /// Orders the summary that a compressor was asked for. The answer is what the program is told at once.
    fn compress(
        &mut self,
        effect: &Effect,
        orders: &mut Orders<'_>,
        todo: &mut VecDeque<Said>,
    ) -> Result<Option<Value>, StrategyFailure> {
        let Request::Ask { message, .. } = &effect.request else {
            return Ok(None);
        };
        let ordered = {
            let situation = orders.situation();
            let cut = message
                .get("memory")
                .and_then(|memory| marked_at(memory, &situation.path));
            let usual = situation.limits.for_summary();
            cut.map(|cut| Command::Prepare {
                cut,
                // A summary that a request waits for has to make it fit.
                room: match self.paused {
                    true => situation.room_at(cut).unwrap_or(usual),
                    false => usual,
                },
                route: self.route(),
            })
        };
        let outcome = match (ordered, self.waiting) {
            (None, _) => Err(Refusal::IllegalCut),
            (_, Some(_)) => Err(Refusal::AlreadyPreparing),
            (Some(command), None) => orders.give(command),
        };
        match (outcome, ordered) {
            (Ok(()), Some(Command::Prepare { cut, .. })) => {
                self.waiting = Some(Waiting {
                    effect: effect.id.0,
                    cut,
                });
                orders.tell(Telemetry::Commanded(COMPRESSOR, Verdict::Done));
                Ok(None)
            }
            (outcome, _) => {
                self.paused = false;
                let why = outcome.err().unwrap_or(Refusal::IllegalCut);
                let step = self.machine.finished(effect.id);
                self.take(step.map_err(|_| StrategyFailure::Unreachable)?, todo)?;
                orders.tell(Telemetry::Commanded(COMPRESSOR, Verdict::Refused(why)));
                Ok(refused(COMPRESSOR, &why))
            }
        }
    }

    /// The route of a summary at this moment.
    const fn route(&self) -> Route {
        match (self.settings.route, self.paused) {
            (Route::Native, true) => Route::Readable,
            (route, _) => route,
        }
    }

    /// The default, from the beginning, in the place of what failed.
    fn replace(&mut self) {
        *self = Self::new(StrategyProgram::default_one(), self.settings);
    }
}

impl Strategy for Hosted {
    fn decide(&mut self, orders: &mut Orders<'_>) {
        if let Err(failure) = self.consider(orders) {
            orders.tell(Telemetry::StrategyFailed(failure));
            self.replace();
            if self.consider(orders).is_err() {
                self.replace();
            }
        }
        if self.paused {
            // Where there is nothing to wait for, the request goes as it is.
            let _ = orders.give(Command::Pause);
        }
    }

    fn pinned(&mut self, wish: &Wish<'_>, orders: &mut Orders<'_>) {
        if let Err(failure) = self.consider_pin(wish, orders) {
            orders.tell(Telemetry::StrategyFailed(failure));
            self.replace();
        }
    }

    fn hear(&mut self, telemetry: &Telemetry) {
        self.news.hear(telemetry);
    }

    fn said(&mut self, when: When, turns: &[Turn], now: Timestamp) {
        let reads = self.program.reads();
        match when {
            When::Now if reads.said => self.heard.take(turns),
            When::Before if reads.said => self.heard.recall(turns),
            When::Now | When::Before => {}
        }
        match when {
            When::Now if reads.pulses => self.vitals.take(turns, now),
            When::Before if reads.pulses => self.vitals.recall(turns, now),
            When::Now | When::Before => {}
        }
    }

    fn regretted(&mut self, regret: Regret) {
        if self.program.reads().regrets {
            self.news.regretted(regret);
        }
    }

    fn rest(&mut self) {
        self.machine.shrink();
        self.vitals.rest();
    }
}

/// A message of a program.
#[derive(Clone, Debug)]
enum Said {
    Command(Value),
    Effect(Effect),
}

impl Said {
    /// The message, where it is a command.
    fn command(&self) -> Option<Value> {
        match self {
            Self::Command(message) => Some(message.clone()),
            Self::Effect(_) => None,
        }
    }

    /// The message, where it removes a pin or keeps the one with this id. Another pin needs words, which a
    /// request brings.
    ///
    /// # Errors
    /// Where it is to be a command and is none.
    fn about_pin(&self, id: &str) -> Result<Option<Value>, StrategyFailure> {
        let Self::Command(message) = self else {
            return Ok(None);
        };
        let command = control::read(message).ok_or_else(|| not_a_command(message))?;
        let is = match command {
            ControlCommand::Pin => named(message, command) == Some(id),
            command => command == ControlCommand::Unpin,
        };
        Ok(is.then(|| message.clone()))
    }
}

/// The error for a message that is not a command. The message is shortened, because it may be
/// large.
fn not_a_command(message: &Value) -> StrategyFailure {
    let short = |name: &str| format!("`{}`", name.chars().take(40).collect::<String>());
    let names = message.fields().map(|fields| {
        let names = fields.iter().take(4).map(|(name, _)| short(name));
        names.collect::<Vec<_>>()
    });
    StrategyFailure::NotACommand(match names {
        None => "no record".into(),
        Some(names) if names.is_empty() => "a record without fields".into(),
        Some(names) => format!("a record of {}", names.join(", ")).into(),
    })
}

/// The open work of a stored program: its commands, and its requests that are not being worked on.
fn owed(machine: &Machine, waiting: Option<Waiting>, commands: Vec<Value>) -> Vec<Said> {
    let in_work = waiting.map(|waiting| waiting.effect);
    let asked = machine
        .in_flight()
        .filter(|effect| Some(effect.id.0) != in_work);
    let commands = commands.into_iter().map(Said::Command);
    commands.chain(asked.map(Said::Effect)).collect()
}

/// The pin that a command names.
fn named(message: &Value, command: ControlCommand) -> Option<&str> {
    message.get(command.name())?.as_text()
}

/// Shows the summary that is ready; one that may not be shown is thrown away.
fn set_memory(orders: &mut Orders<'_>) -> Result<(), Refusal> {
    orders.give(Command::Swap).inspect_err(|_| {
        let _ = orders.give(Command::Abandon);
    })
}

/// Checks that the memory to be kept ready has a summary: a compressor made it, and it is ready.
fn is_summarised(message: &Value) -> Result<(), Refusal> {
    let memory = message.get("prepare");
    let summary = memory.and_then(|memory| memory.get("summary"));
    summary.map(|_| ()).ok_or(Refusal::NothingReady)
}
