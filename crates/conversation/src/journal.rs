//! The newest events and request sizes of a conversation, for the dashboard. Bounded; no message text.

use std::collections::VecDeque;
use std::fmt;

use context::Tokens;
use context::coded::Coded;
use context::pin::PinId;
use context::regret::Kind;
use history::{MarkId, Route};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::adaptive::SoftMoved;
use crate::seal::SealRefusal;

mod served;

pub use served::{Deeds, Ending, SERVED, Served};

/// The number of entries that are kept.
const ENTRIES: usize = 48;

/// The number of requests that are kept.
pub const SAMPLES: usize = 240;

/// The number of summaries of which is kept that they were shown.
const SHOWN: usize = 240;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The first request came.
    Began,
    /// The first request came, and goes on with a conversation that its client compacted.
    GoesOn,
    /// Branched off from another conversation after this many turns.
    Branched(usize),
    /// An entry from before the conversation left memory, in its words of then.
    Earlier(String),
    /// Came back from the store.
    CameBack,
    /// The client went back to an earlier turn.
    WentBack,
    /// A summary began to be made.
    Preparing(Route, usize),
    /// A summary is ready.
    Prepared(Route, Tokens),
    /// A person edited the summary that is ready.
    Reworded(Tokens),
    /// A summary was not made.
    PreparationFailed(String),
    /// A way to make one failed, with this code.
    Fell(Route, String),
    /// A summary was swapped in.
    Swapped(Tokens, Tokens),
    /// In mode observe: a summary would have begun to be made.
    WouldPrepare(usize),
    /// In mode observe: a summary would have been swapped in.
    WouldSwap(Tokens, Tokens),
    /// The results of tools in the first so many messages were cleared.
    Cleared(usize),
    /// In mode observe: the results of tools in the first so many messages would have been cleared.
    WouldClear(usize),
    /// A swap was taken back.
    TakenBack(Tokens, Tokens),
    /// A larger summary that was ordered is not shown: the size that the view would have had.
    NotShown(Tokens),
    /// The soft threshold moved.
    SoftMoved(SoftMoved),
    /// The agent showed that it missed something that a swap took out of sight.
    Regretted(Kind),
    /// Texts of the client found no room in front of the view: their number and size.
    CrowdedOut(usize, Tokens),
    /// A swap was refused by a rule.
    Held(String),
    /// The machine stopped.
    Stopped(String),
    /// A command of the strategy was refused: which, and why, in a word.
    CommandRefused(&'static str, &'static str),
    /// The strategy failed, and the default took its place.
    StrategyFailed(String),
    /// The provider refused a request with this status.
    Refused(u16),
    /// Refused by the provider as too long.
    Overflowed,
    /// The strategy left it too long, so it was made smaller without it.
    Rescued,
    /// The provider took the conversation's thinking for another's, and it was sent without.
    ThinkingRefused,
    /// The provider's window is another one than believed, or is believed in again.
    Window(Tokens),
    /// The client compacts by itself.
    OwnCompaction(&'static str, bool),
    /// A sealed summary was not believed: why, with its code.
    SealRefused(SealRefusal),
    /// A line of the user that would pin or unpin was refused.
    PinRefused(String),
    /// The strategy pinned a text of this size.
    StrategyPinned(PinId, Tokens),
    /// A pin of the strategy was refused: why in a word, and with the sizes.
    StrategyPinRefused(&'static str, String),
    /// Something could not be kept.
    NotKept,
    /// A request could not be made as it should; it was sent as it came.
    NotRewritten(String),
    /// An answer was too long to be heard to its end.
    Unheard,
    /// The provider says that it changed the input.
    Transformed(String),
    /// The provider says why its cache was missed.
    Missed(String),
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began => f.write_str("began"),
            Self::GoesOn => f.write_str("goes on with a conversation that its client compacted"),
            Self::Branched(turns) => write!(f, "branched off after {turns} messages"),
            Self::Earlier(told) => f.write_str(told),
            Self::CameBack => f.write_str("came back from the store"),
            Self::WentBack => f.write_str("the client went back to an earlier message"),
            Self::Preparing(route, turns) => {
                write!(f, "preparing a summary of {turns} messages ({route})")
            }
            Self::Prepared(route, tokens) => {
                write!(f, "a summary of {tokens} tokens is ready ({route})")
            }
            Self::Reworded(tokens) => {
                write!(f, "the summary was edited; it has {tokens} tokens now")
            }
            Self::PreparationFailed(why) => write!(f, "no summary was made: {why}"),
            Self::Fell(route, code) => write!(f, "the {route} route failed: {code}"),
            Self::Swapped(before, after) => {
                write!(f, "swapped: {before} tokens before, {after} after")
            }
            Self::WouldPrepare(turns) => {
                write!(f, "would have prepared a summary of {turns} messages")
            }
            Self::WouldSwap(before, after) => {
                write!(
                    f,
                    "would have swapped: {before} tokens before, {after} after"
                )
            }
            Self::Cleared(upto) => {
                write!(f, "cleared the tool results of the first {upto} messages")
            }
            Self::WouldClear(upto) => write!(
                f,
                "would have cleared the tool results of the first {upto} messages"
            ),
            Self::TakenBack(before, after) => write!(
                f,
                "a swap was taken back: {before} tokens before, {after} after"
            ),
            Self::NotShown(tokens) => write!(
                f,
                "the larger summary is not shown: the conversation has grown, and would have {tokens} tokens with it"
            ),
            Self::CrowdedOut(texts, tokens) => write!(
                f,
                "left out: {texts} {} of the client's instructions and context, {tokens} tokens; more than \
                 their share of the window",
                if *texts == 1 { "text" } else { "texts" }
            ),
            Self::Regretted(kind) => write!(f, "missed after a swap: {}", said(*kind)),
            Self::SoftMoved(moved) => moved.fmt(f),
            Self::Held(why) => write!(f, "a swap was refused: {why}"),
            Self::Stopped(why) => write!(f, "compaction has stopped: {why}"),
            Self::CommandRefused(command, why) => {
                write!(f, "the strategy's command `{command}` was refused: {why}")
            }
            Self::StrategyFailed(why) => {
                write!(f, "the strategy failed; the default replaced it: {why}")
            }
            Self::Refused(status) => write!(f, "the provider refused a request: {status}"),
            Self::Overflowed => f.write_str("the provider found a request too long"),
            Self::Rescued => {
                f.write_str("shortened by the gateway, because the strategy left it too long")
            }
            Self::ThinkingRefused => {
                f.write_str("sent without its thinking, because the provider rejected it")
            }
            Self::Window(tokens) => write!(f, "the window is taken to be {tokens} tokens"),
            Self::OwnCompaction(client, true) => {
                write!(f, "the compaction of {client} was answered")
            }
            Self::OwnCompaction(client, false) => {
                write!(f, "the compaction of {client} was sent on")
            }
            Self::SealRefused(why) => {
                write!(f, "a sealed summary was left out: {why} ({})", why.code())
            }
            Self::PinRefused(why) => write!(f, "a pin line was rejected: {why}"),
            Self::StrategyPinned(pin, tokens) => {
                write!(f, "the strategy pinned {tokens} tokens ({pin})")
            }
            Self::StrategyPinRefused(_, why) => {
                write!(f, "the strategy's command `pin` was refused: {why}")
            }
            Self::NotKept => f.write_str("the store failed"),
            Self::NotRewritten(why) => write!(f, "a request was sent unchanged: {why}"),
            Self::Unheard => {
                f.write_str("an answer was too long; it was passed on without being recorded")
            }
            Self::Transformed(kind) => write!(f, "the provider changed the input: {kind}"),
            Self::Missed(reason) => write!(f, "the provider's cache was missed: {reason}"),
        }
    }
}

