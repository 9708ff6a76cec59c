//! Answers the client's own compaction: from the summary that is ready, else from one that is made at once.

use std::sync::Arc;

use context::extract::{Room, extract, extract_in, is_beside};
use context::standing::Standing;
use context::summary::{parted, without_marker};
use context::{Part, Role, Text, TokenCounter, Tokens, Turn};
use history::{Mark, Route};
use jiff::Timestamp;
use wire::api::{Asked, Closed, Dialect, Request};

use crate::conversation::Conversation;
use crate::identity::placed;
use crate::incoming::Incoming;
use crate::rewrite::{ClientCompaction, Direct, Wants, answer, answer_closed, answer_sealed};
use crate::seal::{Seals, joined};

/// The most that the turns behind a prepared summary may take in the answer.
const BEHIND: Tokens = Tokens::new(4_000);

/// The share of the size from which the client wants a compaction that each part of the answer may have: else
/// the next request would be due again.
const SHARE_OF_DUE: f64 = 0.2;

/// A summary that can answer a client's own compaction.
#[derive(Clone, Debug)]
pub struct AtHand {
    /// The summary that is ready; `None`: one is made at once.
    mark: Option<Arc<Mark>>,
    /// The number of turns that it replaces.
    cut: usize,
    pins: String,
    room: Room,
    originals: Option<Originals>,
}

/// The turns that an earlier summary in a request stands for.
#[derive(Clone, Debug)]
pub struct Originals {
    /// The turns.
    pub turns: Arc<[Turn]>,
    /// The number of messages of the request in whose place they stand.
    pub messages: usize,
}

/// The place of an earlier summary of ours among turns.
#[must_use]
pub fn summary_in(turns: &[Turn]) -> Option<usize> {
    let by_us = |turn: &Turn| turn.role() != Role::Assistant && turn.texts().any(is_beside);
    turns.iter().rposition(by_us)
}

/// An answer to a client's compaction.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The answer.
    pub direct: Direct,
    /// The text of the summary, as parts.
    pub parts: Vec<Part>,
}

/// A summary sealed for a client.
#[derive(Clone, Debug)]
pub struct SealedSummary {
    /// The texts, as they come back once the seal is opened.
    pub texts: Vec<String>,
    /// The seal.
    pub seal: String,
}

impl SealedSummary {
    /// The text by which what goes on from it is recognised.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let last = self.texts.last().cloned().unwrap_or_default();
        vec![Part::Text(Text::from(last))]
    }
}

impl Conversation {
    /// Returns the summary that can answer this compaction. `None` if no summary is ready, or if
    /// the gateway must not answer.
    #[must_use]
    pub fn at_hand(&self, own: &ClientCompaction) -> Option<AtHand> {
        let mark = self.overlay.as_ref()?.ready.clone()?;
        let cut = self.place_of(mark.node);
        let at_hand = self.answering(Some(mark), cut)?;
        (cut > 0 && cut <= own.covers).then_some(at_hand)
    }

    /// Returns a summary that is made without a model when it answers. `None` if the gateway must not answer.
    #[must_use]
    pub fn at_once(&self) -> Option<AtHand> {
        self.answering(None, 0)
    }

    fn answering(&self, mark: Option<Arc<Mark>>, cut: usize) -> Option<AtHand> {
        let limits = self.limits();
        (self.terms.is_on() && self.terms.answer_compaction).then(|| AtHand {
            mark,
            cut,
            pins: self.pins.in_full(),
            room: limits.for_summary(),
            originals: None,
        })
    }
}

impl AtHand {
    /// The same, made from the originals in place of an earlier summary.
    #[must_use]
    pub fn with_originals(mut self, originals: Option<Originals>) -> Self {
        self.originals = originals;
        self
    }

