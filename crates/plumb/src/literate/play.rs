//! Transcripts: inputs of a network and its reactions.
//!
//! | line | what it says |
//! |---|---|
//! | `> VALUE` | a message goes in; where there are several inputs, `> {"port": VALUE}` |
//! | `> end` | no more will go in; `> end PORT`, in there |
//! | `= NAME VALUE` | the agent or tool `NAME` answers to the first message that it has not answered |
//! | `= NAME@PORT VALUE` | … on another port than `output` |
//! | `= NAME` | … nothing |
//! | `= NAME ! WORD` | it fails, with this word as the `code`; or with a record `Failed` |
//! | `~ 30s` | time passes: `500ms`, `30s`, `2m` |
//! | `< VALUE` | a message comes out; where there are several outputs, `< {"port": VALUE}` |
//! | `< end` | no more will come out; `< end PORT`, out there |
//! | `? NAME VALUE` | an agent or a tool is asked; `? NAME@PORT VALUE` on another port than `input` |
//! | `! CODE …` | something went wrong |
//!
//! The first group are done; the second follow from them, and stand behind the one that they follow from.
//! An answer on `telemetry` leaves the question open; one on any other port is the answer, unless it is of
//! the wrong type. Tools that are processes answer by themselves. Empty lines stay as they are.

use std::sync::Arc;

use crate::check::Checked;
use crate::diagnostic::Code;
use crate::graph::{External, ExternalKind, Graph, NodeId};
use crate::machine::{
    Effect, EffectId, Failure, FaultKind, Limits, Machine, Program, Refused, Request, State, Step,
};
use crate::value::Value;

/// The maximum depth of tools that call tools.
const DEEPEST: usize = 64;

/// The state at the end of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// The transcript as it is.
    pub text: String,
    /// The network as it was at its end.
    state: Option<State>,
}

/// Plays a transcript of a program. `words` are those of its fence.
///
/// # Errors
/// Why it cannot be played.
pub(super) fn play(
    checked: &Checked,
    words: &[&str],
    text: &str,
    before: Option<Ended>,
) -> Result<Ended, String> {
    let mut limits = Limits::default();
    let (mut process, mut resumed) = ("main", false);
    for word in words {
        match word.split_once('=') {
            None if *word == "resumed" => resumed = true,
            None => process = word,
            Some((name, number)) => limit(&mut limits, name, number)?,
        }
    }
    if !checked.is_sound() {
        return Err("the program cannot run".to_owned());
    }
    let mut player = Player {
        checked,
        networks: Vec::new(),
        waits: Vec::new(),
        clock: 0,
        told: Vec::new(),
    };
    let before = before.filter(|_| resumed).and_then(|ended| ended.state);
    player.begin(process, limits, before)?;
    let text = player.transcript(text);
    let first = player.networks.into_iter().next();
    Ok(Ended {
        text,
        state: first.map(|network| network.machine.into_state()),
    })
}

fn limit(limits: &mut Limits, name: &str, number: &str) -> Result<(), String> {
    let wrong = || format!("`{name}={number}` is no limit");
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match name {
        "fuel" => limits.fuel = u64::from(number),
        "queue" => limits.queue = number,
        "high_water" => limits.high_water = number,
        _ => return Err(wrong()),
    }
    Ok(())
}

/// A network that runs.
struct Network {
    machine: Machine,
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    /// For a tool: the network that called it and the effect.
    caller: Option<(usize, EffectId)>,
    /// True once the messages left over at its end have been told.
    over: bool,
}

/// Time that has to pass.
struct Wait {
    due: u64,
    network: usize,
    effect: EffectId,
}

struct Player<'a> {
    checked: &'a Checked,
    /// The network of the process, then those of tools.
    networks: Vec<Network>,
    waits: Vec<Wait>,
    clock: u64,
    /// The events since the last input.
    told: Vec<String>,
}

