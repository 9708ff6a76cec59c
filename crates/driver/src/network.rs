//! A network, running.

mod log;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use plumb::graph::{Graph, Kind, NodeId};
use plumb::machine::{
    Counters, Effect, EffectId, Failure, Fault, FaultKind, Machine, Program, Refusal, Refused,
    Request, Step,
};
use plumb::value::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::AgentAnswer;
use crate::driver::Driver;
use crate::error::{FailureReason, Problem, SetupError};
use crate::instance::{Act, Asked, Body, Instance};
use crate::report::{Control, Report};
use crate::state::{self, Entries, Entry, StateError};
pub(crate) use log::Log;

/// A running network of one process, with its agents and tools. Dropping it stops all work.
///
/// Work happens only while a caller waits for reports: [`Network::push`] and [`Network::close`] put something
/// in, [`Network::next`] lets it work.
pub struct Network {
    driver: Driver,
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    machine: Machine,
    instances: BTreeMap<NodeId, Instance>,
    work: FuturesUnordered<BoxFuture<'static, Done>>,
    /// The number of agents and tools at work.
    busy: usize,
    waits: HashMap<EffectId, AbortHandle>,
    effects: VecDeque<Effect>,
    reports: VecDeque<Report>,
    log: UnboundedReceiver<Report>,
    /// The number of commands carried out since the last message or pause.
    commands: u64,
}

/// The compiled process that all its networks share.
pub(crate) struct Plan {
    graph: Graph,
    program: Arc<Program>,
}

impl Plan {
    /// The plan of a graph.
    ///
    /// # Errors
    /// If the machine does not take it.
    pub fn new(graph: Graph) -> Result<Self, SetupError> {
        let program = Arc::new(Program::new(&graph)?);
        Ok(Self { graph, program })
    }
}

/// Something that was worked on is done.
enum Done {
    /// An agent or a tool with a message.
    Answered(NodeId, Asked, Box<(Body, AgentAnswer)>),
    /// A wait, unless it was called off, and how long it was.
    Waited(EffectId, Duration),
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("instances", &self.instances.len())
            .field("work", &self.work.len())
            .finish_non_exhaustive()
    }
}

impl Network {
    /// A network, within the tool that it stands for.
    ///
    /// # Errors
    /// If a setting cannot be carried out.
    pub(crate) fn new(
        driver: &Driver,
        plan: &Plan,
        within: Option<&Log>,
    ) -> Result<Self, SetupError> {
        let graph = &plan.graph;
        let machine = Machine::new(Arc::clone(&plan.program));
        let (base, log) = Log::new(within);
        let mut instances = BTreeMap::new();
        for (node, id) in graph.nodes.iter().zip((0..).map(NodeId)) {
            let Kind::External(external) = node.kind else {
                continue;
            };
            if let Some(declared) = graph.externals.get(external.0 as usize) {
                let instance = Instance::new(declared, driver, base.of(&node.name))?;
                instances.insert(id, instance);
            }
        }
        let names = |ports: &[NodeId]| -> Vec<Arc<str>> {
            let nodes = ports.iter().filter_map(|id| graph.nodes.get(id.0 as usize));
            nodes.map(|node| node.name.clone()).collect()
        };
        let mut network = Self {
            driver: driver.clone(),
            inputs: names(&graph.inputs),
            outputs: names(&graph.outputs),
            machine,
            instances,
            work: FuturesUnordered::new(),
            busy: 0,
            waits: HashMap::new(),
            effects: VecDeque::new(),
            reports: VecDeque::new(),
            log,
            commands: 0,
        };
        let step = network.machine.start();
        network.absorb(step);
        Ok(network)
    }

    /// The memories of its agents as a text for [`Network::restore`]. An agent that is busy with a message has
    /// the memory from before it.
    ///
    /// # Errors
    /// If JSON cannot hold them, which is a bug.
    pub fn state(&self) -> Result<String, StateError> {
        let mut entries = Entries::new();
        for (name, node) in self.nodes() {
            let agent = self.instances.get(&node);
            let Some((agent, memory)) = agent.and_then(|it| Some((it, it.memory()?))) else {
                continue;
            };
            let entry = Entry {
                declared: agent.declared.clone(),
                memory: memory.saved(),
            };
            entries.insert(name, entry);
        }
        state::write(&entries)
    }

