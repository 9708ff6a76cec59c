//! Runs a program on the machine, with agents and tools that answer late, in any order, and fail.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use plumb::check::check as checked;
use plumb::graph::NodeId;
use plumb::machine::{
    Counters, EffectId, Failure, FaultKind, Limits, Machine, Program, Refusal, Request, State, Step,
};
use plumb::modules::BuiltIn;
use plumb::value::Value;

use crate::dice::Dice;
use crate::text::Generated;

/// More requests than any of these programs makes.
const MOST_EFFECTS: usize = 20_000;

/// A run.
pub struct Run<'a> {
    machine: Machine,
    dice: &'a mut Dice,
    /// The requests to each agent and tool that are not answered.
    open: BTreeMap<NodeId, VecDeque<(EffectId, Value)>>,
    asked: usize,
    outputs: Vec<Value>,
    /// The ids of messages that failed, and of those that were dropped with them.
    failed: BTreeSet<i64>,
    /// Faults and warnings that were told, by kind.
    told: BTreeMap<&'static str, u64>,
    failures: u64,
}

/// Checks all laws on one program.
///
/// # Errors
/// The law that is broken.
pub fn check(program: &Generated, dice: &mut Dice) -> Result<(), String> {
    let found = checked("storm", &program.text, &BuiltIn);
    if let Some(wrong) = found.diagnostics.first() {
        return Err(format!("it does not check: {wrong:?}"));
    }
    let graph = found.graph("main").ok_or("it has no graph")?;
    let queue = match program.exact && dice.once_in(2) {
        true => 2 + u32::try_from(dice.below(6)).unwrap_or_default(),
        false => 1_024,
    };
    let limits = Limits {
        queue,
        ..Limits::default()
    };
    let compiled = Program::with_limits(&graph, limits).map_err(|error| error.to_string())?;
    let mut run = Run {
        machine: Machine::new(Arc::new(compiled)),
        dice,
        open: BTreeMap::new(),
        asked: 0,
        outputs: Vec::new(),
        failed: BTreeSet::new(),
        told: BTreeMap::new(),
        failures: 0,
    };
    let inputs = i64::try_from(1 + run.dice.below(12)).unwrap_or(1);
    run.play(inputs)?;
    run.account(inputs, program.exact)
}

fn id(message: &Value) -> Option<i64> {
    match message.get("id")? {
        Value::Int(id) => Some(*id),
        _ => None,
    }
}

fn message(id: i64, v: i64, hops: &Value) -> Result<Value, String> {
    let fields = vec![
        ("id".into(), Value::Int(id)),
        ("v".into(), Value::Int(v)),
        ("hops".into(), hops.clone()),
    ];
    Value::record(fields).map_err(|error| error.to_string())
}

