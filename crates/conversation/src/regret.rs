//! Regret: what the agent shows that it missed, counted as its turns come.
//!
//! The rules are [`context::regret`]'s. Its fingerprints stay in memory with the conversation and are made again
//! when it comes back from the store. A conversation that goes on from one that its client compacted takes over that
//! one's, as long as it is in memory.

use std::sync::Arc;

use context::regret::{Hidden, Kind, LastSeen, Regret, Sight, Trail};
use context::{Role, Turn};
use history::ConversationId;
use jiff::Timestamp;
use memchr::memmem::Finder;
use tokens::Model;
use wire::api::Request;

use crate::conversation::Conversation;
use crate::effect::Notice;
use crate::homunculus::Event;
use crate::incoming::Incoming;
use crate::journal::Happened;
use crate::originals::is_ours;
use crate::overlay::Overlay;

/// The swap that took something out of the agent's sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hider {
    /// One of ours.
    Ours,
    /// One that would have been made: in observe mode the agent saw everything.
    Would,
    /// The client's own.
    Client,
}

impl Hider {
    /// The name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Would => "would",
            Self::Client => "client",
        }
    }
}

/// An agent acted with something out of its sight.
#[derive(Clone, Debug, PartialEq)]
pub struct Acted {
    /// The swap that hid it.
    pub hider: Hider,
    /// The kinds of regret that the agent showed.
    pub missed: Vec<Kind>,
    /// The strategy's name.
    pub strategy: Arc<str>,
    /// The model.
    pub model: Arc<Model>,
}

/// The regrets of one conversation's agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regrets {
    trail: Trail,
    /// True if the client compacted the conversation before.
    goes_on: bool,
    counts: [u32; Kind::ALL.len()],
}

impl Regrets {
    /// Forgets all turns and takes those that were said before.
    pub fn recall(&mut self, turns: &[Turn]) {
        self.trail.go_back();
        self.trail.take(0, turns, None);
    }

    /// Takes over what was done in the conversation that the client compacted.
    pub fn go_on_from(&mut self, other: &Self) {
        self.trail = other.trail.behind();
        self.goes_on = true;
    }

    fn count(&mut self, kind: Kind) {
        let place = Kind::ALL.iter().position(|&it| it == kind);
        if let Some(count) = place.and_then(|at| self.counts.get_mut(at)) {
            *count = count.saturating_add(1);
        }
    }

    /// Returns true if the client compacted the conversation before.
    pub const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The count of each kind.
    pub fn counts(&self) -> impl Iterator<Item = (Kind, u32)> {
        Kind::ALL.into_iter().zip(self.counts)
    }

    pub fn bytes(&self) -> usize {
        self.trail.bytes()
    }

    /// Lets go of memory that an idle conversation does not need.
    pub fn rest(&mut self) {
        self.trail.shrink_to_fit();
    }
}

/// The model's view when it acted, in the request that tells of the act.
struct Saw<'a, 'r> {
    request: &'a Request<'r>,
    hidden: Hidden,
    /// The number of messages that it was sent.
    sent: usize,
    /// Messages out of sight whose standing matter is in front.
    standing: Vec<usize>,
    overlay: Option<&'a Overlay>,
}

impl Saw<'_, '_> {
    /// Returns true if one of these messages says an identifier.
    fn says(&self, mut messages: impl Iterator<Item = usize>, wanted: &Finder<'_>) -> bool {
        messages.any(|index| {
            let message = self.request.message(index);
            message.is_some_and(|message| stands_in(message.raw(), wanted))
        })
    }
}

impl Sight for Saw<'_, '_> {
    fn hidden(&self) -> Hidden {
        self.hidden
    }

    fn shows(&self, identifier: &str) -> bool {
        let wanted = Finder::new(identifier);
        // The newest first: what is asked for was often just told.
        let seen = self.hidden.results..self.sent;
        let standing = self.standing.iter().copied();
        self.says(seen.rev().chain(standing), &wanted)
            || self.front().iter().any(|text| stands_in(text, &wanted))
    }

    fn hides(&self, identifier: &str) -> bool {
        self.says((0..self.hidden.results).rev(), &Finder::new(identifier))
    }

    fn front(&self) -> Vec<&str> {
        let Some(overlay) = self.overlay else {
            return Vec::new();
        };
        let mark = overlay.mark.iter().map(|mark| mark.summary.as_str());
        mark.chain([overlay.pins.as_str()]).collect()
    }

