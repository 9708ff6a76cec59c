//! A protocol as numbered steps with jumps: what the network is made from.
//!
//! Every name, variable and `loop` of a protocol stands where it ends, so a protocol is a graph of steps: a
//! jump is a number, and a protocol that is named in several places is there once.

use std::collections::{BTreeMap, VecDeque};

use super::{Scope, codes, unknown_protocol};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::ast::{Name, Path, Protocol, ProtocolKind, Type};
use crate::syntax::type_text;

/// The maximum number of steps of a protocol, including the protocols that it names.
const MOST_STEPS: usize = 1024;
/// The maximum nesting depth of choices.
const DEEPEST: usize = 128;

/// A well-formed protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    pub first: Next,
    /// The steps in the order of the text, those of named protocols behind.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The span of its type or choice.
    pub span: Span,
    pub action: Action,
}

/// The action of a step, and its successors.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<N = Next> {
    Send(Type, N),
    Recv(Type, N),
    Select(Vec<Arm<N>>),
    Offer(Vec<Arm<N>>),
}

impl<N> Action<N> {
    /// The same action with other successors.
    fn map<M>(self, next: impl Fn(N) -> M) -> Action<M> {
        let arms = |arms: Vec<Arm<N>>| {
            let arm = |Arm { label, next: to }| Arm {
                label,
                next: next(to),
            };
            arms.into_iter().map(arm).collect()
        };
        match self {
            Self::Send(kind, to) => Action::Send(kind, next(to)),
            Self::Recv(kind, to) => Action::Recv(kind, next(to)),
            Self::Select(list) => Action::Select(arms(list)),
            Self::Offer(list) => Action::Offer(arms(list)),
        }
    }

    /// Returns true if this side sends.
    pub(super) const fn sends(&self) -> bool {
        matches!(self, Self::Send(..) | Self::Select(_))
    }
}

/// An arm of a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm<N = Next> {
    pub label: Name,
    pub next: N,
}

/// The successor of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Step(usize),
    End,
}

impl Steps {
    /// The steps of a protocol.
    ///
    /// # Errors
    /// `P0601` to `P0606`; warnings alone stand beside the steps.
    pub fn of(
        protocol: &Protocol,
        scope: &dyn Scope,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut build = Build {
            scope,
            steps: Vec::new(),
            labels: Vec::new(),
            named: BTreeMap::new(),
            queue: VecDeque::new(),
            diagnostics: Vec::new(),
            broken: false,
        };
        let top = build.label(protocol.span);
        build.queue.push_back((top, protocol.clone()));
        while let Some((label, protocol)) = build.queue.pop_front() {
            let mut around = ChoiceContext {
                top: label,
                variables: Vec::new(),
                depth: 0,
            };
            let jump = build.protocol(&protocol, &mut around);
            build.define(label, jump);
        }
        build.finish(top)
    }

    /// The same protocol as its other side sees it: sends are receives and selections are offers. Its own
    /// inverse.
    #[must_use]
    pub fn dual(self) -> Self {
        let flip = |step: Step| Step {
            span: step.span,
            action: match step.action {
                Action::Send(kind, next) => Action::Recv(kind, next),
                Action::Recv(kind, next) => Action::Send(kind, next),
                Action::Select(arms) => Action::Offer(arms),
                Action::Offer(arms) => Action::Select(arms),
            },
        };
        Self {
            first: self.first,
            steps: self.steps.into_iter().map(flip).collect(),
        }
    }
}

/// A jump while the targets are not all known yet.
#[derive(Clone, Copy, Debug)]
enum Jump {
    Step(usize),
    Label(usize),
    End,
    /// Already reported.
    Nowhere,
}

/// A place that is jumped to: the top of a protocol, or a `rec`.
struct Target {
    span: Span,
    jump: Option<Jump>,
}

/// A step whose jumps may still be labels.
type Draft = Action<Jump>;

/// The context of a part of a protocol.
struct ChoiceContext {
    /// The target of `loop`.
    top: usize,
    /// The variables of the `rec`s, the innermost last.
    variables: Vec<Variable>,
    /// The nesting depth of choices.
    depth: usize,
}

