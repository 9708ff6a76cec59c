//! Looks into conversations, and gives them pins and orders.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use context::pin::{Origin, Pin, PinId, Subject};
use conversation::{Accepted, Effect, Input, NotPinned, Order, PinBook, Resting};
use history::{Conversation as Record, ConversationId, MarkId, Pinned, Purge, Purged};
use jiff::Timestamp;
use wire::api::render_turn;

use crate::client::Client;
use crate::engine::{Engine, Shared};
use crate::error::EngineError;
use crate::told::{Explanation, Original, Overview, SummaryReport};

/// The most conversations of the store that are listed.
const LISTED: usize = 1_000;

impl Engine {
    pub(crate) fn live(&self, client: &Client, of: ConversationId) -> Option<Arc<Shared>> {
        self.directory.registry.get(client.tenant, of)
    }

    /// The record of a conversation, in memory or not.
    pub(crate) fn record(
        &self,
        client: &Client,
        of: ConversationId,
    ) -> Result<Record, EngineError> {
        if let Some(shared) = self.live(client, of) {
            return Ok(shared.lock().record().clone());
        }
        let stored = self.read(client.tenant, |store| store.conversation(of))?;
        stored.ok_or(EngineError::NoConversation(of))
    }

    /// Pins a text: it stays in view word for word, whatever is summarized. A text that is pinned already
    /// keeps its pin.
    ///
    /// # Errors
    /// Where there is no such conversation, the text cannot be pinned, or the store fails.
    pub fn pin(
        &self,
        client: &Client,
        of: ConversationId,
        text: &str,
        now: Timestamp,
    ) -> Result<Pin, EngineError> {
        let live = self.live(client, of);
        let Accepted { pin, released } = match &live {
            Some(shared) => {
                let effects = shared.lock().on(Input::Pin(text, Origin::Api), now);
                Accepted {
                    pin: pinned(effects)?,
                    released: Vec::new(),
                }
            }
            None => self.pin_at_rest(client, of, (text, now))?,
        };
        let written = Pinned {
            pin: pin.clone(),
            said_in: None,
        };
        let kept = self.store.write(client.tenant, &mut |store| {
            for &id in &released {
                store.remove_pin(of, id)?;
            }
            store.set_pin(of, &written).map(drop)
        });
        if let (Err(_), Some(shared)) = (&kept, live) {
            // A pin that is not stored must not be shown as set.
            shared.lock().on(Input::Unpin(pin.id), now);
        }
        kept?;
        Ok(pin)
    }

    /// Pins a turn, counted from 1, as the store has it. The result of a tool stands under a line that names
    /// its call.
    ///
    /// # Errors
    /// The errors of [`pin`](Self::pin), and where the store has no such turn. The newest turns are there once
    /// they are answered.
    pub fn pin_turn(
        &self,
        client: &Client,
        of: ConversationId,
        turn: usize,
        now: Timestamp,
    ) -> Result<Pin, EngineError> {
        self.pin_subject(client, of, (&Subject::Turns(turn, 1), now))
    }

    /// Pins the newest result of a tool call that reads the file at this path.
    ///
    /// # Errors
    /// The errors of [`pin`](Self::pin), and where no call in the store reads the file.
    pub fn pin_file(
        &self,
        client: &Client,
        of: ConversationId,
        path: &str,
        now: Timestamp,
    ) -> Result<Pin, EngineError> {
        self.pin_subject(client, of, (&Subject::File(path.to_owned()), now))
    }

    fn pin_subject(
        &self,
        client: &Client,
        of: ConversationId,
        (subject, now): (&Subject, Timestamp),
    ) -> Result<Pin, EngineError> {
        let record = self.record(client, of)?;
        let (path, _) = self.past(client, &record)?;
        self.pin(client, of, &subject.text(&path)?, now)
    }

