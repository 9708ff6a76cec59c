//! The context window: what a model is shown, as a store comonad over positions.

mod compacted;
mod outline;

use std::fmt;
use std::sync::Arc;

use rpds::VectorSync;

use crate::classify::{Classes, Classifier, Demands};
use crate::coded::{self, CodeEntry, Coded, ErrorCode};
use crate::counter::TokenCounter;
use crate::linearity::{LinearityMap, Refusal, ResourceClass};
use crate::store::Store;
use crate::text::Text;
use crate::turn::{Role, Turn, TurnDraft, TurnId};
use crate::units::{Pressure, Tokens};

pub use compacted::Compacted;
pub(crate) use compacted::Replacement;
pub use outline::Outline;

/// The turns that a model is shown, with a focus.
///
/// A window of `n` turns has the positions `0..=n`. Position `k` is turn `k`, counted from 1; at
/// position 0, before the first turn, there is nothing to extract. The window is immutable and
/// shares its structure: appending, promoting and moving the focus give new windows and leave the
/// old ones as they were, classes included. Cloning and moving the focus cost the same whatever the
/// number of turns.
///
/// Every turn in a window has a class: turns come in only by [`append`](Self::append) and
/// [`push`](Self::push), which classify them.
#[derive(Clone)]
pub struct ContextWindow {
    state: Arc<State>,
    position: usize,
}

#[derive(Clone)]
struct State {
    turns: VectorSync<Turn>,
    classes: Classes,
    tokens: Tokens,
    /// The last turn that was said, shown or not: what comes next is placed after it.
    tip: TurnId,
    compactions: usize,
    compacted: Option<Arc<Compacted>>,
}

/// Why a turn did not come into a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A turn with this id is in the window, or stands behind its summary.
    #[error("turn {id} is in this window already")]
    AlreadyThere {
        /// The turn.
        id: TurnId,
    },
}

impl WindowError {
    /// The code of [`WindowError::AlreadyThere`].
    pub const ALREADY_THERE: ErrorCode = ErrorCode::new("E0406");
}

impl Coded for WindowError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::AlreadyThere { .. } => Self::ALREADY_THERE,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// The errors of this module.
pub const CODES: &[CodeEntry] = &[CodeEntry {
    code: WindowError::ALREADY_THERE,
    meaning: "a turn that is in the window already",
    remedy: "Append its content as a new turn, which gets an id of its own.",
}];

impl ContextWindow {
    /// An empty window for `limit` tokens, with the default classifier.
    #[must_use]
    pub fn new(limit: Tokens) -> Self {
        Self::with_classifier(limit, Arc::new(Demands::default()))
    }

    /// An empty window for `limit` tokens.
    #[must_use]
    pub fn with_classifier(limit: Tokens, classifier: Arc<dyn Classifier>) -> Self {
        Self {
            state: Arc::new(State {
                turns: VectorSync::new_sync(),
                classes: Classes::new(limit, classifier),
                tokens: Tokens::ZERO,
                tip: TurnId::ROOT,
                compactions: 0,
                compacted: None,
            }),
            position: 0,
        }
    }

    /// A window with these turns, focused on the last. A log may hold one message twice in one place; the
    /// window takes it once.
    #[must_use]
    pub fn from_turns(
        limit: Tokens,
        classifier: Arc<dyn Classifier>,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        let empty = Self::with_classifier(limit, classifier);
        turns
            .into_iter()
            .fold(empty, |window, turn| window.push(turn).unwrap_or(window))
    }

    /// The same window with a further turn, focused on it.
    #[must_use]
    pub fn append(&self, draft: TurnDraft, counter: &dyn TokenCounter) -> Self {
        self.admit(draft.after(self.state.tip, counter))
    }

    /// The same window with a further turn that has its place already, focused on it.
    ///
    /// # Errors
    /// [`WindowError::AlreadyThere`] where its id is known.
    pub fn push(&self, turn: Turn) -> Result<Self, WindowError> {
        let id = turn.id();
        let behind = self
            .compacted()
            .is_some_and(|compacted| compacted.knows(id));
        if behind || self.class_of(id).is_some() {
            return Err(WindowError::AlreadyThere { id });
        }
        Ok(self.admit(turn))
    }

    fn admit(&self, turn: Turn) -> Self {
        let mut state = State::clone(&self.state);
        state.classes.push(&turn);
        state.tokens += turn.tokens();
        state.tip = turn.id();
        state.turns.push_back_mut(turn);
        let position = state.turns.len();
        Self {
            state: Arc::new(state),
            position,
        }
    }

    /// The position of the focus, from 0 (before the first turn) to the number of turns.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// The turn at the focus; `None` at position 0.
    #[must_use]
    pub fn extract(&self) -> Option<&Turn> {
        self.peek(self.position)
    }

