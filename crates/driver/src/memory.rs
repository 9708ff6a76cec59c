//! The memory of an agent: dumps, replacements and pins.
//!
//! Turns are numbered from 1 in the order in which they were said. A mark is such a number: everything up
//! to that turn. So a memory that was made from a dump can be put back while the agent has gone on: the
//! turns after the mark stay as they are.

mod json;

use std::sync::Arc;

use context::{Heuristic, Part, Provenance, Role, Text, TokenCounter, Tokens, TurnDraft};
use plumb::value::Value;

pub(crate) use json::record;

/// A turn with its number.
#[derive(Clone, Debug)]
struct Entry {
    number: u64,
    draft: TurnDraft,
}

/// The memory of an agent.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The summary of the turns that were removed.
    summary: Option<Arc<str>>,
    pinned: Vec<Value>,
    turns: Vec<Entry>,
    /// The number of turns ever added.
    said: u64,
    /// The mark that was given last.
    marked: u64,
    prepared: Option<Value>,
    compactions: u32,
}

/// The part of a memory that stays verbatim when the rest is summarized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    /// Nothing.
    Nothing,
    /// At most this many of the last turns.
    Turns(usize),
    /// The last turns up to this many tokens, estimated.
    Tokens(Tokens),
}

/// The number of turns before and after a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// The number of turns before.
    pub before: usize,
    /// The number of turns after.
    pub after: usize,
}

impl Memory {
    /// The number of replacements so far.
    pub const fn compactions(&self) -> u32 {
        self.compactions
    }

    /// The pins, as one line each.
    pub fn pins(&self) -> Vec<String> {
        self.pinned.iter().map(shown).collect()
    }

    /// Adds turns.
    pub fn remember(&mut self, drafts: impl IntoIterator<Item = TurnDraft>) {
        for draft in drafts {
            self.said += 1;
            self.turns.push(Entry {
                number: self.said,
                draft,
            });
        }
    }

    /// Forgets the oldest turns until there are at most so many, whole exchanges each.
    pub fn keep(&mut self, most: usize) {
        if self.turns.len() > most {
            let gone = self.cut(Stays::Turns(most));
            self.turns.drain(..gone);
        }
    }

    /// The turns that the agent is shown: pins, summary, remaining turns.
    pub fn view(&self) -> Vec<TurnDraft> {
        let mut drafts = Vec::with_capacity(self.turns.len() + 2);
        if !self.pinned.is_empty() {
            let text = format!("[pinned]\n{}", self.pins().join("\n"));
            drafts.push(user(&text).from_provenance(Provenance::Pins));
        }
        if let Some(summary) = &self.summary {
            let text = if context::summary::is_summary(summary) {
                summary.to_string()
            } else {
                format!("[summary of the conversation so far]\n{summary}\n[end of the summary]")
            };
            drafts.push(user(&text).from_provenance(Provenance::Summary));
        }
        drafts.extend(self.turns.iter().map(|entry| entry.draft.clone()));
        drafts
    }

    /// Dumps the memory as a message, marked at its end or before the turns that stay verbatim. These are
    /// whole exchanges: they begin with a message to the agent.
    pub fn dump(&mut self, stays: Stays) -> Value {
        let cut = self.cut(stays);
        let before = cut.checked_sub(1).and_then(|last| self.turns.get(last));
        self.marked = match (before, self.turns.first()) {
            (Some(last), _) => last.number,
            (None, Some(first)) => first.number.saturating_sub(1),
            (None, None) => self.said,
        };
        let drafts = self.turns.iter().take(cut).map(|entry| &entry.draft);
        json::memory(self.marked, drafts, &self.pinned, self.summary.as_deref())
    }

    /// The number of turns before those that stay.
    fn cut(&self, stays: Stays) -> usize {
        let turns = self.turns.iter().rev();
        let most = match stays {
            Stays::Nothing => 0,
            Stays::Turns(most) => most,
            Stays::Tokens(most) => {
                let sizes = turns.scan(Tokens::ZERO, |sum, entry| {
                    *sum += Heuristic.count_parts(&entry.draft.parts);
                    Some(*sum)
                });
                sizes.take_while(|sum| *sum <= most).count()
            }
        };
        let least = self.turns.len().saturating_sub(most);
        let begins = |entry: &Entry| entry.draft.role == Role::User;
        let later = self.turns.iter().skip(least).position(begins);
        later.map_or(self.turns.len(), |at| least + at)
    }

