//! A summary from a transcript, in one piece where it fits the summariser, else by a tree of chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use context::extract::{self, extract_in, trim};
use context::summary::{Defect, Field, Summary, without_marker};
use context::{Text, TokenCounter, Tokens, Turn};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::asking::Asking;
use crate::chunk::{Chunks, divide, groups};
use crate::draft::{Draft, Measure, draft, draft_once};
use crate::error::ModelError;
use crate::made::{Course, Manner};
use crate::order::Writer;
use crate::prompt::{self, Source, Wish};
use crate::readable::wish;
use crate::transcript::{Fenced, fenced, fitting, turn};
use crate::work::{Work, computed, least_answer, longest_answer};

/// Chunks that are summarized at the same time.
const AT_ONCE: usize = 2;

/// The share of the window that is used: counts for other providers' models are estimates.
const USED: f64 = 0.95;

/// The share of the window that an answer may take.
const ANSWER: f64 = 0.25;

/// The share of the room for a source that the record of one chunk may take, so that several fit.
const RECORD: f64 = 0.25;

/// The smallest room for a source that is worth a call.
const LEAST: Tokens = Tokens::new(256);

/// The division of a writer's window.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// For the answer.
    answer: Tokens,
    /// For the source.
    source: Tokens,
    /// For the record of one chunk.
    record: Tokens,
    /// For a source and its answer, asked for once.
    once: Tokens,
}

impl Room {
    fn of(work: &Work<'_>, writer: &Writer) -> Result<Self, ModelError> {
        let budget = work.order.budget;
        let answer = longest_answer(budget, writer.longest).min(writer.window.scaled(ANSWER));
        let fence = fenced("").fence;
        let prompts = [Source::Transcript, Source::Records].map(|source| {
            let system = prompt::apart(source, &fence, &wish(work.order, budget));
            writer.counter.count(&system)
        });
        let prompt = prompts.into_iter().max().unwrap_or_default();
        // Asking again repeats the form and the first answer.
        let taken = answer + prompt + prompt + budget;
        let source = writer.window.scaled(USED).saturating_sub(taken);
        if source < LEAST {
            return Err(ModelError::NoRoom {
                window: writer.window,
                budget,
            });
        }
        Ok(Self {
            answer,
            source,
            record: budget.min(source.scaled(RECORD)),
            once: writer.window.scaled(USED).saturating_sub(prompt),
        })
    }

    /// The room for the answer if a source of this size is read whole and asked about once. `None` where that is
    /// too little.
    fn beside(&self, source: Tokens, budget: Tokens) -> Option<Tokens> {
        let left = self.once.saturating_sub(source).min(self.answer);
        (left >= least_answer(budget)).then_some(left)
    }
}

/// Writes the summary of the order's old turns from a transcript of the originals.
pub(crate) async fn draft_apart(
    work: &Work<'_>,
    writer: &Writer,
    chunks: &Arc<dyn Chunks>,
) -> Result<(Draft, Course), ModelError> {
    let room = Room::of(work, writer)?;
    let sizes = sizes(work, writer).await?;
    let tree = Tree {
        work,
        writer,
        chunks,
        room,
        made: AtomicU32::new(0),
        kept: AtomicU32::new(0),
    };
    let whole: Tokens = sizes.iter().copied().sum();
    if whole > room.source
        && let Some(longest) = room.beside(whole, work.order.budget)
        && let Some(draft) = tree.once(longest).await?
    {
        let manner = Manner::Apart;
        return Ok((
            draft,
            Course {
                manner,
                ..Course::default()
            },
        ));
    }
    let (source, data, manner) = if whole <= room.source {
        let data = tree.transcript(0, work.order.old.len()).await?;
        (Source::Transcript, data, Manner::Apart)
    } else {
        let records = tree.records(&sizes).await?;
        (Source::Records, joined(&records), Manner::InChunks)
    };
    let wish = wish(work.order, work.order.budget);
    let Fenced { fence, text } = fenced(&data);
    let asking = Asking::Apart {
        writer,
        system: prompt::apart(source, &fence, &wish),
        source: text,
    };
    let measure = Measure {
        source: work.order.source_tokens(),
        longest: room.answer,
        counter: &*work.order.counter,
    };
    let draft = draft(work, &asking, &wish, &measure).await?;
    let course = Course {
        manner,
        chunks_made: tree.made.into_inner(),
        chunks_kept: tree.kept.into_inner(),
        ..Course::default()
    };
    Ok((draft, course))
}