/// The sign that something out of sight was missed, in words.
const fn said(kind: Kind) -> &'static str {
    match kind {
        Kind::ReadAgain => "the agent read a file again",
        Kind::SearchedAgain => "the agent searched for a name that it had been told",
        Kind::FailedAgain => "a command failed again",
        Kind::Corrected => "the user said something again",
        Kind::Reopened => "the agent reopened a closed task",
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Tenths of a second since the conversation began. Four bytes: 240 of these are kept for each
    /// conversation.
    pub at: u32,
    /// Tokens of the view.
    pub tokens: u32,
    /// Tokens of the conversation as it was said.
    pub unchanged: u32,
    /// True if the view got smaller with it.
    pub swapped: bool,
}

impl Sent {
    /// A request that was sent so long after the conversation began, with the tokens of its view and of
    /// the conversation as it was said.
    pub(crate) fn new(
        since: SignedDuration,
        (view, unchanged): (Tokens, Tokens),
        swapped: bool,
    ) -> Self {
        let short = |tokens: Tokens| u32::try_from(tokens.get()).unwrap_or(u32::MAX);
        Self {
            at: u32::try_from(since.as_millis() / 100).unwrap_or(0),
            tokens: short(view),
            unchanged: short(unchanged),
            swapped,
        }
    }
}

