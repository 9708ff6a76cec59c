//! The statements of a `plumb` body.

use super::{Parsed, Parser, Told};
use crate::span::Span;
use crate::syntax::ast::{Argument, Bind, Name, Side, Spawn, Statement, StatementKind, Type};
use crate::syntax::codes;
use crate::syntax::token::{Before, Keyword, Symbol, Token, TokenKind};

impl Parser<'_> {
    /// `{ statements }`: where it ends and what is in it.
    pub(super) fn body(&mut self) -> Parsed<(Span, Vec<Statement>)> {
        let opened = self.expect(Symbol::OpenBrace)?;
        let mut statements = Vec::new();
        loop {
            if let Some(closed) = self.eat(Symbol::CloseBrace) {
                return Ok((opened.to(closed), statements));
            }
            if self.kind() == TokenKind::End {
                self.unclosed(opened, Symbol::CloseBrace);
                return Ok((opened.to(self.last_span()), statements));
            }
            if self.at_declaration() {
                if !self.token_is_indented() {
                    self.unclosed(opened, Symbol::CloseBrace);
                    return Ok((opened.to(self.last_span()), statements));
                }
                self.misplaced_declaration();
                continue;
            }
            let start = self.token();
            let at = self.at;
            let kind = self.statement().unwrap_or_else(|Told| {
                self.next_statement(at);
                StatementKind::Broken
            });
            statements.push(Statement {
                span: start.span.to(self.last_span()),
                kind,
            });
        }
    }

    fn token_is_indented(&self) -> bool {
        self.token().before != Before::Line(0)
    }

    /// Passes over a declaration in a body, and tells that it does not belong there.
    fn misplaced_declaration(&mut self) {
        let start = self.token();
        self.tell(codes::misplaced_declaration(
            start.span,
            &self.text_of(start),
        ));
        // The declaration is read only for the mistakes in it; nothing of it is kept.
        self.declaration().ok();
    }

    /// Goes on to where a statement may start, at least one token on from where the last one did.
    fn next_statement(&mut self, from: usize) {
        if self.at == from && !self.at_symbol(Symbol::CloseBrace) {
            match self.kind() {
                TokenKind::Symbol(symbol) if symbol.closes() => self.unopened(),
                _ => {
                    self.bump();
                }
            }
        }
        self.skip_until(Self::may_start_statement);
        while let TokenKind::Symbol(Symbol::Close | Symbol::CloseBracket) = self.kind() {
            self.unopened();
            self.skip_until(Self::may_start_statement);
        }
    }

    fn may_start_statement(&self, token: Token) -> bool {
        matches!(
            token.kind,
            TokenKind::Keyword(Keyword::Let | Keyword::Spawn)
        ) || self.may_start_wire(token)
    }

    fn statement(&mut self) -> Parsed<StatementKind> {
        let named = matches!(self.peek(1).kind, TokenKind::Lower | TokenKind::Upper);
        match self.word(&[Keyword::Let, Keyword::Spawn], named) {
            Some(Keyword::Let) => self.channel(),
            Some(Keyword::Spawn) => self.spawn(),
            _ if self.at_symbol(Symbol::Open) && self.at_binding() => self.bind(),
            _ if self.at_element() => Ok(StatementKind::Wire(self.wire()?)),
            _ => Err(self.expected("a statement or `}`")),
        }
    }

    /// `let c : !T = channel`. One that cannot be read behind its name is declared nevertheless: that it is
    /// not there would be told wherever it is named.
    fn channel(&mut self) -> Parsed<StatementKind> {
        let start = self.at;
        self.bump();
        let name = self.lower("the name of a channel")?;
        let kind = self.channel_kind(&name).unwrap_or_else(|Told| {
            self.next_statement(start);
            Type::broken(name.span)
        });
        Ok(StatementKind::Channel(name, kind))
    }

    fn channel_kind(&mut self, name: &Name) -> Parsed<Type> {
        if self.at_symbol(Symbol::Equal) {
            let told = self
                .unexpected("`:` and the type of the channel")
                .hint(format!("Write `let {} : !T = channel`.", name.text));
            return Err(self.tell(told));
        }
        self.expect(Symbol::Colon)?;
        let kind = self.channel_type()?;
        self.expect(Symbol::Equal)?;
        if !self.at_keyword(Keyword::Channel) && self.meant(&[Keyword::Channel]).is_none() {
            let told = self
                .unexpected("`channel`")
                .hint("In the body of a `plumb`, `let` declares channels only.");
            return Err(self.tell(told));
        }
        self.expect_keyword(Keyword::Channel)?;
        Ok(kind)
    }

    /// `spawn p(port=channel, …)`.
    fn spawn(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let process = self.path("the name of a process", TokenKind::Lower)?;
        let (_, arguments) = self.list(Symbol::Open, Self::spawn_argument)?;
        Ok(StatementKind::Spawn(Spawn { process, arguments }))
    }

    fn spawn_argument(&mut self) -> Parsed<Argument> {
        let first = self.lower("a port or a channel")?;
        if self.at_symbol(Symbol::Colon) {
            let told = self
                .unexpected("`=`")
                .hint("Ports are joined to channels with `port=channel`.");
            self.tell(told);
        } else if !self.at_symbol(Symbol::Equal) {
            return Ok(Argument {
                port: None,
                channel: first,
            });
        }
        self.bump();
        Ok(Argument {
            port: Some(first),
            channel: self.lower("the name of a channel")?,
        })
    }

    /// Returns true if the parenthesis here starts `(a, b) <-> P as s`: a wire has no commas.
    pub(super) fn at_binding(&self) -> bool {
        let symbol = |at, symbol| self.peek(at).kind == TokenKind::Symbol(symbol);
        let name = |at| {
            matches!(
                self.peek(at).kind,
                TokenKind::Lower | TokenKind::Upper | TokenKind::Keyword(_)
            )
        };
        let pair = name(1) && symbol(2, Symbol::Comma);
        let bound = symbol(4, Symbol::Close) && symbol(5, Symbol::Bind);
        // `s@send(T, 2)` also has a comma behind a name, and no `<->`.
        pair && (bound || name(3))
    }

    /// `(in_stream, out_stream) <-> P as s within 30s`.
    fn bind(&mut self) -> Parsed<StatementKind> {
        let opened = self.bump().span;
        let incoming = self.lower("the stream to receive from")?;
        self.expect(Symbol::Comma)?;
        let outgoing = self.lower("the stream to send to")?;
        self.close(opened, Symbol::Close);
        self.expect(Symbol::Bind)?;
        let dual = self.at_word("dual") && self.peek(1).kind == TokenKind::Upper;
        let side = if dual {
            self.bump();
            Side::Dual
        } else {
            Side::Itself
        };
        let protocol = self.path("the name of a protocol", TokenKind::Upper)?;
        self.expect_keyword(Keyword::As)?;
        let session = self.lower("the name of a session")?;
        let timed = self.at_word("within") && self.peek(1).kind == TokenKind::Number;
        let within = if timed { Some(self.within()?) } else { None };
        Ok(StatementKind::Bind(Bind {
            incoming,
            outgoing,
            side,
            protocol,
            session,
            within,
        }))
    }

    /// `within 30s`, in milliseconds.
    fn within(&mut self) -> Parsed<(u64, Span)> {
        let start = self.bump().span;
        let number = self.bump();
        let unit = self.token();
        let factor = match self.text_of(unit) {
            _ if unit.before != Before::Token => None,
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            _ => None,
        };
        let has_unit = unit.before == Before::Token && unit.kind == TokenKind::Lower;
        let end = if has_unit {
            self.bump().span
        } else {
            number.span
        };
        let count = self.text_of(number).parse::<u64>().ok();
        let parsed = count
            .zip(factor)
            .and_then(|(count, factor)| count.checked_mul(factor));
        match parsed {
            Some(milliseconds) => Ok((milliseconds, start.to(end))),
            None => Err(self.tell(codes::bad_duration(number.span.to(end)))),
        }
    }
}
