//! Shortening oversized tool results before they are first sent.
//!
//! A result above the limit becomes a marker line, then its head, its tail and the lines that matter,
//! each gap with how much is missing. Which lines matter depends on what kind of text it is, see
//! [`ContentClass`]. The marker says how the whole can be had again: by the id of the call through
//! `expand`, or by the same call with the same arguments. A shortened result is never longer than the
//! original, and the same input always gives the same output.

mod budget;
mod class;
mod clip;
mod grep;
mod json;
mod lines;
mod marker;
mod score;

pub use class::ContentClass;
pub use marker::is_shrunk;

use crate::counter::TokenCounter;
use crate::text::Text;
use crate::turn::{ToolCall, ToolResult};
use crate::units::Tokens;

use budget::Budget;

/// The limits of a tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    max: Tokens,
}

impl Limits {
    /// The smallest limit: below it there is no room for the marker and a line or two.
    pub const MIN: u64 = 160;

    /// At most `max` tokens, the marker included; raised to [`Self::MIN`].
    #[must_use]
    pub fn new(max: Tokens) -> Self {
        Self {
            max: max.max(Tokens::new(Self::MIN)),
        }
    }

    /// The limit.
    #[must_use]
    pub const fn max(&self) -> Tokens {
        self.max
    }
}

impl Default for Limits {
    /// 4,000 tokens.
    fn default() -> Self {
        Self::new(Tokens::new(4_000))
    }
}

/// A shortened result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The text to send, the marker line first.
    pub text: Text,
    /// The class that the text was taken for.
    pub class: ContentClass,
    /// The tokens of the original.
    pub before: Tokens,
    /// The tokens of [`Self::text`]; fewer than `before` and at most the limit.
    pub after: Tokens,
}

/// The way to the whole text that the marker names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery<'a> {
    /// By `expand` with this id, or by the same call again.
    Expand(&'a str),
    /// By the same call again: nothing else is within the model's reach.
    CallAgain,
}

/// Shortens a result that is longer than the limit. `None` where it fits, where it was shortened
/// before, or where the counter sees no gain. `call` is the call it answers; without it the marker
/// names the id only, which is the call's. The model has the whole by `recovery`.
#[must_use]
pub fn shrink(
    result: &ToolResult,
    call: Option<&ToolCall>,
    limits: &Limits,
    counter: &dyn TokenCounter,
    recovery: Recovery<'_>,
) -> Option<Shrunk> {
    let original = result.text.as_str();
    // No token is shorter than a byte.
    if original.len() as u64 <= limits.max.get() || is_shrunk(result) {
        return None;
    }
    let before = counter.count(original);
    if before <= limits.max {
        return None;
    }
    let clean = clip::without_escapes(original);
    let class = ContentClass::of(&clean);
    let marker = marker::Marker::new(result, call, before, recovery);
    let (text, after) = fit(&clean, class, &marker, limits, counter)?;
    (after < before).then(|| Shrunk {
        text: text.into(),
        class,
        before,
        after,
    })
}

/// Renders under shrinking budgets until the whole is within the limit: token counts do not add up
/// exactly, so the first try can be a little over.
fn fit(
    clean: &str,
    class: ContentClass,
    marker: &marker::Marker<'_>,
    limits: &Limits,
    counter: &dyn TokenCounter,
) -> Option<(String, Tokens)> {
    let room = limits
        .max
        .saturating_sub(counter.count(&marker.line(limits.max)));
    [0.96, 0.85, 0.7, 0.5, 0.3, 0.1, 0.0]
        .into_iter()
        .find_map(|share| {
            let body = body(clean, class, Budget::new(room.scaled(share), counter));
            let shown = counter.count(&body);
            let text = format!("{}{body}", marker.line(shown));
            let after = counter.count(&text);
            (after <= limits.max).then_some((text, after))
        })
}

/// Selects the part of a text of this class to keep.
fn body(clean: &str, class: ContentClass, budget: Budget<'_>) -> String {
    match class {
        ContentClass::Json => json::outline(clean, &budget)
            .unwrap_or_else(|| lines::body(clean, ContentClass::Plain, budget)),
        ContentClass::Grep => grep::samples(clean, budget),
        other => lines::body(clean, other, budget),
    }
}

#[cfg(test)]
mod tests;