    /// A pin of a conversation that is not in memory, and the pins that it replaces.
    fn pin_at_rest(
        &self,
        client: &Client,
        of: ConversationId,
        (text, now): (&str, Timestamp),
    ) -> Result<Accepted, EngineError> {
        let resting = self.read(client.tenant, |store| Resting::load(store, of))?;
        let resting = resting.ok_or(EngineError::NoConversation(of))?;
        let model = self.directory.commons.model(resting.model());
        let accepted = resting.pin(&self.directory.terms, &model, (text, Origin::Api), now);
        accepted.or_else(|why| {
            Ok(Accepted {
                pin: kept_already(why)?,
                released: Vec::new(),
            })
        })
    }

    /// Removes a pin that was set through [`pin`](Self::pin). Returns `true` if its text was pinned and no longer is.
    ///
    /// A text that a `#pin` line of the user pins too stays pinned, as the user's: the result is `false`, and only an
    /// `#unpin` line removes it.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn unpin(
        &self,
        client: &Client,
        of: ConversationId,
        pin: PinId,
        now: Timestamp,
    ) -> Result<bool, EngineError> {
        let live = self.live(client, of);
        let resting = match &live {
            Some(_) => None,
            None => self.read(client.tenant, |store| Resting::load(store, of))?,
        };
        let mut is_there = false;
        self.store.write(client.tenant, &mut |store| {
            is_there = store.remove_pin(of, pin)?;
            Ok(())
        })?;
        // In memory only afterwards: it stays in force if the store fails.
        if let Some(shared) = live {
            let mut conversation = shared.lock();
            let effects = conversation.on(Input::Unpin(pin), now);
            let mut effects = effects.into_iter();
            let removed = effects.any(|effect| matches!(effect, Effect::Unpinned(true)));
            return Ok(removed || (is_there && !conversation.pins().has(pin)));
        }
        Ok(resting.is_some_and(|resting| {
            let model = self.directory.commons.model(resting.model());
            resting.unpins(&self.directory.terms, &model, pin)
        }))
    }

    /// Orders a summary, and that it is swapped in as soon as it is ready. The next request begins the
    /// preparation; a later one is sent with the summary. Where one is ready already, the next one is.
    ///
    /// # Errors
    /// Where the conversation is not in memory, or the order is refused.
    pub fn compact(
        &self,
        client: &Client,
        of: ConversationId,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let Some(shared) = self.live(client, of) else {
            self.record(client, of)?;
            return Err(EngineError::AtRest(of));
        };
        let mut conversation = shared.lock();
        let order = match conversation.ready_mark() {
            Some(_) => Order::Swap,
            None => Order::Prepare,
        };
        for effect in conversation.on(Input::Order(order), now) {
            if let Effect::Refuse(refusal) = effect {
                return Err(EngineError::OrderRefused(refusal));
            }
        }
        let waits = order == Order::Prepare;
        shared.beside.compacts.store(waits, Ordering::Relaxed);
        Ok(())
    }

    /// The conversations of a client, those seen last first.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn conversations(&self, client: &Client) -> Result<Vec<Overview>, EngineError> {
        let live = self.directory.registry.all(Some(client.tenant)).into_iter();
        let live = live.filter(|shared| shared.is_answered());
        let mut all: Vec<Overview> = live.map(|shared| Overview::of(&shared.lock())).collect();
        let known: HashSet<ConversationId> = all.iter().map(|line| line.id).collect();
        let stored = self.read(client.tenant, |store| {
            store.conversations(Timestamp::MAX, LISTED)
        })?;
        let stored = stored.iter().filter(|record| !known.contains(&record.id));
        all.extend(stored.map(Overview::stored));
        all.sort_by_key(|line| (std::cmp::Reverse(line.seen), line.id));
        Ok(all)
    }

    /// Explains the view of a conversation: its figures, summaries and pins, and the journal.
    ///
    /// # Errors
    /// Where there is no such conversation, or the store fails.
    pub fn explain(&self, client: &Client, of: ConversationId) -> Result<Explanation, EngineError> {
        let record = self.record(client, of)?;
        let (path, summaries) = self.past(client, &record)?;
        if let Some(shared) = self.live(client, of) {
            return Ok(Explanation::of(&shared.lock(), summaries));
        }
        let pins = self.read(client.tenant, |store| store.pins(of))?;
        let model = self.directory.commons.model(&record.model);
        let limits = self.directory.terms.pin_limits(&model);
        let book = PinBook::of(&pins, &path, (limits, &model.counter()));
        Ok(Explanation {
            overview: Overview::stored(&record),
            pins: book.iter().cloned().collect(),
            summaries,
            journal: Vec::new(),
        })
    }

    /// The turns that the store has of a conversation, and the summaries on them.
    pub(crate) fn past(
        &self,
        client: &Client,
        record: &Record,
    ) -> Result<(Vec<context::Turn>, Vec<SummaryReport>), EngineError> {
        let live = self.live(client, record.id);
        let said = live.map(|shared| shared.lock().turn_ids().to_vec());
        let said = said.unwrap_or_else(|| vec![record.head]);
        let past = self.read(client.tenant, |store| {
            // The newest turns are stored once they are answered.
            let mut stored = said.iter().rev();
            let head = loop {
                match stored.next() {
                    Some(&turn) if store.node(turn)?.is_some() => break Some(turn),
                    Some(_) => {}
                    None => break None,
                }
            };
            let path = head.map_or(Ok(Vec::new()), |head| store.path(head))?;
            let mut summaries = Vec::new();
            for (index, turn) in path.iter().enumerate() {
                for mark in store.marks_at(turn.id())? {
                    summaries.push(SummaryReport::new(mark, index + 1, record.standing.mark));
                }
            }
            Ok((path, summaries))
        })?;
        Ok(past)
    }

    /// The original turns behind a summary, from the history; behind the one that is shown, where none is
    /// named.
    ///
    /// # Errors
    /// Where there is no such conversation or summary, or the store fails.
    pub fn expand(
        &self,
        client: &Client,
        of: ConversationId,
        summary: Option<MarkId>,
    ) -> Result<Vec<Original>, EngineError> {
        let record = self.record(client, of)?;
        let (path, summaries) = self.past(client, &record)?;
        let Some(wanted) = summary.or(record.standing.mark) else {
            return Ok(Vec::new());
        };
        let found = summaries.iter().find(|summary| summary.id == wanted);
        let turns = found.ok_or(EngineError::NoSummary(wanted))?.turns;
        let originals = self.read(client.tenant, |store| {
            let turns = path.iter().take(turns);
            turns
                .map(|turn| {
                    let kept = store.original(turn.id())?;
                    let message = kept.unwrap_or_else(|| {
                        let written = render_turn(client.dialect, turn);
                        written.into_bytes()
                    });
                    Ok(Original::new(turn, message))
                })
                .collect()
        })?;
        Ok(originals)
    }

    /// Removes conversations of a client for good: this one, or all that were last seen before a time.
    ///
    /// # Errors
    /// Where a request of it is under way, or the store fails.
    pub fn purge(&self, client: &Client, what: Selection) -> Result<Purged, EngineError> {
        let registry = &self.directory.registry;
        for shared in registry.all(Some(client.tenant)) {
            let is_meant = match what {
                Selection::One(id) => shared.id == id,
                Selection::Before(time) => shared.seen() < time.as_millisecond(),
            };
            if is_meant && !registry.remove(&shared) {
                return Err(EngineError::Busy(shared.id));
            }
        }
        let (conversation, before) = match what {
            Selection::One(id) => (Some(id), None),
            Selection::Before(time) => (None, Some(time)),
        };
        Ok(self.store.purge(Purge {
            tenant: Some(client.tenant),
            conversation,
            before,
        })?)
    }
}

/// The conversations to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// This one.
    One(ConversationId),
    /// Those last seen before this time.
    Before(Timestamp),
}

/// The pin that a conversation set, or had.
fn pinned(effects: Vec<Effect>) -> Result<Pin, EngineError> {
    for effect in effects {
        match effect {
            Effect::Pinned(pin) => return Ok(pin),
            Effect::NotPinned(why) => return kept_already(why),
            _ => {}
        }
    }
    Err(EngineError::PinUnwanted)
}

/// The pin that a text has already.
fn kept_already(why: NotPinned) -> Result<Pin, EngineError> {
    match why {
        NotPinned::Already(pin) => Ok(pin),
        NotPinned::Refused(error) => Err(error.into()),
        NotPinned::Unwanted => Err(EngineError::PinUnwanted),
    }
}
