//! Endpoints of sessions in a body: which step each one means, and that every step is wired exactly once.

use std::collections::BTreeMap;

use super::steps::{Action, Arm, Next, Steps, written};
use super::{Scope, codes};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::span::Span;
use crate::syntax::ast::{Bind, Endpoint, Name, Type};
use crate::syntax::type_text;

/// An endpoint, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndpointId {
    /// `s@trigger` as a sink.
    Trigger,
    /// `s@trigger` as a source.
    Started,
    /// `s@error`.
    Error,
    /// `s@send(T)`: the step.
    Send(usize),
    /// `s@recv(T)`: the step.
    Recv(usize),
    /// `s@done(T)`: the step.
    Done(usize),
    /// `s@select(l)`: the step and its arm.
    Select(usize, usize),
    /// `s@offer(l)`: the step and its arm.
    Offer(usize, usize),
}

impl EndpointId {
    pub(super) fn is_sink(self) -> bool {
        matches!(self, Self::Trigger | Self::Send(_) | Self::Select(..))
    }
}

/// A binding and how its endpoints are used.
pub(super) struct Session {
    pub(super) bind: Bind,
    pub(super) span: Span,
    pub(super) steps: Steps,
    /// The unique prefix of its channels.
    pub(super) prefix: String,
    /// The endpoints that the body names, in order.
    pub(super) uses: Vec<(EndpointId, Span)>,
    /// True if the body names an endpoint that is none: what seems to be missing may be meant by it.
    pub(super) mistaken: bool,
}

impl Session {
    pub(super) fn channel(&self, place: EndpointId) -> String {
        let prefix = &self.prefix;
        let arm = |step: usize, arm: usize| match self.steps.steps.get(step).map(|s| &s.action) {
            Some(Action::Select(arms) | Action::Offer(arms)) => {
                arms.get(arm).map_or("", |arm| &arm.label.text)
            }
            _ => "",
        };
        match place {
            EndpointId::Trigger => format!("{prefix}trigger"),
            EndpointId::Started => format!("{prefix}started"),
            EndpointId::Error => format!("{prefix}error"),
            EndpointId::Send(step) => format!("{prefix}send_{}", step + 1),
            EndpointId::Recv(step) => format!("{prefix}recv_{}", step + 1),
            EndpointId::Done(step) => format!("{prefix}done_{}", step + 1),
            EndpointId::Select(step, n) => format!("{prefix}select_{}_{}", step + 1, arm(step, n)),
            EndpointId::Offer(step, n) => format!("{prefix}offer_{}_{}", step + 1, arm(step, n)),
        }
    }

    pub(super) fn uses(&self, place: EndpointId) -> bool {
        self.uses.iter().any(|(used, _)| *used == place)
    }

    /// Finds the step of an endpoint.
    pub(super) fn find(
        &self,
        endpoint: &Endpoint,
        span: Span,
        scope: &dyn Scope,
    ) -> Result<EndpointId, Diagnostic> {
        match endpoint {
            Endpoint::Send(kind, number) => {
                let found = self.typed(kind, scope, Direction::Sends);
                self.one(&found, *number, span, &Asked::Type(kind, "send"))
                    .map(EndpointId::Send)
                    .map_err(|wrong| self.against(wrong, kind, scope, Direction::Receives))
            }
            Endpoint::Recv(kind, number) => {
                let found = self.typed(kind, scope, Direction::Receives);
                self.one(&found, *number, span, &Asked::Type(kind, "recv"))
                    .map(EndpointId::Recv)
                    .map_err(|wrong| self.against(wrong, kind, scope, Direction::Sends))
            }
            Endpoint::Done(kind, number) => {
                let found = self.typed(kind, scope, Direction::Either);
                self.one(&found, *number, span, &Asked::Type(kind, "done"))
                    .map(EndpointId::Done)
            }
            Endpoint::Select(label, number) => self
                .labelled(label, *number, span, Direction::Sends)
                .map(|(step, arm)| EndpointId::Select(step, arm)),
            Endpoint::Offer(label, number) => self
                .labelled(label, *number, span, Direction::Receives)
                .map(|(step, arm)| EndpointId::Offer(step, arm)),
        }
    }

