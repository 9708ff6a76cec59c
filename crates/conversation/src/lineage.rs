//! Answers that later requests continue by ID, and all that was said up to each.
//!
//! A provider that keeps answers takes the id of one in place of the messages before. To manage such a
//! conversation, its messages have to be known: each answer leaves a [`Link`] with what its request added,
//! its own messages and the id of the answer before. A conversation shares the links before its own, so
//! memory grows with what was said.
//!
//! Links of one tenant are never looked at for another. All of them share 64 MiB; where they need more, the
//! tenant with the most bytes loses the links that were not used for longest. Links that a later request
//! named are [`stored`] as well and come back from there.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use context::Text;
use history::{ConversationId, HistoryError, Owner, Store, Tenant};
use jiff::{SignedDuration, Timestamp};

/// The most bytes of all links in memory. Each takes `FRAME` at least, which bounds their number.
const MOST_BYTES: usize = 64 << 20;

/// The bytes of a link beside its messages, roughly.
const FRAME: usize = 512;

/// A link that no request used for this long is forgotten. OpenAI keeps answers for as long.
const LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The longest id of an answer, in bytes.
const LONGEST_ID: usize = 256;

/// The most links of one conversation that are read from the store.
const LONGEST_LINEAGE: usize = 16_384;

/// An answer, and what its request added to the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The id of the answer before.
    pub before: Option<Text>,
    /// The messages of the request and of the answer, as JSON with commas between them.
    pub messages: Text,
    /// True if the provider, under this id, keeps all messages up to here as they were said.
    pub is_whole: bool,
}

/// All that was said up to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The messages, as JSON with commas between them.
    pub messages: String,
    /// True if the provider keeps them under the answer's id as they were said.
    pub is_whole: bool,
}

/// A request as its answer's link needs it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The id of the answer that it names.
    pub before: Option<Text>,
    /// The messages that it adds.
    pub messages: Text,
}

/// The answers of all tenants, by id.
#[derive(Debug, Default)]
pub struct Lineages(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    tenants: HashMap<Tenant, OfTenant>,
    bytes: usize,
    /// The number of uses so far, which orders them.
    uses: u64,
}

/// The answers of one tenant.
#[derive(Debug, Default)]
struct OfTenant {
    links: HashMap<Text, Held>,
    /// Ids by last use. An answer is used after all that follow it, so the first one leads nowhere.
    order: BTreeMap<u64, Text>,
    /// The newest answer of each conversation to a request that named none.
    beginnings: HashMap<ConversationId, Text>,
    bytes: usize,
}

/// A link in memory.
#[derive(Debug)]
struct Held {
    link: Link,
    used: u64,
    at: Timestamp,
    is_stored: bool,
    is_named: bool,
    /// Where the request named no answer: its conversation, and the length of its messages.
    begins: Option<(ConversationId, usize)>,
}

impl Held {
    fn bytes(&self) -> usize {
        FRAME + self.link.messages.len()
    }
}

impl Lineages {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that was said up to an answer.
    ///
    /// # Errors
    /// With the id of a link that is not in memory. [`stored`] may have it.
    pub fn find(&self, tenant: Tenant, id: &Text, now: Timestamp) -> Result<Lineage, Text> {
        let mut known = self.lock();
        let Known { tenants, uses, .. } = &mut *known;
        let own = tenants.get_mut(&tenant).ok_or_else(|| id.clone())?;
        let path = own.path(id)?;
        for id in &path {
            *uses += 1;
            own.is_used(id, *uses, now);
        }
        let links = || path.iter().rev().filter_map(|id| own.links.get(id));
        let messages: Vec<Text> = links().map(|held| held.link.messages.clone()).collect();
        let newest = links().next_back();
        let is_whole = newest.is_some_and(|newest| newest.link.is_whole);
        // Joining may copy megabytes. Other requests do not wait for that.
        drop(known);
        Ok(Lineage {
            messages: joined(messages.iter().map(Text::as_str)),
            is_whole,
        })
    }

