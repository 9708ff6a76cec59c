//! The programs in `examples/` check, and give what is written beside them.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use plumb::check::{Checked, check};
use plumb::graph::{External, ExternalKind, Graph};
use plumb::machine::{Effect, Machine, Program, Request, Step};
use plumb::modules::BuiltIn;
use plumb::syntax::format;
use plumb::value::Value;

fn file(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let path = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| Value::parse(line).unwrap())
        .collect()
}

/// A host for a program: agents that answer by script and obey their control port, tools that
/// are processes. An agent of another provider says what is recorded as the program's output, and
/// `Mem.compressor` gives an empty memory.
struct Host<'a> {
    name: &'a str,
    checked: &'a Checked,
    graph: Graph,
    machine: Machine,
    /// The answers that each agent has left.
    scripts: BTreeMap<Arc<str>, VecDeque<Value>>,
    /// The commands to control ports and their answers, in order.
    control: Vec<String>,
    outputs: Vec<Value>,
}

impl<'a> Host<'a> {
    fn of(name: &'a str, checked: &'a Checked, process: &str) -> Self {
        let graph = checked.graph(process).unwrap();
        let program = Program::new(&graph).unwrap();
        Self {
            name,
            checked,
            graph,
            machine: Machine::new(Arc::new(program)),
            scripts: BTreeMap::new(),
            control: Vec::new(),
            outputs: Vec::new(),
        }
    }

    fn push(&mut self, message: Value) {
        let step = self.machine.push(0, message).unwrap();
        let mut effects = self.take(step);
        while let Some(effect) = effects.pop_front() {
            effects.extend(self.serve(&effect));
        }
    }

    fn take(&mut self, step: Step) -> VecDeque<Effect> {
        assert_eq!(step.errors, Vec::new());
        self.outputs
            .extend(step.outputs.into_iter().map(|(_, value)| value));
        step.effects.into()
    }

    fn serve(&mut self, effect: &Effect) -> VecDeque<Effect> {
        let Request::Ask {
            external,
            port,
            message,
        } = &effect.request
        else {
            return VecDeque::new();
        };
        let external = self.graph.externals[external.0 as usize].clone();
        let answers = match (external.kind, &*external.inputs[*port as usize].name) {
            (ExternalKind::Tool, _) => vec![("output", self.tool(&external, message))],
            (ExternalKind::Agent, "ctrl_in") => self.command(message),
            (ExternalKind::Agent, _) => {
                vec![("output", self.line(&external)), ("telemetry", usage())]
            }
        };
        let mut effects = VecDeque::new();
        for (port, answer) in answers {
            let found = external
                .outputs
                .iter()
                .position(|output| &*output.name == port);
            if let Some(port) = found.or((external.kind == ExternalKind::Tool).then_some(0)) {
                let port = u32::try_from(port).unwrap();
                let step = self.machine.answer(effect.id, port, answer).unwrap();
                effects.extend(self.take(step));
            }
        }
        let step = self.machine.finished(effect.id).unwrap();
        effects.extend(self.take(step));
        effects
    }

    /// The next line of an agent's script.
    fn line(&mut self, agent: &External) -> Value {
        let setting = |name: &str| {
            let mut settings = agent.settings.iter();
            let found = settings.find(|(key, _)| &**key == name);
            found.and_then(|(_, value)| value.as_text())
        };
        if &*agent.name == "Mem.compressor" {
            let empty = r#"{"set_memory":{"mark":"1","turns":[],"pinned":[]}}"#;
            return Value::parse(empty).unwrap();
        }
        let answers = match setting("provider") {
            Some("script") => setting("model").unwrap().to_owned(),
            _ => format!("{}.output.jsonl", self.name),
        };
        let script = self
            .scripts
            .entry(agent.name.clone())
            .or_insert_with(|| lines(&file(&answers)).into());
        script.pop_front().unwrap()
    }

    fn tool(&self, tool: &External, message: &Value) -> Value {
        let mut settings = tool.settings.iter();
        let process = settings.find(|(key, _)| &**key == "process").unwrap();
        let mut host = Host::of(self.name, self.checked, process.1.as_text().unwrap());
        host.push(message.clone());
        host.outputs.pop().unwrap()
    }

    fn command(&mut self, message: &Value) -> Vec<(&'static str, Value)> {
        let word = message.fields().unwrap()[0].0.to_string();
        let answer = match &*word {
            "pause" => r#"{"paused":true}"#,
            "get_memory" => r#"{"memory":{"mark":"1","turns":[],"pinned":[]}}"#,
            "set_memory" => r#"{"memory_set":true}"#,
            "resume" => r#"{"resumed":true}"#,
            "set_temp" => r#"{"temp_set":true}"#,
            other => panic!("{other}"),
        };
        self.control.push(word);
        vec![("ctrl_out", Value::parse(answer).unwrap())]
    }
}

fn usage() -> Value {
    Value::parse(r#"{"kind":"usage","input_tokens":180000,"output_tokens":9}"#).unwrap()
}

/// Runs a program on its input, and what is printed of it without its sessions; what its agents were told
/// on their control ports.
#[track_caller]
fn run(name: &str, text: &str) -> Vec<String> {
    let checked = check(name, text, &BuiltIn);
    assert_eq!(checked.diagnostics, Vec::new());
    let printed = format(checked.desugared(), "");
    assert!(!printed.contains("<->"), "{printed}");
    let plain = check(name, &printed, &BuiltIn);
    assert!(plain.is_sound(), "{printed}\n{:?}", plain.diagnostics);
    let control = play(name, &checked);
    assert_eq!(play(name, &plain), control);
    control
}

#[track_caller]
fn play(name: &str, checked: &Checked) -> Vec<String> {
    let mut host = Host::of(name, checked, "main");
    for message in lines(&file(&format!("{name}.input.jsonl"))) {
        host.push(message);
    }
    assert_eq!(host.outputs, lines(&file(&format!("{name}.output.jsonl"))));
    let left: usize = host.scripts.values().map(VecDeque::len).sum();
    assert_eq!(left, 0, "the scripts have lines left");
    host.control
}

#[track_caller]
fn example(name: &str) -> Vec<String> {
    run(name, &file(&format!("{name}.plumb")))
}

#[test]
fn one() {
    assert_eq!(example("one"), [""; 0]);
}

#[test]
fn debate() {
    assert_eq!(example("debate"), ["set_temp"; 2]);
}

#[test]
fn review() {
    assert_eq!(example("review"), [""; 0]);
}

#[test]
fn documents() {
    assert_eq!(example("documents"), [""; 0]);
}

#[test]
fn tool() {
    assert_eq!(example("tool"), [""; 0]);
}

#[test]
fn compaction() {
    let steps = ["pause", "get_memory", "set_memory", "resume"];
    assert_eq!(example("compaction"), [steps; 3].concat());
}

#[test]
fn compaction_that_ends_in_a_send() {
    let text = file("compaction.plumb");
    let shorter = text.replace("send Resume . recv ResumeAck . end", "send Resume . end");
    assert_ne!(text, shorter);
    let steps = ["pause", "get_memory", "set_memory", "resume"];
    assert_eq!(run("compaction", &shorter), [steps; 3].concat());
}