    /// The steps of this type in this direction.
    fn typed(&self, kind: &Type, scope: &dyn Scope, direction: Direction) -> Vec<usize> {
        let wanted = scope.resolve(kind);
        let same = |other: &Type| match (&wanted, scope.resolve(other)) {
            (Some(one), Some(other)) => *one == other,
            _ => type_text(kind) == type_text(other),
        };
        let steps = self.steps.steps.iter().enumerate();
        let fits = steps.filter(|(_, step)| match &step.action {
            Action::Send(kind, _) => direction != Direction::Receives && same(kind),
            Action::Recv(kind, _) => direction != Direction::Sends && same(kind),
            Action::Select(_) | Action::Offer(_) => false,
        });
        fits.map(|(index, _)| index).collect()
    }

    /// The place that an endpoint names among those that it could be.
    fn one<T: Copy + Place>(
        &self,
        found: &[T],
        number: Option<u32>,
        span: Span,
        asked: &Asked<'_>,
    ) -> Result<T, Diagnostic> {
        let (name, count, places) = (asked.name(), found.len(), asked.places());
        match (found, number) {
            ([only], None) => Ok(*only),
            ([], _) => {
                let told = codes::unknown_step(span, &asked.step(), &self.listed());
                let told = told.meant(self.near(asked).as_deref());
                Err(told.label(self.bind.protocol.span(), "this protocol"))
            }
            (several, None) => {
                let example = asked.first(&self.bind.session.text);
                let told = codes::ambiguous_step(span, &name, &count, &places, &example);
                let steps = several
                    .iter()
                    .filter_map(|it| self.steps.steps.get(it.step()));
                Err(steps.fold(told, |told, step| told.label(step.span, "one of them")))
            }
            (several, Some(number)) => {
                let place = (number as usize).checked_sub(1);
                let place = place.and_then(|place| several.get(place).copied());
                place.ok_or_else(|| codes::uncounted_step(span, &name, &count, &places))
            }
        }
    }

    /// The label that was probably meant.
    fn near(&self, asked: &Asked<'_>) -> Option<String> {
        let Asked::Label(label, _) = asked else {
            return None;
        };
        let steps = self.steps.steps.iter();
        let labels = steps.flat_map(|step| match &step.action {
            Action::Select(arms) | Action::Offer(arms) => arms.as_slice(),
            _ => &[],
        });
        nearest(&label.text, labels.map(|arm| &*arm.label.text)).map(str::to_owned)
    }

    /// The step exists, but the other way.
    fn against(
        &self,
        wrong: Diagnostic,
        kind: &Type,
        scope: &dyn Scope,
        other: Direction,
    ) -> Diagnostic {
        if wrong.code != codes::UNKNOWN_STEP || self.typed(kind, scope, other).is_empty() {
            return wrong;
        }
        let (does, word) = match other {
            Direction::Receives => ("protocol receives", "recv"),
            _ => ("protocol sends", "send"),
        };
        let endpoint = format!("{}@{word}", self.bind.session.text);
        codes::other_direction(wrong.span, &does, &written(kind), &endpoint)
    }

    /// The arm of this label in this direction.
    fn labelled(
        &self,
        label: &Name,
        number: Option<u32>,
        span: Span,
        direction: Direction,
    ) -> Result<(usize, usize), Diagnostic> {
        let (mut found, mut against) = (Vec::new(), Vec::new());
        for (index, step) in self.steps.steps.iter().enumerate() {
            let (arms, sends) = match &step.action {
                Action::Select(arms) => (arms, true),
                Action::Offer(arms) => (arms, false),
                Action::Send(..) | Action::Recv(..) => continue,
            };
            let named = |arm: &Arm| arm.label.text == label.text;
            if let Some(arm) = arms.iter().position(named) {
                let right = sends == (direction == Direction::Sends);
                (if right { &mut found } else { &mut against }).push((index, arm));
            }
        }
        let (does, word, other) = match direction {
            Direction::Sends => ("other side chooses", "select", "offer"),
            _ => ("program chooses", "offer", "select"),
        };
        if found.is_empty() && !against.is_empty() {
            let endpoint = format!("{}@{other}", self.bind.session.text);
            return Err(codes::other_direction(span, &does, &label.text, &endpoint));
        }
        self.one(&found, number, span, &Asked::Label(label, word))
    }

