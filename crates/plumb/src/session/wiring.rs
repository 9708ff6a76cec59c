//! Endpoints of sessions in a body: which step each one means, and that every step is wired exactly once.

use std::collections::BTreeMap;

use super::steps::{Action, Arm, Steps, written};
use super::{Scope, codes};
use crate::diagnostic::Diagnostic;
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
                self.one(&found, *number, span, || (kind, "send"))
                    .map(EndpointId::Send)
                    .map_err(|wrong| self.against(wrong, kind, scope, Direction::Receives))
            }
            Endpoint::Recv(kind, number) => {
                let found = self.typed(kind, scope, Direction::Receives);
                self.one(&found, *number, span, || (kind, "recv"))
                    .map(EndpointId::Recv)
                    .map_err(|wrong| self.against(wrong, kind, scope, Direction::Sends))
            }
            Endpoint::Done(kind, number) => {
                let found = self.typed(kind, scope, Direction::Either);
                self.one(&found, *number, span, || (kind, "done"))
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

    /// The one that is meant.
    fn one<'a>(
        &self,
        found: &[usize],
        number: Option<u32>,
        span: Span,
        asked: impl Fn() -> (&'a Type, &'static str),
    ) -> Result<usize, Diagnostic> {
        let session = &self.bind.session.text;
        let name = || {
            let (kind, word) = asked();
            (written(kind), word)
        };
        match (found, number) {
            ([only], None) => Ok(*only),
            ([], _) => {
                let text = format!("the protocol has no step for `{}`", name().0);
                let diagnostic = Diagnostic::error(codes::UNKNOWN_STEP, span, text)
                    .label(self.bind.protocol.span(), "this protocol")
                    .hint(self.listed());
                Err(diagnostic)
            }
            (several, None) => {
                let (kind, word) = name();
                let text = format!("`{kind}` stands at {} steps", several.len());
                let mut diagnostic = Diagnostic::error(codes::AMBIGUOUS_STEP, span, text).hint(
                    format!("Say which: `{session}@{word}({kind}, 1)` is the first."),
                );
                for step in several.iter().filter_map(|n| self.steps.steps.get(*n)) {
                    diagnostic = diagnostic.label(step.span, "one of them");
                }
                Err(diagnostic)
            }
            (several, Some(number)) => (number as usize)
                .checked_sub(1)
                .and_then(|index| several.get(index).copied())
                .ok_or_else(|| {
                    let text = format!(
                        "`{}` stands at {} of the steps, counted from 1",
                        name().0,
                        several.len()
                    );
                    Diagnostic::error(codes::UNKNOWN_STEP, span, text)
                }),
        }
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
        let kind = written(kind);
        let (does, word) = match other {
            Direction::Receives => ("receives", "recv"),
            _ => ("sends", "send"),
        };
        let text = format!("the protocol {does} `{kind}` here");
        let session = &self.bind.session.text;
        Diagnostic::error(codes::WRONG_DIRECTION, wrong.span, text)
            .hint(format!("Use `{session}@{word}({kind})`."))
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
        let (text, session) = (&label.text, &self.bind.session.text);
        match (found.as_slice(), number) {
            ([only], None) => Ok(*only),
            ([], _) if !against.is_empty() => {
                let (does, word) = match direction {
                    Direction::Sends => ("other side chooses", "offer"),
                    _ => ("program chooses", "select"),
                };
                let says = format!("the {does} `{text}` here");
                Err(Diagnostic::error(codes::WRONG_DIRECTION, span, says)
                    .hint(format!("Use `{session}@{word}({text})`.")))
            }
            ([], _) => {
                let says = format!("the protocol has no choice with the label `{text}`");
                Err(Diagnostic::error(codes::UNKNOWN_STEP, span, says)
                    .label(self.bind.protocol.span(), "this protocol")
                    .hint(self.listed()))
            }
            (several, None) => {
                let says = format!("the label `{text}` stands in {} choices", several.len());
                Err(
                    Diagnostic::error(codes::AMBIGUOUS_STEP, span, says).hint(format!(
                        "Say which: a number behind it, as in `({text}, 1)`."
                    )),
                )
            }
            (several, Some(number)) => (number as usize)
                .checked_sub(1)
                .and_then(|index| several.get(index).copied())
                .ok_or_else(|| {
                    let many = several.len();
                    let says = format!("the label `{text}` stands in {many} choices, from 1");
                    Diagnostic::error(codes::UNKNOWN_STEP, span, says)
                }),
        }
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
            let (code, text) = match place {
                EndpointId::Send(_) | EndpointId::Select(..) => {
                    (codes::DOUBLE_STEP, "this step is fed twice")
                }
                EndpointId::Recv(_) | EndpointId::Offer(..) => {
                    (codes::COPIED_STEP, "what this step receives is read twice")
                }
                _ => continue,
            };
            if let Some(other) = first.insert(*place, *span) {
                found.push(
                    Diagnostic::error(code, *span, text)
                        .label(other, "here first")
                        .hint(
                            "A step of a protocol happens once; merge several paths in a channel.",
                        ),
                );
            }
        }
        found.extend(self.missing().into_iter().map(|place| {
            let (text, at) = self.lacking(place);
            let code = codes::MISSING_STEP;
            let hint = format!("Add `… ; {text}`.");
            let diagnostic = Diagnostic::error(
                code,
                self.bind.session.span,
                format!("nothing feeds `{text}`"),
            );
            match at {
                Some(span) => diagnostic.label(span, "this step").hint(hint),
                None => diagnostic.hint(hint),
            }
        }));
        found
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sends,
    Receives,
    Either,
}
