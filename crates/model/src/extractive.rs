//! The route that needs no model.

use context::extract::extract_in;
use context::{Part, Text, TokenCounter, Tokens, Turn};
use history::Route;

use crate::made::{Course, Made};
use crate::order::Order;

/// Summarizes without a model: everything in the summary is quoted. Cannot fail and costs nothing. Its
/// quality is not measured: there is no other route below it, and a request may wait for it.
///
/// Takes about ten milliseconds per hundred thousand tokens, so an async caller runs it on a thread
/// of its own.
#[must_use]
pub fn extractive(order: &Order) -> Made {
    let counter = &*order.counter;
    let summary = extract_in(&order.old, &order.tail, order.room(), counter);
    let text = summary.render();
    Made {
        route: Route::Extractive,
        tokens: shown(&text, counter),
        text: Text::from(text),
        message: None,
        ledger: Vec::new(),
        beside: Text::default(),
        spent: Vec::new(),
        course: Course::default(),
        fallen: Vec::new(),
    }
}

/// The readable text of turns, by which summaries of them are judged.
pub(crate) fn source(turns: &[Turn]) -> String {
    let texts: Vec<String> = turns.iter().map(Turn::readable).collect();
    texts.join("\n")
}

/// The size of a text as a message.
pub(crate) fn shown(text: &str, counter: &dyn TokenCounter) -> Tokens {
    counter.count_parts(&[Part::Text(Text::from(text))])
}