    /// The steps there are, as a hint.
    fn listed(&self) -> String {
        const SHOWN: usize = 12;
        let steps = self.steps.steps.iter();
        let mut names: Vec<String> = steps
            .take(SHOWN)
            .map(|step| describe(&step.action))
            .collect();
        if self.steps.steps.len() > SHOWN {
            names.push("…".to_owned());
        }
        match names.as_slice() {
            [] => "It has no steps.".to_owned(),
            _ => format!("Its steps: {}.", names.join(", ")),
        }
    }

    /// Checks that every step is wired exactly once.
    pub(super) fn linear(&self) -> Vec<Diagnostic> {
        let mut first: BTreeMap<EndpointId, Span> = BTreeMap::new();
        let mut found = Vec::new();
        for (place, span) in &self.uses {
            let twice = match place {
                EndpointId::Send(_) | EndpointId::Select(..) => codes::double_step(*span),
                EndpointId::Recv(_) | EndpointId::Offer(..) => codes::copied_step(*span),
                _ => continue,
            };
            if let Some(other) = first.insert(*place, *span) {
                found.push(twice.label(other, "here first"));
            }
        }
        if self.mistaken {
            return found;
        }
        found.extend(self.unhandled());
        found.extend(self.missing().into_iter().map(|place| {
            let (endpoint, step) = self.lacking(place);
            let told = codes::missing_step(self.bind.session.span, &endpoint);
            match step {
                Some(step) => told.label(step, "this step"),
                None => told,
            }
        }));
        found
    }

    /// Reports arms of the other side's choices that nothing handles: neither the label is read, nor is a step of
    /// the arm wired. An arm without steps needs nothing where the others are handled by theirs.
    fn unhandled(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (index, step) in self.steps.steps.iter().enumerate() {
            let Action::Offer(arms) = &step.action else {
                continue;
            };
            let read = |arm: usize| self.uses(EndpointId::Offer(index, arm));
            let labelled = (0..arms.len()).any(read);
            let own: Vec<Vec<usize>> = arms.iter().map(|arm| self.own(index, arm)).collect();
            let wired = |steps: &Vec<usize>| steps.iter().any(|step| self.wires(*step));
            let by_steps = !labelled && own.iter().any(wired);
            for (arm, steps) in own.iter().enumerate() {
                let needless = steps.is_empty() && by_steps;
                if read(arm) || wired(steps) || needless {
                    continue;
                }
                let label = arms.get(arm).map(|arm| &arm.label);
                let Some(label) = label else { continue };
                let endpoint = format!("{}@offer({})", self.bind.session.text, label.text);
                let told = codes::unhandled_arm(self.bind.session.span, &endpoint);
                found.push(told.label(label.span, "this arm"));
            }
        }
        found
    }

    /// The steps of an arm, as far as it does not lead back to its choice or before it.
    fn own(&self, choice: usize, arm: &Arm) -> Vec<usize> {
        let mut own: Vec<usize> = Vec::new();
        let mut open = vec![arm.next];
        while let Some(next) = open.pop() {
            let Next::Step(step) = next else { continue };
            if step <= choice || own.contains(&step) {
                continue;
            }
            own.push(step);
            match self.steps.steps.get(step).map(|step| &step.action) {
                Some(Action::Send(_, next) | Action::Recv(_, next)) => open.push(*next),
                Some(Action::Select(arms) | Action::Offer(arms)) => {
                    open.extend(arms.iter().map(|arm| arm.next));
                }
                None => {}
            }
        }
        own
    }

