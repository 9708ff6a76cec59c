//! Lists, chains and bodies: things one after the other, with the comments between them.

use super::Writer;
use super::comments::{Between, inline};
use super::layout::Doc;
use crate::span::Span;
use crate::syntax::ast::{
    Argument, Comment, Declaration, Expr, Field, Name, Protocol, ProtocolKind, Setting, Statement,
    Type, Wire,
};

/// The delimiters of a list.
#[derive(Clone, Copy)]
pub(super) enum Delimiters {
    /// `{ a, b }`
    Braces,
    /// `[a, b]`
    Brackets,
    /// `(a, b)`
    Parentheses,
}

/// The separator of a chain.
#[derive(Clone, Copy)]
pub(super) enum Link {
    /// Behind each part, before the line break.
    Behind(&'static str),
    /// Before each further part, behind the line break.
    Before(&'static str),
    /// Alike, with as many parts on a line as fit.
    Filled(&'static str),
}

/// An element with a place in the text.
pub(super) trait Placed {
    /// The place, which decides where comments go.
    fn place(&self) -> Span;
}

impl Writer<'_> {
    /// Items between delimiters, separated by commas. Comments behind the last one belong to the list up
    /// to `end`.
    pub(super) fn list<T: Placed>(
        &mut self,
        around: Delimiters,
        end: u32,
        items: &[T],
        mut item: impl FnMut(&mut Self, &T) -> Doc,
    ) -> Doc {
        let (open, close) = match around {
            Delimiters::Braces => ("{", "}"),
            Delimiters::Brackets => ("[", "]"),
            Delimiters::Parentheses => ("(", ")"),
        };
        let mut inside = Vec::new();
        let mut before = None;
        for one in items {
            let place = one.place();
            let between = self.between(before, place.start);
            if before.is_some() {
                inside.push(Doc::text(","));
                inside.push(Self::trailing(&between.trailing));
                inside.push(Doc::Line);
            }
            let (above, inline) = self.leading(&between.leading, between.start);
            inside.extend([above, inline, item(self, one)]);
            before = Some(place);
        }
        let rest = self.rest(before, end);
        if inside.is_empty() && rest.is_none() {
            return Doc::text(format!("{open}{close}"));
        }
        if before.is_some() {
            inside.push(Doc::Broken(","));
        }
        inside.extend(rest);
        let pad = || match around {
            Delimiters::Braces => Doc::Line,
            _ => Doc::Soft,
        };
        let inside = Doc::All(vec![pad(), Doc::All(inside)]).nest();
        Doc::All(vec![Doc::text(open), inside, pad(), Doc::text(close)]).group()
    }

    /// The comments behind the last item of a list.
    fn rest(&mut self, before: Option<Span>, end: u32) -> Option<Doc> {
        let comments = self.take_before(end);
        let mut at = before.map(|span| span.end);
        let mut docs = Vec::new();
        for comment in &comments {
            let span = comment.span;
            let separator = match at {
                Some(at) if self.same_line(at, span.start) => Doc::text(" "),
                Some(_) => Doc::Hard,
                None => Doc::Break,
            };
            docs.extend([separator, Doc::text(&*comment.text)]);
            at = Some(span.end);
        }
        let last = comments.last()?;
        if !self.same_line(last.span.end, end) {
            docs.push(Doc::Break);
        }
        Some(Doc::All(docs))
    }

    /// Parts that belong together, in one line or each on its own.
    pub(super) fn chain<T: Placed>(
        &mut self,
        link: Link,
        parts: &[T],
        mut part: impl FnMut(&mut Self, &T) -> Doc,
    ) -> Doc {
        let mut docs = Vec::new();
        let mut before = None;
        for one in parts {
            let place = one.place();
            let between = self.between(before, place.start);
            if before.is_some() {
                let (above, inline) = self.leading(&between.leading, between.start);
                let (behind, ahead) = match link {
                    Link::Behind(text) => (text, ""),
                    Link::Before(text) | Link::Filled(text) => ("", text),
                };
                let next = Doc::All(vec![
                    Doc::text(behind),
                    Self::trailing(&between.trailing),
                    Doc::Line,
                    above,
                    Doc::text(ahead),
                    inline,
                    part(self, one),
                ]);
                docs.push(match link {
                    Link::Filled(_) => next.group(),
                    _ => next,
                });
            } else {
                docs.extend(between.leading.iter().map(|comment| inline(comment)));
                docs.push(part(self, one));
            }
            before = Some(place);
        }
        Doc::All(docs)
    }

    /// Things below each other in this part of the text: statements or declarations. Each thing says
    /// whether an empty line stands around it in any case.
    pub(super) fn body<T: Placed>(
        &mut self,
        range: Span,
        things: &[T],
        mut thing: impl FnMut(&mut Self, &T) -> (Doc, EmptyLines),
    ) -> Vec<Doc> {
        let mut lines = Lines::default();
        for one in things {
            let place = one.place();
            let between = self.between(lines.last, place.start);
            self.put_trailing(&mut lines, &between);
            let comments = between.leading;
            let (doc, apart) = thing(self, one);
            for comment in comments {
                self.put_comment(&mut lines, comment, apart);
            }
            let separator = self.separator(&lines, place.start, apart);
            lines.put(separator, doc, place, apart);
            // Comments inside that found no place stand behind.
            for comment in self.take_before(place.end) {
                lines.docs.push(Doc::text(format!(" {}", comment.text)));
            }
        }
        let between = self.behind(lines.last, range.end);
        self.put_trailing(&mut lines, &between);
        for comment in between.leading {
            self.put_comment(&mut lines, comment, EmptyLines::AsWritten);
        }
        lines.docs
    }

    fn put_trailing(&self, lines: &mut Lines, between: &Between<'_>) {
        for comment in &between.trailing {
            lines.docs.push(Doc::text(format!(" {}", comment.text)));
            lines.last = Some(comment.span);
        }
    }

    fn put_comment(&self, lines: &mut Lines, comment: &Comment, next: EmptyLines) {
        let separator = self.separator(lines, comment.span.start, next);
        let doc = Doc::text(&*comment.text);
        lines.put(separator, doc, comment.span, EmptyLines::AsWritten);
        lines.comment = true;
    }

    fn separator(&self, lines: &Lines, start: u32, next: EmptyLines) -> Doc {
        let Some(last) = lines.last else {
            return Doc::none();
        };
        let breaks = self.lines_between(last.end, start);
        match breaks {
            Some(0) if lines.comment => Doc::text(" "),
            Some(0 | 1) if lines.comment => Doc::Hard,
            _ if lines.comment => Doc::Blank,
            _ if lines.apart == EmptyLines::Always || next == EmptyLines::Always => Doc::Blank,
            Some(2..) => Doc::Blank,
            None if next == EmptyLines::WithoutText || lines.apart == EmptyLines::WithoutText => {
                Doc::Blank
            }
            _ => Doc::Hard,
        }
    }
}

/// The rule for empty lines around an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EmptyLines {
    /// An empty line if the source has one.
    #[default]
    AsWritten,
    /// An empty line if the source has one, or if there is no source.
    WithoutText,
    /// In any case.
    Always,
}

/// The part of a body that has been written.
#[derive(Default)]
struct Lines {
    docs: Vec<Doc>,
    /// The place of the last element.
    last: Option<Span>,
    /// True if it is a comment; the rest of its line belongs to it.
    comment: bool,
    apart: EmptyLines,
}

impl Lines {
    fn put(&mut self, separator: Doc, doc: Doc, span: Span, apart: EmptyLines) {
        self.docs.extend([separator, doc]);
        self.last = Some(span);
        self.comment = false;
        self.apart = apart;
    }
}

macro_rules! placed_at_span {
    ($($node:ty),*) => {
        $(impl Placed for $node {
            fn place(&self) -> Span {
                self.span
            }
        })*
    };
}

placed_at_span!(Name, Type, Expr, Statement, Declaration);

impl Placed for Wire {
    fn place(&self) -> Span {
        self.span()
    }
}

impl Placed for Field {
    fn place(&self) -> Span {
        self.name.span.to(self.kind.span)
    }
}

impl Placed for Setting {
    fn place(&self) -> Span {
        self.key.span.to(self.value.span)
    }
}

impl Placed for Argument {
    fn place(&self) -> Span {
        let channel = self.channel.span;
        self.port
            .as_ref()
            .map_or(channel, |port| port.span.to(channel))
    }
}

impl Placed for (Name, Expr) {
    fn place(&self) -> Span {
        self.0.span.to(self.1.span)
    }
}

impl Placed for (Name, Protocol) {
    fn place(&self) -> Span {
        self.0.span.to(self.1.span)
    }
}

/// A step of a chain: up to its own payload, not to the end of the protocol.
impl Placed for &Protocol {
    fn place(&self) -> Span {
        let end = match &self.kind {
            ProtocolKind::Send(payload, _) | ProtocolKind::Recv(payload, _) => payload.span.end,
            ProtocolKind::Rec(name, _) => name.span.end,
            _ => self.span.end,
        };
        Span::new(self.span.source, self.span.start, end)
    }
}
