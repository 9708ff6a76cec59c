//! Recovery of the parser after a mistake.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::codes;
use crate::syntax::token::{Before, Keyword, Symbol, Token, TokenKind};

impl Parser<'_> {
    /// Passes over tokens and whole groups of delimiters to one at which to stop, to a delimiter that
    /// closes what is open around, to the arrow of a signature, to a declaration or to the end.
    pub(super) fn skip_until(&mut self, stop: impl Fn(&Self, Token) -> bool) {
        let mut open = 0_u32;
        loop {
            let token = self.token();
            let closes = matches!(token.kind, TokenKind::Symbol(symbol) if symbol.closes());
            let arrow = token.kind == TokenKind::Symbol(Symbol::Arrow);
            let stops = open == 0 && (closes || arrow || stop(self, token));
            let leads_on = self.at_declaration() || self.at_statement_word();
            if stops || token.kind == TokenKind::End || leads_on {
                return;
            }
            match token.kind {
                TokenKind::Symbol(symbol) if symbol.closer().is_some() => open += 1,
                _ if closes => open -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    /// Returns true if a declaration starts here that cannot be part of a `plumb` body: a delimiter is
    /// unclosed.
    pub(super) fn at_declaration(&self) -> bool {
        let token = self.token();
        let TokenKind::Keyword(keyword) = token.kind else {
            return false;
        };
        let named = matches!(self.peek(1).kind, TokenKind::Lower | TokenKind::Upper);
        let starts_line = matches!(token.before, Before::Line(_));
        match keyword {
            Keyword::Type | Keyword::Protocol | Keyword::Use => named && starts_line,
            Keyword::Let => named && self.let_with_arrow(),
            _ => false,
        }
    }

    /// Returns true if a line starts here with the keyword of a statement: a delimiter is unclosed.
    fn at_statement_word(&self) -> bool {
        let token = self.token();
        matches!(
            token.kind,
            TokenKind::Keyword(Keyword::Let | Keyword::Spawn)
        ) && matches!(token.before, Before::Line(_))
            && matches!(self.peek(1).kind, TokenKind::Lower | TokenKind::Upper)
    }

    /// Returns true if the `let` here has a signature with an arrow, which no channel has.
    fn let_with_arrow(&self) -> bool {
        let rest = self.tokens.get(self.at + 1..).unwrap_or_default();
        let head = rest.iter().take_while(|token| {
            !matches!(
                token.kind,
                TokenKind::Symbol(Symbol::Equal)
                    | TokenKind::Keyword(
                        Keyword::Let | Keyword::Spawn | Keyword::Plumb | Keyword::Channel
                    )
            )
        });
        head.into_iter()
            .any(|token| token.kind == TokenKind::Symbol(Symbol::Arrow))
    }

    /// Parses a list between delimiters, from the opening one. Commas separate its items; one may end the
    /// list. A broken item is left out.
    pub(super) fn list<T>(
        &mut self,
        open: Symbol,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<(Span, Vec<T>)> {
        let opened = self.expect(open)?;
        let Some(closer) = open.closer() else {
            return Ok((opened, Vec::new()));
        };
        let mut items = Vec::new();
        loop {
            if let Some(closed) = self.eat(closer) {
                return Ok((opened.to(closed), items));
            }
            let mut whole = item(self).map(|item| items.push(item)).is_ok();
            if self.eat(Symbol::Comma).is_some() || self.at_symbol(closer) {
                continue;
            }
            let next_item = self.peek(1).kind == TokenKind::Symbol(Symbol::Colon);
            if whole && !self.at_close_of_more() {
                let wanted = format!("`,` or `{}`", closer.text());
                let told = self.unexpected(&wanted);
                let opener = open.text();
                let told = told.label(opened, format!("`{opener}` was opened here"));
                self.tell(told);
                whole = false;
                if next_item {
                    continue;
                }
            }
            self.skip_until(|_, token| token.kind == TokenKind::Symbol(Symbol::Comma));
            if self.eat(Symbol::Comma).is_none() && !self.at_symbol(closer) {
                if whole {
                    self.unclosed(opened, closer);
                }
                return Ok((opened.to(self.last_span()), items));
            }
        }
    }

    /// Returns true if the token here ends more than a list.
    fn at_close_of_more(&self) -> bool {
        match self.kind() {
            TokenKind::End => true,
            TokenKind::Symbol(symbol) => symbol.closes(),
            _ => self.at_declaration() || self.at_statement_word(),
        }
    }

    /// Parses one element in parentheses; if it is broken, `broken` makes a replacement.
    pub(super) fn argument<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Parsed<T>,
        broken: impl FnOnce(Span) -> T,
    ) -> Parsed<(Span, T)> {
        let opened = self.expect(Symbol::Open)?;
        let read = read(self);
        let mut whole = read.is_ok();
        if !self.at_symbol(Symbol::Close) {
            if whole && !self.at_close_of_more() {
                let told = self.unexpected("`)`").label(opened, "`(` was opened here");
                self.tell(told);
                whole = false;
            }
            self.skip_until(|_, _| false);
        }
        let inside = opened.to(self.last_span());
        let closed = self.close_after(opened, Symbol::Close, whole);
        let node = read.unwrap_or_else(|_| broken(inside));
        Ok((opened.to(closed), node))
    }

    /// Takes what closes a delimiter, or tells that it is missing.
    pub(super) fn close(&mut self, opened: Span, closer: Symbol) -> Span {
        if let Some(closed) = self.eat(closer) {
            return closed;
        }
        self.unclosed(opened, closer);
        self.last_span()
    }

    /// [`close`](Self::close) behind something that was read whole; if it was not, that it is not closed is a
    /// part of the same mistake.
    pub(super) fn close_after(&mut self, opened: Span, closer: Symbol, whole: bool) -> Span {
        match self.eat(closer) {
            Some(closed) => closed,
            None if whole => self.close(opened, closer),
            None => self.last_span(),
        }
    }

    pub(super) fn unclosed(&mut self, opened: Span, closer: Symbol) {
        let token = self.token();
        let swallowed = |told: &Diagnostic| {
            told.code == codes::UNCLOSED_STRING && told.span.start >= opened.start
        };
        if self.diagnostics.iter().any(swallowed) {
            // It may stand in the string.
            return;
        }
        let (closer, found) = (closer.text(), self.describe(token));
        let open = self.text.get(opened.range()).unwrap_or_default();
        let told = codes::unclosed(token.span, &closer, &found)
            .label(opened, format!("this `{open}` is not closed"));
        self.tell(told);
    }

    /// Tells that a delimiter closes nothing, and passes over it.
    pub(super) fn unopened(&mut self) {
        let token = self.bump();
        self.tell(codes::unopened(token.span, &self.describe(token)));
    }
}
