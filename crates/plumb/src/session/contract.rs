//! Both ends of a conversation: what one side sends has to be what the other receives.

use std::collections::BTreeSet;

use super::Scope;
use super::steps::{Action, Arm, Next, Steps};
use super::wiring::describe;
use crate::span::Span;
use crate::syntax::ast::{Bind, Side};
use crate::types::{Fit, Type, fits};

/// A protocol as one end follows it, with the types of its messages.
#[derive(Clone, Debug)]
pub(crate) struct Contract {
    steps: Steps,
    /// The type of each step's message; `None` for choices and types that are unknown.
    kinds: Vec<Option<Type>>,
}

/// Where two ends do not go together: the step of each, in words; `None` at its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clash {
    pub mine: Option<(String, Span)>,
    pub theirs: Option<(String, Span)>,
}

impl Contract {
    /// The contract of a binding; `None` if its protocol has mistakes or is unknown.
    pub(crate) fn of(bind: &Bind, scope: &dyn Scope) -> Option<Self> {
        let protocol = scope.protocol(&bind.protocol)?;
        let (steps, _) = Steps::of(&protocol, scope).ok()?;
        let steps = match bind.side {
            Side::Itself => steps,
            Side::Dual => steps.dual(),
        };
        Some(Self::new(steps, scope))
    }

    pub(super) fn new(steps: Steps, scope: &dyn Scope) -> Self {
        let kinds = steps.steps.iter().map(|step| match &step.action {
            Action::Send(kind, _) | Action::Recv(kind, _) => scope.resolve(kind),
            Action::Select(_) | Action::Offer(_) => None,
        });
        Self {
            kinds: kinds.collect(),
            steps,
        }
    }

    /// The pairs of steps that two ends take together, from their beginning on.
    ///
    /// # Errors
    /// The first place at which they do not go together.
    pub(crate) fn against(&self, other: &Self) -> Result<BTreeSet<(usize, usize)>, Box<Clash>> {
        let mut pairs = BTreeSet::new();
        let mut open = vec![(self.steps.first, other.steps.first)];
        while let Some((mine, theirs)) = open.pop() {
            let (mine, theirs) = match (mine, theirs) {
                (Next::End, Next::End) => continue,
                (Next::Step(mine), Next::Step(theirs)) => (mine, theirs),
                _ => return Err(self.clash(other, mine, theirs)),
            };
            if !pairs.insert((mine, theirs)) {
                continue;
            }
            let clash = || self.clash(other, Next::Step(mine), Next::Step(theirs));
            let next = self.together(other, (mine, theirs)).ok_or_else(clash)?;
            open.extend(next);
        }
        Ok(pairs)
    }

    /// The states that follow when both ends take a step; `None` if they cannot.
    fn together(&self, other: &Self, (mine, theirs): (usize, usize)) -> Option<Vec<(Next, Next)>> {
        let (one, two) = (self.steps.steps.get(mine)?, other.steps.steps.get(theirs)?);
        let kind = |of: &Self, at: usize| of.kinds.get(at).cloned().flatten();
        let carries = |from: Option<Type>, to: Option<Type>| match (from, to) {
            (Some(from), Some(to)) => fits(&from, &to) != Fit::Never,
            _ => true,
        };
        match (&one.action, &two.action) {
            (Action::Send(_, next), Action::Recv(_, other_next)) => {
                let fits = carries(kind(self, mine), kind(other, theirs));
                fits.then(|| vec![(*next, *other_next)])
            }
            (Action::Recv(_, next), Action::Send(_, other_next)) => {
                let fits = carries(kind(other, theirs), kind(self, mine));
                fits.then(|| vec![(*next, *other_next)])
            }
            (Action::Select(chosen), Action::Offer(offered)) => arms(chosen, offered),
            (Action::Offer(offered), Action::Select(chosen)) => {
                let turned = arms(chosen, offered)?.into_iter();
                Some(turned.map(|(theirs, mine)| (mine, theirs)).collect())
            }
            _ => None,
        }
    }

    fn clash(&self, other: &Self, mine: Next, theirs: Next) -> Box<Clash> {
        let at = |of: &Self, next: Next| match next {
            Next::Step(at) => {
                let step = of.steps.steps.get(at)?;
                Some((describe(&step.action), step.span))
            }
            Next::End => None,
        };
        Box::new(Clash {
            mine: at(self, mine),
            theirs: at(other, theirs),
        })
    }
}

/// The states that follow each label that may be chosen; `None` if one of them is not offered.
fn arms(chosen: &[Arm], offered: &[Arm]) -> Option<Vec<(Next, Next)>> {
    let of = |arm: &Arm| {
        let other = offered.iter().find(|it| it.label.text == arm.label.text)?;
        Some((arm.next, other.next))
    };
    chosen.iter().map(of).collect()
}
