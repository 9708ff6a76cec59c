//! Morphisms: what stands between `;`.

use super::{Parsed, Parser, Tall, Told};
use crate::span::Span;
use crate::syntax::ast::{Endpoint, Expr, Name, Path, Step, Type, Wire};
use crate::syntax::codes;
use crate::syntax::token::{Before, Keyword, Symbol, Token, TokenKind};

/// The elements that take something in parentheses.
const WITH_ARGUMENT: &[Keyword] = &[
    Keyword::Map,
    Keyword::Filter,
    Keyword::Project,
    Keyword::Tag,
];

impl Parser<'_> {
    /// `f ; g ; h`.
    pub(super) fn wire(&mut self) -> Parsed<Wire> {
        Ok(self.tall_wire()?.node)
    }

    fn tall_wire(&mut self) -> Parsed<Tall<Wire>> {
        let first = self.element()?;
        self.sequence(first)
    }

    /// Parses the elements after the first.
    fn sequence(&mut self, first: Tall<Wire>) -> Parsed<Tall<Wire>> {
        if !self.at_symbol(Symbol::Semicolon) {
            return Ok(first);
        }
        let mut height = first.height;
        let mut parts = Vec::new();
        flatten(&mut parts, first.node);
        while let Some(semicolon) = self.eat(Symbol::Semicolon) {
            if !self.at_element() {
                self.loose(semicolon);
                if self.at_symbol(Symbol::Semicolon) {
                    continue;
                }
                break;
            }
            let part = self.element()?;
            height = height.max(part.height);
            flatten(&mut parts, part.node);
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(Tall { node: only, height }),
            last => {
                parts.extend(last);
                self.taller(Wire::Sequence(parts), height)
            }
        }
    }

    /// Returns true if an element of a wire may start here.
    pub(super) fn at_element(&self) -> bool {
        match self.kind() {
            TokenKind::Lower | TokenKind::Upper | TokenKind::Symbol(Symbol::Open) => true,
            TokenKind::Keyword(keyword) => matches!(
                keyword,
                Keyword::Id
                    | Keyword::Copy
                    | Keyword::Merge
                    | Keyword::Discard
                    | Keyword::Empty
                    | Keyword::Barrier
                    | Keyword::Map
                    | Keyword::Filter
                    | Keyword::Project
                    | Keyword::Tag
            ),
            _ => false,
        }
    }

    fn loose(&mut self, semicolon: Span) {
        let found = self.describe(self.token());
        self.tell(codes::loose_semicolon(semicolon, &found));
    }

    /// An element with the fields behind it.
    fn element(&mut self) -> Parsed<Tall<Wire>> {
        let mut read = self.atom()?;
        while self.eat(Symbol::Dot).is_some() {
            let name = self.field_name()?;
            let node = Wire::Field(Box::new(read.node), name);
            read = self.taller(node, read.height)?;
        }
        Ok(read)
    }

    fn atom(&mut self) -> Parsed<Tall<Wire>> {
        let token = self.token();
        let span = token.span;
        let wire = match token.kind {
            TokenKind::Symbol(Symbol::Open) => return self.nested(Self::group),
            TokenKind::Lower => self.named()?,
            TokenKind::Upper => self.of_module()?,
            TokenKind::Keyword(Keyword::Id) => self.plain(Wire::Id),
            TokenKind::Keyword(Keyword::Copy) => self.plain(Wire::Copy),
            TokenKind::Keyword(Keyword::Merge) => self.plain(Wire::Merge),
            TokenKind::Keyword(Keyword::Discard) => self.plain(Wire::Discard),
            TokenKind::Keyword(Keyword::Empty) => self.plain(Wire::Empty),
            TokenKind::Keyword(Keyword::Barrier) => self.plain(Wire::Barrier),
            TokenKind::Keyword(keyword) if WITH_ARGUMENT.contains(&keyword) => {
                self.with_argument(span, keyword)?
            }
            TokenKind::Keyword(_) => {
                return Err(self.tell(codes::keyword_in_wire(span, &self.text_of(token))));
            }
            _ => return Err(self.expected("a process, a channel or a morphism")),
        };
        Ok(Tall::leaf(wire))
    }

    fn plain(&mut self, wire: impl FnOnce(Span) -> Wire) -> Wire {
        wire(self.bump().span)
    }

    /// `map(e)` and the like; the word may be misspelt.
    fn with_argument(&mut self, start: Span, keyword: Keyword) -> Parsed<Wire> {
        self.bump();
        let (span, wire) = match keyword {
            Keyword::Project => self.argument(Self::number_of_part, |_| None)?,
            Keyword::Tag => self.argument(
                |p| Ok(Some(Wire::Tag(start, p.field("a label")?))),
                |_| None,
            )?,
            _ => {
                let (span, inner) = self.argument(Self::expression, Expr::broken)?;
                let span = start.to(span);
                return Ok(match keyword {
                    Keyword::Filter => Wire::Filter(span, inner),
                    _ => Wire::Map(span, inner),
                });
            }
        };
        let span = start.to(span);
        Ok(match wire {
            Some(Wire::Project(_, number)) => Wire::Project(span, number),
            Some(Wire::Tag(_, label)) => Wire::Tag(span, label),
            _ => Wire::Broken(span),
        })
    }

    fn number_of_part(&mut self) -> Parsed<Option<Wire>> {
        let number = self.small_number("the number of a part, from 0")?;
        Ok(Some(Wire::Project(Span::default(), number)))
    }

    pub(super) fn small_number(&mut self, what: &str) -> Parsed<u32> {
        let token = self.token();
        if token.kind != TokenKind::Number {
            return Err(self.expected(what));
        }
        self.bump();
        let text = self.text_of(token);
        text.parse()
            .map_err(|_| self.tell(codes::bad_number(token.span, &text, &what)))
    }

    /// `(f * g)`, or parentheses around one wire.
    fn group(&mut self) -> Parsed<Tall<Wire>> {
        let opened = self.bump().span;
        let inner = self.parallel(opened);
        let whole = inner.is_ok();
        if !self.at_symbol(Symbol::Close) {
            if whole && !self.at_symbol(Symbol::Semicolon) && !self.at_symbol(Symbol::Star) {
                self.unclosed(opened, Symbol::Close);
            }
            self.skip_until(|_, _| false);
        }
        let span = opened.to(self.close(opened, Symbol::Close));
        match inner {
            Ok(Tall {
                node: Wire::Parallel(_, parts),
                height,
            }) if height > 0 => Ok(Tall {
                node: Wire::Parallel(span, parts),
                height,
            }),
            Ok(inner) => Ok(inner),
            Err(Told) => Ok(Tall::leaf(Wire::Broken(span))),
        }
    }

    fn parallel(&mut self, opened: Span) -> Parsed<Tall<Wire>> {
        let first = self.element()?;
        if !self.at_symbol(Symbol::Star) {
            let read = self.sequence(first)?;
            return match self.at_symbol(Symbol::Star) {
                true => Err(self.mixed(opened)),
                false => Ok(read),
            };
        }
        let mut height = first.height;
        let mut parts = vec![first.node];
        while self.eat(Symbol::Star).is_some() {
            let part = self.element()?;
            height = height.max(part.height);
            parts.push(part.node);
        }
        if self.at_symbol(Symbol::Semicolon) {
            return Err(self.mixed(opened));
        }
        self.taller(Wire::Parallel(opened, parts), height)
    }

    fn mixed(&mut self, opened: Span) -> Told {
        let told = codes::mixed(self.token().span).label(opened, "in these parentheses");
        self.tell(told)
    }

    /// A name, a port, an endpoint of a session, or a misspelt word.
    fn named(&mut self) -> Parsed<Wire> {
        // With a space or a line break between, the parenthesis starts a statement.
        let behind = self.peek(1);
        if behind.kind == TokenKind::Symbol(Symbol::Open)
            && behind.before == Before::Token
            && let Some(keyword) = self.meant(WITH_ARGUMENT)
        {
            let token = self.token();
            self.misspelt(token, keyword);
            return self.with_argument(token.span, keyword);
        }
        if behind.kind == TokenKind::Symbol(Symbol::Open) && self.at_word("once") && self.at_once()
        {
            let word = self.bump().span;
            let (span, inner) = self.argument(Self::expression, Expr::broken)?;
            return Ok(Wire::Once(word.to(span), inner));
        }
        let name = self.take_name();
        if self.eat(Symbol::At).is_some() {
            return self.port(name);
        }
        Ok(Wire::Named(Path::bare(name)))
    }

    /// Returns true if the parenthesis after `once` holds its expression. On a new line it may start a statement,
    /// but not with a literal.
    fn at_once(&self) -> bool {
        let on_line = !matches!(self.peek(1).before, Before::Line(_));
        on_line
            || match self.peek(2).kind {
                TokenKind::Text | TokenKind::Number => true,
                TokenKind::Keyword(word) => {
                    matches!(word, Keyword::True | Keyword::False | Keyword::Null)
                }
                TokenKind::Symbol(symbol) => matches!(
                    symbol,
                    Symbol::OpenBrace | Symbol::OpenBracket | Symbol::Minus
                ),
                _ => false,
            }
    }

    /// `Module.process`.
    fn of_module(&mut self) -> Parsed<Wire> {
        let path = self.path("a process or a channel", TokenKind::Lower)?;
        if self.at_symbol(Symbol::At) {
            return Err(self.tell(codes::port_of_module(self.token().span)));
        }
        Ok(Wire::Named(path))
    }

    /// Parses the part after the `@`.
    fn port(&mut self, session: Name) -> Parsed<Wire> {
        let port = self.field("a port")?;
        let opens = self.at_symbol(Symbol::Open) && !self.at_binding();
        let endpoint = match (&*port.text, opens) {
            ("send", true) => self.of_type(Endpoint::Send)?,
            ("recv", true) => self.of_type(Endpoint::Recv)?,
            ("done", true) => self.of_type(Endpoint::Done)?,
            ("select", true) => self.of_label(Endpoint::Select)?,
            ("offer", true) => self.of_label(Endpoint::Offer)?,
            (word @ ("send" | "recv"), false) => {
                return Err(self.expected(&format!("`(`, as in `{}@{word}(T)`", session.text)));
            }
            (word @ ("select" | "offer"), false) => {
                return Err(self.expected(&format!("`(`, as in `{}@{word}(label)`", session.text)));
            }
            _ => return Ok(Wire::Port(session, port)),
        };
        Ok(Wire::Step(Box::new(Step {
            span: session.span.to(self.last_span()),
            session,
            endpoint,
        })))
    }

    fn of_type(
        &mut self,
        endpoint: impl FnOnce(Type, Option<u32>) -> Endpoint,
    ) -> Parsed<Endpoint> {
        let broken = |span| (Type::broken(span), None);
        let read = |p: &mut Self| Ok((p.message_type()?, p.number_of_step()?));
        let (_, (payload, number)) = self.argument(read, broken)?;
        Ok(endpoint(payload, number))
    }

    fn of_label(
        &mut self,
        endpoint: impl FnOnce(Name, Option<u32>) -> Endpoint,
    ) -> Parsed<Endpoint> {
        let read = |p: &mut Self| Ok(Some((p.field("a label")?, p.number_of_step()?)));
        let (_, read) = self.argument(read, |_| None)?;
        let (label, number) = read.ok_or(Told)?;
        Ok(endpoint(label, number))
    }

    /// Parses `, n` after the type or the label of a step, if present.
    fn number_of_step(&mut self) -> Parsed<Option<u32>> {
        match self.eat(Symbol::Comma) {
            Some(_) => Ok(Some(self.small_number("the number of the step, from 1")?)),
            None => Ok(None),
        }
    }

    /// Returns true if a token is the first of its line and may start an element.
    pub(super) fn may_start_wire(&self, token: Token) -> bool {
        let composed = self.previous().is_some_and(|previous| {
            matches!(
                previous.kind,
                TokenKind::Symbol(symbol) if symbol.closer().is_none() && !symbol.closes()
            )
        });
        matches!(token.before, Before::Line(_)) && !composed && self.at_element()
    }
}

/// Adds a part to a sequence; a sequence in parentheses is a part of it like any other.
fn flatten(parts: &mut Vec<Wire>, part: Wire) {
    match part {
        Wire::Sequence(inner) => parts.extend(inner),
        other => parts.push(other),
    }
}
