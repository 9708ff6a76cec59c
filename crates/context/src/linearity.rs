//! Resource classes, which say what may be lost, and the map that holds one for every turn.
//!
//! Classes only rise. Nothing lowers one: not a second tag, not a compaction. The map is persistent:
//! every operation gives a new map that shares its structure with the old one, so a snapshot keeps
//! the classes of its own time.

use std::fmt;

use rpds::{HashTrieMapSync, VectorSync};

use crate::coded::{self, CodeEntry, Coded, ErrorCode};
use crate::text::Text;
use crate::turn::TurnId;

/// The treatment of a turn when room is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceClass {
    /// May be dropped.
    Droppable,
    /// Must survive in a summary at least.
    Required,
    /// Must survive verbatim.
    Preserved,
}

impl ResourceClass {
    /// All classes, ascending.
    pub const ALL: [Self; 3] = [Self::Droppable, Self::Required, Self::Preserved];

    /// The lower-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Droppable => "droppable",
            Self::Required => "required",
            Self::Preserved => "preserved",
        }
    }
}

impl fmt::Display for ResourceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The class of one turn, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    class: ResourceClass,
    first: ResourceClass,
    rationale: VectorSync<Text>,
    sequence: u64,
}

impl Tag {
    /// The class it has now.
    #[must_use]
    pub const fn class(&self) -> ResourceClass {
        self.class
    }

    /// The class it was first given.
    #[must_use]
    pub const fn first_class(&self) -> ResourceClass {
        self.first
    }

    /// Why: the reason of the first tag and of every rise since, in order.
    pub fn rationale(&self) -> impl Iterator<Item = &Text> {
        self.rationale.iter()
    }

    /// Its place in the order in which turns were first tagged.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }
}

/// The number of turns of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Turns that may be dropped.
    pub droppable: usize,
    /// Turns whose content must flow on.
    pub required: usize,
    /// Turns that must survive verbatim.
    pub preserved: usize,
}

impl Counts {
    /// All turns.
    #[must_use]
    pub const fn total(self) -> usize {
        self.droppable + self.required + self.preserved
    }

    /// The turns of one class.
    #[must_use]
    pub const fn of(self, class: ResourceClass) -> usize {
        match class {
            ResourceClass::Droppable => self.droppable,
            ResourceClass::Required => self.required,
            ResourceClass::Preserved => self.preserved,
        }
    }

    const fn slot(&mut self, class: ResourceClass) -> &mut usize {
        match class {
            ResourceClass::Droppable => &mut self.droppable,
            ResourceClass::Required => &mut self.required,
            ResourceClass::Preserved => &mut self.preserved,
        }
    }
}

/// The contents of the map and the operations on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The turns of each class.
    pub counts: Counts,
    /// The number of promotions.
    pub promotions: usize,
    /// The number of dropped turns.
    pub drops: usize,
}

impl Stats {
    /// Droppable turns ÷ all turns, 0 where there are none.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "turn counts stay far below 2^52"
    )]
    pub fn droppable_ratio(&self) -> f64 {
        match self.counts.total() {
            0 => 0.0,
            total => self.counts.droppable as f64 / total as f64,
        }
    }
}

/// Why the map did not do what was asked. The map is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such turn.
    #[error("no turn {id} in this window")]
    Unknown {
        /// The id that was given.
        id: TurnId,
    },
    /// A class can only rise.
    #[error("turn {id} is {has} already and cannot be made {asked}")]
    NotHigher {
        /// The turn.
        id: TurnId,
        /// The class it has.
        has: ResourceClass,
        /// The class that was asked for.
        asked: ResourceClass,
    },
    /// Only droppable turns can be dropped.
    #[error("turn {id} is {has} and cannot be dropped")]
    NotDroppable {
        /// The turn.
        id: TurnId,
        /// The class it has.
        has: ResourceClass,
    },
}

impl Refusal {
    /// The code of [`Refusal::Unknown`].
    pub const UNKNOWN: ErrorCode = ErrorCode::new("E0401");
    /// The code of [`Refusal::NotHigher`].
    pub const NOT_HIGHER: ErrorCode = ErrorCode::new("E0402");
    /// The code of [`Refusal::NotDroppable`].
    pub const NOT_DROPPABLE: ErrorCode = ErrorCode::new("E0403");
}

impl Coded for Refusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => Self::UNKNOWN,
            Self::NotHigher { .. } => Self::NOT_HIGHER,
            Self::NotDroppable { .. } => Self::NOT_DROPPABLE,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// The errors of this module.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: Refusal::UNKNOWN,
        meaning: "a turn that is not in this window",
        remedy: "Name a turn that is shown; a compacted one must be expanded first.",
    },
    CodeEntry {
        code: Refusal::NOT_HIGHER,
        meaning: "a class that is not higher than the one the turn has",
        remedy: "Classes only rise; leave the turn as it is.",
    },
    CodeEntry {
        code: Refusal::NOT_DROPPABLE,
        meaning: "a turn that is not droppable cannot be dropped",
        remedy: "Summarise it, or leave it.",
    },
];

/// A class for every turn. Immutable: every operation gives a new map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinearityMap {
    tags: HashTrieMapSync<TurnId, Tag>,
    stats: Stats,
    next: u64,
}