impl Player<'_> {
    fn begin(&mut self, process: &str, limits: Limits, state: Option<State>) -> Result<(), String> {
        let network = self.network(process, limits, None)?;
        let network = self.networks.get_mut(network);
        let Some(network) = network else {
            return Ok(());
        };
        let Some(state) = state else {
            let step = network.machine.start();
            self.follow(0, step);
            return Ok(());
        };
        // As it would have been written to a disk and read again.
        let text = serde_json::to_string(&state).map_err(|error| error.to_string())?;
        let state = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        match Machine::resume(Arc::clone(network.machine.program()), state) {
            Ok(machine) => {
                let effects = machine.in_flight().collect();
                network.machine = machine;
                let again = Step {
                    effects,
                    ..Step::default()
                };
                self.follow(0, again);
            }
            Err(error) => self.wrong(error.code(), &error.to_string()),
        }
        Ok(())
    }

    fn network(
        &mut self,
        process: &str,
        limits: Limits,
        caller: Option<(usize, EffectId)>,
    ) -> Result<usize, String> {
        let callers = |caller: &(usize, EffectId)| self.networks.get(caller.0)?.caller;
        if std::iter::successors(caller, callers)
            .nth(DEEPEST)
            .is_some()
        {
            return Err(format!("tools call each other more than {DEEPEST} deep"));
        }
        let graph = self.checked.graph(process);
        let graph = graph.ok_or_else(|| format!("there is no process `{process}` to run"))?;
        let program = Program::with_limits(&graph, limits).map_err(|error| error.to_string())?;
        self.networks.push(Network {
            inputs: names(&graph, &graph.inputs),
            outputs: names(&graph, &graph.outputs),
            machine: Machine::new(Arc::new(program)),
            caller,
            over: false,
        });
        Ok(self.networks.len() - 1)
    }

    /// The transcript as it is.
    fn transcript(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut lines = text.lines().peekable();
        loop {
            let mut said = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with(['<', '?', '!'])) {
                said.push(line);
            }
            for (number, told) in self.told.drain(..).enumerate() {
                // Another way of writing the same is as good.
                let said = said
                    .get(number)
                    .filter(|said| normal(said) == normal(&told));
                out.push_str(said.unwrap_or(&told.as_str()));
                out.push('\n');
            }
            let Some(line) = lines.next() else {
                return out;
            };
            out.push_str(line);
            out.push('\n');
            if let Err(why) = self.does(line) {
                self.told.push(format!("! ({why})"));
            }
        }
    }

    /// Does what a line says.
    fn does(&mut self, line: &str) -> Result<(), String> {
        let (sign, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, value) = rest.split_once(' ').unwrap_or((rest, ""));
        match sign {
            "" => Ok(()),
            ">" if first == "end" => self.close(value),
            ">" => {
                let (port, message) = self.port(Value::parse(rest).map_err(told)?)?;
                let network = self.networks.first_mut().ok_or("nothing runs")?;
                let step = network.machine.push(port, message);
                self.took(0, step);
                Ok(())
            }
            "=" => self.answer(first, value),
            "~" => self.pass(milliseconds(rest).ok_or("a time is 500ms, 30s or 2m")?),
            _ => Err("a line begins with >, =, ~, <, ? or !".to_owned()),
        }
    }

    /// The input of a message.
    fn port(&self, value: Value) -> Result<(u32, Value), String> {
        let inputs = self.networks.first().map(|network| &network.inputs);
        let inputs = inputs.map(Vec::as_slice).unwrap_or_default();
        if inputs.len() == 1 {
            return Ok((0, value));
        }
        let named = match value.fields() {
            Some([(name, message)]) => {
                let port = (0..).zip(inputs).find(|(_, input)| *input == name);
                port.map(|(port, _)| (port, message.clone()))
            }
            _ => None,
        };
        named.ok_or_else(|| format!("one of the inputs {} has to be named", inputs.join(", ")))
    }

    fn close(&mut self, named: &str) -> Result<(), String> {
        let inputs = self.networks.first().map(|network| network.inputs.clone());
        let inputs = inputs.unwrap_or_default();
        if !named.is_empty() && !inputs.iter().any(|input| **input == *named) {
            return Err(format!("there is no input `{named}`"));
        }
        for (port, input) in (0..).zip(&inputs) {
            if !named.is_empty() && **input != *named {
                continue;
            }
            if let Some(network) = self.networks.first_mut() {
                let step = network.machine.close(port);
                self.took(0, step);
            }
        }
        Ok(())
    }

    fn answer(&mut self, to: &str, value: &str) -> Result<(), String> {
        let (name, port) = to.split_once('@').unwrap_or((to, "output"));
        let asked = self
            .asked(name, port)
            .ok_or_else(|| format!("nothing is asked of {name}"))?;
        let (network, effect, external) = asked;
        if let Some(what) = value.strip_prefix("! ") {
            return self.fail(network, effect, what);
        }
        if !value.is_empty() {
            let message = Value::parse(value).map_err(told)?;
            let mut outputs = (0..).zip(&external.outputs);
            let tool = external.kind == ExternalKind::Tool;
            let output = outputs.find(|(_, output)| tool || *output.name == *port);
            // An answer on an unread port still counts.
            if let Some((output, _)) = output
                && !self.answered(network, effect, output, message)
            {
                return Ok(());
            }
        }
        if port != "telemetry" {
            self.finish(network, effect);
        }
        Ok(())
    }

    /// Lets an agent or a tool fail.
    fn fail(&mut self, network: usize, effect: EffectId, what: &str) -> Result<(), String> {
        let record = Value::parse(what).ok();
        let text = |name: &str| record.as_ref()?.get(name)?.as_text().map(str::to_owned);
        let attempts = record.as_ref().and_then(|it| it.get("attempts"));
        let failure = Failure {
            error: text("error").unwrap_or_else(|| what.to_owned()),
            code: text("code").unwrap_or_else(|| what.to_owned()).into(),
            attempts: match attempts {
                Some(Value::Int(number)) => u32::try_from(*number).map_err(told)?,
                _ => 1,
            },
        };
        if let Some(running) = self.networks.get_mut(network) {
            let step = running.machine.failed(effect, &failure);
            self.took(network, step);
        }
        Ok(())
    }

    /// A process that is a tool gave no answer.
    fn no_answer(&mut self, network: usize, effect: EffectId, process: &str) {
        let failure = Failure {
            error: format!("`{process}` gave no answer"),
            code: "tool_failed".into(),
            attempts: 1,
        };
        if let Some(running) = self.networks.get_mut(network) {
            let step = running.machine.failed(effect, &failure);
            self.took(network, step);
        }
    }

    /// The first question that an answer on a port can be the answer to.
    fn asked(&self, name: &str, port: &str) -> Option<(usize, EffectId, External)> {
        let mut open = self
            .networks
            .iter()
            .enumerate()
            .flat_map(|(number, network)| {
                let effects = network.machine.in_flight();
                effects.filter_map(move |effect| {
                    let (external, asked) = outside(&network.machine, &effect)?;
                    Some((number, effect.id, external.clone(), asked))
                })
            });
        let fits =
            |asked: &str| port == "telemetry" || (asked == "ctrl_in") == (port == "ctrl_out");
        let found = open.find(|(_, _, external, asked)| *external.name == *name && fits(asked));
        found.map(|(network, effect, external, _)| (network, effect, external))
    }

    /// Gives an answer. Returns true if it has the right type.
    fn answered(&mut self, network: usize, effect: EffectId, port: u32, message: Value) -> bool {
        let Some(machine) = self.networks.get_mut(network).map(|it| &mut it.machine) else {
            return false;
        };
        let step = machine.answer(effect, port, message);
        let right = step.as_ref().is_ok_and(|step| {
            let mut wrong = step.errors.iter();
            !wrong.any(|fault| fault.kind == FaultKind::Answer)
        });
        self.took(network, step);
        right
    }

    fn is_open(&self, network: usize, effect: EffectId) -> bool {
        let running = self.networks.get(network);
        running.is_some_and(|it| it.machine.in_flight().any(|open| open.id == effect))
    }

    fn finish(&mut self, network: usize, effect: EffectId) {
        if let Some(running) = self.networks.get_mut(network) {
            let step = running.machine.finished(effect);
            self.took(network, step);
        }
    }

    /// Lets time pass.
    fn pass(&mut self, milliseconds: u64) -> Result<(), String> {
        let until = self.clock.saturating_add(milliseconds);
        for _ in 0..10_000 {
            let due = self.waits.iter().enumerate();
            let due = due.filter(|(_, wait)| wait.due <= until);
            let Some((at, _)) = due.min_by_key(|(_, wait)| wait.due) else {
                self.clock = until;
                return Ok(());
            };
            let wait = self.waits.remove(at);
            self.clock = wait.due;
            self.finish(wait.network, wait.effect);
        }
        Err("the timers do not come to rest".to_owned())
    }

    fn took(&mut self, network: usize, step: Result<Step, Refused>) {
        match step {
            Ok(step) => self.follow(network, step),
            Err(refused) => self.wrong(refused.code(), &refused.to_string()),
        }
    }

    fn wrong(&mut self, code: Code, text: &str) {
        self.told.push(format!("! {code} {text}"));
    }

    /// Records the events of a step.
    fn follow(&mut self, network: usize, step: Step) {
        let running = self.networks.get(network);
        let caller = running.and_then(|running| running.caller);
        let outputs = running.map(|running| running.outputs.clone());
        let outputs = outputs.unwrap_or_default();
        let named = |port: u32| outputs.get(port as usize).filter(|_| outputs.len() > 1);
        for (port, message) in step.outputs {
            match (caller, named(port)) {
                // A tool gives one answer.
                (Some((caller, effect)), _) if self.is_open(caller, effect) => {
                    if self.answered(caller, effect, 0, message) {
                        self.finish(caller, effect);
                    }
                }
                (Some(_), _) => {}
                (None, Some(name)) => {
                    let name = Value::from(&**name);
                    self.told.push(format!("< {{{name}:{message}}}"));
                }
                (None, None) => self.told.push(format!("< {message}")),
            }
        }
        for effect in step.effects {
            self.effect(network, &effect);
        }
        for fault in step
            .errors
            .iter()
            .chain(&step.warnings)
            .chain(&step.violations)
        {
            self.wrong(fault.kind.code(), &fault.to_value().to_string());
        }
        for port in step.ended {
            match (caller, named(port)) {
                (Some(_), _) => {}
                (None, Some(name)) => self.told.push(format!("< end {name}")),
                (None, None) => self.told.push("< end".to_owned()),
            }
        }
        self.over(network);
    }

    /// Records what was left over, when the network has ended.
    fn over(&mut self, network: usize) {
        let running = self.networks.get_mut(network);
        let Some(running) = running.filter(|it| it.machine.ended() && !it.over) else {
            return;
        };
        running.over = true;
        if running.caller.is_none() {
            for (fault, _) in running.machine.left_over() {
                self.wrong(fault.kind.code(), &fault.to_value().to_string());
            }
        }
    }

    fn effect(&mut self, network: usize, effect: &Effect) {
        let id = effect.id;
        match &effect.request {
            Request::Wait { milliseconds, .. } => self.waits.push(Wait {
                due: self.clock.saturating_add(*milliseconds),
                network,
                effect: id,
            }),
            Request::Cancel => self
                .waits
                .retain(|wait| (wait.network, wait.effect) != (network, id)),
            Request::Ask { message, .. } => {
                let machine = self.networks.get(network).map(|it| &it.machine);
                let asked = machine.and_then(|machine| outside(machine, effect));
                let Some((external, port)) = asked else {
                    return;
                };
                let settings = external.settings.iter();
                let process = settings
                    .filter(|_| external.kind == ExternalKind::Tool)
                    .find_map(|(key, value)| (**key == *"process").then(|| value.clone()));
                let at = match port {
                    "input" => String::new(),
                    _ if external.kind == ExternalKind::Tool => String::new(),
                    other => format!("@{other}"),
                };
                let line = format!("? {}{at} {message}", external.name);
                match process.as_ref().and_then(Value::as_text) {
                    Some(process) => self.call(network, id, process, message.clone()),
                    None => self.told.push(line),
                }
            }
        }
    }

    /// A tool that is a process: a network of its own, for one message.
    fn call(&mut self, network: usize, effect: EffectId, process: &str, message: Value) {
        let caller = Some((network, effect));
        match self.network(process, Limits::default(), caller) {
            Ok(tool) => {
                let running = self.networks.get_mut(tool);
                let step = running.map(|running| running.machine.push(0, message));
                if let Some(step) = step {
                    self.took(tool, step);
                }
                let running = self.networks.get(tool);
                let rests = running.is_some_and(|it| it.machine.in_flight().next().is_none());
                if rests && self.is_open(network, effect) {
                    self.no_answer(network, effect, process);
                }
            }
            Err(why) => self.told.push(format!("! ({why})")),
        }
    }
}

