//! One message of a request.

use context::{Role, TurnDraft};

use super::json::scan::Span;
use super::json::tree::Tree;
use super::request::{List, Request};
use super::{Dialect, parts};

/// An element of the list of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub span: Span,
    pub role: Role,
}

/// One message of a request, borrowed from the body.
#[derive(Clone, Copy, Debug)]
pub struct Message<'r> {
    pub(super) dialect: Dialect,
    body: &'r str,
    depth: usize,
    /// `true` for a bare `input` string.
    pub(super) bare: bool,
    index: usize,
    span: Span,
    elements: &'r [Element],
}

impl<'r> Message<'r> {
    pub(super) fn new(
        request: &'r Request<'_>,
        index: usize,
        elements: &'r [Element],
    ) -> Option<Self> {
        Some(Self {
            dialect: request.dialect,
            body: request.body,
            depth: request.depth,
            bare: matches!(request.list, List::Bare(_)),
            index,
            span: Span {
                start: elements.first()?.span.start,
                end: elements.last()?.span.end,
            },
            elements,
        })
    }

    /// The dialect of the request.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The index among the messages of the request.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The range in the body.
    #[must_use]
    pub const fn span(&self) -> Span {
        self.span
    }

    /// The raw bytes. On Responses they may be several items with the commas between them.
    #[must_use]
    pub fn raw(&self) -> &'r str {
        self.span.of(self.body)
    }

    /// The role as the wire gives it: an Anthropic message of tool results is still a user message.
    #[must_use]
    pub fn role(&self) -> Role {
        self.elements
            .first()
            .map_or(Role::Other, |element| element.role)
    }

    /// The turn that the message makes.
    #[must_use]
    pub fn draft(&self) -> TurnDraft {
        let trees = self.trees();
        if self.bare {
            let text = trees.first().and_then(|tree| tree.root().text());
            let mut parts = Vec::new();
            parts::push_text(&mut parts, &text.unwrap_or_default());
            return TurnDraft::said(Role::User, parts);
        }
        (self.dialect.table().messages.draft)(self.role(), &trees)
    }

    /// The offsets of the elements in [`Self::raw`].
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> {
        let first = self.span.start;
        self.elements
            .iter()
            .map(move |element| element.span.start - first)
    }

    /// The deepest nesting that is read.
    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    /// The values of the elements. They were checked when the request was read, so reading
    /// them again under the same limit does not fail.
    pub(super) fn trees(&self) -> Vec<Tree<'r>> {
        self.elements
            .iter()
            .filter_map(|element| Tree::parse(element.span.of(self.body), self.depth).ok())
            .collect()
    }
}
