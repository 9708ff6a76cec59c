//! The cache breakpoints of a client that sets none.
//!
//! A provider with explicit breakpoints caches nothing of a request without one, so a plain loop pays the
//! full price for its whole conversation at every turn. Where the client never sets any, the plan of
//! [`context::cache_plan`] places them: behind the instructions, where the request before wrote if that is
//! out of sight, and at the newest message, in front of a note that clears itself. The message that holds
//! the summary carries its own (see `rewrite`).

use context::cache_plan::anthropic::{Rules, plan};
use context::cache_plan::{Block, BlockKind, Layout, Reason, Section, Ttl};
use context::{Part, Tokens, Turn, TurnId};
use history::Change;
use tokens::Capability;

use crate::conversation::Conversation;
use crate::homunculus::Extent;
use crate::identity::Key;
use crate::incoming::Incoming;
use crate::view::{Breakpoint, Front, View};

/// The bytes that breakpoints add at most.
const ROOM: usize = 1 << 10;

/// The state that the breakpoints of the next request depend on.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    /// The client set one, so it sets all.
    is_client: bool,
    /// The leading messages of the newest request that are known to carry none.
    bare: usize,
    /// The key of the instructions and tools that are known to carry none.
    overhead: Option<Key>,
    /// The end of the prefix that the newest request wrote to the cache.
    written: Option<Written>,
    /// The blocks of the messages behind it, each with its message.
    since: Vec<(usize, BlockKind)>,
}

/// The end of a prefix that was written to the cache, and how its messages were shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    message: usize,
    shown: Extent,
    stripped: TurnId,
}

impl Breakpoints {
    /// Returns true if the newest request carries breakpoints of ours.
    pub(crate) const fn are_ours(&self) -> bool {
        self.written.is_some()
    }

    /// Follows a request whose first `common` turns are known, the first `same` of them by their bytes.
    pub(crate) fn follow(&mut self, same: usize, common: usize, new: &[Turn]) {
        self.bare = self.bare.min(same);
        self.since.retain(|&(message, _)| message < common);
        self.written = self.written.filter(|written| written.message < common);
        if self.written.is_none() {
            self.since.clear();
            return;
        }
        for (offset, turn) in new.iter().enumerate() {
            let kinds = turn.parts().iter().map(kind_of);
            self.since.extend(kinds.map(|kind| (common + offset, kind)));
        }
    }
}

const fn kind_of(part: &Part) -> BlockKind {
    match part {
        Part::Text(_) | Part::Attachment(_) => BlockKind::Content,
        Part::Thinking(_) | Part::Opaque(_) => BlockKind::Uncacheable,
        Part::Call(_) => BlockKind::ToolUse,
        Part::Result(_) => BlockKind::ToolResult,
    }
}

/// A request as blocks, and the breakpoint that each of them could carry.
#[derive(Default)]
struct Laid {
    blocks: Vec<Block>,
    places: Vec<Option<Breakpoint>>,
    written: Option<usize>,
    volatile: Option<usize>,
}

impl Laid {
    fn push(&mut self, section: Section, (kind, tokens): (BlockKind, Tokens)) {
        self.blocks.push(Block {
            section,
            kind,
            tokens,
            client: None,
        });
        self.places.push(None);
    }

    /// Adds a block of the messages. Its size counts in the first of them.
    fn message(&mut self, kind: BlockKind) {
        self.push(Section::Messages, (kind, Tokens::new(1)));
    }

    /// The last block can carry this breakpoint.
    fn carries(&mut self, place: Breakpoint) {
        if let Some(last) = self.places.last_mut() {
            *last = Some(place);
        }
    }
}