impl Run<'_> {
    /// Feeds all inputs, and answers until the network has ended.
    fn play(&mut self, inputs: i64) -> Result<(), String> {
        let step = self.machine.start();
        self.take(step);
        for number in 0..inputs {
            while self.dice.once_in(2) && self.serve()? {}
            let v = i64::try_from(self.dice.below(6)).unwrap_or_default();
            let mut next = Some(message(number, v, &Value::Int(0))?);
            while let Some(message) = next.take() {
                match self.machine.push(0, message) {
                    Ok(step) => self.take(step),
                    Err(refused) if refused.why == Refusal::Full => {
                        next = refused.message;
                        if !self.serve()? {
                            return Err("an input is full, and nothing can be answered".to_owned());
                        }
                    }
                    Err(refused) => return Err(format!("the input is refused: {refused}")),
                }
            }
            self.store()?;
        }
        let step = self.machine.close(0).map_err(|error| error.to_string())?;
        self.take(step);
        while self.serve()? {}
        Ok(())
    }

    /// Writes the state and reads it again, sometimes.
    fn store(&mut self) -> Result<(), String> {
        if !self.dice.once_in(4) {
            return Ok(());
        }
        let text = serde_json::to_string(self.machine.state()).map_err(|it| it.to_string())?;
        let state: State = serde_json::from_str(&text).map_err(|it| it.to_string())?;
        let program = Arc::clone(self.machine.program());
        self.machine = Machine::resume(program, state).map_err(|it| it.to_string())?;
        Ok(())
    }

    fn take(&mut self, step: Step) {
        for (port, message) in step.outputs {
            if port == 0 {
                self.outputs.push(message);
            }
        }
        for fault in step.errors.iter().chain(&step.warnings) {
            *self.told.entry(fault.kind.word()).or_default() += 1;
            self.failed.extend(fault.message.as_ref().and_then(id));
        }
        for effect in step.effects {
            if let Request::Ask { message, .. } = effect.request {
                let open = self.open.entry(effect.node).or_default();
                open.push_back((effect.id, message));
                self.asked += 1;
            }
        }
    }

    /// Answers a question, or fails. Returns false if there is none.
    fn serve(&mut self) -> Result<bool, String> {
        if self.asked > MOST_EFFECTS {
            return Err(format!(
                "more than {MOST_EFFECTS} requests: it does not end"
            ));
        }
        let nodes: Vec<NodeId> = self.open.keys().copied().collect();
        // Another one may have to be answered before there is room.
        for turn in 0..nodes.len() {
            let start = self.dice.below(nodes.len());
            let Some(node) = nodes.get((start + turn) % nodes.len()) else {
                continue;
            };
            if self.answer(*node)? {
                return Ok(true);
            }
        }
        for node in nodes {
            if self.answer(node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Answers the first question to a node. Returns false if there is no room for it.
    fn answer(&mut self, node: NodeId) -> Result<bool, String> {
        let Some((effect, asked)) = self.open.get(&node).and_then(VecDeque::front).cloned() else {
            return Ok(false);
        };
        let step = if self.dice.once_in(4) {
            let failure = Failure {
                error: "it failed".to_owned(),
                code: "no_answer".into(),
                attempts: 1,
            };
            let step = self.machine.failed(effect, &failure);
            if step.is_ok() {
                self.failures += 1;
                self.failed.extend(id(&asked));
            }
            step
        } else {
            let v = i64::try_from(self.dice.below(8)).unwrap_or_default();
            let hops = asked.get("hops").cloned().unwrap_or(Value::Null);
            let answer = message(id(&asked).unwrap_or(-1), v, &hops)?;
            match self.machine.answer(effect, 0, answer) {
                Ok(step) => {
                    self.take(step);
                    self.machine.finished(effect)
                }
                refused => refused,
            }
        };
        match step {
            Ok(step) => {
                if let Some(open) = self.open.get_mut(&node) {
                    open.pop_front();
                }
                self.open.retain(|_, open| !open.is_empty());
                self.take(step);
                Ok(true)
            }
            Err(refused) if refused.why == Refusal::Full => Ok(false),
            Err(refused) => Err(format!("an answer is refused: {refused}")),
        }
    }

    /// Says where everything went.
    fn account(&self, inputs: i64, exact: bool) -> Result<(), String> {
        let counters = self.machine.counters();
        if !self.machine.ended() || self.machine.stopped() {
            return Err(format!("it has not ended: {counters:?}, {:?}", self.told));
        }
        balanced(counters, self.machine.state().waiting() as u64)?;
        let told = |kind: FaultKind| self.told.get(kind.word()).copied().unwrap_or_default();
        if told(FaultKind::Parted) != counters.parted {
            return Err(format!(
                "messages were dropped without a word: {counters:?}"
            ));
        }
        for wrong in [FaultKind::Deadlock, FaultKind::Fuel, FaultKind::Answer] {
            if told(wrong) > 0 {
                return Err(format!("it met {}", wrong.word()));
            }
        }
        let ids: Vec<i64> = self.outputs.iter().filter_map(id).collect();
        if let Some(wrong) = ids.iter().find(|id| !(0..inputs).contains(*id)) {
            return Err(format!("mispaired: an output has the id {wrong}"));
        }
        if exact {
            self.exact(inputs, ids)
        } else {
            Ok(())
        }
    }

    /// Each input came out once, unless something on its way failed.
    fn exact(&self, inputs: i64, mut ids: Vec<i64>) -> Result<(), String> {
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        if ids.len() < count {
            return Err("an input came out twice".to_owned());
        }
        let missing = (0..inputs).filter(|id| ids.binary_search(id).is_err());
        let lost: Vec<i64> = missing.filter(|id| !self.failed.contains(id)).collect();
        // What goes to the port `error` names no message.
        let untold = self.machine.counters().told;
        if lost.len() as u64 > untold {
            return Err(format!("inputs {lost:?} were lost though nothing failed"));
        }
        Ok(())
    }
}

/// Every message that there was is somewhere.
fn balanced(it: Counters, waiting: u64) -> Result<(), String> {
    let came = it.accepted + it.answered + it.begun + it.copied + it.told;
    let went = it.delivered + it.asked + it.joined + it.dropped + it.narrowed + it.failed;
    let went = went + it.parted + it.discarded + it.left_over + waiting;
    if came == went {
        return Ok(());
    }
    Err(format!("{came} messages came and {went} went: {it:?}"))
}