impl LinearityMap {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a turn a class. A turn that has one already keeps the higher of the two; the reason is
    /// added to its rationale only where its class rises.
    #[must_use]
    pub fn tag(&self, id: TurnId, class: ResourceClass, rationale: impl Into<Text>) -> Self {
        if self.tags.contains_key(&id) {
            return self
                .promote(id, class, rationale)
                .unwrap_or_else(|_| self.clone());
        }
        let tag = Tag {
            class,
            first: class,
            rationale: std::iter::once(rationale.into()).collect(),
            sequence: self.next,
        };
        let mut stats = self.stats;
        *stats.counts.slot(class) += 1;
        Self {
            tags: self.tags.insert(id, tag),
            stats,
            next: self.next + 1,
        }
    }

    /// Raises the class of a turn.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] without such a turn, [`Refusal::NotHigher`] where `class` is not higher
    /// than what the turn has.
    pub fn promote(
        &self,
        id: TurnId,
        class: ResourceClass,
        rationale: impl Into<Text>,
    ) -> Result<Self, Refusal> {
        let tag = self.tags.get(&id).ok_or(Refusal::Unknown { id })?;
        if class <= tag.class {
            return Err(Refusal::NotHigher {
                id,
                has: tag.class,
                asked: class,
            });
        }
        let mut stats = self.stats;
        *stats.counts.slot(tag.class) -= 1;
        *stats.counts.slot(class) += 1;
        stats.promotions += 1;
        let risen = Tag {
            class,
            first: tag.first,
            rationale: tag.rationale.push_back(rationale.into()),
            sequence: tag.sequence,
        };
        Ok(Self {
            tags: self.tags.insert(id, risen),
            stats,
            next: self.next,
        })
    }

    /// Takes a droppable turn out of the map.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] without such a turn, [`Refusal::NotDroppable`] for any other class.
    pub fn drop_turn(&self, id: TurnId) -> Result<Self, Refusal> {
        let has = self.class(id).ok_or(Refusal::Unknown { id })?;
        if has != ResourceClass::Droppable {
            return Err(Refusal::NotDroppable { id, has });
        }
        let mut stats = self.stats;
        stats.counts.droppable -= 1;
        stats.drops += 1;
        Ok(Self {
            tags: self.tags.remove(&id),
            stats,
            next: self.next,
        })
    }

    /// Takes a turn out of the map for which a summary stands from now on.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] without such a turn, [`Refusal::NotDroppable`] for a preserved one.
    pub(crate) fn cover(&self, id: TurnId) -> Result<Self, Refusal> {
        let has = self.class(id).ok_or(Refusal::Unknown { id })?;
        if has == ResourceClass::Preserved {
            return Err(Refusal::NotDroppable { id, has });
        }
        let mut stats = self.stats;
        *stats.counts.slot(has) -= 1;
        Ok(Self {
            tags: self.tags.remove(&id),
            stats,
            next: self.next,
        })
    }

    /// This map, an earlier one, brought up to date by a later one: the tags of the later one count,
    /// and what it does not have any more is still here. Of the turns that are in the later one
    /// only, `except` is left out.
    pub(crate) fn updated_by(&self, later: &Self, except: TurnId) -> Self {
        let mut tags = self.tags.clone();
        let mut counts = self.stats.counts;
        for (id, tag) in later.tags.iter().filter(|(id, _)| **id != except) {
            if let Some(earlier) = tags.get(id) {
                *counts.slot(earlier.class) -= 1;
            }
            *counts.slot(tag.class) += 1;
            tags.insert_mut(*id, tag.clone());
        }
        Self {
            tags,
            stats: Stats {
                counts,
                ..later.stats
            },
            next: later.next.max(self.next),
        }
    }

    /// The tag of a turn.
    #[must_use]
    pub fn get(&self, id: TurnId) -> Option<&Tag> {
        self.tags.get(&id)
    }

    /// The class of a turn.
    #[must_use]
    pub fn class(&self, id: TurnId) -> Option<ResourceClass> {
        self.get(id).map(Tag::class)
    }

    /// The turns of one class, in the order in which they were first tagged.
    #[must_use]
    pub fn of_class(&self, class: ResourceClass) -> Vec<TurnId> {
        self.in_order(|tag| tag.class == class)
    }

    /// All turns, in the order in which they were first tagged.
    #[must_use]
    pub fn ids(&self) -> Vec<TurnId> {
        self.in_order(|_| true)
    }

    /// The turns of every class, ascending by class, each in the order of first tagging.
    #[must_use]
    pub fn partition(&self) -> [(ResourceClass, Vec<TurnId>); 3] {
        ResourceClass::ALL.map(|class| (class, self.of_class(class)))
    }

    /// The contents of the map and the operations on it.
    #[must_use]
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The number of turns of each class.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.stats.counts
    }

    /// The number of turns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tags.size()
    }

    /// Returns true if there is no turn.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    fn in_order(&self, wanted: impl Fn(&Tag) -> bool) -> Vec<TurnId> {
        let mut found: Vec<(u64, TurnId)> = self
            .tags
            .iter()
            .filter(|(_, tag)| wanted(tag))
            .map(|(id, tag)| (tag.sequence, *id))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }
}