/// The newest events of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: VecDeque<(Timestamp, Happened)>,
    sent: VecDeque<Sent>,
    served: VecDeque<Served>,
    /// The summaries that were swapped in (true), and those that mode observe only noted.
    shown: VecDeque<(MarkId, bool)>,
    /// True if it says more than what the store has.
    is_new: bool,
}

impl Journal {
    /// Notes what happened; the oldest entry goes. The same again is noted once; of commands that are
    /// refused, which may come in turns with each request, while the first entry stands.
    pub(crate) fn note(&mut self, at: Timestamp, happened: Happened) {
        let looked_at = match happened {
            Happened::CommandRefused(..) | Happened::StrategyPinRefused(..) => ENTRIES,
            _ => 1,
        };
        let mut newest = self.entries.iter().rev().take(looked_at);
        // Refusals that differ only in sizes count as the same.
        let is_same = |noted: &Happened| match (noted, &happened) {
            (Happened::StrategyPinRefused(one, _), Happened::StrategyPinRefused(other, _)) => {
                one == other
            }
            (one, other) => one == other,
        };
        if newest.any(|(_, noted)| is_same(noted)) {
            return;
        }
        if self.entries.len() >= ENTRIES {
            self.entries.pop_front();
        }
        self.is_new = true;
        self.entries.push_back((at, happened));
    }

    /// Notes that a summary was swapped in (true), or that it would have been.
    pub(crate) fn shown(&mut self, mark: MarkId, is_done: bool) {
        if self.shown.len() >= SHOWN {
            self.shown.pop_front();
        }
        self.is_new = true;
        self.shown.push_back((mark, is_done));
    }

    /// Returns true if a summary was swapped in, false if mode observe only noted that, `None` if neither is known.
    #[must_use]
    pub fn was_shown(&self, mark: MarkId) -> Option<bool> {
        let of = self.shown.iter().filter(|(id, _)| *id == mark);
        of.map(|&(_, is_done)| is_done)
            .reduce(|one, other| one || other)
    }

    /// Notes a request.
    pub(crate) fn sent(&mut self, sent: Sent) {
        if self.sent.len() >= SAMPLES {
            self.sent.pop_front();
        }
        self.is_new = true;
        self.sent.push_back(sent);
    }

    /// Notes what became of a request.
    pub(crate) fn served(&mut self, served: Served) {
        if self.served.len() >= SERVED {
            self.served.pop_front();
        }
        self.is_new = true;
        self.served.push_back(served);
    }

