//! Classification: a turn gets the highest class that its role, its content and its pins give it.
//!
//! Only the user, the operator and the API can make a turn [`Preserved`](ResourceClass::Preserved).
//! What the model wrote rises to [`Required`](ResourceClass::Required) at most by what it says, and
//! only a decision does that; what a tool returned does not rise at all. So nothing that a web page or a file
//! says can make itself permanent.
//!
//! Two classifiers are shipped. [`Seed`] keeps everything that the user sends. [`Demands`], the
//! default, keeps what the user demands, and lets what the user pastes be summarised.
//!
//! A class depends only on the turn and on the turns before it. So all conversations that begin
//! alike agree about their common beginning, and a class never has to be lowered again.

mod classes;
mod demands;
mod seed;
mod words;

use crate::linearity::ResourceClass;
use crate::pin::{self, Directive};
use crate::turn::{Provenance, Role, Turn};
use crate::units::Tokens;

pub use classes::Classes;
pub use demands::Demands;
pub(crate) use demands::is_decision;
pub use seed::Seed;

/// The state of the conversation before the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The size of the window.
    pub limit: Tokens,
    /// The tokens of the user turns that are preserved for what they say.
    pub demanded: Tokens,
}

/// A class and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The class.
    pub class: ResourceClass,
    /// Why, as a short phrase.
    pub reason: &'static str,
    /// True if the turn counts towards [`Standing::demanded`].
    pub demand: bool,
}

impl Verdict {
    /// A class that does not use up the budget for demands.
    #[must_use]
    pub const fn new(class: ResourceClass, reason: &'static str) -> Self {
        Self {
            class,
            reason,
            demand: false,
        }
    }

    /// The higher of two verdicts; of two equal ones, the first.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        if other.class > self.class {
            other
        } else {
            self
        }
    }
}

/// Gives turns their classes.
pub trait Classifier: Send + Sync {
    /// The class that comes from who speaks.
    fn by_role(&self, turn: &Turn) -> Verdict;

    /// The class that comes from what is said.
    fn by_content(&self, turn: &Turn, standing: Standing) -> Verdict;

    /// The class of a turn: the highest that its role, its content and its pins give it. What this
    /// library wrote is classed by what it is.
    fn classify(&self, turn: &Turn, standing: Standing) -> Verdict {
        match turn.provenance() {
            Provenance::Said | Provenance::Shrunk => self
                .by_role(turn)
                .max(capped(turn.role(), self.by_content(turn, standing)))
                .max(by_pin(turn)),
            Provenance::Summary => Verdict::new(ResourceClass::Required, "a summary"),
            Provenance::Pins => Verdict::new(ResourceClass::Preserved, "restated pins"),
            Provenance::Note => {
                Verdict::new(ResourceClass::Droppable, "a note, made anew each time")
            }
            Provenance::Gap => Verdict::new(ResourceClass::Droppable, "a damaged turn"),
        }
    }
}

/// A turn in which the user pins something is preserved: the pin stands in it in full.
#[must_use]
pub fn by_pin(turn: &Turn) -> Verdict {
    let pins = pin::directives(turn)
        .iter()
        .any(|directive| matches!(directive, Directive::Pin(_)));
    if pins {
        Verdict::new(ResourceClass::Preserved, "the user pinned it")
    } else {
        Verdict::new(ResourceClass::Droppable, "no pin")
    }
}

/// No classifier can let a tool or the model promote itself by what it says, whatever its rules.
fn capped(role: Role, verdict: Verdict) -> Verdict {
    let cap = match role {
        Role::User => ResourceClass::Preserved,
        Role::System | Role::Assistant => ResourceClass::Required,
        Role::Tool | Role::Other => ResourceClass::Droppable,
    };
    Verdict {
        class: verdict.class.min(cap),
        demand: verdict.demand && role == Role::User,
        ..verdict
    }
}

#[cfg(test)]
mod tests;