    /// Remembers an answer: the conversation, what was `asked`, the answer's id and messages, and if the
    /// provider keeps all up to it as it was said.
    pub fn add(
        &self,
        tenant: Tenant,
        (of, asked): (ConversationId, Asked),
        (id, said, is_whole): (&str, &str, bool),
        now: Timestamp,
    ) {
        if !is_id(id) {
            return;
        }
        let begins = (of, asked.messages.len());
        let held = Held {
            begins: asked.before.is_none().then_some(begins),
            link: Link {
                messages: joined([asked.messages.as_str(), said].into_iter()).into(),
                before: asked.before,
                is_whole,
            },
            used: 0,
            at: now,
            is_stored: false,
            is_named: false,
        };
        let id = Text::from(id);
        let mut known = self.lock();
        known.add(tenant, id.clone(), held);
        known.is_used(tenant, &id, now);
        known.make_room();
    }

    /// Forgets what exceeds the room. Links from the store are first used, then counted.
    pub fn make_room(&self) {
        self.lock().make_room();
    }

    /// Takes links that were read from the store.
    pub fn take_stored(&self, tenant: Tenant, links: Vec<(Text, Link)>, now: Timestamp) {
        let mut known = self.lock();
        for (id, link) in links {
            let own = known.tenants.get(&tenant);
            // `Known::add` would take it for another answer with the same id, and remove both.
            if own.is_some_and(|own| own.links.contains_key(&id)) {
                continue;
            }
            let held = Held {
                link,
                used: 0,
                at: now,
                is_stored: true,
                is_named: true,
                begins: None,
            };
            known.add(tenant, id, held);
        }
    }

    /// The links up to an answer that are not stored yet, and from now on count as stored. None of an
    /// answer that stands alone: most are never named.
    pub fn to_store(&self, tenant: Tenant, id: &Text) -> Vec<(Text, Link)> {
        let mut known = self.lock();
        let Some(own) = known.tenants.get_mut(&tenant) else {
            return Vec::new();
        };
        let path = own.path(id).unwrap_or_default();
        if path.len() < 2 {
            return Vec::new();
        }
        let mut found = Vec::new();
        for id in path {
            if let Some(held) = own.links.get_mut(&id).filter(|held| !held.is_stored) {
                // Before the write: a request meanwhile must not store it again. `were_not_stored` takes it back.
                held.is_stored = true;
                found.push((id, held.link.clone()));
            }
        }
        found
    }

    /// The store refused these links.
    pub fn were_not_stored(&self, tenant: Tenant, ids: &[Text]) {
        let mut known = self.lock();
        let Some(own) = known.tenants.get_mut(&tenant) else {
            return;
        };
        for id in ids {
            if let Some(held) = own.links.get_mut(id) {
                held.is_stored = false;
            }
        }
    }

    /// Forgets links that no request used for long. Stored ones leave memory after `idle`.
    pub(crate) fn sweep(&self, now: Timestamp, idle: SignedDuration) {
        let mut known = self.lock();
        for tenant in known.tenants.keys().copied().collect::<Vec<_>>() {
            let own = known.tenants.get(&tenant);
            let old = own.into_iter().flat_map(|own| &own.links);
            let old = old.filter(|(_, held)| {
                let life = if held.is_stored { idle } else { LIFE };
                now.duration_since(held.at) > life
            });
            for id in old.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
                known.remove(tenant, &id);
            }
        }
    }
}

impl Known {
    fn add(&mut self, tenant: Tenant, id: Text, mut held: Held) {
        let own = self.tenants.entry(tenant).or_default();
        if own.links.contains_key(&id) {
            // An id that comes twice names neither.
            self.remove(tenant, &id);
            return;
        }
        self.uses += 1;
        held.used = self.uses;
        let replaced = held.begins.and_then(|begins| own.begin(begins, &id));
        if let Some(before) = &held.link.before
            && let Some(before) = own.links.get_mut(before)
        {
            before.is_named = true;
        }
        self.bytes += held.bytes();
        own.bytes += held.bytes();
        own.order.insert(held.used, id.clone());
        own.links.insert(id, held);
        if let Some(replaced) = replaced {
            self.remove(tenant, &replaced);
        }
    }

    /// Counts a use of an answer and of those before it, which follow it in the order.
    fn is_used(&mut self, tenant: Tenant, id: &Text, now: Timestamp) {
        let Some(own) = self.tenants.get_mut(&tenant) else {
            return;
        };
        for id in own.path(id).unwrap_or_default() {
            self.uses += 1;
            own.is_used(&id, self.uses, now);
        }
    }