    /// Gives its agents the memories of an earlier run. An agent that is not in the text keeps the memory that
    /// it has.
    ///
    /// # Errors
    /// If the text is damaged, newer, or of other agents. Then the network is not to be used.
    pub fn restore(&mut self, text: &str) -> Result<(), StateError> {
        let nodes: BTreeMap<String, NodeId> = self.nodes().collect();
        for (name, entry) in state::read(text)? {
            let node = nodes.get(&name);
            let instance = node.and_then(|node| self.instances.get_mut(node));
            let foreign = || StateError::Foreign {
                why: format!("the program has no agent `{name}`"),
            };
            instance.ok_or_else(foreign)?.restore(entry)?;
        }
        Ok(())
    }

    /// Its agents and tools by name. Several of one name are numbered from the second one on.
    fn nodes(&self) -> impl Iterator<Item = (String, NodeId)> {
        let mut known: HashMap<&str, usize> = HashMap::new();
        self.instances.iter().map(move |(node, instance)| {
            let count = known.entry(&instance.at).or_default();
            *count += 1;
            let name = match *count {
                1 => instance.at.to_string(),
                number => format!("{} ({number})", instance.at),
            };
            (name, *node)
        })
    }

    /// The names of its inputs, in the order of the signature.
    #[must_use]
    pub fn inputs(&self) -> &[Arc<str>] {
        &self.inputs
    }

    /// The names of its outputs, in the order of the signature.
    #[must_use]
    pub fn outputs(&self) -> &[Arc<str>] {
        &self.outputs
    }

    /// Puts a message into an input. One that is not of the input's type is reported as a fault, and no
    /// process sees it.
    ///
    /// # Errors
    /// If there is no such input, it is closed or full, or the network has stopped; with the message. Where
    /// it is full ([`Refusal::Full`]) there may be room after the next report.
    pub fn push(&mut self, port: u32, message: Value) -> Result<(), Refused> {
        let step = self.machine.push(port, message)?;
        self.replenish();
        self.absorb(step);
        Ok(())
    }

    /// No more will come on this input.
    pub fn close(&mut self, port: u32) {
        if let Ok(step) = self.machine.close(port) {
            self.absorb(step);
        }
    }