/// The sizes of the turns as the writer reads them.
async fn sizes(work: &Work<'_>, writer: &Writer) -> Result<Vec<Tokens>, ModelError> {
    let old = Arc::clone(&work.order.old);
    let counter = Arc::clone(&writer.counter);
    computed(move || {
        let numbered = old.iter().enumerate();
        numbered
            .map(|(index, each)| counter.count(&turn(index + 1, each, usize::MAX)))
            .collect()
    })
    .await
}

struct Tree<'a> {
    work: &'a Work<'a>,
    writer: &'a Writer,
    chunks: &'a Arc<dyn Chunks>,
    room: Room,
    made: AtomicU32,
    kept: AtomicU32,
}

/// The record of a chunk, made without a model where the model fails.
enum Fallback {
    /// The turns.
    Turns(Vec<Turn>),
    /// The records of its parts.
    Records(Vec<Text>),
}

impl Tree<'_> {
    /// A summary in one call, where the source leaves room for an answer of `longest` tokens and for no second
    /// one. `None` where it has defects.
    async fn once(&self, longest: Tokens) -> Result<Option<Draft>, ModelError> {
        let order = self.work.order;
        let data = self
            .transcript_within((0, order.old.len()), self.room.once)
            .await?;
        let wish = wish(order, order.budget);
        let Fenced { fence, text } = fenced(&data);
        let asking = Asking::Apart {
            writer: self.writer,
            system: prompt::apart(Source::Transcript, &fence, &wish),
            source: text,
        };
        let measure = Measure {
            source: order.source_tokens(),
            longest,
            counter: &*order.counter,
        };
        draft_once(self.work, &asking, &wish, &measure).await
    }

    /// The turns of a range as text, made to fit.
    async fn transcript(&self, from: usize, to: usize) -> Result<String, ModelError> {
        self.transcript_within((from, to), self.room.source).await
    }

    async fn transcript_within(
        &self,
        (from, to): (usize, usize),
        room: Tokens,
    ) -> Result<String, ModelError> {
        let old = Arc::clone(&self.work.order.old);
        let counter = Arc::clone(&self.writer.counter);
        computed(move || {
            let turns = old.get(from..to).unwrap_or_default();
            fitting(from + 1, turns, room, &*counter)
        })
        .await
    }

    /// Records of the old turns, so few that they can be read at once.
    async fn records(&self, sizes: &[Tokens]) -> Result<Vec<Text>, ModelError> {
        let ranges = divide(&self.work.order.old, sizes, self.room.source);
        let leaves = ranges.into_iter().map(|range| async move {
            let data = self.transcript(range.start, range.end).await?;
            let turns = self.work.order.old.get(range).unwrap_or_default();
            let fallback = Fallback::Turns(turns.to_vec());
            self.record(Source::Transcript, Text::from(data), fallback)
                .await
        });
        let mut records: Vec<Text> = stream::iter(leaves).buffered(AT_ONCE).try_collect().await?;
        let fan_in = self.fan_in();
        while records.len() > fan_in {
            let parts = groups(records.len(), fan_in).into_iter().map(|range| {
                let part = records.get(range).unwrap_or_default().to_vec();
                async move {
                    match part.as_slice() {
                        [one] => Ok(one.clone()),
                        several => {
                            let data = Text::from(joined(several));
                            let fallback = Fallback::Records(part);
                            self.record(Source::Records, data, fallback).await
                        }
                    }
                }
            });
            let parts: Vec<_> = parts.collect();
            records = stream::iter(parts).buffered(AT_ONCE).try_collect().await?;
        }
        Ok(records)
    }

    /// The number of records read at once. A record and the line above it have at most a third of
    /// the room, so the number is three at least.
    fn fan_in(&self) -> usize {
        let heading = Tokens::new(16);
        let each = (self.room.record + heading).get().max(1);
        usize::try_from(self.room.source.get() / each)
            .unwrap_or(usize::MAX)
            .max(2)
    }

    /// The record of one chunk: the one that is kept, else a new one. A short chunk is its own record.
    async fn record(
        &self,
        source: Source,
        data: Text,
        fallback: Fallback,
    ) -> Result<Text, ModelError> {
        let (counter, counted) = (Arc::clone(&self.writer.counter), data.clone());
        let size = computed(move || counter.count(&counted)).await?;
        if source == Source::Transcript && size <= self.room.record {
            // As short as a record would be: it is read as it was said.
            return Ok(data);
        }
        let wish = Wish {
            budget: self.room.record,
            pins: &[],
            ..wish(self.work.order, self.room.record)
        };
        let Fenced { fence, text } = fenced(&data);
        let system = prompt::apart(source, &fence, &wish);
        let hash = hash(&[&self.writer.model, &system, &text]);
        let chunks = Arc::clone(self.chunks);
        if let Some(kept) = computed(move || chunks.get(hash)).await? {
            self.kept.fetch_add(1, Ordering::Relaxed);
            return Ok(kept);
        }
        let asking = Asking::Apart {
            writer: self.writer,
            system,
            source: text,
        };
        let measure = Measure {
            source: size,
            longest: self.room.answer,
            counter: &*self.writer.counter,
        };
        let draft = draft(self.work, &asking, &wish, &measure).await?;
        self.made.fetch_add(1, Ordering::Relaxed);
        let room = self.room.record;
        let counter = Arc::clone(&self.writer.counter);
        let chunks = Arc::clone(self.chunks);
        computed(move || {
            let keeps = draft.defects.iter().all(is_harmless);
            let record = as_record(draft, &fallback, room, &*counter);
            if keeps {
                chunks.put(hash, &record);
            }
            record
        })
        .await
    }
}

