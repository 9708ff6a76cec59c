//! Sessions of signed-in visitors. A browser holds a random-looking id, never the key; the sessions are kept
//! in memory only.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::COOKIE;
use jiff::{SignedDuration, Timestamp};

use crate::report::Viewer;

/// The name of the cookie.
const NAME: &str = "ebbtide";
/// The length of a session in hours.
const HOURS: i64 = 12;
/// The most sessions; a new one beyond that ends another's, but never an administrator's.
const MOST: usize = 4_096;
/// The most sessions of one viewer; a new one beyond that ends the viewer's oldest.
const MOST_EACH: usize = 64;

/// The sessions of one process.
pub(super) struct Sessions {
    /// The key of the hashes that make ids and form tokens unguessable.
    seed: [u8; 32],
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    opened: u64,
    sessions: HashMap<String, Session>,
}

#[derive(Clone, Copy)]
struct Session {
    number: u64,
    viewer: Viewer,
    until: Timestamp,
}

impl Book {
    /// Ends a session if there are too many: one of the same viewer, or else one that is no administrator's.
    fn make_room(&mut self, viewer: Viewer) {
        let own = |session: &Session| session.viewer == viewer;
        let owned = self
            .sessions
            .values()
            .filter(|session| own(session))
            .count();
        if owned < MOST_EACH && self.sessions.len() < MOST {
            return;
        }
        let may_end = |session: &Session| match owned {
            0 => session.viewer != Viewer::All,
            _ => own(session),
        };
        let oldest = self
            .sessions
            .iter()
            .filter(|(_, session)| may_end(session))
            .min_by_key(|(_, session)| session.number)
            .map(|(id, _)| id.clone());
        oldest.and_then(|id| self.sessions.remove(&id));
    }
}

impl Sessions {
    /// Creates an empty set of sessions. `secret` is the store's; `began` makes the ids differ from those of
    /// an earlier process on the same store.
    pub(super) fn new(secret: &[u8; 32], began: Timestamp) -> Self {
        let mut seed = [0; 32];
        blake3::Hasher::new_keyed(secret)
            .update(b"sessions of the dashboard")
            .update(&began.as_nanosecond().to_be_bytes())
            .finalize_xof()
            .fill(&mut seed);
        Self {
            seed,
            book: Mutex::default(),
        }
    }

    /// Opens a session and returns its id.
    pub(super) fn open(&self, viewer: Viewer, now: Timestamp) -> String {
        let mut book = self.book();
        book.sessions.retain(|_, session| session.until > now);
        book.make_room(viewer);
        book.opened += 1;
        let id = self.hash("session", &book.opened.to_be_bytes());
        let session = Session {
            number: book.opened,
            viewer,
            until: now
                .checked_add(SignedDuration::from_hours(HOURS))
                .unwrap_or(Timestamp::MAX),
        };
        book.sessions.insert(id.clone(), session);
        id
    }

    /// Returns the viewer of a session.
    pub(super) fn viewer(&self, id: &str, now: Timestamp) -> Option<Viewer> {
        let session = self.book().sessions.get(id).copied()?;
        (session.until > now).then_some(session.viewer)
    }

    /// Ends a session.
    pub(super) fn close(&self, id: &str) {
        self.book().sessions.remove(id);
    }

    /// Returns the token that forms of this session must send back; without a session, the token of all
    /// anonymous forms of this process.
    pub(super) fn form(&self, id: Option<&str>) -> String {
        self.hash("form", id.unwrap_or_default().as_bytes())
    }

    /// Checks the token of a form, in the same time for any token.
    pub(super) fn is_form(&self, id: Option<&str>, sent: &str) -> bool {
        blake3::hash(self.form(id).as_bytes()) == blake3::hash(sent.as_bytes())
    }

