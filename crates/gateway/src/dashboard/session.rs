//! Who signed in. A browser holds a random number, never the key; what the number stands for is in
//! memory only.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::COOKIE;
use jiff::{SignedDuration, Timestamp};

use crate::report::Asker;

/// The cookie's name.
const NAME: &str = "ebbtide";
/// How long one is signed in.
const HOURS: i64 = 12;
/// Sessions at the same time; beyond it the oldest ends.
const MOST: usize = 4_096;

/// The sessions of one process.
pub(super) struct Sessions {
    /// Numbers and form tokens are keyed hashes under this, so that nobody can guess them.
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
    asker: Asker,
    until: Timestamp,
}

impl Sessions {
    /// None yet. `secret` is the store's; `began` makes the numbers others than those of an earlier
    /// process on the same store.
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

    /// Opens a session and gives its id.
    pub(super) fn open(&self, asker: Asker, now: Timestamp) -> String {
        let mut book = self.book();
        book.sessions.retain(|_, session| session.until > now);
        if book.sessions.len() >= MOST {
            let oldest = book
                .sessions
                .iter()
                .min_by_key(|(_, session)| session.number)
                .map(|(id, _)| id.clone());
            oldest.and_then(|id| book.sessions.remove(&id));
        }
        book.opened += 1;
        let id = self.hash("session", &book.opened.to_be_bytes());
        let session = Session {
            number: book.opened,
            asker,
            until: now
                .checked_add(SignedDuration::from_hours(HOURS))
                .unwrap_or(Timestamp::MAX),
        };
        book.sessions.insert(id.clone(), session);
        id
    }

    /// Who signed in under this id.
    pub(super) fn asker(&self, id: &str, now: Timestamp) -> Option<Asker> {
        let session = self.book().sessions.get(id).copied()?;
        (session.until > now).then_some(session.asker)
    }

    /// Ends a session.
    pub(super) fn close(&self, id: &str) {
        self.book().sessions.remove(id);
    }

    /// What a form shown in this session has to send back; without a session, what any form of this
    /// process has to.
    pub(super) fn form(&self, id: Option<&str>) -> String {
        self.hash("form", id.unwrap_or_default().as_bytes())
    }

    /// Whether a form sent back what it had to. Takes as long for a wrong token as for a right one.
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

/// The id in a request's cookie.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == NAME).then_some(value))
}

/// The cookie that keeps an id; an empty one is forgotten at once. Where the visitor came by HTTPS, it is
/// sent by HTTPS alone.
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

    use super::{MOST, Sessions, cookie, set_cookie};
    use crate::report::Asker;

    const SECRET: [u8; 32] = [7; 32];
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_session_ends_with_its_time_or_when_it_is_closed() {
        let sessions = Sessions::new(&SECRET, NOW);
        let asker = Asker::Tenant(Tenant::of(&SECRET, b"key"));
        let (id, other) = (sessions.open(asker, NOW), sessions.open(Asker::All, NOW));
        assert_ne!(id, other);
        assert_eq!(sessions.asker(&id, NOW), Some(asker));
        let late = NOW + SignedDuration::from_hours(13);
        assert_eq!(sessions.asker(&id, late), None);
        sessions.close(&other);
        assert_eq!(sessions.asker(&other, NOW), None);
    }

    #[test]
    fn another_process_gives_other_numbers() {
        let later = NOW + SignedDuration::from_nanos(1);
        let ids = [NOW, later].map(|began| Sessions::new(&SECRET, began).open(Asker::All, NOW));
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn there_are_only_so_many() {
        let sessions = Sessions::new(&SECRET, NOW);
        let first = sessions.open(Asker::All, NOW);
        let last = (0..MOST).map(|_| sessions.open(Asker::All, NOW)).last();
        assert_eq!(sessions.asker(&first, NOW), None);
        assert!(sessions.asker(&last.unwrap(), NOW).is_some());
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