    /// The text for the store, if it says more than the last one.
    pub(crate) fn take_written(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.is_new) {
            return None;
        }
        let entries = self.entries.iter();
        let entries = entries.map(|(at, it)| json!([at.as_millisecond(), it.to_string()]));
        let sent = self.sent.iter();
        let sent = sent.map(|it| json!([it.at, it.tokens, it.unchanged, it.swapped]));
        let (entries, sent): (Vec<Value>, Vec<Value>) = (entries.collect(), sent.collect());
        let served: Vec<Value> = self.served.iter().map(Served::written).collect();
        let shown = self.shown.iter();
        let shown: Vec<Value> = shown
            .map(|(mark, it)| json!([mark.to_string(), it]))
            .collect();
        let journal = json!({"entries": entries, "sent": sent, "served": served, "shown": shown});
        Some(journal.to_string())
    }

    /// The journal of a text from the store; without what cannot be read.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let written: Value = serde_json::from_str(text).unwrap_or_default();
        let list = |key: &str| written.get(key).and_then(Value::as_array);
        let number = |row: &Value, at: usize| u32::try_from(row.get(at)?.as_u64()?).ok();
        let entries = list("entries").into_iter().flatten().filter_map(|row| {
            let at = Timestamp::from_millisecond(row.get(0)?.as_i64()?).ok()?;
            Some((at, Happened::Earlier(row.get(1)?.as_str()?.to_owned())))
        });
        let sent = list("sent").into_iter().flatten().filter_map(|row| {
            Some(Sent {
                at: number(row, 0)?,
                tokens: number(row, 1)?,
                unchanged: number(row, 2)?,
                swapped: row.get(3)?.as_bool()?,
            })
        });
        Self {
            entries: entries.take(ENTRIES).collect(),
            sent: sent.take(SAMPLES).collect(),
            served: list("served")
                .into_iter()
                .flatten()
                .filter_map(Served::read)
                .take(SERVED)
                .collect(),
            shown: list("shown")
                .into_iter()
                .flatten()
                .filter_map(|row| {
                    let mark = MarkId::parse(row.get(0)?.as_str()?)?;
                    Some((mark, row.get(1)?.as_bool()?))
                })
                .take(SHOWN)
                .collect(),
            is_new: false,
        }
    }

    /// The events, newest first.
    pub fn entries(&self) -> impl Iterator<Item = &(Timestamp, Happened)> {
        self.entries.iter().rev()
    }

    /// The requests, oldest first.
    pub fn samples(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter()
    }

    /// The outcomes of the newest requests, oldest first.
    pub fn outcomes(&self) -> impl DoubleEndedIterator<Item = &Served> {
        self.served.iter()
    }

    /// The bytes it holds on the heap, without texts.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(Timestamp, Happened)>()
            + self.sent.capacity() * size_of::<Sent>()
            + self.served.capacity() * size_of::<Served>()
            + self.shown.capacity() * size_of::<(MarkId, bool)>()
    }

    /// The newest request.
    pub(crate) fn last(&self) -> Option<Sent> {
        self.sent.back().copied()
    }
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use jiff::{SignedDuration, Timestamp};

    use super::{ENTRIES, Happened, Journal, SAMPLES, Sent};

    #[test]
    fn what_was_written_says_the_same_again() {
        let mut journal = Journal::default();
        journal.note(Timestamp::UNIX_EPOCH, Happened::Began);
        let (view, all) = (Tokens::new(7), Tokens::new(9));
        journal.sent(Sent::new(SignedDuration::from_secs(3), (view, all), true));
        let told = |journal: &Journal| {
            let entries = journal.entries();
            entries
                .map(|(at, it)| (*at, it.to_string()))
                .collect::<Vec<_>>()
        };
        let written = journal.take_written().unwrap();
        let read = Journal::read(&written);
        assert_eq!(told(&read), told(&journal));
        assert!(read.samples().eq(journal.samples()));
        assert_eq!(journal.take_written(), None);
        assert_eq!(Journal::read("{").entries().count(), 0);
    }

    #[test]
    fn it_is_bounded_and_says_a_thing_once() {
        let mut journal = Journal::default();
        for status in 0..200 {
            journal.note(Timestamp::UNIX_EPOCH, Happened::Refused(status));
            journal.note(Timestamp::UNIX_EPOCH, Happened::Refused(status));
        }
        assert_eq!(journal.entries().count(), ENTRIES);
        let (_, newest) = journal.entries().next().unwrap();
        assert_eq!(newest.to_string(), "the provider refused a request: 199");
        for _ in 0..200 {
            for command in ["swap", "hold"] {
                let refused = Happened::CommandRefused(command, "nothing_ready");
                journal.note(Timestamp::UNIX_EPOCH, refused);
            }
        }
        let refused =
            |entry: &&(Timestamp, Happened)| matches!(entry.1, Happened::CommandRefused(..));
        assert_eq!(journal.entries().filter(refused).count(), 2);
        for at in 0..500 {
            let sent = Sent {
                at,
                tokens: 1,
                unchanged: 1,
                swapped: false,
            };
            journal.sent(sent);
        }
        assert_eq!(journal.samples().count(), SAMPLES);
        assert_eq!(journal.last().unwrap().at, 499);
    }
}
