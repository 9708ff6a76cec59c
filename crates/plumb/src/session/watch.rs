//! Progress of the sessions of one body: which of their steps can ever happen.
//!
//! A step can happen once one before it can and what it waits for can come: a payload, or a message on the
//! incoming stream. Whether that can come depends in turn on the steps that give it. The least fixed point of
//! both leaves out what waits in a circle.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::contract::Contract;
use super::steps::{Action, Next, Steps};
use super::wiring::{EndpointId, Session, describe};
use super::{Scope, codes};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The sessions of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    sessions: Vec<Watched>,
    /// The channels on which a session gives something.
    gates: HashMap<Arc<str>, (usize, Gives)>,
}

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// Its name, and the span of that.
    pub name: Arc<str>,
    span: Span,
    /// The span of its binding, which all that it became has.
    pub bound: Span,
    /// The beginning of the names of its channels.
    pub prefix: Arc<str>,
    steps: Steps,
    /// True if its steps have a time limit, so that a run always ends.
    timed: bool,
    incoming: Arc<str>,
    trigger: Arc<str>,
    /// The channel of each payload and each choice of this side.
    sinks: BTreeMap<(usize, usize), Arc<str>>,
    /// The other end, if the body binds it: its session, and the steps that both take together.
    other: Option<(usize, BTreeSet<(usize, usize)>)>,
}

/// The origin of the messages on a session's channel.
#[derive(Clone, Copy, Debug)]
enum Gives {
    Started,
    /// When this step is done.
    Step(usize),
    /// The payload that this step receives.
    Received(usize),
    /// When the other side chooses this arm.
    Arm(usize, usize),
    /// The payloads that the session sends.
    Sent,
}

/// A question about a channel, by its name.
type Test<'t> = &'t dyn Fn(&str) -> bool;

/// The starts, steps and arms that can happen, as far as is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    started: BTreeSet<usize>,
    steps: BTreeSet<(usize, usize)>,
    arms: BTreeSet<(usize, usize, usize)>,
}

impl Watch {
    pub(super) fn new(sessions: &[&Session], scope: &dyn Scope) -> Self {
        let mut watch = Self::default();
        let contracts: Vec<Contract> = sessions
            .iter()
            .map(|session| Contract::new(session.steps.clone(), scope))
            .collect();
        for (number, session) in sessions.iter().enumerate() {
            watch.put(number, session);
            let meets = |other: &&Session| {
                other.bind.incoming.text == session.bind.outgoing.text
                    && other.bind.outgoing.text == session.bind.incoming.text
            };
            let other = sessions.iter().position(meets).filter(|it| *it != number);
            let pairs = other.and_then(|at| {
                let pairs = contracts.get(number)?.against(contracts.get(at)?).ok()?;
                Some((at, pairs))
            });
            if let Some(watched) = watch.sessions.last_mut() {
                watched.other = pairs;
            }
        }
        watch
    }

    fn put(&mut self, number: usize, session: &Session) {
        let channel = |place: EndpointId| -> Arc<str> { session.channel(place).into() };
        let mut sinks = BTreeMap::new();
        let mut gives = vec![(EndpointId::Started, Gives::Started)];
        for (index, step) in session.steps.steps.iter().enumerate() {
            gives.push((EndpointId::Done(index), Gives::Step(index)));
            match &step.action {
                Action::Send(..) => {
                    sinks.insert((index, 0), channel(EndpointId::Send(index)));
                }
                Action::Recv(..) => {
                    gives.push((EndpointId::Recv(index), Gives::Received(index)));
                }
                Action::Select(arms) => {
                    let arms = 0..arms.len();
                    sinks.extend(
                        arms.map(|arm| ((index, arm), channel(EndpointId::Select(index, arm)))),
                    );
                }
                Action::Offer(arms) => gives.extend(
                    (0..arms.len())
                        .map(|arm| (EndpointId::Offer(index, arm), Gives::Arm(index, arm))),
                ),
            }
        }
        let gives = gives
            .into_iter()
            .map(|(place, gives)| (channel(place), gives));
        let sent = format!("{}out", session.prefix);
        let gives = gives.chain([(sent.into(), Gives::Sent)]);
        self.gates
            .extend(gives.map(|(name, gives)| (name, (number, gives))));
        self.sessions.push(Watched {
            name: session.bind.session.text.clone(),
            span: session.bind.session.span,
            bound: session.span,
            prefix: session.prefix.as_str().into(),
            incoming: session.bind.incoming.text.clone(),
            trigger: channel(EndpointId::Trigger),
            steps: session.steps.clone(),
            timed: session.bind.within.is_some(),
            sinks,
            other: None,
        });
    }