    /// Puts a memory in the place of everything up to its mark. A mark that cannot have been given (a model
    /// wrote it) is taken for the one that was given last. What is pinned stays pinned, whether the memory has
    /// it or not: only [`Memory::unpin`] lets go of it.
    ///
    /// # Errors
    /// If a turn of it cannot be read, as a phrase.
    pub fn replace(&mut self, memory: &Value) -> Result<Replaced, String> {
        let mark = json::mark(memory).filter(|mark| *mark <= self.said);
        let mark = mark.unwrap_or(self.marked);
        let turns = json::turns(memory)?;
        let before = self.turns.len();
        let (old, since): (Vec<_>, Vec<_>) = std::mem::take(&mut self.turns)
            .into_iter()
            .partition(|entry| entry.number <= mark);
        let gone = old.len().saturating_sub(turns.len());
        let first = mark.saturating_sub(turns.len().saturating_sub(1) as u64);
        let kept = (first..).zip(turns);
        let kept = kept.map(|(number, draft)| Entry { number, draft });
        self.turns = kept.chain(since).collect();
        for pinned in json::pinned(memory) {
            self.pin(pinned);
        }
        self.summary = json::summary(memory);
        if gone > 0 {
            self.compactions += 1;
        }
        Ok(Replaced {
            before,
            after: self.turns.len(),
        })
    }

    /// Keeps a memory for a later [`Memory::swap`].
    pub fn prepare(&mut self, memory: Value) {
        self.prepared = Some(memory);
    }

    /// Puts the prepared memory in place.
    ///
    /// # Errors
    /// If nothing is prepared, or it cannot be read, as a phrase.
    pub fn swap(&mut self) -> Result<Replaced, String> {
        let prepared = self.prepared.take().ok_or("nothing is prepared")?;
        self.replace(&prepared)
    }

    /// Keeps a text in front of everything, whatever becomes of the rest.
    pub fn pin(&mut self, text: Value) {
        if !self.pinned.contains(&text) {
            self.pinned.push(text);
        }
    }

    /// Unpins a text. Returns true if it was pinned.
    pub fn unpin(&mut self, text: &Value) -> bool {
        let before = self.pinned.len();
        self.pinned.retain(|pinned| pinned != text);
        self.pinned.len() < before
    }
}

/// The turns and the summary of a memory as one conversation, oldest first; for those who sum it up.
///
/// # Errors
/// If a turn cannot be read, as a phrase.
pub(crate) fn conversation(memory: &Value) -> Result<Vec<TurnDraft>, String> {
    let turns = json::turns(memory)?;
    let summary = json::summary(memory);
    let earlier = summary.map(|text| user(&text).from_provenance(Provenance::Summary));
    Ok(earlier.into_iter().chain(turns).collect())
}

/// A message to the agent.
pub(crate) fn user(text: &str) -> TurnDraft {
    TurnDraft::said(Role::User, vec![Part::Text(Text::from(text))])
}

