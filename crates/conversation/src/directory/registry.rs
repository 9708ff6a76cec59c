//! The conversations in memory, by tenant.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context::{Text, TurnId};
use history::{ConversationId, Labels, Tenant};
use jiff::Timestamp;
use wire::api::Dialect;

use super::{Room, rest};
use crate::batch::Batch;
use crate::conversation::Conversation;

/// A conversation that requests, preparations and reports share. Its lock is never held across a wait.
#[derive(Debug)]
pub struct Shared<X> {
    /// Its id.
    pub id: ConversationId,
    /// Its owner.
    pub tenant: Tenant,
    /// State of its driver.
    pub beside: X,
    /// True once a provider has answered it. Reports leave out a conversation that was only
    /// refused.
    answered: AtomicBool,
    /// The time when it was last seen, in milliseconds; read without the lock.
    seen: AtomicI64,
    conversation: Mutex<Conversation>,
}

impl<X: Default> Shared<X> {
    /// A conversation of a tenant, which no provider answered yet.
    #[must_use]
    pub fn new(tenant: Tenant, conversation: Conversation) -> Self {
        let record = conversation.record();
        Self {
            id: record.id,
            tenant,
            beside: X::default(),
            answered: AtomicBool::new(false),
            seen: AtomicI64::new(record.seen.as_millisecond()),
            conversation: Mutex::new(conversation),
        }
    }
}

impl<X> Shared<X> {
    /// The conversation itself.
    pub fn lock(&self) -> MutexGuard<'_, Conversation> {
        self.conversation
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a provider answered it.
    pub fn was_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Returns true if a provider ever answered it.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// The time when it was last seen, in milliseconds since the epoch.
    #[must_use]
    pub fn seen(&self) -> i64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Notes that it was seen.
    pub fn see(&self, now: Timestamp) {
        self.seen.store(now.as_millisecond(), Ordering::Relaxed);
    }
}

/// Tenants are divided among so many locks.
const SHARDS: usize = 16;

/// At most so many conversations that begin alike are compared with a request.
const ALIKE: usize = 64;

/// The most changes that wait for a store that refuses them.
const REFUSED: usize = 4_096;

/// All conversations in memory.
#[derive(Debug)]
pub struct Registry<X> {
    shards: [Mutex<HashMap<Tenant, Owned<X>>>; SHARDS],
    count: AtomicUsize,
    /// Changes of those that left, which the store does not have yet.
    left: Mutex<VecDeque<(Tenant, Batch)>>,
}

/// A client's session and the agent within it; the main one has no name.
type Agent = (Text, Text);

/// The conversations of one tenant. They are found by the links of their newest turns, by their first
/// turn, and by the agent whose they are.
#[derive(Debug)]
struct Owned<X> {
    by_id: HashMap<ConversationId, Arc<Shared<X>>>,
    by_link: HashMap<u64, Vec<ConversationId>>,
    by_first: HashMap<(Dialect, TurnId), Vec<ConversationId>>,
    by_agent: HashMap<Agent, ConversationId>,
}

impl<X> Default for Registry<X> {
    fn default() -> Self {
        Self {
            shards: Default::default(),
            count: AtomicUsize::new(0),
            left: Mutex::default(),
        }
    }
}

impl<X> Default for Owned<X> {
    fn default() -> Self {
        Self {
            by_id: HashMap::new(),
            by_link: HashMap::new(),
            by_first: HashMap::new(),
            by_agent: HashMap::new(),
        }
    }
}

impl<X> Registry<X> {
    fn shard(&self, tenant: Tenant) -> MutexGuard<'_, HashMap<Tenant, Owned<X>>> {
        let [first, ..] = *tenant.as_bytes();
        let shard = self
            .shards
            .get(usize::from(first) % SHARDS)
            .unwrap_or(&self.shards[0]);
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversations that the newest known one of these links leads to.
    #[must_use]
    pub fn linked(&self, tenant: Tenant, links: impl Iterator<Item = u64>) -> Vec<Arc<Shared<X>>> {
        let shard = self.shard(tenant);
        let Some(owned) = shard.get(&tenant) else {
            return Vec::new();
        };
        let mut links = links;
        links
            .find_map(|link| owned.by_link.get(&link))
            .map(|ids| owned.of(ids))
            .unwrap_or_default()
    }