    fn make_room(&mut self) {
        while self.bytes > MOST_BYTES {
            let largest = self.tenants.iter().max_by_key(|(_, own)| own.bytes);
            let oldest = largest.and_then(|(tenant, own)| {
                let (_, id) = own.order.first_key_value()?;
                Some((*tenant, id.clone()))
            });
            let Some((tenant, id)) = oldest else { return };
            self.remove(tenant, &id);
        }
    }

    fn remove(&mut self, tenant: Tenant, id: &Text) {
        let Some(own) = self.tenants.get_mut(&tenant) else {
            return;
        };
        if let Some(held) = own.links.remove(id) {
            self.bytes -= held.bytes();
            own.bytes -= held.bytes();
            own.order.remove(&held.used);
            if let Some((of, _)) = held.begins
                && own.beginnings.get(&of) == Some(id)
            {
                own.beginnings.remove(&of);
            }
        }
        if own.links.is_empty() {
            self.tenants.remove(&tenant);
        }
    }
}

impl OfTenant {
    /// The ids from an answer back to the first of its conversation.
    fn path(&self, id: &Text) -> Result<Vec<Text>, Text> {
        let mut path = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let held = self.links.get(id);
            // A provider that gives an id twice may lead in a circle.
            let held = held.filter(|_| path.len() < self.links.len());
            path.push(id.clone());
            next = held.ok_or_else(|| id.clone())?.link.before.as_ref();
        }
        Ok(path)
    }

    fn is_used(&mut self, id: &Text, use_: u64, now: Timestamp) {
        if let Some(held) = self.links.get_mut(id) {
            self.order.remove(&held.used);
            (held.used, held.at) = (use_, now);
            self.order.insert(use_, id.clone());
        }
    }

    /// Notes the newest answer to a request that names none. Returns the one that it replaces: a client
    /// that sends its whole conversation each time names no answer, and each would hold all of it.
    fn begin(&mut self, (of, length): (ConversationId, usize), id: &Text) -> Option<Text> {
        let before = self.beginnings.insert(of, id.clone())?;
        let held = self.links.get(&before)?;
        let (_, known) = held.begins?;
        // One of the same length is another answer to the same request.
        let grew = known < length;
        (grew && !held.is_named && !held.is_stored).then_some(before)
    }
}

/// Lists of messages as one.
fn joined<'t>(lists: impl Iterator<Item = &'t str>) -> String {
    let lists: Vec<&str> = lists.filter(|list| !list.is_empty()).collect();
    lists.join(",")
}

fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain)
}

/// The name under which a link is kept.
fn key(id: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"what was said up to an answer");
    hasher.update(id.as_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    key
}

/// The stored links from this one back to the first of its conversation; none unless all are there.
///
/// # Errors
/// Where the store fails.
pub fn stored(store: &dyn Store, id: &Text) -> Result<Vec<(Text, Link)>, HistoryError> {
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut next = Some(id.clone());
    while let Some(id) = next {
        let text = store.chunk(key(&id))?;
        let Some(link) = text.and_then(|text| Link::read(&text)) else {
            return Ok(Vec::new());
        };
        bytes += FRAME + link.messages.len();
        if bytes > MOST_BYTES || found.len() >= LONGEST_LINEAGE {
            return Ok(Vec::new());
        }
        next = link.before.clone();
        found.push((id, link));
    }
    Ok(found)
}

impl Link {
    /// Stores it under the id of its answer, for a conversation that it leaves with. The first one stored stays.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn store(
        &self,
        id: &str,
        of: ConversationId,
        store: &mut dyn Store,
    ) -> Result<(), HistoryError> {
        let owner = Owner::Conversation(of);
        store.keep_owned(owner, key(id), &Text::from(self.written()))
    }

    /// The approximate size in the store, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        FRAME + self.messages.len()
    }

    fn written(&self) -> String {
        let kept = if self.is_whole { "whole" } else { "part" };
        let before = self.before.as_deref().unwrap_or_default();
        format!("{kept} {before}\n{}", self.messages)
    }

    fn read(text: &str) -> Option<Self> {
        let (head, messages) = text.split_once('\n')?;
        let (kept, before) = head.split_once(' ')?;
        Some(Self {
            before: Some(before).filter(|it| !it.is_empty()).map(Text::from),
            messages: messages.into(),
            is_whole: kept == "whole",
        })
    }
}

#[cfg(test)]
mod tests;
