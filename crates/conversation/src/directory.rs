//! The conversations of one process: those in memory, and the way of a request to its own.

mod question;
mod registry;
mod search;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use history::Tenant;
use jiff::{SignedDuration, Timestamp};

use crate::batch::Batch;
use crate::commons::Commons;
use crate::continuation::Answers;
use crate::conversation::Conversation;
use crate::effect::{Effect, Input};
use crate::lineage::Lineages;
use crate::terms::Terms;

pub use question::{Found, Question, Read};
pub use registry::{Registry, Shared};
pub use search::{Joined, Search};

/// The time without a request after which the texts of a conversation leave memory.
const REST: SignedDuration = SignedDuration::from_secs(45);

/// The room for conversations in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most conversations; those not seen for longest leave first.
    pub most: usize,
    /// The time after the last request for which one stays.
    pub idle: SignedDuration,
}

/// The result of letting conversations rest.
#[derive(Debug, Default)]
pub struct Rested {
    /// The number of pins of those in memory.
    pub pins: usize,
    /// Journals that the store does not have yet.
    pub to_store: Vec<(Tenant, Batch)>,
    /// True if some that could rest do not yet.
    pub is_more: bool,
}

/// The conversations of one process, each with something of the driver's beside it.
#[derive(Debug)]
pub struct Directory<X> {
    /// The settings of every conversation.
    pub terms: Arc<Terms>,
    /// State that conversations share.
    pub commons: Commons,
    /// Those in memory.
    pub registry: Registry<X>,
    /// The answers to compactions that clients made by themselves.
    pub answers: Answers,
    /// The answers that requests name by their ids.
    pub lineages: Lineages,
    room: Room,
    /// The number of conversations begun.
    begun: AtomicU64,
}

impl<X> Directory<X> {
    /// No conversations in memory; those of the store come back with their next request. The secret keys
    /// all hashes.
    #[must_use]
    pub fn new(terms: Arc<Terms>, secret: [u8; 32], room: Room) -> Self {
        Self {
            terms,
            commons: Commons::new(secret),
            registry: Registry::default(),
            answers: Answers::default(),
            lineages: Lineages::default(),
            room,
            begun: AtomicU64::new(0),
        }
    }

    /// Lets the texts of conversations at rest leave memory, and idle conversations altogether.
    pub fn let_rest(&self, now: Timestamp) -> Rested {
        self.let_some_rest(now, usize::MAX)
    }

    /// Works like [`let_rest`](Self::let_rest), but ends after this many idle conversations and journals. The next
    /// call continues.
    pub fn let_some_rest(&self, now: Timestamp, most: usize) -> Rested {
        let is_more = self.registry.sweep_some(now, self.room, most);
        self.commons.elements().sweep();
        self.lineages.sweep(now, self.room.idle);
        let rest = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millisecond().saturating_sub(rest);
        let mut rested = self.rest_before(oldest, now, most);
        rested.is_more |= is_more;
        rested
    }

    /// Lets all conversations rest, at the end.
    pub fn let_all_rest(&self, now: Timestamp) -> Rested {
        self.rest_before(i64::MAX, now, usize::MAX)
    }

    fn rest_before(&self, oldest: i64, now: Timestamp, most: usize) -> Rested {
        let mut rested = Rested {
            to_store: self.registry.take_left(most),
            is_more: self.registry.has_left(),
            ..Rested::default()
        };
        for shared in self.registry.all(None) {
            let mut conversation = shared.lock();
            rested.pins += conversation.pins().iter().count();
            if shared.seen() >= oldest || conversation.is_busy() {
                continue;
            }
            if rested.to_store.len() >= most {
                rested.is_more = true;
                continue;
            }
            rested
                .to_store
                .extend(rest(shared.tenant, &mut conversation, now));
        }
        rested
    }
}

/// Lets a conversation rest. Returns the changes that the store does not have yet.
fn rest(
    tenant: Tenant,
    conversation: &mut Conversation,
    now: Timestamp,
) -> impl Iterator<Item = (Tenant, Batch)> + use<> {
    let effects = conversation.on(Input::Rest, now).into_iter();
    effects.filter_map(move |effect| match effect {
        Effect::Store(batch) => Some((tenant, batch)),
        _ => None,
    })
}