struct Variable {
    name: Name,
    label: usize,
    used: bool,
}

struct Build<'a> {
    scope: &'a dyn Scope,
    steps: Vec<(Span, Draft)>,
    labels: Vec<Target>,
    named: BTreeMap<String, usize>,
    queue: VecDeque<(usize, Protocol)>,
    diagnostics: Vec<Diagnostic>,
    broken: bool,
}

impl Build<'_> {
    fn label(&mut self, span: Span) -> usize {
        self.labels.push(Target { span, jump: None });
        self.labels.len() - 1
    }

    fn define(&mut self, label: usize, jump: Jump) {
        if let Some(target) = self.labels.get_mut(label) {
            target.jump = Some(jump);
        }
    }

    fn wrong(&mut self, diagnostic: Diagnostic) -> Jump {
        self.diagnostics.push(diagnostic);
        self.broken = true;
        Jump::Nowhere
    }

    /// Drafts the steps of a protocol and says where it begins. Sends and receives are walked in a loop, so
    /// only choices nest.
    fn protocol(&mut self, protocol: &Protocol, around: &mut ChoiceContext) -> Jump {
        let outer = around.variables.len();
        let mut begin = None;
        let mut last: Option<usize> = None;
        let mut heads: Vec<usize> = Vec::new();
        let mut rest = protocol;
        loop {
            let (jump, tail) = match &rest.kind {
                ProtocolKind::Send(kind, tail) => {
                    let draft = Draft::Send(kind.clone(), Jump::Nowhere);
                    (self.step(kind.span, draft), Some(tail))
                }
                ProtocolKind::Recv(kind, tail) => {
                    let draft = Draft::Recv(kind.clone(), Jump::Nowhere);
                    (self.step(kind.span, draft), Some(tail))
                }
                ProtocolKind::Rec(name, tail) => {
                    let label = self.label(rest.span);
                    around.variables.push(Variable {
                        name: name.clone(),
                        label,
                        used: false,
                    });
                    heads.push(label);
                    rest = tail;
                    continue;
                }
                ProtocolKind::Select(arms) | ProtocolKind::Offer(arms) => {
                    (self.choice(rest, arms, around), None)
                }
                ProtocolKind::Named(path) => (self.named(path, around), None),
                ProtocolKind::Loop => (Jump::Label(around.top), None),
                ProtocolKind::End => (Jump::End, None),
                ProtocolKind::Broken => {
                    self.broken = true;
                    (Jump::Nowhere, None)
                }
            };
            for label in heads.drain(..) {
                self.define(label, jump);
            }
            begin.get_or_insert(jump);
            self.follow(last, jump);
            match (tail, jump) {
                (Some(tail), Jump::Step(index)) => {
                    last = Some(index);
                    rest = tail;
                }
                _ => break,
            }
        }
        self.leave(around, outer);
        begin.unwrap_or(Jump::Nowhere)
    }

    /// Takes the variables of this protocol out of sight again.
    fn leave(&mut self, around: &mut ChoiceContext, outer: usize) {
        for variable in around.variables.drain(outer..) {
            if !variable.used {
                let Name { span, text } = &variable.name;
                self.diagnostics.push(codes::unused_variable(*span, text));
            }
        }
    }

    fn step(&mut self, span: Span, draft: Draft) -> Jump {
        if self.steps.len() >= MOST_STEPS {
            let mut told = self.diagnostics.iter();
            if told.any(|one| one.code == codes::TOO_LARGE) {
                return Jump::Nowhere;
            }
            return self.wrong(codes::many_steps(span, &MOST_STEPS));
        }
        self.steps.push((span, draft));
        Jump::Step(self.steps.len() - 1)
    }

    /// Sets the successor of a step that was drafted without one.
    fn follow(&mut self, last: Option<usize>, jump: Jump) {
        let draft = last.and_then(|index| self.steps.get_mut(index));
        if let Some((_, Draft::Send(_, next) | Draft::Recv(_, next))) = draft {
            *next = jump;
        }
    }

    fn choice(
        &mut self,
        choice: &Protocol,
        arms: &[(Name, Protocol)],
        around: &mut ChoiceContext,
    ) -> Jump {
        if arms.is_empty() {
            return self.wrong(codes::empty_choice(choice.span));
        }
        if around.depth >= DEEPEST {
            return self.wrong(codes::deep_choices(choice.span, &DEEPEST));
        }
        let offered = matches!(choice.kind, ProtocolKind::Offer(_));
        let draft = |arms| {
            if offered {
                Draft::Offer(arms)
            } else {
                Draft::Select(arms)
            }
        };
        let jump = self.step(choice.span, draft(Vec::new()));
        let mut done: Vec<Arm<Jump>> = Vec::with_capacity(arms.len());
        for (label, arm) in arms {
            if let Some(first) = done.iter().find(|other| other.label.text == label.text) {
                let twice = codes::duplicate_label(label.span, &label.text);
                self.wrong(twice.label(first.label.span, "here first"));
            }
            around.depth += 1;
            let next = self.protocol(arm, around);
            around.depth -= 1;
            let label = label.clone();
            done.push(Arm { label, next });
        }
        if let Jump::Step(index) = jump
            && let Some((_, slot)) = self.steps.get_mut(index)
        {
            *slot = draft(done);
        }
        jump
    }

    /// A variable, or another protocol, which is drafted later and once.
    fn named(&mut self, path: &Path, around: &mut ChoiceContext) -> Jump {
        let variable = around
            .variables
            .iter_mut()
            .rev()
            .find(|variable| path.module.is_none() && variable.name.text == path.name.text);
        if let Some(variable) = variable {
            variable.used = true;
            return Jump::Label(variable.label);
        }
        let key = match &path.module {
            Some(module) => format!("{}.{}", module.text, path.name.text),
            None => path.name.text.to_string(),
        };
        if let Some(label) = self.named.get(&key) {
            return Jump::Label(*label);
        }
        let Some(protocol) = self.scope.protocol(path) else {
            let unknown = codes::unknown_jump(path.span(), &key);
            return self.wrong(unknown_protocol(self.scope, path, unknown));
        };
        let label = self.label(path.span());
        self.named.insert(key, label);
        self.queue.push_back((label, protocol));
        Jump::Label(label)
    }

    fn finish(mut self, top: usize) -> Result<(Steps, Vec<Diagnostic>), Vec<Diagnostic>> {
        let targets: Vec<Option<Next>> = (0..self.labels.len())
            .map(|label| resolve(&self.labels, Jump::Label(label)))
            .collect();
        let mut unguarded = self.labels.iter().zip(&targets).rev();
        if !self.broken
            && let Some((target, _)) = unguarded.find(|(_, next)| next.is_none())
        {
            self.diagnostics.push(codes::unguarded(target.span));
            self.broken = true;
        }
        if self.broken {
            return Err(self.diagnostics);
        }
        let next = |jump: Jump| resolve(&self.labels, jump).unwrap_or(Next::End);
        let steps = std::mem::take(&mut self.steps).into_iter();
        let step = |(span, draft): (Span, Draft)| Step {
            span,
            action: draft.map(next),
        };
        let steps = steps.map(step).collect();
        let first = next(Jump::Label(top));
        Ok((Steps { first, steps }, self.diagnostics))
    }
}

/// The final target of a jump; `None` if it loops without a step.
fn resolve(labels: &[Target], jump: Jump) -> Option<Next> {
    let mut jump = jump;
    for _ in 0..=labels.len() {
        match jump {
            Jump::Step(index) => return Some(Next::Step(index)),
            Jump::End => return Some(Next::End),
            Jump::Nowhere => return None,
            Jump::Label(label) => jump = labels.get(label).and_then(|target| target.jump)?,
        }
    }
    None
}

/// A type as it is written, for messages: on one line, long ones shortened.
pub(super) fn written(kind: &Type) -> String {
    const LONGEST: usize = 60;
    let text = type_text(kind);
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
