//! Runs the statements that a session becomes, as they stand, in any order that the queues allow.
//!
//! It is not the machine: whichever node is ready and drawn by lot moves next. What holds here holds under
//! every schedule.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::syntax::ast::{
    Binary, Expr, ExprKind, Plumb, Presence, StatementKind, Type, TypeKind, Unary, Wire,
};
use crate::value::Value;

/// A network of statements.
#[derive(Default)]
pub(super) struct Network {
    nodes: Vec<Node>,
    names: BTreeMap<Arc<str>, usize>,
    /// The values that went through the watched places, in order.
    pub(super) seen: BTreeMap<Arc<str>, Vec<Value>>,
    /// The waits that the timer was asked for.
    pub(super) waits: Vec<Value>,
    lot: u64,
}

struct Node {
    kind: Kind,
    inputs: Vec<VecDeque<Value>>,
    to: Vec<(usize, usize)>,
}

enum Kind {
    /// A channel or a port; it keeps what went through where it is watched.
    Place(Arc<str>),
    Timer,
    Map(Expr),
    Filter(Expr),
    Field(Arc<str>),
    Project(u32),
    Tag(Arc<str>),
    Barrier,
    Discard,
}

impl Network {
    /// The network of a body without sessions.
    pub(super) fn of(plumb: &Plumb, watched: &[&str], lot: u64) -> Self {
        let mut network = Self {
            lot,
            ..Self::default()
        };
        for name in watched {
            network.seen.insert((*name).into(), Vec::new());
        }
        for statement in &plumb.statements {
            match &statement.kind {
                StatementKind::Wire(Wire::Sequence(wires)) => network.chain(wires),
                StatementKind::Channel(..) => {}
                other => panic!("not a plain statement: {other:?}"),
            }
        }
        network
    }

    fn node(&mut self, kind: Kind, inputs: usize) -> usize {
        self.nodes.push(Node {
            kind,
            inputs: vec![VecDeque::new(); inputs],
            to: Vec::new(),
        });
        self.nodes.len() - 1
    }

    fn place(&mut self, name: &Arc<str>) -> usize {
        if let Some(node) = self.names.get(name) {
            return *node;
        }
        let kind = if name.ends_with("timer") {
            Kind::Timer
        } else {
            Kind::Place(name.clone())
        };
        let node = self.node(kind, 1);
        self.names.insert(name.clone(), node);
        node
    }

    fn chain(&mut self, wires: &[Wire]) {
        let mut from: Vec<usize> = Vec::new();
        let mut once = None;
        for wire in wires {
            let inputs = from.len().max(1);
            let node = match wire {
                Wire::Named(path) => self.place(&path.name.text),
                Wire::Parallel(_, parts) => {
                    from = parts
                        .iter()
                        .map(|part| match part {
                            Wire::Named(path) => self.place(&path.name.text),
                            other => panic!("{other:?}"),
                        })
                        .collect();
                    continue;
                }
                Wire::Once(_, e) => {
                    once = Some(eval(e, &Value::Null));
                    continue;
                }
                Wire::Empty(_) => continue,
                Wire::Map(_, e) => self.node(Kind::Map(e.clone()), 1),
                Wire::Filter(_, e) => self.node(Kind::Filter(e.clone()), 1),
                Wire::Project(_, n) => self.node(Kind::Project(*n), 1),
                Wire::Tag(_, label) => self.node(Kind::Tag(label.text.clone()), 1),
                Wire::Barrier(_) => self.node(Kind::Barrier, inputs),
                Wire::Discard(_) => self.node(Kind::Discard, 1),
                Wire::Field(inner, name) => {
                    let Wire::Named(path) = &**inner else {
                        panic!("{inner:?}")
                    };
                    let place = self.place(&path.name.text);
                    let field = self.node(Kind::Field(name.text.clone()), 1);
                    self.nodes[place].to.push((field, 0));
                    field
                }
                other => panic!("{other:?}"),
            };
            for (port, from) in from.drain(..).enumerate() {
                self.nodes[from].to.push((node, port));
            }
            if let Some(value) = once.take() {
                self.nodes[node].inputs[0].push_back(value);
            }
            from = vec![node];
        }
    }

    /// The state that waits before the barrier of the gate, and how many payloads and calls wait before
    /// those of the steps.
    pub(super) fn waiting(&self) -> (Value, [usize; 2]) {
        let (mut state, mut waiting) = (Value::Null, [0, 0]);
        for node in &self.nodes {
            match (&node.kind, &*node.inputs) {
                (Kind::Barrier, [first, second]) => match first.front() {
                    Some(gate) if gate.get("held").is_some() => state = gate.clone(),
                    _ => waiting = [waiting[0] + first.len(), waiting[1] + second.len()],
                },
                _ => assert!(node.inputs.iter().any(VecDeque::is_empty)),
            }
        }
        (state, waiting)
    }

    /// A message into a place.
    pub(super) fn push(&mut self, name: &str, value: Value) {
        let node = self.names[name];
        self.nodes[node].inputs[0].push_back(value);
    }

    /// A message out of the timer.
    pub(super) fn ring(&mut self, wait: &Value) {
        let timers: Vec<usize> = self.names.values().copied().collect();
        for node in timers {
            if matches!(self.nodes[node].kind, Kind::Timer) {
                self.put(node, wait);
            }
        }
    }

    fn put(&mut self, node: usize, value: &Value) {
        for (to, port) in self.nodes[node].to.clone() {
            self.nodes[to].inputs[port].push_back(value.clone());
        }
    }

