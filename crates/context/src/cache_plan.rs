//! The placement of the provider's cache breakpoints.
//!
//! A provider reads a request's prefix from its cache up to a breakpoint that an earlier request
//! wrote. [`anthropic`] turns a light description of a request into a [`CachePlan`]: which
//! blocks get a breakpoint, and why. The client's own breakpoints stay where they are. OpenAI caches prefixes by itself,
//! so nothing is placed there. [`price`] says what editing a cached prefix costs.

pub mod anthropic;
pub mod price;

use crate::units::Tokens;

/// The part of a request that a block belongs to, in the order in which the provider reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Tool definitions.
    Tools,
    /// The system prompt.
    System,
    /// The conversation.
    Messages,
}

/// The kind of a block, as far as the rules distinguish blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Text, images, documents, tool definitions: anything that may carry a breakpoint.
    Content,
    /// A tool call.
    ToolUse,
    /// A tool result.
    ToolResult,
    /// Reasoning, or anything else that must not carry a breakpoint.
    Uncacheable,
}

/// The lifetime of a cache entry. Ordered from short to long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ttl {
    /// Anthropic's default, 5 minutes.
    Short,
    /// Anthropic's hour.
    Long,
}

/// One block of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The part of the request it belongs to.
    pub section: Section,
    /// The kind.
    pub kind: BlockKind,
    /// Its size.
    pub tokens: Tokens,
    /// The breakpoint that the client set on it.
    pub client: Option<Ttl>,
}

/// A request, as far as caching is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout<'a> {
    /// Its blocks: tools, then system, then messages.
    pub blocks: &'a [Block],
    /// The client asked the provider to place a breakpoint by itself (top-level `cache_control`).
    pub automatic: Option<Ttl>,
    /// The last block of pins and summary, where there are any: what stays until the next swap.
    pub summary_end: Option<usize>,
    /// The first block that the next request will not repeat as it is; the end of the request where `None`.
    pub volatile_from: Option<usize>,
    /// The last block of the prefix that the request before this one wrote to the cache.
    pub written: Option<usize>,
}

/// Why a breakpoint is where it is. In the order of their importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The client set it.
    Client,
    /// The end of everything that the next request repeats; the next turn and a preparation read it.
    BeforeTail,
    /// The request before wrote its cache here, and it is too far back to be found from the next one.
    Written,
    /// The end of pins and summary, which stay until the next swap.
    Summary,
    /// The end of tools and system prompt, which every conversation of this client shares.
    Instructions,
}

/// A breakpoint on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// The index of the block.
    pub block: usize,
    /// The lifetime of the entry.
    pub ttl: Ttl,
    /// Why it is there.
    pub reason: Reason,
}

/// The breakpoints of a request, in the order of the blocks, the client's own included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachePlan {
    /// The breakpoints.
    pub breakpoints: Vec<Breakpoint>,
    /// The rule that the client's own breakpoints break. Nothing is added then.
    pub conflict: Option<Conflict>,
}

impl CachePlan {
    /// The breakpoints that are not the client's: what is to be written into the request.
    pub fn added(&self) -> impl Iterator<Item = &Breakpoint> {
        self.breakpoints
            .iter()
            .filter(|breakpoint| breakpoint.reason != Reason::Client)
    }
}

/// Something in the client's own breakpoints that the provider will refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// More breakpoints than the provider takes.
    TooMany,
    /// A shorter lifetime before a longer one.
    TtlOrder,
    /// A breakpoint on a block that must not carry one.
    Uncacheable,
}

/// The breakpoints that the client set, in order.
fn explicit(layout: &Layout<'_>) -> Vec<Breakpoint> {
    layout
        .blocks
        .iter()
        .enumerate()
        .filter_map(|(block, described)| {
            Some(Breakpoint {
                block,
                ttl: described.client?,
                reason: Reason::Client,
            })
        })
        .collect()
}

/// Returns true if a block may carry a breakpoint.
fn carries(blocks: &[Block], block: usize) -> bool {
    blocks
        .get(block)
        .is_some_and(|block| block.kind != BlockKind::Uncacheable)
}

/// The tokens of the request up to and including each block.
fn cumulative(blocks: &[Block]) -> Vec<Tokens> {
    blocks
        .iter()
        .scan(Tokens::ZERO, |sum, block| {
            *sum += block.tokens;
            Some(*sum)
        })
        .collect()
}

/// The last block before `end` that may carry a breakpoint.
fn last_cacheable(blocks: &[Block], end: usize) -> Option<usize> {
    blocks
        .iter()
        .take(end)
        .rposition(|block| block.kind != BlockKind::Uncacheable && block.tokens > Tokens::ZERO)
}

/// Places for breakpoints that are worth having, the most important first.
fn candidates(layout: &Layout<'_>) -> Vec<(usize, Reason)> {
    let blocks = layout.blocks;
    let tail = layout.volatile_from.unwrap_or(blocks.len());
    let instructions = blocks
        .iter()
        .position(|block| block.section == Section::Messages)
        .unwrap_or(blocks.len());
    [
        (last_cacheable(blocks, tail), Reason::BeforeTail),
        (layout.written, Reason::Written),
        (
            layout
                .summary_end
                .and_then(|end| last_cacheable(blocks, end.saturating_add(1))),
            Reason::Summary,
        ),
        (last_cacheable(blocks, instructions), Reason::Instructions),
    ]
    .into_iter()
    .filter_map(|(block, reason)| Some((block?, reason)))
    .filter(|(block, _)| *block < tail)
    .collect()
}

#[cfg(test)]
mod tests;
