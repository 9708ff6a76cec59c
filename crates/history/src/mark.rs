//! Marks: nodes up to which a summary replaces the turns.

use std::fmt;

use context::{Text, Tokens, TurnId};
use jiff::Timestamp;

use crate::id::id_type;

id_type! {
    /// Identifies a mark: a hash over its node, its route and its summary.
    MarkId
}

/// The way a summary is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// By the provider, as its signed block.
    Native,
    /// By a model, from Ebbtide's template.
    Readable,
    /// Without a model, from the turns.
    Extractive,
}

impl Route {
    /// The name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Readable => "readable",
            Self::Extractive => "extractive",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A summary of the turns from the root up to a node, inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The last turn that the summary replaces.
    pub node: TurnId,
    /// The newest turn known when the summary was made: `node` or a later one.
    pub made_from: TurnId,
    /// The summary as the model sees it. If empty, the turns are left out without one.
    pub summary: Text,
    /// The size of the summary.
    pub tokens: Tokens,
    /// The way the summary was made.
    pub route: Route,
    /// The time it was made.
    pub at: Timestamp,
}

impl Mark {
    /// Computes the id. `at`, `made_from` and `tokens` do not count: the same summary at the same node
    /// is the same mark.
    #[must_use]
    pub fn id(&self) -> MarkId {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.node.as_bytes());
        hasher.update(self.route.as_str().as_bytes());
        hasher.update(&[0]);
        hasher.update(self.summary.as_bytes());
        let mut id = [0; 16];
        hasher.finalize_xof().fill(&mut id);
        MarkId(id)
    }
}
