//! A source that is too long to be read at once: divided into chunks, the chunks' summaries combined in a
//! tree.
//!
//! Chunks are filled from the front and groups are counted from the front, so that a conversation that
//! grows keeps all chunks and groups but the last ones; their summaries are kept by a hash over the
//! summariser's input.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use context::step::steps;
use context::{Text, Tokens, Turn};
use history::{Engine, Tenant};

/// Keeps summaries of chunks. May block: it is called on threads where that is allowed.
pub trait Chunks: Send + Sync {
    /// The summary under a hash. `None` too where the store cannot be read.
    fn get(&self, hash: [u8; 16]) -> Option<Text>;

    /// Keeps a summary under a hash. If that fails, the summary is made again later.
    fn put(&self, hash: [u8; 16], summary: &Text);
}

/// Keeps summaries in memory, as long as it lives.
#[derive(Default)]
pub struct ChunksInMemory(Mutex<HashMap<[u8; 16], Text>>);

impl fmt::Debug for ChunksInMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChunksInMemory(…)")
    }
}

impl Chunks for ChunksInMemory {
    fn get(&self, hash: [u8; 16]) -> Option<Text> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&hash).cloned()
    }

    fn put(&self, hash: [u8; 16], summary: &Text) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(hash, summary.clone());
    }
}

/// Keeps summaries in a tenant's history.
#[derive(Clone)]
pub struct ChunksOfTenant {
    engine: Arc<dyn Engine>,
    tenant: Tenant,
}

impl fmt::Debug for ChunksOfTenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChunksOfTenant(…)")
    }
}

impl ChunksOfTenant {
    /// The summaries that `engine` keeps for `tenant`.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, tenant: Tenant) -> Self {
        Self { engine, tenant }
    }
}

impl Chunks for ChunksOfTenant {
    fn get(&self, hash: [u8; 16]) -> Option<Text> {
        let mut found = None;
        let read = self.engine.read(self.tenant, &mut |store| {
            found = store.chunk(hash)?;
            Ok(())
        });
        if let Err(error) = read {
            tracing::warn!(%error, "a kept summary of a chunk could not be read");
        }
        found
    }

    fn put(&self, hash: [u8; 16], summary: &Text) {
        let written = self
            .engine
            .write(self.tenant, &mut |store| store.keep_chunk(hash, summary));
        if let Err(error) = written {
            tracing::warn!(%error, "a summary of a chunk could not be kept");
        }
    }
}

/// Divides turns into chunks of at most `room` tokens each, at borders of steps, filled from the front.
/// `sizes` are the sizes of the turns. A step that is larger than `room` is a chunk of its own.
pub(crate) fn divide(turns: &[Turn], sizes: &[Tokens], room: Tokens) -> Vec<Range<usize>> {
    let mut chunks: Vec<Range<usize>> = Vec::new();
    let mut filled = Tokens::ZERO;
    for step in steps(turns) {
        let range = step.turns();
        let size: Tokens = sizes
            .get(range.clone())
            .unwrap_or_default()
            .iter()
            .copied()
            .sum();
        match chunks.last_mut() {
            Some(chunk) if filled + size <= room => {
                chunk.end = range.end;
                filled += size;
            }
            _ => {
                chunks.push(range);
                filled = size;
            }
        }
    }
    chunks
}

/// Divides `count` summaries into groups of `fan_in`, counted from the front. The last one may be
/// smaller. A fan-in below 2 counts as 2, so that each level has at most half as many, rounded up.
pub(crate) fn groups(count: usize, fan_in: usize) -> Vec<Range<usize>> {
    let fan_in = fan_in.max(2);
    let starts = (0..count).step_by(fan_in);
    starts
        .map(|start| start..(start + fan_in).min(count))
        .collect()
}

#[cfg(test)]
mod tests {
    use context::step::steps;
    use context::turn::{Outcome, ToolCall, ToolResult};
    use context::{CallId, Heuristic, Part, Role, Text, Tokens, Turn, TurnDraft, TurnId};
    use history::{Engine, Limits, MemoryEngine, Tenant};
    use proptest::prelude::*;
    use std::sync::Arc;

    use super::{Chunks, ChunksInMemory, ChunksOfTenant, divide, groups};

