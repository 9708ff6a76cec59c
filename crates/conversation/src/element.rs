//! Recognises the elements of a request's list of messages that an earlier request had in the same place.
//!
//! A conversation remembers a keyed hash and the length of each. Bytes with that hash are that element and
//! are not parsed again: hashing a megabyte takes a tenth of the time that parsing it takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use context::Role;
use history::Tenant;
use wire::api::{Dialect, Recall};

use crate::identity::{Key, Keyed};

/// One element of a list of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The keyed hash of its bytes.
    pub key: Key,
    /// Its length.
    pub bytes: u32,
    /// Its author.
    pub role: Role,
}

/// Comparing ends after this many misses in a row: each costs a hash in vain.
const PATIENCE: u32 = 8;

/// Reads one request and recognises its elements.
pub struct Reader<'k> {
    keyed: Keyed,
    heads: &'k KnownElements,
    head: Head,
    known: Option<Arc<[Element]>>,
    elements: Vec<Element>,
    misses: u32,
}

/// The tenant and dialect of a request: elements of others are not compared.
#[derive(Clone, Copy)]
pub struct Head {
    /// The tenant.
    pub tenant: Tenant,
    /// The dialect.
    pub dialect: Dialect,
}

impl<'k> Reader<'k> {
    /// Compares with what `heads` knows.
    #[must_use]
    pub fn new(keyed: Keyed, heads: &'k KnownElements, head: Head) -> Self {
        Self {
            keyed,
            heads,
            head,
            known: None,
            elements: Vec::new(),
            misses: 0,
        }
    }

    /// The elements of the request that was read.
    #[must_use]
    pub fn elements(self) -> Vec<Element> {
        self.elements
    }
}

impl Recall for Reader<'_> {
    fn known(&mut self, index: usize, rest: &[u8]) -> Option<(usize, Role)> {
        let known = self.known.as_deref().filter(|_| self.misses < PATIENCE)?;
        // The first is read: a list that stands twice in a body begins anew.
        let element = *known.get(index).filter(|_| index > 0)?;
        let bytes = usize::try_from(element.bytes).ok()?;
        let same = rest
            .get(..bytes)
            .is_some_and(|raw| self.keyed.of(0, raw) == element.key);
        if !same {
            self.misses += 1;
            return None;
        }
        self.misses = 0;
        self.elements.push(element);
        Some((bytes, element.role))
    }

    fn was_read(&mut self, index: usize, raw: &str, role: Role) {
        let key = self.keyed.of(0, raw.as_bytes());
        if index == 0 {
            self.elements.clear();
            self.misses = 0;
            self.known = None;
        }
        // Instructions in front may differ each time. The first message behind them is read, to find the others
        // by it.
        if role != Role::System && self.elements.iter().all(is_system) {
            self.known = self.heads.find(self.keyed.of_head(self.head, key));
        }
        self.elements.push(Element {
            key,
            // One that is longer is never found again, and read.
            bytes: u32::try_from(raw.len()).unwrap_or(u32::MAX),
            role,
        });
    }
}

const fn is_system(element: &Element) -> bool {
    matches!(element.role, Role::System)
}

impl Keyed {
    fn of_head(&self, head: Head, first: Key) -> Key {
        let of = self.of(first, head.tenant.as_bytes());
        self.of(of, &[head.dialect as u8])
    }
}

/// The elements of the conversations in memory, by the first one that is no instruction. Of several that begin alike, the newest
/// is found.
#[derive(Debug, Default)]
pub struct KnownElements(Mutex<HashMap<Key, Weak<[Element]>>>);

impl KnownElements {
    fn find(&self, head: Key) -> Option<Arc<[Element]>> {
        let heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heads.get(&head).and_then(Weak::upgrade)
    }

    /// Adds the newest elements of a conversation, which owns them while it is in memory.
    pub fn remember(&self, keyed: Keyed, head: Head, elements: &Arc<[Element]>) {
        let Some(first) = elements.iter().find(|element| !is_system(element)) else {
            return;
        };
        let head = keyed.of_head(head, first.key);
        let mut heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heads.insert(head, Arc::downgrade(elements));
    }

    /// Forgets the elements of conversations that have left memory.
    pub fn sweep(&self) {
        let mut heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heads.retain(|_, elements| elements.strong_count() > 0);
        heads.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