    /// The turn at a position; `None` at position 0 and past the end.
    #[must_use]
    pub fn peek(&self, position: usize) -> Option<&Turn> {
        self.state.turns.get(position.checked_sub(1)?)
    }

    /// The same window focused elsewhere; past the end, on the last turn.
    #[must_use]
    pub fn seek(&self, position: usize) -> Self {
        Self {
            state: Arc::clone(&self.state),
            position: position.min(self.len()),
        }
    }

    /// The same window with its focus moved by a function of the position.
    #[must_use]
    pub fn seeks(&self, step: impl FnOnce(usize) -> usize) -> Self {
        self.seek(step(self.position))
    }

    /// This window as a store of turns.
    #[must_use]
    pub fn store(&self) -> Store<Option<Turn>> {
        self.extend(|window| window.extract().cloned())
    }

    /// The store whose value at each position is `f` of this window focused there.
    #[must_use]
    pub fn extend<B>(&self, f: impl Fn(&Self) -> B + Send + Sync + 'static) -> Store<B> {
        let window = self.clone();
        Store::new(self.len(), self.position, move |position| {
            f(&window.seek(position))
        })
    }

    /// The store whose value at each position is this window focused there. Each costs the same,
    /// however many turns there are.
    #[must_use]
    pub fn duplicate(&self) -> Store<Self> {
        self.extend(Self::clone)
    }

    /// The turns, in order.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.state.turns.iter()
    }

    /// The turns up to a position, in order.
    pub fn turns_up_to(&self, position: usize) -> impl Iterator<Item = &Turn> {
        self.turns().take(position)
    }

    /// The turns as a list, for what works on slices. Turns are shared, not copied.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Turn> {
        self.turns().cloned().collect()
    }

    /// The turns of one role, in order.
    pub fn by_role(&self, role: Role) -> impl Iterator<Item = &Turn> {
        self.turns().filter(move |turn| turn.role() == role)
    }

    /// The turns of one class, in order.
    pub fn of_class(&self, class: ResourceClass) -> impl Iterator<Item = &Turn> {
        self.turns()
            .filter(move |turn| self.class_of(turn.id()) == Some(class))
    }

    /// The class of a turn; `None` for a turn that is not in this window.
    #[must_use]
    pub fn class_of(&self, id: TurnId) -> Option<ResourceClass> {
        self.state.classes.class(id)
    }

    /// Raises the class of a turn. The focus stays.
    ///
    /// # Errors
    /// As [`LinearityMap::promote`].
    pub fn promote(
        &self,
        id: TurnId,
        class: ResourceClass,
        rationale: impl Into<Text>,
    ) -> Result<Self, Refusal> {
        let mut state = State::clone(&self.state);
        state.classes.promote(id, class, rationale)?;
        Ok(Self {
            state: Arc::new(state),
            position: self.position,
        })
    }

    /// The classes of all turns, and why.
    #[must_use]
    pub fn linearity(&self) -> &LinearityMap {
        self.state.classes.map()
    }

    /// The number of turns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.turns.len()
    }

    /// Returns true if there is no turn.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.turns.is_empty()
    }

    /// The size of all turns: a running sum.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.state.tokens
    }

    /// The size of the window.
    #[must_use]
    pub fn limit(&self) -> Tokens {
        self.state.classes.standing().limit
    }

    /// The size of all turns ÷ the size of the window, not clamped.
    #[must_use]
    pub fn pressure(&self) -> Pressure {
        Pressure::of(self.tokens(), self.limit())
    }

    /// Returns true if the pressure is above a threshold.
    #[must_use]
    pub fn is_above(&self, threshold: Pressure) -> bool {
        self.pressure() > threshold
    }

    /// The number of compactions.
    #[must_use]
    pub fn compactions(&self) -> usize {
        self.state.compactions
    }

    /// The turns that are not shown and their stand-in; `None` where all are shown.
    #[must_use]
    pub fn compacted(&self) -> Option<&Compacted> {
        self.state.compacted.as_deref()
    }

    /// The view of the model, one line a turn.
    #[must_use]
    pub const fn outline(&self) -> Outline<'_> {
        Outline::of(self)
    }
}

impl PartialEq for ContextWindow {
    /// Equal turns with equal classes at the same position of equally large windows, with the same
    /// turns behind them.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.state, &other.state);
        self.position == other.position
            && (Arc::ptr_eq(a, b)
                || (a.turns == b.turns
                    && a.classes.map() == b.classes.map()
                    && a.classes.standing() == b.classes.standing()
                    && a.tip == b.tip
                    && a.compactions == b.compactions
                    && a.compacted == b.compacted))
    }
}

impl Eq for ContextWindow {}

impl fmt::Debug for ContextWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextWindow")
            .field("turns", &self.len())
            .field("position", &self.position)
            .field("tokens", &self.tokens().get())
            .field("limit", &self.limit().get())
            .field("compactions", &self.compactions())
            .finish_non_exhaustive()
    }
}
