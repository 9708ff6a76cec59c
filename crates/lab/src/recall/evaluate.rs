//! Needed-later recall of one session under several ways to compact, at equal token budgets.

use std::collections::HashMap;

use context::{Role, TokenCounter, Tokens, Turn, extract, identifiers};
use wire::session::Session;

use super::metric::{Cut, Needed, Rules, Score, needed_later, score};

/// The places at which to cut, and the sizes of the summaries.
#[derive(Clone, Debug)]
pub struct EvalOptions {
    /// The conversation's size at the fixed cut.
    pub cut: Tokens,
    /// The size of the verbatim tail.
    pub tail: Tokens,
    /// The budgets of the summary at the fixed cut.
    pub budgets: Vec<Tokens>,
    /// The rules for measuring needed-later recall.
    pub rules: Rules,
}

impl Default for EvalOptions {
    fn default() -> Self {
        Self {
            cut: Tokens::new(60_000),
            tail: Tokens::new(8_000),
            budgets: vec![Tokens::new(2_000), Tokens::new(4_000)],
            rules: Rules::default(),
        }
    }
}

/// The place at which a session was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutKind {
    /// The first place with [`EvalOptions::cut`] tokens before it.
    Fixed,
    /// The place where the recording product compacted: the index into the session's compactions.
    Product(usize),
}

/// A way to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// [`context::extract`].
    Extractive,
    /// The identifiers of the compacted part, most often mentioned first, without context.
    IdentifierList,
    /// The end of the compacted part.
    NewestText,
    /// The summary that the recording product wrote.
    Product,
}

impl Strategy {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::IdentifierList => "identifier_list",
            Self::NewestText => "newest_text",
            Self::Product => "product",
        }
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallRow {
    /// The place at which the session was cut.
    pub place: CutKind,
    /// The way of compacting.
    pub strategy: Strategy,
    /// The size that the summary might have.
    pub budget: Tokens,
    /// The size that it has.
    pub tokens: Tokens,
    /// The needed identifiers that it still holds.
    pub score: Score,
}

/// Measures a session at the fixed cut, for every budget, and at every compaction of the product's
/// own, at the size of its summary. Places after which nothing is needed give rows of zero.
#[must_use]
pub fn evaluate(
    session: &Session,
    options: &EvalOptions,
    counter: &dyn TokenCounter,
) -> Vec<RecallRow> {
    let mut rows = Vec::new();
    if let Some(cut) = Cut::at_tokens(&session.turns, options.cut, options.tail) {
        let needed = needed_later(&cut, options.rules);
        for &budget in &options.budgets {
            let bench = Bench {
                cut,
                needed: &needed,
                budget,
                counter,
                rules: options.rules,
            };
            rows.extend(bench.rows(CutKind::Fixed));
        }
    }
    for (index, compaction) in session.compactions.iter().enumerate() {
        let cut = Cut::before(&session.turns, compaction.before, Tokens::ZERO);
        let needed = needed_later(&cut, options.rules);
        let budget = counter.count(&compaction.summary);
        let bench = Bench {
            cut,
            needed: &needed,
            budget,
            counter,
            rules: options.rules,
        };
        let place = CutKind::Product(index);
        rows.push(bench.row(place, Strategy::Product, &compaction.summary));
        rows.extend(bench.rows(place));
    }
    rows
}

struct Bench<'a> {
    cut: Cut<'a>,
    needed: &'a [Needed],
    budget: Tokens,
    counter: &'a dyn TokenCounter,
    rules: Rules,
}

impl Bench<'_> {
    fn row(&self, place: CutKind, strategy: Strategy, shown: &str) -> RecallRow {
        RecallRow {
            place,
            strategy,
            budget: self.budget,
            tokens: self.counter.count(shown),
            score: score(self.needed, shown, self.rules),
        }
    }

    fn rows(&self, place: CutKind) -> [RecallRow; 3] {
        let Cut { old, tail, .. } = self.cut;
        let extractive = extract::extract(old, tail, self.budget, self.counter).render();
        [
            self.row(place, Strategy::Extractive, &extractive),
            self.row(place, Strategy::IdentifierList, &self.identifier_list()),
            self.row(place, Strategy::NewestText, &self.newest_text()),
        ]
    }

    /// Identifiers by how many turns mention them, then by how late, one a line.
    fn identifier_list(&self) -> String {
        let mut mentions: HashMap<String, (usize, usize)> = HashMap::new();
        for (index, turn) in self.cut.old.iter().enumerate() {
            for found in identifiers::scan(&turn_text(turn)) {
                let entry = mentions.entry(found.text.to_owned()).or_default();
                if entry.0 == 0 || entry.1 != index {
                    *entry = (entry.0 + 1, index);
                }
            }
        }
        let mut ranked: Vec<_> = mentions
            .into_iter()
            .map(|(text, (turns, last))| (turns, last, text))
            .collect();
        ranked.sort_unstable_by(|one, other| other.cmp(one));
        let lines: Vec<_> = ranked.into_iter().map(|(_, _, text)| text).collect();
        let fits = |count: usize| {
            let list = lines.get(..count).unwrap_or_default().join("\n");
            self.counter.count(&list) <= self.budget
        };
        let count = largest(lines.len(), fits);
        lines.get(..count).unwrap_or_default().join("\n")
    }

    /// The longest end of the compacted part that fits.
    fn newest_text(&self) -> String {
        let text: String = self.cut.old.iter().map(turn_text).collect();
        let starts: Vec<usize> = text.char_indices().rev().map(|(at, _)| at).collect();
        let end = |count: usize| {
            let start = count.checked_sub(1).and_then(|last| starts.get(last));
            start
                .and_then(|&start| text.get(start..))
                .unwrap_or_default()
        };
        let count = largest(starts.len(), |count| {
            self.counter.count(end(count)) <= self.budget
        });
        end(count).to_owned()
    }
}

fn turn_text(turn: &Turn) -> String {
    let text = turn.readable();
    if turn.role() == Role::Assistant {
        return identifiers::unescaped(&text).into_owned() + "\n";
    }
    text + "\n"
}

/// The largest count up to `most` for which `fits` holds; `fits` must hold for all counts below one
/// for which it holds.
fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
