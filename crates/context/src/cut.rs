//! The rule of where a conversation may be cut, kept turn by turn.
//!
//! Providers refuse a tool call without its result and a result without its call, so a conversation
//! is cut only between [steps](crate::step). [`Cuts`] takes one turn at a time and keeps every place
//! that is legal so far. A late result may take places back, never add any.

use std::collections::HashMap;

use crate::step::{Step, StepKind};
use crate::turn::{CallId, Role, Turn};

/// The set of places that count as legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Anywhere between two steps.
    Steps,
    /// Between two steps, where providers agree as well: the first kept turn has another speaker than
    /// the last old one (a tool result counts as the user's, as on the wire), is no system turn, and
    /// is no result without its call.
    Provider,
}

/// The places where a conversation may be cut, and its steps. Cut `n` lies before turn `n`: a summary
/// may stand for the turns `..n`. Place 0 covers nothing and is no cut.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    steps: Vec<Begun>,
    len: u32,
    end: End,
}

/// A step from its first turn up to the next step.
#[derive(Clone, Copy, Debug)]
struct Begun {
    at: u32,
    /// The calls in it that have no result. Two bytes: this is kept for every step of every conversation.
    unanswered: u16,
    shape: Shape,
    /// True if [`Rule::Provider`] allows a cut before it.
    provider: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Plain,
    Calls,
    Stray,
}

/// The state that places the next turn.
#[derive(Clone, Debug, Default)]
struct End {
    /// The turns with an unanswered call of an id, once per call.
    waiting: HashMap<CallId, Vec<u32>>,
    /// The number of calls without an answer since the last speaker.
    in_flight: u32,
    /// The last turn that gave up the calls before it.
    spoke: u32,
    /// The role of the last turn, as the provider sees it.
    speaker: Option<Role>,
}

impl Cuts {
    /// The cuts of a whole conversation. Takes time linear in its parts.
    #[must_use]
    pub fn of(turns: &[Turn]) -> Self {
        let mut cuts = Self::default();
        for turn in turns {
            cuts.push(turn);
        }
        cuts
    }

    /// Takes the next turn. Takes time linear in its parts.
    pub fn push(&mut self, turn: &Turn) {
        let at = self.len;
        self.len = at.saturating_add(1);
        if speaks(turn) {
            self.end.spoke = at;
            self.end.in_flight = 0;
        }
        let joins = self.end.in_flight > 0;
        let calls = self.end.ask(turn, at);
        match self.steps.last_mut() {
            Some(open) if joins => open.unanswered = open.unanswered.saturating_add(calls),
            _ => self.steps.push(Begun {
                at,
                unanswered: calls,
                shape: if calls > 0 {
                    Shape::Calls
                } else {
                    Shape::Plain
                },
                provider: false,
            }),
        }
        let mut stray = false;
        for result in turn.results() {
            match self.end.answer(&result.call) {
                Some(asked) => self.join(asked),
                None => stray = true,
            }
        }
        let speaker = on_the_wire(turn.role());
        let changes = self.end.speaker.replace(speaker) != Some(speaker);
        // Only now is it known whether the turn begins a step: a result joins it to its call's.
        if let Some(step) = self.steps.last_mut().filter(|step| step.at == at) {
            if stray && calls == 0 {
                step.shape = Shape::Stray;
            }
            step.provider = changes && speaker != Role::System && step.shape != Shape::Stray;
        }
    }

    /// Joins everything from the step of turn `asked` on into one step, one call of which is answered.
    fn join(&mut self, asked: u32) {
        let later = self.steps.partition_point(|step| step.at <= asked);
        let joined = self.steps.drain(later..).map(|step| step.unanswered);
        let unanswered = joined.fold(0, u16::saturating_add);
        if let Some(step) = self.steps.last_mut() {
            step.unanswered = step.unanswered.saturating_add(unanswered).saturating_sub(1);
        }
    }

