//! Plans cache breakpoints for OpenAI: prefixes are cached automatically; some models also take explicit
//! breakpoints.

use crate::units::Tokens;

use super::{
    Breakpoint, CachePlan, Conflict, Layout, Reason, Ttl, candidates, carries, cumulative, explicit,
};

/// The caching mode of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The prefix is cached by itself and breakpoints are not understood: nothing to place.
    PrefixOnly,
    /// `prompt_cache_options.mode: implicit`: one write by itself, and the latest 3 breakpoints.
    Implicit,
    /// `prompt_cache_options.mode: explicit`: the latest 4 breakpoints, and nothing by itself.
    Explicit,
}

/// The cache rules of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The caching mode.
    pub mode: Mode,
    /// A prefix shorter than this is not cached.
    pub min_tokens: Tokens,
    /// The lifetime of our own breakpoints.
    pub ttl: Ttl,
}

impl Rules {
    /// The documented minimum of 1,024 tokens, the default lifetime.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self {
            mode,
            min_tokens: Tokens::new(1_024),
            ttl: Ttl::Short,
        }
    }

    /// The number of explicit breakpoints of a request that are written.
    #[must_use]
    pub const fn slots(&self) -> usize {
        match self.mode {
            Mode::PrefixOnly => 0,
            Mode::Implicit => 3,
            Mode::Explicit => 4,
        }
    }
}

/// Places the breakpoints of a request. There is no look-back limit, so an earlier entry is always
/// found; only the latest are written, so one of ours never pushes out one of the client's.
#[must_use]
pub fn plan(layout: &Layout<'_>, rules: &Rules) -> CachePlan {
    let mut breakpoints = explicit(layout);
    if !breakpoints
        .iter()
        .all(|breakpoint| carries(layout.blocks, breakpoint.block))
    {
        return CachePlan {
            breakpoints,
            conflict: Some(Conflict::Uncacheable),
        };
    }
    let sizes = cumulative(layout.blocks);
    let end = layout.blocks.len();
    for (block, reason) in candidates(layout) {
        // The implicit write closes the whole request already.
        let implied = rules.mode == Mode::Implicit && block + 1 == end;
        let big_enough = sizes
            .get(block)
            .is_some_and(|size| *size >= rules.min_tokens);
        let taken = breakpoints.iter().any(|other| other.block == block);
        if reason != Reason::Written
            && breakpoints.len() < rules.slots()
            && !implied
            && big_enough
            && !taken
            && carries(layout.blocks, block)
        {
            let at = breakpoints.partition_point(|other| other.block < block);
            breakpoints.insert(
                at,
                Breakpoint {
                    block,
                    ttl: rules.ttl,
                    reason,
                },
            );
        }
    }
    CachePlan {
        breakpoints,
        conflict: None,
    }
}