    pub(crate) fn sessions(&self) -> &[Watched] {
        &self.sessions
    }

    /// Returns true for a channel on which messages come that a session received.
    pub(crate) fn receives(&self, channel: &str) -> bool {
        let gives = self.gates.get(channel).map(|(_, gives)| gives);
        matches!(gives, Some(Gives::Received(_) | Gives::Arm(..)))
    }

    /// Returns true for the channel of a trigger.
    pub(crate) fn starts(&self, channel: &str) -> bool {
        self.sessions
            .iter()
            .any(|session| *session.trigger == *channel)
    }

    /// Returns false if nothing can come on a channel yet, since it waits for a session.
    pub(crate) fn opens(&self, channel: &str, progress: &Progress) -> bool {
        let Some((number, gives)) = self.gates.get(channel) else {
            return true;
        };
        match *gives {
            Gives::Started => progress.started.contains(number),
            Gives::Step(step) | Gives::Received(step) => progress.steps.contains(&(*number, step)),
            Gives::Arm(step, arm) => progress.arms.contains(&(*number, step, arm)),
            Gives::Sent => self.sessions.get(*number).is_some_and(|session| {
                let steps = session.steps.steps.iter().enumerate();
                let mut sends = steps.filter(|(_, step)| step.action.sends());
                sends.any(|(step, _)| progress.steps.contains(&(*number, step)))
            }),
        }
    }

    /// The progress that is possible where messages come on these channels. `alone` says of a channel that one
    /// stream alone leads to it.
    pub(crate) fn advance(
        &self,
        progress: &Progress,
        reached: &dyn Fn(&str) -> bool,
        alone: &dyn Fn(&str) -> bool,
    ) -> Progress {
        let mut next = progress.clone();
        for (number, session) in self.sessions.iter().enumerate() {
            if reached(&session.trigger) {
                next.started.insert(number);
            }
            for step in self.due(number, progress) {
                for arm in self.happens(number, step, progress, (reached, alone)) {
                    next.steps.insert((number, step));
                    next.arms.insert((number, step, arm));
                }
            }
        }
        next
    }

    /// The steps of a session whose turn can come.
    fn due(&self, number: usize, progress: &Progress) -> BTreeSet<usize> {
        let Some(session) = self.sessions.get(number) else {
            return BTreeSet::new();
        };
        let mut due = BTreeSet::new();
        let mut add = |next: Next| {
            if let Next::Step(step) = next {
                due.insert(step);
            }
        };
        if progress.started.contains(&number) {
            add(session.steps.first);
        }
        for (index, step) in session.steps.steps.iter().enumerate() {
            match &step.action {
                Action::Send(_, next) | Action::Recv(_, next) => {
                    if progress.steps.contains(&(number, index)) {
                        add(*next);
                    }
                }
                Action::Select(arms) | Action::Offer(arms) => {
                    for (arm, it) in arms.iter().enumerate() {
                        if progress.arms.contains(&(number, index, arm)) {
                            add(it.next);
                        }
                    }
                }
            }
        }
        due
    }

