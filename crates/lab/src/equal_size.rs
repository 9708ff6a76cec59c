//! Needed-later recall of summaries of equal size: ways to compact against each other, at fixed
//! budgets and at the size of the summaries that the recording product wrote.
//!
//! Unlike the recall of a strategy's own compactions, these figures depend on no strategy and no
//! window: each way is given the same part of the session and the same number of tokens. They are
//! counts, so that sessions can be put together: see [`pooled`].

use context::{TokenCounter, Tokens, TurnId};
use serde::Serialize;
use tokens::{ModelCounter, Tokenizer};
use wire::session::Session;

use crate::compare::Comparison;
use crate::options::RecallMeasure;
use crate::recall::{Cut, CutKind, EvalOptions, RecallRow, Score, evaluate};

/// The comparison of ways to compact, on one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EqualSize {
    /// The vocabulary that tokens are counted with: budgets, sizes and the place of the fixed cut.
    /// The same for all sessions, whatever their model, so that figures compare.
    pub tokens_of: &'static str,
    /// The tokens that the session holds at the fixed cut.
    pub cut_tokens: u64,
    /// The most tokens before the fixed cut that stay verbatim.
    pub tail_tokens: u64,
    /// One row for each place, budget and way to compact.
    pub rows: Vec<EqualSizeRow>,
    /// Why there are no rows at the fixed cut, where there are none.
    pub absent: Option<String>,
}

/// One way to compact at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EqualSizeRow {
    /// The kind of place: `fixed`, or `product` if the product compacted there.
    pub place: &'static str,
    /// The cut stands before the turn with this index.
    pub before_turn: usize,
    /// The way: `extractive`, `identifier_list`, `newest_text` or `product`.
    pub way: &'static str,
    /// The most tokens it might have: for `product` places the size of the product's summary.
    pub budget_tokens: u64,
    /// The tokens it has.
    pub tokens: u64,
    /// Identifiers that are needed later.
    pub needed: usize,
    /// Of these, named in it.
    pub named: usize,
    /// Of these, there in context.
    pub in_context: usize,
}

/// Rows of several sessions, or of several places, put together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pooled {
    /// Like [`EqualSizeRow::place`].
    pub place: &'static str,
    /// The budget; `None` for places of the product, each of which has its own.
    pub budget_tokens: Option<u64>,
    /// Like [`EqualSizeRow::way`].
    pub way: &'static str,
    /// The number of places that were added up.
    pub places: usize,
    /// Identifiers that are needed later.
    pub needed: usize,
    /// Of these, named.
    pub named: usize,
    /// Of these, in context.
    pub in_context: usize,
    /// The share that is named, 0 to 1; `None` where nothing is needed.
    pub named_share: Option<f64>,
    /// The share that is in context, 0 to 1; `None` where nothing is needed.
    pub in_context_share: Option<f64>,
}

/// The vocabulary that everything here is counted with.
const VOCABULARY: Tokenizer = Tokenizer::Cl100k;

/// Measures a session, unless that is not asked for.
pub(crate) fn measure(session: &Session, wanted: RecallMeasure) -> EqualSize {
    let options = EvalOptions::default();
    let mut found = EqualSize {
        tokens_of: VOCABULARY.as_str(),
        cut_tokens: options.cut.get(),
        tail_tokens: options.tail.get(),
        ..EqualSize::default()
    };
    if wanted == RecallMeasure::Skipped {
        found.absent = Some("recall was not requested".to_owned());
        return found;
    }
    let counter = ModelCounter::new(VOCABULARY);
    let session = &recounted(session, &counter);
    let fixed = Cut::at_tokens(&session.turns, options.cut, options.tail);
    if fixed.is_none() {
        let held: Tokens = session.turns.iter().map(context::Turn::tokens).sum();
        found.absent = Some(format!(
            "the session has {held} tokens and never reaches {}",
            options.cut
        ));
    }
    let fixed = fixed.map_or(0, |cut| cut.old.len() + cut.tail.len());
    found.rows = evaluate(session, &options, &counter)
        .iter()
        .map(|row| found_row(row, session, fixed))
        .collect();
    found
}

/// The session with its turns counted by `counter`.
fn recounted(session: &Session, counter: &dyn TokenCounter) -> Session {
    let mut parent = TurnId::ROOT;
    let turns = session.turns.iter().map(|turn| {
        let turn = turn.draft().after(parent, counter);
        parent = turn.id();
        turn
    });
    Session {
        turns: turns.collect(),
        ..session.clone()
    }
}

fn found_row(row: &RecallRow, session: &Session, fixed: usize) -> EqualSizeRow {
    let (place, before_turn) = match row.place {
        CutKind::Fixed => ("fixed", fixed),
        CutKind::Product(index) => {
            let compaction = session.compactions.get(index);
            ("product", compaction.map_or(0, |found| found.before))
        }
    };
    let Score {
        needed,
        named,
        in_context,
    } = row.score;
    EqualSizeRow {
        place,
        before_turn,
        way: row.strategy.as_str(),
        budget_tokens: row.budget.get(),
        tokens: row.tokens.get(),
        needed,
        named,
        in_context,
    }
}

