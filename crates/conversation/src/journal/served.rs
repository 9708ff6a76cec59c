//! The outcome of a request: what the gateway did to it, and how it was answered.

use serde_json::{Value, json};

use crate::words::Did;

/// The number of requests whose outcome is kept.
pub const SERVED: usize = 60;

/// A request and its answer. Small: up to [`SERVED`] of these are kept for each conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Tenths of a second since the conversation began.
    pub at: u32,
    /// Tokens of the view; `None` if they were not counted.
    pub tokens: Option<u32>,
    /// The gateway's actions on the request.
    pub did: Deeds,
    /// The status of the answer.
    pub status: u16,
    /// Milliseconds until the first byte of the answer; `None` if none came.
    pub began: Option<u32>,
    /// Milliseconds until its end.
    pub ended: u32,
    /// The way it ended.
    pub ending: Ending,
    /// The number of the gateway's error code where the provider gave no answer; else 0.
    pub fault: u16,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The answer was passed on whole.
    Whole,
    /// The provider broke it off.
    BrokenOff,
    /// The client went away before its end.
    Left,
}

impl Ending {
    const ALL: [Self; 3] = [Self::Whole, Self::BrokenOff, Self::Left];

    const fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::BrokenOff => "broken-off",
            Self::Left => "left",
        }
    }
}

/// A set of things that were done to one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deeds(u32);

impl Deeds {
    /// The words, in the order of [`Did::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Did> {
        let numbered = (0..).zip(Did::ALL);
        numbered.filter_map(move |(bit, did)| (self.0 & (1 << bit) != 0).then_some(did))
    }
}

impl FromIterator<Did> for Deeds {
    fn from_iter<I: IntoIterator<Item = Did>>(words: I) -> Self {
        let bit = |did| (0..).zip(Did::ALL).find(|(_, other)| *other == did);
        let bits = words.into_iter().filter_map(bit);
        Self(bits.fold(0, |set, (bit, _)| set | 1 << bit))
    }
}

impl Served {
    /// The row for the store.
    pub(super) fn written(&self) -> Value {
        let did: Vec<&str> = self.did.iter().map(Did::as_str).collect();
        json!([
            self.at,
            self.tokens,
            did,
            self.status,
            self.began,
            self.ended,
            self.ending.word(),
            self.fault
        ])
    }

    /// A row of the store. Words of later versions are left out.
    pub(super) fn read(row: &Value) -> Option<Self> {
        let number = |at: usize| u32::try_from(row.get(at)?.as_u64()?).ok();
        let short = |at: usize| u16::try_from(number(at)?).ok();
        let did = row.get(2)?.as_array()?.iter().filter_map(Value::as_str);
        let ending = row.get(6)?.as_str()?;
        Some(Self {
            at: number(0)?,
            tokens: number(1),
            did: did
                .filter_map(|word| Did::ALL.into_iter().find(|did| did.as_str() == word))
                .collect(),
            status: short(3)?,
            began: number(4),
            ended: number(5)?,
            ending: Ending::ALL.into_iter().find(|it| it.word() == ending)?,
            fault: short(7)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Deeds, Ending, SERVED, Served};
    use crate::journal::Journal;
    use crate::words::Did;

    fn served(at: u32) -> Served {
        Served {
            at,
            tokens: Some(41_000),
            did: [Did::Noted, Did::Swapped, Did::Noted].into_iter().collect(),
            status: 200,
            began: Some(812),
            ended: 9_031,
            ending: Ending::BrokenOff,
            fault: 0,
        }
    }

    #[test]
    fn all_words_fit_and_come_back() {
        let all: Deeds = Did::ALL.into_iter().collect();
        assert!(all.iter().eq(Did::ALL));
        assert!(served(0).did.iter().eq([Did::Swapped, Did::Noted]));
    }

    #[test]
    fn it_is_kept_with_the_journal_and_bounded() {
        let mut journal = Journal::default();
        for at in 0..500 {
            journal.served(served(at));
        }
        let unanswered = Served {
            tokens: None,
            began: None,
            fault: 804,
            ..served(500)
        };
        journal.served(unanswered);
        let written = journal.take_written().expect("news");
        let read = Journal::read(&written);
        assert!(read.outcomes().eq(journal.outcomes()));
        assert_eq!(read.outcomes().count(), SERVED);
        assert_eq!(read.outcomes().next_back(), Some(&unanswered));
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let row = json!([
            1,
            null,
            ["swapped", "of-a-later-version"],
            200,
            null,
            5,
            "whole",
            0
        ]);
        let read = Served::read(&row).expect("a row");
        assert!(read.did.iter().eq([Did::Swapped]));
        for damaged in [json!([]), json!([1, 2, 3]), json!("x")] {
            assert_eq!(Served::read(&damaged), None);
        }
    }
}