    /// The answer, where what is at hand is enough. Computes for milliseconds where much was said since.
    #[must_use]
    pub fn answer(
        &self,
        incoming: &Incoming<'_>,
        (own, seals): (&ClientCompaction, &Seals),
        now: Timestamp,
    ) -> Option<Answered> {
        match (own.wants, &self.mark) {
            (Wants::Sealed, Some(mark)) if mark.route == Route::Native => {
                self.native(incoming, (own, mark), now)
            }
            (Wants::Text(_), Some(mark)) if mark.route != Route::Native => {
                let text = self.text(incoming, (own, mark));
                let direct = answer(incoming.request, own, &text, now)?;
                let parts = vec![Part::Text(Text::from(text))];
                Some(Answered { direct, parts })
            }
            (Wants::Sealed | Wants::Listed | Wants::Later(_), _) => {
                let sealed = self.sealed(incoming, (own, seals))?;
                let kept = kept(incoming.request, own);
                let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
                let text = joined(&sealed.texts);
                let closed = closed(own, (&text, &sealed.seal), &kept)?;
                let direct = answer_closed(incoming.request, &closed, now)?;
                let parts = sealed.parts();
                Some(Answered { direct, parts })
            }
            (Wants::Text(_) | Wants::Foreign, _) => None,
        }
    }

    /// The provider's own block, where it is the one of exactly these messages.
    fn native(
        &self,
        incoming: &Incoming<'_>,
        (own, mark): (&ClientCompaction, &Mark),
        now: Timestamp,
    ) -> Option<Answered> {
        if self.cut != own.covers {
            return None;
        }
        let message: serde_json::Value = serde_json::from_str(&mark.summary).ok()?;
        let block = message.get("content")?.get(0)?.to_string();
        // Only the very bytes are signed.
        if !mark.summary.contains(&block) {
            return None;
        }
        let direct = answer_sealed(incoming.request, own, &block, now)?;
        let parts = parts_of(incoming.dialect(), &mark.summary)?;
        Some(Answered { direct, parts })
    }

    /// The block or item to put in front of an answer, and its summary.
    #[must_use]
    pub fn piece(
        &self,
        incoming: &Incoming<'_>,
        (own, seals): (&ClientCompaction, &Seals),
        now: Timestamp,
    ) -> Option<(Text, SealedSummary)> {
        let sealed = self.sealed(incoming, (own, seals))?;
        let text = joined(&sealed.texts);
        let closed = closed(own, (&text, &sealed.seal), &[])?;
        let piece = incoming.request.sealed_piece(&closed, now)?;
        Some((Text::from(piece), sealed))
    }

    /// The summary for a sealed answer.
    fn sealed(
        &self,
        incoming: &Incoming<'_>,
        (own, seals): (&ClientCompaction, &Seals),
    ) -> Option<SealedSummary> {
        if self
            .mark
            .as_ref()
            .is_some_and(|mark| mark.route == Route::Native)
        {
            return None;
        }
        let turns = incoming
            .turns()
            .get(..own.covers)
            .filter(|it| !it.is_empty())?;
        let originals = self
            .originals
            .as_ref()
            .filter(|it| it.messages <= turns.len());
        let all = originals.map(|originals| {
            let since = turns.get(originals.messages..).unwrap_or_default();
            [&*originals.turns, since].concat()
        });
        let all = all.as_deref().unwrap_or(turns);
        let texts = self.texts((all, turns), own, incoming);
        let seal = seals.close(&texts);
        Some(SealedSummary { texts, seal })
    }