/// The agent or tool that an effect asks, and on which port.
fn outside<'a>(machine: &'a Machine, effect: &Effect) -> Option<(&'a External, &'a str)> {
    let Request::Ask { external, port, .. } = &effect.request else {
        return None;
    };
    let external = machine.program().external(*external)?;
    Some((external, &*external.inputs.get(*port as usize)?.name))
}

fn names(graph: &Graph, ports: &[NodeId]) -> Vec<Arc<str>> {
    let name = |id: &NodeId| Some(graph.nodes.get(id.0 as usize)?.name.clone());
    ports.iter().filter_map(name).collect()
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// `500ms`, `30s`, `2m`.
fn milliseconds(text: &str) -> Option<u64> {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number: u64 = text.get(..text.len() - unit.len())?.parse().ok()?;
    number.checked_mul(match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    })
}

/// A line with its value in one way of writing.
fn normal(line: &str) -> String {
    let words = if line.starts_with('<') { 1 } else { 2 };
    let mut spaces = line.match_indices(' ');
    let Some((at, _)) = spaces.nth(words - 1) else {
        return line.to_owned();
    };
    let (before, value) = line.split_at(at);
    match Value::parse(value.trim()) {
        Ok(value) => format!("{before} {value}"),
        Err(_) => line.to_owned(),
    }
}