    /// Returns true if everything has ended. Only reports that are already queued remain.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.machine.ended()
    }

    /// Returns true if it ran out of fuel. A stopped network takes no messages and does no work.
    #[must_use]
    pub const fn stopped(&self) -> bool {
        self.machine.stopped()
    }

    /// Waits for the next report; `None` if the network is at rest until the next input. Canceling the future
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Report> {
        self.next_until(Self::is_at_rest).await
    }

    /// Does the same as [`Network::next`], but also returns `None` if only timers are pending.
    pub async fn next_of_work(&mut self) -> Option<Report> {
        self.next_until(|network| network.busy == 0).await
    }

    async fn next_until(&mut self, done: fn(&Self) -> bool) -> Option<Report> {
        loop {
            // Before anything moves: a loop would report more with each call than is taken.
            if let Some(report) = self.reports.pop_front() {
                return Some(report);
            }
            let moved = self.settle();
            if let Some(report) = self.reports.pop_front() {
                return Some(report);
            }
            if moved == Moved::Some {
                if let Ok(report) = self.log.try_recv() {
                    return Some(report);
                }
                // A loop of commands never waits: it must not keep the caller from all else.
                tokio::task::yield_now().await;
                continue;
            }
            if done(self) {
                return self.log.try_recv().ok();
            }
            tokio::select! {
                biased;
                Some(report) = self.log.recv() => return Some(report),
                Some(done) = self.work.next() => self.done(done),
            }
        }
    }

    fn is_at_rest(&self) -> bool {
        self.work.is_empty()
    }

    /// Returns true if an agent or a tool is at work, or a report is queued.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.busy > 0 || !self.effects.is_empty() || !self.reports.is_empty()
    }

    /// The messages that were left over where something had ended, by node.
    #[must_use]
    pub fn left_over(&self) -> Vec<(Fault, u64)> {
        self.machine.left_over()
    }

    /// The counts of its messages so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.machine.counters()
    }

    /// The number of messages that are on their way, and of those that agents and tools have not answered.
    #[must_use]
    pub fn under_way(&self) -> (usize, usize) {
        let waiting = self.machine.state().waiting();
        (waiting, self.machine.in_flight().count())
    }

    /// Calls off all that is worked on. Open questions to agents and tools stay unanswered.
    pub fn abandon(&mut self) {
        self.work.clear();
        self.busy = 0;
        self.waits.clear();
        self.effects.clear();
        for instance in self.instances.values_mut() {
            instance.commands.clear();
            instance.messages.clear();
            instance.acts.clear();
        }
    }

    /// The agents that keep a network at rest from ending although its inputs are closed: paused agents with
    /// queued messages.
    #[must_use]
    pub fn stuck(&self) -> Vec<Problem> {
        let stuck = self.instances.values().filter(|it| it.is_stuck());
        stuck
            .map(|instance| Problem {
                at: instance.at.clone(),
                span: instance.span,
                why: FailureReason::Paused {
                    waiting: instance.messages.len(),
                },
                message: None,
            })
            .collect()
    }

    /// Absorbs the result of a call of the machine.
    fn absorb(&mut self, step: Step) {
        // What was logged came before.
        while let Ok(report) = self.log.try_recv() {
            self.reports.push_back(report);
        }
        let outputs = step.outputs.into_iter();
        self.reports
            .extend(outputs.map(|(port, message)| Report::Output { port, message }));
        self.reports
            .extend(step.warnings.into_iter().map(Report::Warning));
        let faults = step.errors.into_iter().chain(step.violations);
        self.reports.extend(faults.map(Report::Fault));
        let ended = step.ended.into_iter();
        self.reports
            .extend(ended.map(|port| Report::Ended { port }));
        self.effects.extend(step.effects);
        if self.machine.stopped() {
            self.abandon();
        }
    }

    /// Lets everything move that can without waiting, for some rounds.
    fn settle(&mut self) -> Moved {
        let nodes: Vec<NodeId> = self.instances.keys().copied().collect();
        for _ in 0..ROUNDS {
            let mut moved = false;
            while let Some(effect) = self.effects.pop_front() {
                self.dispatch(effect);
                moved = true;
            }
            for node in &nodes {
                moved |= self.advance(*node);
            }
            if !moved {
                return Moved::All;
            }
        }
        Moved::Some
    }

    fn dispatch(&mut self, effect: Effect) {
        let Effect { id, node, request } = effect;
        match request {
            Request::Ask { port, message, .. } => {
                if let Some(instance) = self.instances.get_mut(&node) {
                    let asked = Asked {
                        effect: id,
                        message,
                    };
                    instance.take(port, asked);
                }
            }
            Request::Wait { milliseconds, .. } => {
                let time = Duration::from_millis(milliseconds);
                let (wait, handle) = abortable(tokio::time::sleep(time));
                self.waits.insert(id, handle);
                self.work.push(Box::pin(async move {
                    let _ = wait.await;
                    Done::Waited(id, time)
                }));
            }
            Request::Cancel => {
                if let Some(wait) = self.waits.remove(&id) {
                    wait.abort();
                }
                if let Some(instance) = self.instances.get_mut(&node) {
                    instance.forget(id);
                }
            }
        }
    }

    /// Lets an agent or a tool say what it has to say, then take a command, then a message. Its messages may
    /// lead to commands, which come before its next message. Returns true if anything moved.
    fn advance(&mut self, node: NodeId) -> bool {
        let said = self.say(node);
        let Some(instance) = self.instances.get_mut(&node) else {
            return false;
        };
        if said || !instance.acts.is_empty() || !self.effects.is_empty() {
            return said;
        }
        if instance.commands.is_empty() || instance.body.is_none() {
            return self.begin(node);
        }
        let most = self.driver.max_commands();
        if self.commands >= most {
            self.stop(node, FailureReason::CommandsSpent { most });
            return false;
        }
        self.commands += 1;
        instance.obey()
    }

    /// Stops the network: what it does leads to the same without end.
    fn stop(&mut self, node: NodeId, why: FailureReason) {
        if let Some(instance) = self.instances.get(&node) {
            self.reports.push_back(Report::Problem(Problem {
                at: instance.at.clone(),
                span: instance.span,
                why,
                message: None,
            }));
        }
        let step = self.machine.stop();
        self.absorb(step);
    }

    /// Starts to count commands and failures anew: something came from outside.
    fn replenish(&mut self) {
        self.commands = 0;
        for instance in self.instances.values_mut() {
            instance.failures.end();
        }
    }

    /// Passes the acts of an agent or a tool to the machine while there is room. Returns true if any was taken.
    fn say(&mut self, node: NodeId) -> bool {
        let mut said = false;
        loop {
            let Some(instance) = self.instances.get_mut(&node) else {
                return said;
            };
            let (told, finished) = match instance.acts.pop_front() {
                None => return said,
                Some(Act::Fail(effect, failure, problem)) => {
                    match self.machine.failed(effect, &failure) {
                        Err(refused) if refused.why == Refusal::Full => {
                            let act = Act::Fail(effect, failure, problem);
                            instance.acts.push_front(act);
                            return said;
                        }
                        Ok(step) => {
                            let step = self.unhandled(node, step, *problem, &failure);
                            (Ok(step), true)
                        }
                        refused => (refused, true),
                    }
                }
                Some(Act::Answer(effect, port, message)) => {
                    match self.machine.answer(effect, port, message) {
                        Err(Refused {
                            why: Refusal::Full,
                            message: Some(message),
                        }) => {
                            let act = Act::Answer(effect, port, message);
                            instance.acts.push_front(act);
                            return said;
                        }
                        told => (told, false),
                    }
                }
                Some(Act::Finish(effect)) => (self.machine.finished(effect), true),
            };
            said |= told.is_ok() || finished;
            // Other refusals are of questions that were called off, or come after the network has stopped.
            if let Ok(step) = told {
                self.absorb(step);
            }
            if let Some(most) = self.failures_spent(node) {
                self.stop(node, FailureReason::FailuresSpent { most });
            }
        }
    }

    /// The most failures in a row of an agent or a tool, where there were more.
    fn failures_spent(&self, node: NodeId) -> Option<u32> {
        let failures = self.instances.get(&node)?.failures;
        (!self.machine.stopped() && failures.are_spent()).then_some(failures.most)
    }

    /// Reports a failure that nothing in the program takes.
    fn unhandled(
        &mut self,
        node: NodeId,
        mut step: Step,
        problem: Problem,
        failure: &Failure,
    ) -> Step {
        let before = step.errors.len();
        step.errors
            .retain(|fault| fault.kind != FaultKind::Unanswered);
        if step.errors.len() < before {
            self.reports.push_back(Report::Problem(problem));
        } else if let Some(instance) = self.instances.get_mut(&node) {
            instance.failures.count += 1;
            instance.log.tell(Control::Failed {
                code: Arc::clone(&failure.code),
            });
        }
        step
    }

    /// Starts the next message of a free agent or tool. Returns true if there was one.
    fn begin(&mut self, node: NodeId) -> bool {
        let Some(instance) = self.instances.get_mut(&node) else {
            return false;
        };
        if instance.is_paused() || instance.messages.is_empty() {
            return false;
        }
        let Some(body) = instance.take_body() else {
            return false;
        };
        let Some(asked) = instance.messages.pop_front() else {
            return false;
        };
        let (driver, log) = (self.driver.clone(), instance.log.clone());
        let work = async move {
            let message = asked.message.clone();
            let (body, answer) = body.answer(message, &driver, &log).await;
            Done::Answered(node, asked, Box::new((body, answer)))
        };
        instance.log.tell(Control::Asked {
            port: "input".into(),
        });
        self.work.push(Box::pin(work));
        self.busy += 1;
        true
    }

    fn done(&mut self, done: Done) {
        // What was logged came before.
        while let Ok(report) = self.log.try_recv() {
            self.reports.push_back(report);
        }
        if !matches!(done, Done::Waited(..)) {
            self.busy = self.busy.saturating_sub(1);
            self.commands = 0;
        }
        match done {
            Done::Waited(effect, time) => self.waited(effect, time),
            Done::Answered(node, asked, done) => self.answered(node, asked, *done),
        }
    }

    fn waited(&mut self, effect: EffectId, time: Duration) {
        // One that was called off is not there any more.
        if self.waits.remove(&effect).is_none() {
            return;
        }
        if time >= PAUSE {
            self.replenish();
        }
        if let Ok(step) = self.machine.finished(effect) {
            self.absorb(step);
        }
    }

    fn answered(&mut self, node: NodeId, asked: Asked, (body, answer): (Body, AgentAnswer)) {
        let Some(instance) = self.instances.get_mut(&node) else {
            return;
        };
        let AgentAnswer {
            answer,
            attempts,
            telemetry,
        } = answer;
        let Asked { effect, message } = asked;
        instance.body = Some(body);
        let last = match answer {
            Ok(answer) => {
                instance.failures.end();
                instance.log.tell(Control::Answered {
                    port: "output".into(),
                });
                instance.say(effect, "output", answer);
                Act::Finish(effect)
            }
            Err(why) => {
                let problem = Problem {
                    at: instance.at.clone(),
                    span: instance.span,
                    why,
                    message: Some(message),
                };
                Act::Fail(effect, problem.failure(attempts), Box::new(problem))
            }
        };
        for record in telemetry {
            instance.report(effect, record);
        }
        instance.acts.push_back(last);
    }
}

/// The work that is left to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    /// Nothing without waiting.
    All,
    /// Some things have moved, and more may.
    Some,
}

/// The shortest wait behind which commands and failures are counted anew: what pauses is no busy loop.
const PAUSE: Duration = Duration::from_secs(1);

/// The rounds of moves between two looks at the rest of the world.
const ROUNDS: usize = 64;