    fn hash(&self, purpose: &str, of: &[u8]) -> String {
        let mut bytes = [0; 16];
        blake3::Hasher::new_keyed(&self.seed)
            .update(purpose.as_bytes())
            .update(&[0])
            .update(of)
            .finalize_xof()
            .fill(&mut bytes);
        format!("{:032x}", u128::from_be_bytes(bytes))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the session id in a request's cookie.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == NAME).then_some(value))
}

/// Formats the cookie of a session; an empty id deletes it. A visitor on HTTPS gets a cookie for HTTPS only.
pub(super) fn set_cookie(id: &str, base: &str) -> String {
    let seconds = if id.is_empty() { 0 } else { HOURS * 3_600 };
    let secure = if base.starts_with("https:") {
        "; Secure"
    } else {
        ""
    };
    format!("{NAME}={id}; Path=/ebbtide; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests {
    use history::Tenant;
    use http::{HeaderMap, HeaderValue};
    use jiff::{SignedDuration, Timestamp};

    use super::{MOST, MOST_EACH, Sessions, cookie, set_cookie};
    use crate::report::Viewer;

    const SECRET: [u8; 32] = [7; 32];
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_session_ends_with_its_time_or_when_it_is_closed() {
        let sessions = Sessions::new(&SECRET, NOW);
        let viewer = Viewer::Tenant(Tenant::of(&SECRET, b"key"));
        let (id, other) = (sessions.open(viewer, NOW), sessions.open(Viewer::All, NOW));
        assert_ne!(id, other);
        assert_eq!(sessions.viewer(&id, NOW), Some(viewer));
        let late = NOW + SignedDuration::from_hours(13);
        assert_eq!(sessions.viewer(&id, late), None);
        sessions.close(&other);
        assert_eq!(sessions.viewer(&other, NOW), None);
    }

    #[test]
    fn another_process_gives_other_numbers() {
        let later = NOW + SignedDuration::from_nanos(1);
        let ids = [NOW, later].map(|began| Sessions::new(&SECRET, began).open(Viewer::All, NOW));
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn there_are_only_so_many() {
        let sessions = Sessions::new(&SECRET, NOW);
        let admin = sessions.open(Viewer::All, NOW);
        let tenant = |n: usize| Viewer::Tenant(Tenant::of(&SECRET, &n.to_le_bytes()));
        let ids: Vec<String> = (0..2 * MOST)
            .map(|n| sessions.open(tenant(n), NOW))
            .collect();
        let valid = |id: &String| sessions.viewer(id, NOW).is_some();
        assert!(valid(&admin), "others end no administrator's session");
        assert_eq!(ids.iter().filter(|id| valid(id)).count(), MOST - 1);
        assert!(ids.last().is_some_and(valid));
        let sessions = Sessions::new(&SECRET, NOW);
        let valid = |id: &String| sessions.viewer(id, NOW).is_some();
        let own: Vec<String> = (0..=MOST_EACH)
            .map(|_| sessions.open(tenant(0), NOW))
            .collect();
        assert!(!valid(&own[0]) && own[1..].iter().all(valid));
    }

    #[test]
    fn a_form_belongs_to_its_session() {
        let sessions = Sessions::new(&SECRET, NOW);
        let token = sessions.form(Some("a"));
        assert!(sessions.is_form(Some("a"), &token));
        assert!(!sessions.is_form(Some("b"), &token));
        assert!(!sessions.is_form(None, &token));
        assert!(!sessions.is_form(Some("a"), ""));
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        assert_eq!(cookie(&headers), None);
        headers.insert("cookie", HeaderValue::from_static("a=b; ebbtide=12; c=d"));
        assert_eq!(cookie(&headers), Some("12"));
        assert!(set_cookie("", "http://a").contains("Max-Age=0"));
        assert!(set_cookie("12", "https://a").ends_with("; SameSite=Strict; Secure"));
        assert!(
            set_cookie("12", "http://a")
                .contains("ebbtide=12; Path=/ebbtide; Max-Age=43200; HttpOnly")
        );
    }
}
