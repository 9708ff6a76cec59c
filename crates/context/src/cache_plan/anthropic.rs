//! Anthropic's rules: at most 4 breakpoints, longer lifetimes first, a look-back of 20 positions.

use crate::units::Tokens;

use super::{
    Block, BlockKind, Breakpoint, CachePlan, Conflict, Layout, Reason, Ttl, candidates, carries,
    cumulative, explicit, last_cacheable,
};

/// The cache rules of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A prefix shorter than this is silently not cached.
    pub min_tokens: Tokens,
    /// The lifetime of our own breakpoints, where the client's allow it.
    pub ttl: Ttl,
}

/// The most breakpoints in a request, an automatic one included.
pub const SLOTS: usize = 4;
/// The number of positions before a breakpoint in which the provider looks for an earlier entry.
pub const LOOK_BACK: usize = 20;

/// Places the breakpoints of a request.
#[must_use]
pub fn plan(layout: &Layout<'_>, rules: &Rules) -> CachePlan {
    let blocks = layout.blocks;
    let mut breakpoints: Vec<Breakpoint> = clients(layout);
    if let Some(conflict) = conflict(layout, &breakpoints) {
        return CachePlan {
            breakpoints: explicit(layout),
            conflict: Some(conflict),
        };
    }
    let sizes = cumulative(blocks);
    for (block, reason) in candidates(layout) {
        let big_enough = sizes
            .get(block)
            .is_some_and(|size| *size >= rules.min_tokens);
        let taken = breakpoints.iter().any(|other| other.block == block);
        let needed = reason != Reason::Written || out_of_sight(layout, &breakpoints);
        if breakpoints.len() < SLOTS && big_enough && !taken && needed && carries(blocks, block) {
            let ttl = fitting_ttl(&breakpoints, block, rules.ttl);
            let at = breakpoints.partition_point(|other| other.block < block);
            breakpoints.insert(at, Breakpoint { block, ttl, reason });
        }
    }
    // The automatic one is the provider's to place: it took a slot and its order, no more.
    breakpoints.retain(|breakpoint| breakpoint.reason != Reason::Client);
    breakpoints.extend(explicit(layout));
    breakpoints.sort_by_key(|breakpoint| breakpoint.block);
    CachePlan {
        breakpoints,
        conflict: None,
    }
}

/// The position of each block in the look-back: a run of tool calls is one position, and so is a run
/// of tool results.
#[must_use]
pub fn positions(blocks: &[Block]) -> Vec<usize> {
    let mut position = 0;
    let mut last: Option<BlockKind> = None;
    blocks
        .iter()
        .map(|block| {
            let run = matches!(block.kind, BlockKind::ToolUse | BlockKind::ToolResult)
                && last == Some(block.kind);
            if last.is_some() && !run {
                position += 1;
            }
            last = Some(block.kind);
            position
        })
        .collect()
}

/// The breakpoint that the provider will place by itself.
fn automatic(layout: &Layout<'_>) -> Option<Breakpoint> {
    Some(Breakpoint {
        block: last_cacheable(layout.blocks, layout.blocks.len())?,
        ttl: layout.automatic?,
        reason: Reason::Client,
    })
}

/// The client's breakpoints, the automatic one included; that one is at the end, so the
/// order holds. On a block that has an explicit one already it still takes a slot.
fn clients(layout: &Layout<'_>) -> Vec<Breakpoint> {
    explicit(layout)
        .into_iter()
        .chain(automatic(layout))
        .collect()
}

fn conflict(layout: &Layout<'_>, breakpoints: &[Breakpoint]) -> Option<Conflict> {
    if breakpoints.len() > SLOTS {
        Some(Conflict::TooMany)
    } else if breakpoints.is_sorted_by(|one, next| one.ttl >= next.ttl) {
        breakpoints
            .iter()
            .any(|breakpoint| !carries(layout.blocks, breakpoint.block))
            .then_some(Conflict::Uncacheable)
    } else {
        Some(Conflict::TtlOrder)
    }
}

/// Returns true if the entry that the last request wrote is further back than the provider looks from the
/// breakpoints there are.
fn out_of_sight(layout: &Layout<'_>, breakpoints: &[Breakpoint]) -> bool {
    let Some(written) = layout.written else {
        return false;
    };
    let positions = positions(layout.blocks);
    let Some(entry) = positions.get(written) else {
        return false;
    };
    !breakpoints
        .iter()
        .filter(|breakpoint| breakpoint.block >= written)
        .filter_map(|breakpoint| positions.get(breakpoint.block))
        .any(|position| position - entry < LOOK_BACK)
}

/// The wished lifetime, not longer than any before the block, not shorter than any after it.
fn fitting_ttl(breakpoints: &[Breakpoint], block: usize, wished: Ttl) -> Ttl {
    let before = breakpoints.iter().filter(|other| other.block < block);
    let after = breakpoints.iter().filter(|other| other.block > block);
    let longest = before.map(|other| other.ttl).min().unwrap_or(Ttl::Long);
    let shortest = after.map(|other| other.ttl).max().unwrap_or(Ttl::Short);
    wished.min(longest).max(shortest)
}