/// A value as it is shown to an agent: a string as it is, anything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use context::{Part, Role, Tokens, TurnDraft};
    use plumb::value::Value;
    use proptest::prelude::*;

    use super::{Memory, Replaced, Stays};

    fn said(texts: &[&str]) -> Memory {
        let mut memory = Memory::default();
        memory.remember(texts.iter().enumerate().map(|(at, text)| {
            let role = [Role::User, Role::Assistant][at % 2];
            TurnDraft::text(role, *text)
        }));
        memory
    }

    fn texts(memory: &Memory) -> Vec<String> {
        let view = memory.view();
        let text = |draft: &TurnDraft| match draft.parts.as_slice() {
            [Part::Text(text)] => text.as_str().to_owned(),
            other => panic!("{other:?}"),
        };
        view.iter().map(text).collect()
    }

    fn parse(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    #[test]
    fn what_was_said_after_the_mark_stays() {
        let mut memory = said(&["a", "b"]);
        let dump = memory.dump(Stays::Nothing);
        assert_eq!(dump.get("mark"), Some(&Value::from("2")));
        assert_eq!(dump.get("turns").unwrap().items().unwrap().len(), 2);
        memory.remember([TurnDraft::text(Role::User, "c")]);
        let new = r#"{"mark":"2","turns":[],"pinned":["keep"],"summary":"a and b"}"#;
        let replaced = memory.replace(&parse(new)).unwrap();
        assert_eq!(
            replaced,
            Replaced {
                before: 3,
                after: 1
            }
        );
        assert_eq!(memory.compactions(), 1);
        let summary = "[summary of the conversation so far]\na and b\n[end of the summary]";
        assert_eq!(texts(&memory), ["[pinned]\nkeep", summary, "c"]);
    }

    #[test]
    fn a_dump_that_is_put_back_changes_nothing() {
        let mut memory = said(&["a", "b", "c"]);
        let before = texts(&memory);
        let dump = memory.dump(Stays::Nothing);
        memory.replace(&dump).unwrap();
        assert_eq!(texts(&memory), before);
        assert_eq!(memory.compactions(), 0);
    }

    #[test]
    fn a_mark_that_was_never_given_is_the_last_one_that_was() {
        let mut memory = said(&["a", "b"]);
        memory.dump(Stays::Nothing);
        memory.remember([TurnDraft::text(Role::User, "c")]);
        let new = r#"{"mark":"somewhere","turns":[],"pinned":[],"summary":"s"}"#;
        memory.replace(&parse(new)).unwrap();
        assert_eq!(texts(&memory).len(), 2);
    }

    #[test]
    fn only_what_is_prepared_can_be_swapped_in_and_once() {
        let mut memory = said(&["a", "b"]);
        assert!(memory.swap().is_err());
        memory.dump(Stays::Nothing);
        memory.prepare(parse(
            r#"{"mark":"2","turns":[],"pinned":[],"summary":"s"}"#,
        ));
        assert_eq!(memory.swap().unwrap().after, 0);
        assert!(memory.swap().is_err());
    }

    #[track_caller]
    fn check_stays(stays: Stays, mark: &str, after: &[&str]) {
        let mut memory = said(&["a", "b", "c", "d", "e", "f"]);
        let dump = memory.dump(stays);
        assert_eq!(dump.get("mark"), Some(&Value::from(mark)), "{stays:?}");
        let new = format!(r#"{{"mark":"{mark}","turns":[],"pinned":[],"summary":""}}"#);
        memory.replace(&parse(&new)).unwrap();
        assert_eq!(texts(&memory), after, "{stays:?}");
        // A second mark is as good as the first one, also between turns that were put back.
        memory.replace(&dump).unwrap();
        assert_eq!(texts(&memory), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(memory.dump(stays).get("mark"), Some(&Value::from(mark)));
    }

    #[test]
    fn whole_exchanges_stay() {
        check_stays(Stays::Nothing, "6", &[]);
        check_stays(Stays::Turns(1), "6", &[]);
        check_stays(Stays::Turns(3), "4", &["e", "f"]);
        check_stays(Stays::Turns(9), "0", &["a", "b", "c", "d", "e", "f"]);
        // A turn of one word has 5 tokens.
        check_stays(Stays::Tokens(Tokens::new(20)), "2", &["c", "d", "e", "f"]);
        check_stays(Stays::Tokens(Tokens::new(19)), "4", &["e", "f"]);
    }

    #[test]
    fn whole_exchanges_are_forgotten() {
        let mut memory = said(&["a", "b", "c", "d", "e", "f"]);
        memory.keep(3);
        assert_eq!(texts(&memory), ["e", "f"]);
    }

    /// One thing that happens to a memory.
    #[derive(Clone, Debug)]
    enum Happens {
        Said(u8),
        Dumped,
        Compacted,
        Pinned(u8),
        Unpinned(u8),
    }

    fn happens() -> impl Strategy<Value = Happens> {
        prop_oneof![
            4 => any::<u8>().prop_map(Happens::Said),
            1 => Just(Happens::Dumped),
            1 => Just(Happens::Compacted),
            1 => (0..4_u8).prop_map(Happens::Pinned),
            1 => (0..4_u8).prop_map(Happens::Unpinned),
        ]
    }

    proptest! {
        /// Whatever happens, the turns after the mark of the last compaction and the pins are there.
        #[test]
        fn the_tail_and_the_pins_survive(course in prop::collection::vec(happens(), 0..60)) {
            let mut memory = Memory::default();
            let (mut tail, mut since_dump) = (Vec::new(), Vec::new());
            let mut pins = BTreeSet::new();
            for it in course {
                match it {
                    Happens::Said(word) => {
                        let word = format!("word {word}");
                        memory.remember([TurnDraft::text(Role::User, word.as_str())]);
                        tail.push(word.clone());
                        since_dump.push(word);
                    }
                    Happens::Dumped => {
                        memory.dump(Stays::Nothing);
                        since_dump.clear();
                    }
                    Happens::Compacted => {
                        memory.replace(&parse(
                            r#"{"mark":"?","turns":[],"pinned":[],"summary":"s"}"#,
                        )).unwrap();
                        // What stood before the mark is in the summary.
                        let kept = since_dump.len().min(tail.len());
                        tail.drain(..tail.len() - kept);
                    }
                    Happens::Pinned(word) => {
                        memory.pin(Value::from(format!("pin {word}")));
                        pins.insert(format!("pin {word}"));
                    }
                    Happens::Unpinned(word) => {
                        let word = format!("pin {word}");
                        prop_assert_eq!(memory.unpin(&Value::from(word.as_str())), pins.remove(&word));
                    }
                }
                let shown = texts(&memory);
                let words = shown.iter().filter(|text| text.starts_with("word"));
                prop_assert_eq!(words.cloned().collect::<Vec<_>>(), tail.clone());
                let pinned: BTreeSet<String> = memory.pins().into_iter().collect();
                prop_assert_eq!(pinned, pins.clone());
            }
        }
    }

    #[test]
    fn a_text_is_pinned_once() {
        let mut memory = said(&[]);
        memory.pin(Value::from("x"));
        memory.pin(Value::from("x"));
        assert_eq!(memory.pins(), ["x"]);
        assert!(memory.unpin(&Value::from("x")));
        assert!(!memory.unpin(&Value::from("x")));
    }
}