    /// Returns true if the body names an endpoint of a step.
    fn wires(&self, step: usize) -> bool {
        self.uses.iter().any(|(place, _)| match place {
            EndpointId::Send(at)
            | EndpointId::Recv(at)
            | EndpointId::Done(at)
            | EndpointId::Select(at, _)
            | EndpointId::Offer(at, _) => *at == step,
            EndpointId::Trigger | EndpointId::Started | EndpointId::Error => false,
        })
    }

    /// The sinks that nothing feeds.
    pub(super) fn missing(&self) -> Vec<EndpointId> {
        let mut sinks = vec![EndpointId::Trigger];
        for (index, step) in self.steps.steps.iter().enumerate() {
            match &step.action {
                Action::Send(..) => sinks.push(EndpointId::Send(index)),
                Action::Select(arms) => {
                    sinks.extend((0..arms.len()).map(|arm| EndpointId::Select(index, arm)));
                }
                Action::Recv(..) | Action::Offer(_) => {}
            }
        }
        sinks.retain(|sink| !self.uses(*sink));
        sinks
    }

    /// A sink as it would be written, and its step.
    fn lacking(&self, place: EndpointId) -> (String, Option<Span>) {
        let session = &self.bind.session.text;
        let step = |index: usize| self.steps.steps.get(index);
        let (word, index) = match place {
            EndpointId::Send(index) => match step(index).map(|step| &step.action) {
                Some(Action::Send(kind, _)) => (format!("send({})", written(kind)), index),
                _ => ("send".to_owned(), index),
            },
            EndpointId::Select(index, arm) => match step(index).map(|step| &step.action) {
                Some(Action::Select(arms)) => {
                    let label = arms.get(arm).map_or("", |arm| &arm.label.text);
                    (format!("select({label})"), index)
                }
                _ => ("select".to_owned(), index),
            },
            _ => return (format!("{session}@trigger"), None),
        };
        let span = step(index).map(|step| step.span);
        (format!("{session}@{word}"), span)
    }
}

/// A step in words: `send Pause`, `offer { read, write }`.
pub(super) fn describe(action: &Action) -> String {
    let labels = |arms: &[Arm]| {
        let labels: Vec<&str> = arms.iter().map(|arm| &*arm.label.text).collect();
        labels.join(", ")
    };
    match action {
        Action::Send(kind, _) => format!("send {}", written(kind)),
        Action::Recv(kind, _) => format!("recv {}", written(kind)),
        Action::Select(arms) => format!("select {{ {} }}", labels(arms)),
        Action::Offer(arms) => format!("offer {{ {} }}", labels(arms)),
    }
}

/// The step that an endpoint asks for, and the word of the endpoint.
enum Asked<'a> {
    Type(&'a Type, &'static str),
    Label(&'a Name, &'static str),
}

impl Asked<'_> {
    fn name(&self) -> String {
        match self {
            Self::Type(kind, _) => format!("`{}`", written(kind)),
            Self::Label(label, _) => format!("the label `{}`", label.text),
        }
    }

    /// The missing step, for a message.
    fn step(&self) -> String {
        match self {
            Self::Type(kind, _) => format!("step for `{}`", written(kind)),
            Self::Label(label, _) => format!("choice with the label `{}`", label.text),
        }
    }

    fn places(&self) -> &'static str {
        match self {
            Self::Type(..) => "steps",
            Self::Label(..) => "choices",
        }
    }

    /// The endpoint of the first of several steps.
    fn first(&self, session: &str) -> String {
        match self {
            Self::Type(kind, word) => format!("{session}@{word}({}, 1)", written(kind)),
            Self::Label(label, word) => format!("{session}@{word}({}, 1)", label.text),
        }
    }
}

/// A step, or an arm of one.
trait Place {
    fn step(&self) -> usize;
}

impl Place for usize {
    fn step(&self) -> usize {
        *self
    }
}

impl Place for (usize, usize) {
    fn step(&self) -> usize {
        self.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sends,
    Receives,
    Either,
}
