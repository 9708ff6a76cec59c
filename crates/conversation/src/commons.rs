//! State that the conversations of one process share: caches for reading requests, and lessons
//! about models.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use context::{Text, Tokens};
use history::{Labels, Tenant};
use jiff::{SignedDuration, Timestamp};
use tokens::{Model, ModelTable};
use wire::api::{Dialect, Limits, Request};

use crate::effect::Lesson;
use crate::element::{Element, Head, KnownElements, Reader};
use crate::homunculus::Writing;
use crate::identity::{Key, Keyed};
use crate::incoming::{Envelope, Incoming, Learned};

/// A window that the provider stated holds this long.
const STATED: SignedDuration = SignedDuration::from_hours(24);

/// A window that was only concluded from a refusal holds this long.
const CONCLUDED: SignedDuration = SignedDuration::from_hours(1);

/// The most models that windows and durations are remembered for.
const MOST: usize = 1_024;

/// The most model names that are remembered.
const MODELS: usize = 256;

/// State that the conversations of one process share.
#[derive(Debug)]
pub struct Commons {
    secret: [u8; 32],
    keyed: Keyed,
    elements: KnownElements,
    models: Mutex<HashMap<Text, Arc<Model>>>,
    windows: Mutex<HashMap<Key, Window>>,
    durations: Mutex<HashMap<Key, Writing>>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    tokens: Tokens,
    until: Timestamp,
}

/// The sender and the destination of a request.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// The tenant.
    pub tenant: Tenant,
    /// The URL that it is sent to.
    pub url: &'a str,
    /// The names that its headers give.
    pub labels: Labels,
    /// True if the client names its agents in headers.
    pub names_agents: bool,
}

/// A window that a refusal or a cut answer tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its size.
    pub tokens: Tokens,
    /// True if the provider stated the size. Otherwise the window is only known to be smaller than
    /// a refused request.
    pub is_stated: bool,
}

impl Commons {
    /// Starts with no lessons. The secret keys all hashes.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self {
            secret,
            keyed: Keyed::new(&secret),
            elements: KnownElements::default(),
            models: Mutex::default(),
            windows: Mutex::default(),
            durations: Mutex::default(),
        }
    }

    /// The secret that keys all hashes.
    #[must_use]
    pub const fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Makes keys of bytes.
    #[must_use]
    pub const fn keyed(&self) -> Keyed {
        self.keyed
    }

    /// The elements of the conversations in memory.
    #[must_use]
    pub const fn elements(&self) -> &KnownElements {
        &self.elements
    }

    /// Parses a body, except for what an earlier request of its conversation had in the same place.
    /// `None` where it is not a request of this dialect.
    #[must_use]
    pub fn read<'b>(
        &self,
        tenant: Tenant,
        dialect: Dialect,
        body: &'b [u8],
    ) -> Option<(Request<'b>, Vec<Element>)> {
        let mut reader = Reader::new(self.keyed, &self.elements, Head { tenant, dialect });
        let limits = Limits::default();
        let request = Request::parse_recalling(dialect, body, limits, &mut reader).ok()?;
        Some((request, reader.elements()))
    }

    /// A parsed request with what is known of its model.
    #[must_use]
    pub fn incoming<'r>(
        &self,
        request: &'r Request<'r>,
        elements: Vec<Element>,
        origin: Origin<'_>,
        now: Timestamp,
    ) -> Incoming<'r> {
        let name = Text::from(request.model().unwrap_or_default().into_owned());
        let key = self.model_key(origin.tenant, origin.url, &name);
        let envelope = Envelope {
            tenant: origin.tenant,
            labels: origin.labels,
            names_agents: origin.names_agents,
            model: self.model(&name),
            learned: Learned {
                window: self.window(key, now),
                writing: self.duration(key),
            },
            keyed: self.keyed,
            now,
        };
        Incoming::new(request, elements, envelope)
    }

    /// The entry of the model table for a name.
    #[must_use]
    pub fn model(&self, name: &Text) -> Arc<Model> {
        let mut known = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = known.get(name) {
            return Arc::clone(model);
        }
        let model = Arc::new(ModelTable::shipped().find(name));
        if known.len() >= MODELS {
            known.clear();
        }
        known.insert(name.clone(), Arc::clone(&model));
        model
    }

    /// Uses this entry for a model's name, in place of the shipped table's.
    pub fn know_model(&self, name: &Text, model: Arc<Model>) {
        let mut known = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone(), model);
    }

    /// A key of one model at one upstream for one tenant. The tenant counts: one tenant's refusal says
    /// nothing about what another may send.
    #[must_use]
    pub fn model_key(&self, tenant: Tenant, url: &str, model: &str) -> Key {
        let url = url.split('?').next().unwrap_or_default();
        let parts = [&tenant.as_bytes()[..], url.as_bytes(), model.as_bytes()];
        let keyed = |key, part: &[u8]| self.keyed.of(key, part);
        parts.into_iter().fold(0, keyed)
    }

    fn window(&self, key: Key, now: Timestamp) -> Option<Tokens> {
        let known = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&key).filter(|found| now < found.until);
        found.map(|found| found.tokens)
    }

    /// Remembers a window that was found.
    fn learn_window(&self, key: Key, found: Found, now: Timestamp) {
        let holds = match found.is_stated {
            true => STATED,
            false => CONCLUDED,
        };
        let mut known = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            known.retain(|_, found| now < found.until);
            let oldest = known.iter().min_by_key(|(_, found)| found.until);
            if let Some(oldest) = oldest.map(|(&key, _)| key).filter(|_| known.len() >= MOST) {
                known.remove(&oldest);
            }
        }
        let window = Window {
            tokens: found.tokens,
            until: now.checked_add(holds).unwrap_or(Timestamp::MAX),
        };
        known.insert(key, window);
    }

    /// Remembers what one conversation learned about a model.
    pub fn learn(&self, key: Key, lesson: Lesson, now: Timestamp) {
        match lesson {
            Lesson::Window(found) => self.learn_window(key, found, now),
            Lesson::Accepted(input) => self.accepted(key, input),
        }
    }

    /// Widens a remembered window: the provider accepted an input of this size.
    fn accepted(&self, key: Key, input: Tokens) {
        let mut known = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get_mut(&key) {
            found.tokens = found.tokens.max(input);
        }
    }

    /// The time that summaries of a model take.
    #[must_use]
    pub fn duration(&self, key: Key) -> Writing {
        let known = self.durations.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        known.get(&key).copied().unwrap_or_default()
    }

    /// Remembers how long summaries of a model take.
    pub fn learn_duration(&self, key: Key, writing: Writing) {
        if writing == Writing::default() {
            return;
        }
        let mut known = self
            .durations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            // They are learned again soon enough.
            known.clear();
        }
        known.insert(key, writing);
    }
}