    /// A conversation of plain turns and tool steps with parallel calls.
    fn conversation(shape: &[(u8, usize)]) -> Vec<Turn> {
        let mut drafts = Vec::new();
        for (at, &(calls, length)) in shape.iter().enumerate() {
            let text = Text::from("word ".repeat(length));
            if calls == 0 {
                drafts.push(TurnDraft::text(Role::User, text));
                continue;
            }
            let ids = (0..calls).map(|call| CallId::from(format!("{at}-{call}").as_str()));
            let ask = |id| {
                Part::Call(ToolCall {
                    id,
                    name: Text::from("read"),
                    arguments: Text::from("{}"),
                })
            };
            drafts.push(TurnDraft::said(
                Role::Assistant,
                ids.clone().map(ask).collect(),
            ));
            for call in ids {
                let part = Part::Result(ToolResult {
                    call,
                    text: text.clone(),
                    outcome: Outcome::Succeeded,
                });
                drafts.push(TurnDraft::said(Role::Tool, vec![part]));
            }
        }
        let mut parent = TurnId::ROOT;
        drafts
            .into_iter()
            .map(|draft| {
                let turn = draft.after(parent, &Heuristic);
                parent = turn.id();
                turn
            })
            .collect()
    }

    fn sizes(turns: &[Turn]) -> Vec<Tokens> {
        turns.iter().map(Turn::tokens).collect()
    }

    #[test]
    fn what_is_kept_for_one_tenant_is_not_had_by_another() {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new([7; 32], Limits::default()));
        let [one, other] = ["key one", "key two"].map(|key| {
            let tenant = Tenant::of(&[7; 32], key.as_bytes());
            ChunksOfTenant::new(Arc::clone(&engine), tenant)
        });
        let text = Text::from("a record");
        for kept in [&one as &dyn Chunks, &ChunksInMemory::default()] {
            assert_eq!(kept.get([1; 16]), None);
            kept.put([1; 16], &text);
            assert_eq!(kept.get([1; 16]), Some(text.clone()));
            assert_eq!(kept.get([2; 16]), None);
        }
        assert_eq!(other.get([1; 16]), None);
    }

    proptest! {
        #[test]
        fn chunks_cover_every_turn_once_and_cut_no_step(
            shape in prop::collection::vec((0_u8..4, 0_usize..200), 0..40),
            room in 1_u64..600,
        ) {
            let turns = conversation(&shape);
            let chunks = divide(&turns, &sizes(&turns), Tokens::new(room));
            let covered: Vec<usize> = chunks.iter().cloned().flatten().collect();
            prop_assert_eq!(covered, (0..turns.len()).collect::<Vec<_>>());
            let cuts: Vec<usize> = steps(&turns).iter().map(|step| step.turns().start).collect();
            for chunk in &chunks {
                prop_assert!(cuts.contains(&chunk.start));
                let size: Tokens = sizes(&turns)[chunk.clone()].iter().copied().sum();
                let one_step = cuts.iter().filter(|cut| chunk.contains(cut)).count() == 1;
                prop_assert!(size <= Tokens::new(room) || one_step);
            }
        }

        #[test]
        fn a_conversation_that_grows_keeps_its_full_chunks(
            shape in prop::collection::vec((0_u8..4, 0_usize..200), 1..40),
            shorter in 0_usize..40,
        ) {
            let room = Tokens::new(300);
            let turns = conversation(&shape);
            let part = conversation(&shape[..shorter.min(shape.len())]);
            let all = divide(&turns, &sizes(&turns), room);
            let before = divide(&part, &sizes(&part), room);
            let full = before.len().saturating_sub(1);
            prop_assert_eq!(&all[..full], &before[..full]);
        }

        #[test]
        fn the_tree_is_no_deeper_than_the_logarithm(leaves in 1_usize..5_000, fan_in in 0_usize..12) {
            let mut depth = 0;
            let mut count = leaves;
            while count > 1 {
                let level = groups(count, fan_in);
                let covered: Vec<usize> = level.iter().cloned().flatten().collect();
                prop_assert_eq!(covered, (0..count).collect::<Vec<_>>());
                count = level.len();
                depth += 1;
            }
            prop_assert!(depth <= leaves.next_power_of_two().ilog2());
        }
    }
}
