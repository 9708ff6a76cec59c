//! Marks: nodes up to which a summary stands.

use std::fmt;

use context::{Text, Tokens, TurnId};
use jiff::Timestamp;

use crate::hexadecimal;

/// Identifies a mark: a hash over its node, its route and its summary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkId([u8; 16]);

impl MarkId {
    /// An id from its 16 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads the 32 hexadecimal digits that [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hexadecimal::read(text).map(Self)
    }
}

impl fmt::Display for MarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for MarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MarkId({self})")
    }
}

/// How a summary was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// By the provider, as its own signed block.
    Native,
    /// By a model, after our template.
    Readable,
    /// Without a model, from the turns themselves.
    Extractive,
}

impl Route {
    /// The lower-case name.
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

/// A node up to which a summary stands, that node included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The last turn that the summary stands for.
    pub node: TurnId,
    /// The newest turn that was known when the summary was made: `node` or one after it.
    pub made_from: TurnId,
    /// The summary as it is shown. Empty: the turns up to `node` are simply not shown.
    pub summary: Text,
    /// The summary's size.
    pub tokens: Tokens,
    /// How it was made.
    pub route: Route,
    /// When it was made.
    pub at: Timestamp,
}

impl Mark {
    /// Its id. When and from where it was made do not count: the same summary at the same node is
    /// the same mark.
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