impl Conversation {
    /// Places the breakpoints of a view that is about to be sent, where the client sets none.
    pub(crate) fn place_breakpoints(
        &mut self,
        incoming: &Incoming<'_>,
        view: &mut View,
        (shown, tokens): (Extent, Tokens),
    ) {
        if !self.may_place(incoming) {
            // This request writes nothing for us: neither the plan nor the bill may count on an older one.
            self.breakpoints.written = None;
            return;
        }
        let stripped = self.record.standing.stripped;
        let seen = |written: &Written| {
            written.shown == shown && written.stripped == stripped && written.message >= shown.from
        };
        let written = self.breakpoints.written.filter(seen);
        let laid = self.lay_out(incoming.len(), (view, written), (shown, tokens));
        let layout = Layout {
            blocks: &laid.blocks,
            written: laid.written,
            volatile_from: laid.volatile,
            ..Layout::default()
        };
        let rules = Rules {
            min_tokens: incoming.model.cache.minimum,
            ttl: Ttl::Short,
        };
        let plan = plan(&layout, &rules);
        let mut tail = None;
        for planned in plan.added() {
            let place = laid.places.get(planned.block).copied().flatten();
            if let (Reason::BeforeTail, Some(Breakpoint::Message(message))) =
                (planned.reason, place)
            {
                tail = Some(message);
            }
            view.breakpoints.extend(place);
        }
        self.breakpoints.since.clear();
        self.breakpoints.written = tail.map(|message| Written {
            message,
            shown,
            stripped,
        });
    }

    /// Returns true if breakpoints may be placed: they are of use, and the client sets none.
    fn may_place(&mut self, incoming: &Incoming<'_>) -> bool {
        let request = incoming.request;
        // A lone message may be all that is ever said: to write it to the cache would only cost.
        let goes_on = request.len() > 1 || request.tools().is_some();
        let has_room = request.body().len() + ROOM <= self.terms.longest_body;
        self.terms.breakpoints
            && !self.breakpoints.is_client
            && self.dialect.facts().keys.cache_marker.is_some()
            && incoming.model.can(Capability::CacheBreakpoints)
            && (goes_on && has_room)
            && !request.is_empty()
            && !self.is_marked_by_client(incoming)
    }

    fn is_marked_by_client(&mut self, incoming: &Incoming<'_>) -> bool {
        let request = incoming.request;
        let overhead = self.supervisor.overhead;
        let is_known = self.breakpoints.overhead == Some(overhead);
        // Only what was not looked at before: to search a megabyte for each request would show.
        self.breakpoints.is_client = request.sets("cache_control")
            || (!is_known && !request.breakpoints_of_instructions().is_empty())
            || request.marks_messages_from(self.breakpoints.bare);
        if !self.breakpoints.is_client {
            self.breakpoints.overhead = Some(overhead);
            self.breakpoints.bare = request.len();
        }
        self.breakpoints.is_client
    }

    /// The request as the plan sees it. Everything up to where the request before wrote is one block.
    fn lay_out(
        &self,
        len: usize,
        (view, written): (&View, Option<Written>),
        (shown, tokens): (Extent, Tokens),
    ) -> Laid {
        let mut laid = Laid::default();
        let overhead = self.supervisor.overhead_tokens;
        if overhead > Tokens::ZERO {
            laid.push(Section::System, (BlockKind::Content, overhead));
            laid.carries(Breakpoint::Instructions);
        }
        if !matches!(view.front, Front::Nothing) {
            laid.push(Section::Messages, (BlockKind::Content, shown.summary));
            if let (Front::Readable { .. }, Some(block)) = (&view.front, laid.blocks.last_mut()) {
                // The message in front brings its own.
                block.client = Some(Ttl::Short);
            }
        }
        let until = written.map_or(len.saturating_sub(1), |written| written.message);
        let said = tokens.saturating_sub(overhead + shown.summary);
        laid.push(Section::Messages, (BlockKind::Content, said));
        laid.carries(Breakpoint::Message(until));
        laid.written = written.map(|_| laid.blocks.len().saturating_sub(1));
        for message in until..len {
            let since = self.breakpoints.since.iter();
            let before = laid.blocks.len();
            for (_, kind) in since.filter(|(at, _)| *at == message) {
                laid.message(*kind);
            }
            if laid.blocks.len() > before {
                laid.carries(Breakpoint::Message(message));
            }
            // A text that was put into a message is its last block, and the breakpoint falls on it.
            let followed = |(at, change): &&(usize, Change)| {
                *at == message && matches!(change, Change::Followed(_))
            };
            if view.changes.iter().any(|change| followed(&change)) {
                laid.volatile = (message + 1 == len).then_some(laid.blocks.len());
                laid.message(BlockKind::Content);
            }
        }
        laid
    }
}