    /// The texts in front of a view that the gateway compacts itself: the client's standing matter, pins, the user's
    /// words with the summary.
    fn texts(
        &self,
        (all, turns): (&[Turn], &[Turn]),
        own: &ClientCompaction,
        incoming: &Incoming<'_>,
    ) -> Vec<String> {
        let counter = incoming.model.counter();
        let room = self.room_for(own);
        let mut texts = Vec::new();
        // OpenAI's clients keep the operator's messages, and with a list of messages the user's as well.
        if !incoming.dialect().facts().layout.keeps_system {
            let standing = Standing::of(all, room.standing);
            texts.extend(standing.texts_before(all, all.len()).map(|(_, text)| text));
        }
        if !self.pins.is_empty() {
            texts.push(self.pins.clone());
        }
        let whole = extract_in(all, &[], room, &counter).render();
        let text = match &self.mark {
            Some(mark) => self.brought_up(&whole, (mark, turns), &counter),
            None => whole,
        };
        texts.push(match own.wants {
            Wants::Listed => parted(&text).1.to_owned(),
            _ => text,
        });
        texts
    }

    /// The room for the parts of the answer.
    fn room_for(&self, own: &ClientCompaction) -> Room {
        let Wants::Later(Some(due)) = own.wants else {
            return self.room;
        };
        let most = due.scaled(SHARE_OF_DUE);
        Room {
            words: self.room.words.min(most),
            standing: self.room.standing.min(most),
            summary: self.room.summary.min(most),
        }
    }

    /// A prepared summary with all of the user's words in front, and what was done since behind it.
    fn brought_up(
        &self,
        whole: &str,
        (mark, turns): (&Mark, &[Turn]),
        counter: &dyn TokenCounter,
    ) -> String {
        let (words, prepared) = (parted(whole).0, parted(&mark.summary).1);
        let since = turns.get(self.cut..).unwrap_or_default();
        if since.is_empty() {
            return format!("{words}{prepared}");
        }
        let room = Room {
            words: Tokens::ZERO,
            standing: Tokens::ZERO,
            summary: BEHIND,
        };
        let since = extract_in(since, &[], room, counter).render();
        format!(
            "{words}{}\n\n{}",
            prepared.trim_end(),
            without_marker(&since)
        )
    }

    /// Pins, the summary, and what was said since, summarised without a model.
    fn text(&self, incoming: &Incoming<'_>, (own, mark): (&ClientCompaction, &Mark)) -> String {
        let counter = incoming.model.counter();
        let mut turns = placed(incoming.request, self.cut, mark.node, &counter);
        turns.truncate(own.covers - self.cut);
        let mut texts = Vec::new();
        if !self.pins.is_empty() {
            texts.push(self.pins.clone());
        }
        texts.push(mark.summary.to_string());
        if !turns.is_empty() {
            texts.push(extract(&turns, &[], BEHIND, &counter).render());
        }
        texts.join("\n\n")
    }
}

/// The answer that was asked for. `None` where it is no sealed one.
fn closed<'c>(
    own: &ClientCompaction,
    (text, seal): (&'c str, &'c str),
    kept: &'c [&'c str],
) -> Option<Closed<'c>> {
    let asked = match own.wants {
        Wants::Sealed => Asked::Now,
        Wants::Later(_) => Asked::FromSize,
        Wants::Listed => Asked::ByPath,
        Wants::Text(_) | Wants::Foreign => return None,
    };
    Some(Closed {
        text,
        seal,
        asked,
        kept,
    })
}

/// The user's messages as the client sent them, without summaries that were opened, where the client wants them.
fn kept(request: &Request<'_>, own: &ClientCompaction) -> Vec<String> {
    if own.wants != Wants::Listed {
        return Vec::new();
    }
    let is_users = |parts: &[Part]| {
        let texts = || parts.iter().filter_map(text_of);
        !texts().any(is_beside)
    };
    let messages = request.messages().take(own.covers);
    messages
        .filter(|message| message.role() == Role::User && is_users(&message.draft().parts))
        .map(|message| message.raw().to_owned())
        .collect()
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// The parts of a message in `dialect`.
fn parts_of(dialect: Dialect, message: &str) -> Option<Vec<Part>> {
    let body = format!(r#"{{"{}":[{message}]}}"#, dialect.list_key());
    let request = Request::parse(dialect, body.as_bytes()).ok()?;
    Some(request.message(0)?.draft().parts)
}