    /// The steps so far: in order, without gaps or overlaps.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let ends = self.steps.iter().skip(1).map(|step| step.at);
        let last = self.steps.len().saturating_sub(1);
        let ends = ends.chain([self.len]);
        self.steps
            .iter()
            .zip(ends)
            .enumerate()
            .map(move |(index, (step, end))| {
                let kind = match step.shape {
                    Shape::Plain => StepKind::Plain,
                    Shape::Stray => StepKind::Stray,
                    Shape::Calls if step.unanswered == 0 => StepKind::Complete,
                    Shape::Calls if index == last && self.end.in_flight > 0 => StepKind::InFlight,
                    Shape::Calls => StepKind::Aborted,
                };
                Step::new(step.at as usize..end as usize, kind)
            })
    }

    /// Returns true if a summary may stand for all turns before this one.
    #[must_use]
    pub fn is_cut(&self, at: usize, rule: Rule) -> bool {
        let found = self
            .steps
            .binary_search_by_key(&at, |step| step.at as usize);
        let step = found.ok().and_then(|index| self.steps.get(index));
        step.is_some_and(|step| step.allows(rule))
    }

    /// The last cut at or before `at`.
    #[must_use]
    pub fn at_most(&self, at: usize, rule: Rule) -> Option<usize> {
        let end = self.steps.partition_point(|step| step.at as usize <= at);
        let mut before = self.steps.iter().take(end).rev();
        before
            .find(|step| step.allows(rule))
            .map(|step| step.at as usize)
    }

    /// The first cut at or after `at`.
    #[must_use]
    pub fn at_least(&self, at: usize, rule: Rule) -> Option<usize> {
        let start = self.steps.partition_point(|step| (step.at as usize) < at);
        let mut after = self.steps.iter().skip(start);
        after
            .find(|step| step.allows(rule))
            .map(|step| step.at as usize)
    }

    /// Returns true if a summary may stand for all turns, with the answer to come as the first kept one: no
    /// call is open, and the last turn is not the model's.
    #[must_use]
    pub fn ends_whole(&self) -> bool {
        let speaker = self.end.speaker;
        self.end.in_flight == 0 && speaker.is_some_and(|role| role != Role::Assistant)
    }

    /// Releases memory that is held for turns to come.
    pub fn shrink_to_fit(&mut self) {
        self.steps.shrink_to_fit();
    }

    /// The bytes held on the heap, apart from unanswered calls.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Begun>()
    }
}

impl Begun {
    fn allows(&self, rule: Rule) -> bool {
        self.at > 0 && (rule == Rule::Steps || self.provider)
    }
}

impl End {
    /// Notes the calls of a turn, and returns their number.
    fn ask(&mut self, turn: &Turn, at: u32) -> u16 {
        let mut asked: u16 = 0;
        for call in turn.calls() {
            self.waiting.entry(call.id.clone()).or_default().push(at);
            asked = asked.saturating_add(1);
        }
        self.in_flight += u32::from(asked);
        asked
    }

    /// The turn that a result answers: the nearest one with an open call of that id.
    fn answer(&mut self, call: &CallId) -> Option<u32> {
        let open = self.waiting.get_mut(call)?;
        let asked = open.pop()?;
        if open.is_empty() {
            self.waiting.remove(call);
        }
        // Calls before the last speaker were given up, and do not count as in flight.
        if asked >= self.spoke {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        Some(asked)
    }
}

/// Returns true if a turn gives up the calls that are still open when it begins.
fn speaks(turn: &Turn) -> bool {
    match turn.role() {
        Role::Assistant => true,
        Role::User => turn.texts().next().is_some(),
        Role::System | Role::Tool | Role::Other => false,
    }
}

/// The role under which a provider sees a turn: tool results stand in user messages, and an unknown
/// role is sent as the user's.
const fn on_the_wire(role: Role) -> Role {
    match role {
        Role::Tool | Role::Other => Role::User,
        Role::System | Role::User | Role::Assistant => role,
    }
}