/// Returns `true` if a chunk's record may have this defect and still be used again: a part may hold no task, and
/// a record that is too long is trimmed.
const fn is_harmless(defect: &Defect) -> bool {
    matches!(defect, Defect::NoTask | Defect::Grows { .. })
}

/// A draft as the record of a chunk, completed where it has defects.
fn as_record(draft: Draft, fallback: &Fallback, room: Tokens, counter: &dyn TokenCounter) -> Text {
    let mut summary = draft.summary;
    if !draft.defects.is_empty() {
        match fallback {
            Fallback::Turns(turns) => {
                let left = room.saturating_sub(summary.tokens(counter));
                let room = extract::Room::without_words(left);
                summary.complete_from(&extract_in(turns, &[], room, counter));
            }
            Fallback::Records(records) => {
                for record in records {
                    let part = Summary::parse(record).summary;
                    for field in Field::ALL {
                        for entry in part.entries(field) {
                            summary.push_lines(field, entry);
                        }
                    }
                }
            }
        }
    }
    trim(&mut summary, room, counter);
    Text::from(without_marker(&summary.render()))
}

/// Records with a line above each.
fn joined(records: &[Text]) -> String {
    let numbered = records.iter().enumerate();
    let parts = numbered.map(|(index, record)| format!("[part {}]\n{record}\n", index + 1));
    parts.collect()
}

/// The cache key of a record: a hash over everything that the summariser gets.
fn hash(parts: &[&str]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut hash = [0; 16];
    hasher.finalize_xof().fill(&mut hash);
    hash
}