/// The rows of all sessions by place, budget and way to compact: fixed places first, by budget.
#[must_use]
pub fn pooled(comparisons: &[Comparison]) -> Vec<Pooled> {
    let mut pools: Vec<Pooled> = Vec::new();
    for row in comparisons.iter().flat_map(|one| &one.recall.rows) {
        let budget = (row.place == "fixed").then_some(row.budget_tokens);
        let same = |pool: &&mut Pooled| {
            (pool.place, pool.budget_tokens, pool.way) == (row.place, budget, row.way)
        };
        match pools.iter_mut().find(same) {
            Some(pool) => pool.add(row),
            None => pools.push(Pooled::of(row, budget)),
        }
    }
    pools.sort_by_key(|pool| (pool.place, pool.budget_tokens));
    pools
}

impl Pooled {
    fn of(row: &EqualSizeRow, budget_tokens: Option<u64>) -> Self {
        let mut pool = Self {
            place: row.place,
            budget_tokens,
            way: row.way,
            places: 0,
            needed: 0,
            named: 0,
            in_context: 0,
            named_share: None,
            in_context_share: None,
        };
        pool.add(row);
        pool
    }

    fn add(&mut self, row: &EqualSizeRow) {
        self.places += 1;
        self.needed += row.needed;
        self.named += row.named;
        self.in_context += row.in_context;
        let score = Score {
            needed: self.needed,
            named: self.named,
            in_context: self.in_context,
        };
        self.named_share = score.named_share();
        self.in_context_share = score.context_share();
    }
}

/// The pools as a table: ways to compact down, places and budgets across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// The ways to compact.
    pub ways: Vec<&'static str>,
    /// Two columns for each place and budget: the share named, the share in context.
    pub columns: Vec<BoardColumn>,
    /// The basis of the measurement, in up to three sentences.
    pub note: String,
}

impl Board {
    /// Each way with its figures.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, Vec<&str>)> {
        let cells = |index: usize| {
            let cells = self
                .columns
                .iter()
                .map(move |column| column.cells.get(index));
            cells.flatten().map(String::as_str).collect()
        };
        let ways = self.ways.iter().enumerate();
        ways.map(|(index, &way)| (way, cells(index))).collect()
    }
}

/// A column of [`Board`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardColumn {
    /// The budget in words.
    pub budget: String,
    /// `named` or `in context`.
    pub figure: &'static str,
    /// One figure for each way.
    pub cells: Vec<String>,
}

/// The table over these sessions; `None` where nothing was needed at any place.
#[must_use]
pub fn board(comparisons: &[Comparison]) -> Option<Board> {
    let pools = pooled(comparisons);
    if pools.iter().all(|pool| pool.needed == 0) {
        return None;
    }
    let mut ways: Vec<&'static str> = Vec::new();
    let mut groups: Vec<(&'static str, Option<u64>)> = Vec::new();
    for pool in &pools {
        if !ways.contains(&pool.way) {
            ways.push(pool.way);
        }
        if !groups.contains(&(pool.place, pool.budget_tokens)) {
            groups.push((pool.place, pool.budget_tokens));
        }
    }
    // The product's own row is met last where there is a fixed cut and first where there is none.
    ways.sort_by_key(|&way| way == "product");
    let columns = groups.iter().flat_map(|&(place, budget)| {
        let words = budget.map_or_else(
            || "own size:".to_owned(),
            |budget| format!("{}:", crate::figures::count(budget)),
        );
        [("named", 0_usize), ("in context", 1)].map(|(figure, which)| BoardColumn {
            budget: words.clone(),
            figure,
            cells: ways
                .iter()
                .map(|&way| {
                    let found = pools.iter().find(|pool| {
                        (pool.place, pool.budget_tokens, pool.way) == (place, budget, way)
                    });
                    let shares = found.map(|pool| [pool.named_share, pool.in_context_share]);
                    let share = shares.and_then(|shares| shares.get(which).copied().flatten());
                    share.map_or_else(|| "–".to_owned(), crate::figures::percent)
                })
                .collect(),
        })
    });
    Some(Board {
        columns: columns.collect(),
        ways,
        note: note(comparisons, &pools),
    })
}

fn note(comparisons: &[Comparison], pools: &[Pooled]) -> String {
    let extractive = |place: &str| {
        let found = pools
            .iter()
            .find(|pool| pool.place == place && pool.way == "extractive");
        found.filter(|pool| pool.needed > 0)
    };
    let identifiers = |count| crate::figures::plural(count, "identifier");
    let mut note = String::new();
    if let (Some(fixed), Some(first)) = (extractive("fixed"), comparisons.first()) {
        note.push_str(&format!(
            "By tokens: cut where a session reaches {} tokens, with the newest {} verbatim ({}, {} \
             needed). ",
            crate::figures::count(first.recall.cut_tokens),
            crate::figures::count(first.recall.tail_tokens),
            crate::figures::plural(fixed.places, "cut"),
            identifiers(fixed.needed),
        ));
    }
    if let Some(product) = extractive("product") {
        note.push_str(&format!(
            "Own size: cut where the recording client compacted, at the size of its summary ({}, {} \
             needed). ",
            crate::figures::plural(product.places, "cut"),
            identifiers(product.needed),
        ));
    }
    note.push_str(&format!("Token counts use {}.", VOCABULARY.as_str()));
    note
}

#[cfg(test)]
mod tests;