    /// Until nothing can move.
    pub(super) fn settle(&mut self) {
        for _ in 0..1_000_000 {
            let ready: Vec<usize> = (0..self.nodes.len())
                .filter(|n| self.nodes[*n].inputs.iter().all(|queue| !queue.is_empty()))
                .collect();
            if ready.is_empty() {
                return;
            }
            self.lot = self
                .lot
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let drawn = (self.lot >> 33) as usize % ready.len();
            self.step(ready[drawn]);
        }
        panic!("the network never settles");
    }

    fn step(&mut self, node: usize) {
        let mut taken: Vec<Value> = self.nodes[node]
            .inputs
            .iter_mut()
            .map(|queue| queue.pop_front().unwrap())
            .collect();
        let value = taken[0].clone();
        let out = match &self.nodes[node].kind {
            Kind::Place(name) => {
                if let Some(seen) = self.seen.get_mut(name) {
                    seen.push(value.clone());
                }
                Some(value)
            }
            Kind::Timer => {
                if value.get("ms") != Some(&Value::Int(0)) {
                    self.waits.push(value);
                }
                None
            }
            Kind::Map(e) => Some(eval(e, &value)),
            Kind::Filter(e) => (eval(e, &value) == Value::Bool(true)).then_some(value),
            Kind::Field(name) => value.get(name).cloned(),
            Kind::Project(n) => value.items().map(|items| items[*n as usize].clone()),
            Kind::Tag(label) => {
                let fields = [
                    ("tag".into(), Value::Text(label.clone())),
                    ("value".into(), value),
                ];
                Some(Value::record(fields).unwrap())
            }
            Kind::Barrier => Some(Value::list(std::mem::take(&mut taken)).unwrap()),
            Kind::Discard => None,
        };
        if let Some(out) = out {
            self.put(node, &out);
        }
    }
}

fn eval(e: &Expr, message: &Value) -> Value {
    match &e.kind {
        ExprKind::Null => Value::Null,
        ExprKind::Bool(b) => Value::Bool(*b),
        ExprKind::Number(text) => Value::number(text).unwrap(),
        ExprKind::Text(text) => Value::Text(text.clone()),
        ExprKind::Name(name) if &**name == "value" => message.clone(),
        ExprKind::Name(name) => message.get(name).unwrap().clone(),
        ExprKind::Record(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, e)| (name.text.clone(), eval(e, message)))
                .collect();
            Value::record(fields).unwrap()
        }
        ExprKind::List(items) => {
            let items: Vec<_> = items.iter().map(|e| eval(e, message)).collect();
            Value::list(items).unwrap()
        }
        ExprKind::Field(e, name) => eval(e, message).get(&name.text).unwrap().clone(),
        ExprKind::Part(e, n) => eval(e, message).items().unwrap()[*n as usize].clone(),
        ExprKind::Is(e, kind) => Value::Bool(fits(kind, &eval(e, message))),
        ExprKind::Unary(Unary::Not, e) => Value::Bool(eval(e, message) != Value::Bool(true)),
        ExprKind::Unary(Unary::Minus, e) => match eval(e, message) {
            Value::Int(number) => Value::Int(-number),
            other => panic!("{other:?}"),
        },
        ExprKind::If(c, a, b) => {
            let branch = if eval(c, message) == Value::Bool(true) {
                a
            } else {
                b
            };
            eval(branch, message)
        }
        ExprKind::Binary(operator, a, b) => binary(*operator, a, b, message),
        other => panic!("{other:?}"),
    }
}

fn binary(operator: Binary, a: &Expr, b: &Expr, message: &Value) -> Value {
    let yes = Value::Bool(true);
    let left = eval(a, message);
    match operator {
        Binary::Or if left == yes => return yes,
        Binary::And if left != yes => return left,
        _ => {}
    }
    let right = eval(b, message);
    let ints = || match (&left, &right) {
        (Value::Int(a), Value::Int(b)) => (*a, *b),
        other => panic!("{other:?}"),
    };
    match operator {
        Binary::Or | Binary::And => right,
        Binary::Equal => Value::Bool(left.same(&right)),
        Binary::Less => Value::Bool(ints().0 < ints().1),
        Binary::Greater => Value::Bool(ints().0 > ints().1),
        Binary::Plus => Value::Int(ints().0 + ints().1),
        Binary::Minus => Value::Int(ints().0 - ints().1),
        other => panic!("{other:?}"),
    }
}

/// Returns true if a value is of a type; of the names only those the tests use.
pub(super) fn fits(kind: &Type, value: &Value) -> bool {
    match &kind.kind {
        TypeKind::Named(path) => match &*path.name.text {
            "json" => true,
            "int" => matches!(value, Value::Int(_)),
            "string" => matches!(value, Value::Text(_)),
            other => panic!("{other}"),
        },
        TypeKind::Literal(text) => value.as_text() == Some(text),
        TypeKind::Record(fields) => {
            let known = |name: &str| fields.iter().any(|field| &*field.name.text == name);
            value.fields().is_some_and(|there| {
                there.iter().all(|(name, _)| known(name))
                    && fields
                        .iter()
                        .all(|field| match value.get(&field.name.text) {
                            Some(value) => fits(&field.kind, value),
                            None => field.presence == Presence::Optional,
                        })
            })
        }
        TypeKind::Sum(kinds) => kinds.iter().any(|kind| fits(kind, value)),
        other => panic!("{other:?}"),
    }
}
