//! The classes of one conversation, turn by turn.

use std::fmt;
use std::sync::Arc;

use super::{Classifier, Standing};
use crate::linearity::{LinearityMap, Refusal, ResourceClass};
use crate::text::Text;
use crate::turn::{Turn, TurnId};
use crate::units::Tokens;

/// A [`LinearityMap`] with the classifier that fills it. Each turn is classified once, when it is
/// pushed; a class depends only on the turn and on those before it.
#[derive(Clone)]
pub struct Classes {
    classifier: Arc<dyn Classifier>,
    standing: Standing,
    map: LinearityMap,
}

impl Classes {
    /// No classes yet, for a window of `limit` tokens.
    #[must_use]
    pub fn new(limit: Tokens, classifier: Arc<dyn Classifier>) -> Self {
        let demanded = Tokens::ZERO;
        Self {
            classifier,
            standing: Standing { limit, demanded },
            map: LinearityMap::new(),
        }
    }

    /// Classifies the next turn, and returns its class.
    pub fn push(&mut self, turn: &Turn) -> ResourceClass {
        let verdict = self.classifier.classify(turn, self.standing);
        if verdict.demand {
            self.standing.demanded += turn.tokens();
        }
        self.map = self.map.tag(turn.id(), verdict.class, verdict.reason);
        verdict.class
    }

    /// Raises the class of a turn.
    ///
    /// # Errors
    /// As [`LinearityMap::promote`].
    pub fn promote(
        &mut self,
        id: TurnId,
        class: ResourceClass,
        rationale: impl Into<Text>,
    ) -> Result<(), Refusal> {
        self.map = self.map.promote(id, class, rationale)?;
        Ok(())
    }

    /// The class of a turn; `None` for one that was never pushed.
    #[must_use]
    pub fn class(&self, id: TurnId) -> Option<ResourceClass> {
        self.map.class(id)
    }

    /// The class of every turn, and why.
    #[must_use]
    pub const fn map(&self) -> &LinearityMap {
        &self.map
    }

    /// The size of the window and the tokens of the demands so far.
    #[must_use]
    pub const fn standing(&self) -> Standing {
        self.standing
    }

    /// The same classifier over another map.
    pub(crate) fn set_map(&mut self, map: LinearityMap) {
        self.map = map;
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Classes")
            .field("standing", &self.standing)
            .field("counts", &self.map.counts())
            .finish_non_exhaustive()
    }
}
