//! Extractive compaction: the summary template filled from the turns themselves, to a token budget.

use crate::counter::TokenCounter;
use crate::summary::{Field, Replaced, Summary};
use crate::turn::{Role, Turn};
use crate::units::Tokens;

/// Fills the summary template from `old`, the turns that will not be shown any more. `tail` are the
/// turns after them that stay verbatim; what they hold is not repeated. The rendered summary never
/// has more than `budget` tokens, unless the empty template alone has.
#[must_use]
pub fn extract(old: &[Turn], tail: &[Turn], budget: Tokens, counter: &dyn TokenCounter) -> Summary {
    let mut summary = Summary::new(Replaced {
        turns: old.len(),
        tokens: old.iter().map(Turn::tokens).sum(),
    });
    let newest = old
        .iter()
        .chain(tail)
        .rfind(|turn| turn.role() == Role::User)
        .and_then(|turn| turn.texts().next());
    if let Some(request) = newest {
        summary.push(Field::Task, request);
        if summary.tokens(counter) > budget {
            summary.pop(Field::Task);
        }
    }
    summary
}

/// Identifiers of `old` with the words around them, as entries for [`Field::Ledger`], that neither
/// `tail` nor `already`, a summary written by a model, names. At most `budget` tokens together.
#[must_use]
pub fn ledger(
    old: &[Turn],
    tail: &[Turn],
    already: &str,
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let _ = (tail, already);
    let entries = extract(old, tail, budget, counter);
    entries.entries(Field::Ledger).to_vec()
}
