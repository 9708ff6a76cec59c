//! Tests that random operations have the same results on SQLite as in memory, across failures and a
//! restart.

use std::collections::BTreeSet;
use std::path::Path;

use context::pin::PinId;
use context::{Text, TurnId};
use history::conformance::sample;
use history::{
    Conversation, Edition, Engine, HistoryError, Limits, Mark, MemoryEngine, Pinned, Purge, Store,
    Stored, Tenant,
};
use history_sqlite::Sqlite;
use jiff::Timestamp;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    /// Appends a word to the n-th turn known anywhere.
    Append(usize, u8),
    Record(Vec<u8>),
    Mark(usize, u8),
    /// Saves a conversation with its head at the n-th known turn.
    Save(u8, usize, u8),
    SetPin(u8, u8),
    RemovePin(u8, u8),
    Appended(usize, u8),
    Shrunk(usize, u8),
    Original(usize, u8),
    Chunk(u8, u8),
}

#[derive(Clone, Debug)]
enum Event {
    /// Operations in one transaction, which may fail at its end.
    Transaction(u8, Vec<Operation>, bool),
    Purge(Option<u8>, Option<u8>, Option<u8>),
    Restart,
}

fn operation() -> impl Strategy<Value = Operation> {
    let node = || any::<usize>();
    let (few, word) = (|| 0..3_u8, || 0..4_u8);
    prop_oneof![
        4 => (node(), word()).prop_map(|(node, word)| Operation::Append(node, word)),
        4 => prop::collection::vec(word(), 0..6).prop_map(Operation::Record),
        2 => (node(), word()).prop_map(|(node, word)| Operation::Mark(node, word)),
        4 => (few(), node(), word()).prop_map(|(n, node, at)| Operation::Save(n, node, at)),
        1 => (few(), word()).prop_map(|(of, word)| Operation::SetPin(of, word)),
        1 => (few(), word()).prop_map(|(of, word)| Operation::RemovePin(of, word)),
        1 => (node(), word()).prop_map(|(node, word)| Operation::Appended(node, word)),
        1 => (node(), word()).prop_map(|(node, word)| Operation::Shrunk(node, word)),
        1 => (node(), word()).prop_map(|(node, word)| Operation::Original(node, word)),
        1 => (few(), word()).prop_map(|(hash, word)| Operation::Chunk(hash, word)),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let work = prop::collection::vec(operation(), 1..6);
    let maybe = |most: u8| prop::option::of(0..most);
    prop_oneof![
        8 => (0..2_u8, work, prop::bool::weighted(0.2))
            .prop_map(|(tenant, work, fails)| Event::Transaction(tenant, work, fails)),
        1 => (maybe(2), maybe(3), maybe(4))
            .prop_map(|(tenant, of, before)| Event::Purge(tenant, of, before)),
        1 => Just(Event::Restart),
    ]
}

fn tenant(n: u8) -> Tenant {
    Tenant::from_bytes([n; 16])
}

fn text(word: u8) -> String {
    format!("word {word}")
}

fn line(words: &[u8]) -> Vec<context::Turn> {
    let texts: Vec<String> = words.iter().map(|&word| text(word)).collect();
    sample::line(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Every turn ever mentioned, stored or not; the first is the root.
struct Known(Vec<TurnId>);

impl Known {
    fn pick(&self, n: usize) -> TurnId {
        self.0[n % self.0.len()]
    }

    fn learn(&mut self, operation: &Operation) {
        let new: Vec<TurnId> = match operation {
            Operation::Append(n, word) => vec![sample::turn(self.pick(*n), &text(*word)).id()],
            Operation::Record(words) => line(words).iter().map(context::Turn::id).collect(),
            _ => Vec::new(),
        };
        for id in new {
            if !self.0.contains(&id) {
                self.0.push(id);
            }
        }
    }
}

/// Runs an operation and formats its result without the text of turns.
fn apply(
    store: &mut dyn Store,
    known: &Known,
    operation: &Operation,
) -> Result<String, HistoryError> {
    let id = sample::conversation_id;
    let said = |answer: &dyn std::fmt::Debug| Ok(format!("{answer:?}"));
    match operation {
        Operation::Append(n, word) => {
            let parent = known.pick(*n);
            said(&store.append(parent, &sample::turn(parent, &text(*word)))?)
        }
        Operation::Record(words) => said(&store.record(&line(words))?),
        Operation::Mark(n, word) => {
            said(&store.add_mark(sample::mark(known.pick(*n), &text(*word)))?)
        }
        Operation::Save(n, node, at) => {
            let head = known.pick(*node);
            let seen = sample::moment(i64::from(*at));
            said(&store.save(&sample::full_conversation(*n, head, seen))?)
        }
        Operation::SetPin(of, word) => said(&store.set_pin(id(*of), &sample::pin(&text(*word)))?),
        Operation::RemovePin(of, word) => {
            said(&store.remove_pin(id(*of), PinId::of(&text(*word)))?)
        }
        Operation::Appended(n, word) => {
            said(&store.add_edition(&sample::appended(known.pick(*n), &text(*word)))?)
        }
        Operation::Shrunk(n, word) => {
            said(&store.add_edition(&sample::shrunk(known.pick(*n), 0, &text(*word)))?)
        }
        Operation::Original(n, word) => {
            said(&store.keep_original(known.pick(*n), text(*word).as_bytes())?)
        }
        Operation::Chunk(hash, word) => {
            said(&store.keep_chunk([*hash; 16], &Text::from(text(*word)))?)
        }
    }
}

type Answers = Vec<Result<String, HistoryError>>;

fn transact(
    engine: &dyn Engine,
    of: u8,
    work: &[Operation],
    fails: bool,
    known: &Known,
) -> (Answers, Result<(), HistoryError>) {
    let mut answers = Vec::new();
    let end = engine.write(tenant(of), &mut |store| {
        answers.extend(work.iter().map(|operation| apply(store, known, operation)));
        if fails {
            Err(HistoryError::Busy)
        } else {
            Ok(())
        }
    });
    (answers, end)
}

/// Reads everything about one tenant.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    nodes: Vec<Option<(context::Turn, TurnId)>>,
    paths: Vec<Result<Vec<context::Turn>, HistoryError>>,
    marks: Vec<Result<Vec<Mark>, HistoryError>>,
    originals: Vec<Option<Vec<u8>>>,
    editions: Vec<Edition>,
    conversations: Vec<Conversation>,
    headed: Vec<Conversation>,
    pins: Vec<Vec<Pinned>>,
    chunks: Vec<Option<Text>>,
    stored: Stored,
}

fn see(engine: &dyn Engine, of: u8, known: &Known) -> Seen {
    let mut seen = Seen::default();
    let nodes = &known.0;
    engine
        .read(tenant(of), &mut |store| {
            seen.nodes = nodes.iter().map(|&id| store.node(id).unwrap()).collect();
            seen.paths = nodes.iter().map(|&id| store.path(id)).collect();
            seen.marks = nodes.iter().map(|&id| store.marks_on(id)).collect();
            seen.originals = nodes
                .iter()
                .map(|&id| store.original(id).unwrap())
                .collect();
            seen.editions = store.editions(nodes)?;
            seen.conversations = store.conversations(Timestamp::MAX, 9)?;
            seen.headed = store.headed(nodes)?;
            let pins = (0..3).map(|n| store.pins(sample::conversation_id(n)).unwrap());
            seen.pins = pins.collect();
            seen.chunks = (0..3).map(|n| store.chunk([n; 16]).unwrap()).collect();
            seen.stored = store.stored()?;
            Ok(())
        })
        .unwrap();
    seen
}

/// Formats a result without the bytes that only a file counts.
fn purge(engine: &dyn Engine, what: Purge) -> [(u64, u64, u64); 2] {
    [engine.preview(what), engine.purge(what)].map(|purged| {
        let purged = purged.unwrap();
        (purged.conversations, purged.turns, purged.marks)
    })
}

fn check(place: &Path, limits: Limits, events: &[Event]) {
    let memory = MemoryEngine::new([7; 32], limits);
    let mut sqlite = Sqlite::open(place, limits).unwrap();
    let mut known = Known(vec![TurnId::ROOT]);
    for event in events {
        match event {
            Event::Transaction(of, work, fails) => {
                let expected = transact(&memory, *of, work, *fails, &known);
                assert_eq!(transact(&sqlite, *of, work, *fails, &known), expected);
                work.iter().for_each(|operation| known.learn(operation));
            }
            Event::Purge(of, conversation, before) => {
                let what = Purge {
                    tenant: of.map(tenant),
                    conversation: conversation.map(sample::conversation_id),
                    before: before.map(|at| sample::moment(i64::from(at))),
                };
                assert_eq!(purge(&sqlite, what), purge(&memory, what));
            }
            Event::Restart => {
                drop(sqlite);
                sqlite = Sqlite::open(place, limits).unwrap();
            }
        }
        for of in 0..2 {
            assert_eq!(see(&sqlite, of, &known), see(&memory, of, &known));
        }
        let tenants: BTreeSet<Tenant> = sqlite.tenants().unwrap().into_iter().collect();
        assert_eq!(tenants, memory.tenants().unwrap().into_iter().collect());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sqlite_answers_as_memory_does(
        small in any::<bool>(),
        events in prop::collection::vec(event(), 1..24),
    ) {
        let limits = if small {
            Limits { turns: 12, bytes: 150, marks: 3, conversations: 2 }
        } else {
            Limits::NONE
        };
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("store.db"), limits, &events);
    }
}