    /// The conversations that begin with this turn, the newest first.
    #[must_use]
    pub fn beginning(
        &self,
        tenant: Tenant,
        dialect: Dialect,
        first: TurnId,
    ) -> Vec<Arc<Shared<X>>> {
        let shard = self.shard(tenant);
        let ids = |owned: &Owned<X>| {
            let ids = owned.by_first.get(&(dialect, first))?;
            let newest = ids.len().saturating_sub(ALIKE);
            let mut found = owned.of(ids.get(newest..)?);
            found.reverse();
            Some(found)
        };
        shard.get(&tenant).and_then(ids).unwrap_or_default()
    }

    /// A conversation of a tenant.
    #[must_use]
    pub fn get(&self, tenant: Tenant, id: ConversationId) -> Option<Arc<Shared<X>>> {
        self.shard(tenant).get(&tenant)?.by_id.get(&id).cloned()
    }

    /// The conversation of an agent.
    #[must_use]
    pub fn of_agent(&self, tenant: Tenant, session: &Text, agent: &Text) -> Option<ConversationId> {
        let shard = self.shard(tenant);
        let agents = &shard.get(&tenant)?.by_agent;
        agents.get(&(session.clone(), agent.clone())).copied()
    }

    /// All conversations of a tenant, or of all tenants.
    #[must_use]
    pub fn all(&self, tenant: Option<Tenant>) -> Vec<Arc<Shared<X>>> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for (owner, owned) in shard.iter() {
                if tenant.is_none_or(|tenant| tenant == *owner) {
                    found.extend(owned.by_id.values().cloned());
                }
            }
        }
        found
    }

    /// Adds a conversation. Where one of its id is there already, that one is the answer.
    pub fn add(
        &self,
        shared: Arc<Shared<X>>,
        first: (Dialect, TurnId),
        labels: &Labels,
    ) -> Arc<Shared<X>> {
        let mut shard = self.shard(shared.tenant);
        let owned = shard.entry(shared.tenant).or_default();
        if let Some(there) = owned.by_id.get(&shared.id) {
            return Arc::clone(there);
        }
        owned.by_id.insert(shared.id, Arc::clone(&shared));
        owned.by_first.entry(first).or_default().push(shared.id);
        if let Some(session) = &labels.session {
            let agent = labels.agent.clone().unwrap_or_default();
            // The first conversation of an agent is the one that others are started by.
            owned
                .by_agent
                .entry((session.clone(), agent))
                .or_insert(shared.id);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        shared
    }

    /// Lets other links lead to a conversation.
    pub fn relink(&self, shared: &Shared<X>, old: &[u64], new: &[u64]) {
        let mut shard = self.shard(shared.tenant);
        let Some(owned) = shard.get_mut(&shared.tenant) else {
            return;
        };
        if !owned.by_id.contains_key(&shared.id) {
            return;
        }
        owned.unlink(shared.id, old);
        for &link in new {
            let ids = owned.by_link.entry(link).or_default();
            if !ids.contains(&shared.id) {
                ids.push(shared.id);
            }
        }
    }

    /// The number of conversations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Lets those leave memory that were not seen for `idle`, and, beyond `most`, a share of those not
    /// seen for longest. One with a request or a preparation under way stays.
    pub fn sweep(&self, now: Timestamp, room: Room) {
        self.sweep_some(now, room, usize::MAX);
    }

    /// Works like [`sweep`](Self::sweep), for at most `at_once` of those not seen for `idle`. Returns true if others
    /// remain.
    pub(super) fn sweep_some(
        &self,
        now: Timestamp,
        Room { most, idle }: Room,
        at_once: usize,
    ) -> bool {
        let mut all = self.all(None);
        all.sort_by_key(|shared| shared.seen());
        let idle = i64::try_from(idle.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millisecond().saturating_sub(idle);
        // Somewhat below the limit, so that not every new conversation sweeps.
        let beyond = match all.len() > most {
            true => all.len() - most + most / 16,
            false => 0,
        };
        let mut gone = 0;
        for (index, shared) in all.iter().enumerate() {
            let is_within = index >= beyond;
            if is_within && shared.seen() >= oldest {
                break;
            }
            if is_within && gone >= at_once {
                return true;
            }
            // The dashboard shows its journal after it has left.
            let to_store = {
                let mut conversation = shared.lock();
                match conversation.is_busy() {
                    true => continue,
                    false => rest(shared.tenant, &mut conversation, now),
                }
            };
            self.left().extend(to_store);
            self.remove(shared);
            gone += 1;
        }
        false
    }

    /// Takes at most so many changes of conversations that left memory, which the store does not have yet. The oldest
    /// come first.
    pub fn take_left(&self, most: usize) -> Vec<(Tenant, Batch)> {
        let mut left = self.left();
        let most = most.min(left.len());
        left.drain(..most).collect()
    }

    /// Returns true if the store lacks changes of conversations that left memory.
    pub(super) fn has_left(&self) -> bool {
        !self.left().is_empty()
    }

    /// Takes back changes that the store refused. Beyond 4,096, the oldest are lost.
    pub fn give_back(&self, refused: Vec<(Tenant, Batch)>) {
        let mut left = self.left();
        // A later journal of a conversation replaces an earlier one, so the order stays.
        for change in refused.into_iter().rev() {
            left.push_front(change);
        }
        let beyond = left.len().saturating_sub(REFUSED);
        left.drain(..beyond);
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<(Tenant, Batch)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a conversation leave memory. Returns `false` where a request or a preparation is under way.
    pub fn remove(&self, shared: &Arc<Shared<X>>) -> bool {
        let (first, hints, labels) = {
            let conversation = shared.lock();
            if conversation.is_busy() {
                return false;
            }
            let first = conversation.turn_ids().first().copied();
            let first = (conversation.dialect(), first.unwrap_or(TurnId::ROOT));
            let labels = conversation.record().labels.clone();
            (first, conversation.hints().to_vec(), labels)
        };
        let mut shard = self.shard(shared.tenant);
        let Some(owned) = shard.get_mut(&shared.tenant) else {
            return true;
        };
        if owned.by_id.remove(&shared.id).is_none() {
            return true;
        }
        owned.unlink(shared.id, &hints);
        forget(&mut owned.by_first, &first, shared.id);
        if let Some(session) = labels.session {
            let agent = (session, labels.agent.unwrap_or_default());
            if owned.by_agent.get(&agent) == Some(&shared.id) {
                owned.by_agent.remove(&agent);
            }
        }
        if owned.by_id.is_empty() {
            shard.remove(&shared.tenant);
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        true
    }
}

impl<X> Owned<X> {
    fn of(&self, ids: &[ConversationId]) -> Vec<Arc<Shared<X>>> {
        let found = ids.iter().filter_map(|id| self.by_id.get(id));
        found.cloned().collect()
    }

    fn unlink(&mut self, id: ConversationId, links: &[u64]) {
        for &link in links {
            forget(&mut self.by_link, &link, id);
        }
    }
}

fn forget<K: Eq + std::hash::Hash>(
    index: &mut HashMap<K, Vec<ConversationId>>,
    key: &K,
    id: ConversationId,
) {
    if let Some(ids) = index.get_mut(key) {
        ids.retain(|&other| other != id);
        if ids.is_empty() {
            index.remove(key);
        }
    }
}
