//! A view as the provider's cache sees it.

use context::Tokens;
use conversation::homunculus::{Extent, Path};

use crate::cache::{Breakpoint, Request};

/// The look of the previous request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub shown: Extent,
    pub view: Tokens,
}

/// The request with this view. `added` are the tokens that were added to its messages, `beside` those of
/// instructions and tools. `lead` is the number of system turns that the conversation begins with. Of a
/// view that was compacted, they and what stands beside the messages stay the same.
///
/// Breakpoints: behind the system turns and pins, behind the summary, and at the end.
pub(super) fn request(
    before: Option<Before>,
    (shown, added, beside): (Extent, Tokens, Tokens),
    path: &Path<'_>,
    lead: usize,
) -> Request {
    let total = shown.tokens(path) + added + beside;
    let front = beside
        + if shown.from == 0 {
            path.covered(lead)
        } else {
            path.front(shown.from)
        };
    let head = front + shown.summary;
    let shown_turns = path.len().saturating_sub(shown.from);
    let mut breakpoints = vec![
        Breakpoint {
            tokens: front,
            blocks: lead,
        },
        Breakpoint {
            tokens: head,
            blocks: lead + 1,
        },
        Breakpoint {
            tokens: total,
            blocks: lead + 1 + shown_turns,
        },
    ];
    breakpoints.retain(|breakpoint| breakpoint.tokens > Tokens::ZERO);
    breakpoints.dedup_by_key(|breakpoint| breakpoint.tokens);
    Request {
        same: before.map_or(Tokens::ZERO, |before| {
            same(before, (shown, beside), path, lead)
        }),
        total,
        breakpoints,
    }
}

/// The size of the view's unchanged beginning.
fn same(before: Before, (shown, beside): (Extent, Tokens), path: &Path<'_>, lead: usize) -> Tokens {
    let was = before.shown;
    if was == shown {
        return before.view;
    }
    if was.from != shown.from || was.mark != shown.mark {
        return beside + path.covered(lead);
    }
    // Only tool results were cleared: all before the first of them is as it was.
    let first = was.cleared.max(shown.from);
    let unchanged = path.tail(shown.from).saturating_sub(path.tail(first));
    let head = beside + path.front(shown.from) + shown.summary + unchanged;
    head.saturating_sub(path.clearable(shown.from, first))
        .min(before.view)
}