    /// The arms in which a step can happen; of a step without a choice, 0.
    fn happens(
        &self,
        number: usize,
        step: usize,
        progress: &Progress,
        (reached, alone): (Test<'_>, Test<'_>),
    ) -> Vec<usize> {
        let Some(session) = self.sessions.get(number) else {
            return Vec::new();
        };
        let action = session.steps.steps.get(step).map(|step| &step.action);
        let Some(action) = action else {
            return Vec::new();
        };
        let arms = match action {
            Action::Send(..) | Action::Recv(..) => 1,
            Action::Select(arms) | Action::Offer(arms) => arms.len(),
        };
        if action.sends() {
            let fed = |arm: &usize| {
                let sink = session.sinks.get(&(step, *arm));
                sink.is_some_and(|sink| reached(sink))
            };
            return (0..arms).filter(fed).collect();
        }
        if !reached(&session.incoming) {
            return Vec::new();
        }
        let Some((other, pairs)) = &session.other else {
            return (0..arms).collect();
        };
        if !alone(&session.incoming) {
            return (0..arms).collect();
        }
        let theirs = pairs.iter().filter(|(mine, _)| *mine == step);
        let theirs: Vec<usize> = theirs.map(|(_, theirs)| *theirs).collect();
        let comes = |arm: &usize| {
            theirs.iter().any(|theirs| match action {
                Action::Offer(arms) => {
                    let label = arms.get(*arm).map(|arm| &arm.label.text);
                    let chosen = self.arm(*other, *theirs, label);
                    chosen.is_some_and(|it| progress.arms.contains(&(*other, *theirs, it)))
                }
                _ => progress.steps.contains(&(*other, *theirs)),
            })
        };
        (0..arms).filter(comes).collect()
    }

    /// The arm with a label.
    fn arm(&self, session: usize, step: usize, label: Option<&Arc<str>>) -> Option<usize> {
        let step = self.sessions.get(session)?.steps.steps.get(step)?;
        match &step.action {
            Action::Select(arms) | Action::Offer(arms) => {
                arms.iter().position(|arm| Some(&arm.label.text) == label)
            }
            _ => None,
        }
    }

    /// Reports the sessions that stop before their end, as one mistake: they may wait for each other.
    pub(crate) fn stuck(&self, progress: &Progress) -> Option<Diagnostic> {
        let mut told: Option<Diagnostic> = None;
        for (number, session) in self.sessions.iter().enumerate() {
            let due = self.due(number, progress).into_iter();
            let mut stops = due.filter(|step| !progress.steps.contains(&(number, *step)));
            let stop = stops.next().and_then(|step| session.steps.steps.get(step));
            let never = !progress.started.contains(&number);
            if stop.is_none() && !never || session.timed {
                continue;
            }
            told = Some(match (told, stop) {
                (None, Some(step)) => {
                    let word = describe(&step.action);
                    let told = codes::stuck(session.span, &session.name, &word);
                    told.label(step.span, "this step")
                }
                (None, None) => codes::never_starts(session.span, &session.name),
                (Some(first), Some(step)) => {
                    let word = describe(&step.action);
                    let text = format!("`{}` waits as well, at `{word}`", session.name);
                    first.label(session.span, text)
                }
                (Some(first), None) => {
                    let text = format!("`{}` is never triggered", session.name);
                    first.label(session.span, text)
                }
            });
        }
        told
    }
}

impl Watched {
    /// The steps in words.
    pub(crate) fn described(&self) -> Vec<Arc<str>> {
        let steps = self.steps.steps.iter();
        steps.map(|step| describe(&step.action).into()).collect()
    }

    /// The steps at which a run may rest: those that the protocol comes back to.
    pub(crate) fn rests(&self) -> Vec<bool> {
        let mut rests = vec![false; self.steps.steps.len()];
        for (index, step) in self.steps.steps.iter().enumerate() {
            let mut back = |next: Next| {
                if let Next::Step(to) = next
                    && to <= index
                    && let Some(rest) = rests.get_mut(to)
                {
                    *rest = true;
                }
            };
            match &step.action {
                Action::Send(_, next) | Action::Recv(_, next) => back(*next),
                Action::Select(arms) | Action::Offer(arms) => {
                    arms.iter().for_each(|arm| back(arm.next));
                }
            }
        }
        rests
    }
}
