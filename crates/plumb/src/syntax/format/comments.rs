//! Placement of comments.
//!
//! Comments are taken in order, each by the next thing that can hold it. In lists, chains and bodies one that
//! stands at the end of a line stays at the end of that thing's line, and one that has a line for itself keeps
//! it; elsewhere it stands before what it stood before. The output is read the same way again, so
//! that formatting twice changes nothing.

use super::Writer;
use super::layout::Doc;
use crate::span::Span;
use crate::syntax::ast::Comment;

/// The comments between two things of a list.
#[derive(Default)]
pub(super) struct Between<'a> {
    /// At the end of the line of the thing before.
    pub trailing: Vec<&'a Comment>,
    /// Before the thing behind, and where that starts.
    pub leading: Vec<&'a Comment>,
    pub start: u32,
}

impl<'a> Writer<'a> {
    /// The comments that stand before a byte and have not been taken.
    pub(super) fn take_before(&mut self, byte: u32) -> Vec<&'a Comment> {
        let mut taken = Vec::new();
        while let Some(comment) = self.comments.get(self.next)
            && comment.span.start < byte
        {
            taken.push(comment);
            self.next += 1;
        }
        taken
    }

    /// The number of line breaks between two places; `None` without a text.
    pub(super) fn lines_between(&self, from: u32, to: u32) -> Option<usize> {
        let range = from as usize..to as usize;
        let between = self.text.get(range);
        between.map(|between| between.bytes().filter(|byte| *byte == b'\n').count())
    }

    pub(super) fn same_line(&self, from: u32, to: u32) -> bool {
        self.lines_between(from, to).unwrap_or(0) == 0
    }

    /// The comments before a thing that starts here, each with a space.
    pub(super) fn inline(&mut self, start: u32) -> Doc {
        let taken = self.take_before(start);
        let docs = taken.into_iter();
        Doc::All(
            docs.map(|comment| Doc::text(format!("{} ", comment.text)))
                .collect(),
        )
    }

    /// The comments between one thing of a list and the next.
    pub(super) fn between(&mut self, before: Option<Span>, next: u32) -> Between<'a> {
        let comments = self.take_before(next);
        self.split(before, next, comments, |writer, comment| {
            !writer.same_line(comment.span.end, next)
        })
    }

    /// The comments behind the last thing of a list, which ends here.
    pub(super) fn behind(&mut self, last: Option<Span>, end: u32) -> Between<'a> {
        let comments = self.take_before(end);
        self.split(last, end, comments, |_, _| true)
    }

    fn split(
        &self,
        before: Option<Span>,
        next: u32,
        comments: Vec<&'a Comment>,
        ends_line: impl Fn(&Self, &Comment) -> bool,
    ) -> Between<'a> {
        let mut between = Between {
            start: next,
            ..Between::default()
        };
        let mut end = before.map(|span| span.end);
        for comment in comments {
            let on_line = end.is_some_and(|end| self.same_line(end, comment.span.start));
            if on_line && ends_line(self, comment) {
                end = Some(comment.span.end);
                between.trailing.push(comment);
            } else {
                end = None;
                between.leading.push(comment);
            }
        }
        between
    }

    /// Comments at the end of a line, which they end.
    pub(super) fn trailing(comments: &[&Comment]) -> Doc {
        let mut docs: Vec<Doc> = comments
            .iter()
            .map(|comment| Doc::text(format!(" {}", comment.text)))
            .collect();
        if !docs.is_empty() {
            docs.push(Doc::Break);
        }
        Doc::All(docs)
    }

    /// Comments before a thing: those that have lines for themselves, then those on its line.
    pub(super) fn leading(&self, comments: &[&Comment], start: u32) -> (Doc, Doc) {
        let ends = comments.iter().skip(1).map(|next| next.span.start);
        let ends: Vec<u32> = ends.chain([start]).collect();
        let same = |at: &usize| {
            let comment = comments.get(*at);
            let end = ends.get(*at);
            comment
                .zip(end)
                .is_some_and(|(one, end)| self.same_line(one.span.end, *end))
        };
        let on_line = (0..comments.len()).rev().take_while(same).count();
        let (above, inline) = comments.split_at(comments.len() - on_line);
        let above = above.iter().enumerate().flat_map(|(at, comment)| {
            let behind = if same(&at) { Doc::text(" ") } else { Doc::Hard };
            [Doc::text(&*comment.text), behind]
        });
        let inline = inline
            .iter()
            .map(|comment| Doc::text(format!("{} ", comment.text)));
        (Doc::All(above.collect()), Doc::All(inline.collect()))
    }
}

/// A comment before something on its line.
pub(super) fn inline(comment: &Comment) -> Doc {
    Doc::text(format!("{} ", comment.text))
}