    fn is_way_back(&self, tool: &str) -> bool {
        is_ours(tool)
    }
}

/// Returns true if an identifier stands whole in JSON text.
fn stands_in(json: &str, wanted: &Finder<'_>) -> bool {
    let bytes = json.as_bytes();
    let length = wanted.needle().len();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut found = wanted.find_iter(bytes);
    found.any(|at| {
        let before = at.checked_sub(1).and_then(|last| bytes.get(last));
        let escape = at.checked_sub(2).and_then(|last| bytes.get(last));
        // The letter of an escape such as `\n` is no part of the word behind it.
        let is_escaped = escape == Some(&b'\\') && matches!(before, Some(b'n' | b't' | b'r'));
        let begins = is_escaped || !before.is_some_and(|&byte| is_word(byte));
        let ends = !bytes.get(at + length).is_some_and(|&byte| is_word(byte));
        begins && ends
    })
}

impl Conversation {
    /// Takes in turns that are new and counts what the agent missed in them.
    pub(crate) fn regret(&mut self, incoming: &Incoming<'_>, new: &[Turn], now: Timestamp) {
        let sent = incoming.len().saturating_sub(new.len());
        let shown = self.supervisor.machine.shown();
        let from = shown.from.min(sent);
        let hidden = Hidden {
            turns: from,
            results: from.max(shown.cleared.min(sent)),
        };
        let standing = match from {
            0 => Vec::new(),
            _ => self
                .standing_before(from)
                .into_iter()
                .map(|it| it.0)
                .collect(),
        };
        let saw = Saw {
            request: incoming.request,
            hidden,
            sent,
            standing,
            overlay: self.overlay.as_ref(),
        };
        let sight = (sent > 0).then_some(&saw as &dyn Sight);
        let missed = self.said.regrets.trail.take(sent, new, sight);
        let is_act = new.iter().any(|turn| turn.role() == Role::Assistant);
        if sent == 0 || !is_act {
            return;
        }
        let own = match self.terms.is_on() {
            true => Hider::Ours,
            false => Hider::Would,
        };
        if hidden.results > 0 {
            self.tell_acted(own, &missed, now);
        }
        if self.said.regrets.goes_on {
            self.tell_acted(Hider::Client, &missed, now);
        }
    }

    /// Tells what of this one swap hid.
    fn tell_acted(&mut self, hider: Hider, missed: &[Regret], now: Timestamp) {
        let is_clients = |regret: &&Regret| regret.place == LastSeen::Before;
        let own = missed
            .iter()
            .filter(|it| is_clients(it) == (hider == Hider::Client));
        let own: Vec<Regret> = own.copied().collect();
        for regret in &own {
            self.supervisor.machine.on(Event::Regretted(*regret), now);
            if hider != Hider::Would {
                self.said.regrets.count(regret.kind);
                self.journal.note(now, Happened::Regretted(regret.kind));
            }
        }
        let strategy = self.supervisor.machine.strategy().program().name();
        let acted = Acted {
            hider,
            missed: own.iter().map(|regret| regret.kind).collect(),
            strategy: Arc::clone(strategy),
            model: Arc::clone(&self.supervisor.model),
        };
        self.tell_outside(Notice::Acted(acted));
    }

    /// The count of each kind of regret, would-be swaps excluded.
    pub fn regrets(&self) -> impl Iterator<Item = (Kind, u32)> {
        self.said.regrets.counts()
    }

    /// The conversation in memory that its client compacted and that this one goes on from.
    #[must_use]
    pub fn goes_on_from(&self) -> Option<ConversationId> {
        let before = self.record.parent;
        before.filter(|_| self.said.regrets.goes_on())
    }

    /// This conversation goes on from another, which its client compacted.
    pub(crate) fn go_on_from(&mut self, other: &Self) {
        self.said.regrets.go_on_from(&other.said.regrets);
    }
}

#[cfg(test)]
mod tests {
    use memchr::memmem::Finder;

    use super::stands_in;

    #[test]
    fn an_identifier_stands_whole() {
        let check = |json: &str, expected: bool| {
            assert_eq!(
                stands_in(json, &Finder::new("parse_it")),
                expected,
                "{json}"
            );
        };
        check(r#"{"content":"call parse_it()"}"#, true);
        check(r#"{"content":"first\nparse_it"}"#, true);
        check(r#"{"content":"reparse_it"}"#, false);
        check(r#"{"content":"parse_items"}"#, false);
        check(r#"{"content":"parse_items, parse_it"}"#, true);
    }
}
