//! The declarations of a source.

use super::{Parsed, Parser, Told};
use crate::span::Span;
use crate::syntax::ast::{
    Body, Declaration, DeclarationKind, Let, Plumb, Setting, Signature, Type, Wire,
};
use crate::syntax::codes;
use crate::syntax::token::{Keyword, Symbol, TokenKind};

const WORDS: &[Keyword] = &[Keyword::Use, Keyword::Type, Keyword::Let, Keyword::Protocol];

impl Parser<'_> {
    /// All of a source.
    pub(super) fn declarations(&mut self) -> Vec<Declaration> {
        let mut declarations = Vec::new();
        while self.kind() != TokenKind::End {
            let start = self.token().span;
            let at = self.at;
            match self.declaration() {
                Ok(kind) => declarations.push(Declaration {
                    span: start.to(self.last_span()),
                    kind,
                }),
                Err(Told) => self.next_declaration(at),
            }
        }
        declarations
    }

    /// Goes on to where a declaration starts, at least one token on from where the last one did.
    fn next_declaration(&mut self, from: usize) {
        if self.at == from {
            self.bump();
        }
        while self.kind() != TokenKind::End && !self.at_declaration() {
            self.bump();
        }
    }

    pub(super) fn declaration(&mut self) -> Parsed<DeclarationKind> {
        let named = matches!(self.peek(1).kind, TokenKind::Lower | TokenKind::Upper);
        match self.word(WORDS, named) {
            Some(Keyword::Use) => {
                self.bump();
                Ok(DeclarationKind::Use(
                    self.lower("the name of a module's file")?,
                ))
            }
            Some(Keyword::Type) => {
                self.bump();
                let name = self.upper("the name of a type")?;
                self.expect(Symbol::Equal)?;
                Ok(DeclarationKind::Type(name, self.message_type()?))
            }
            Some(Keyword::Protocol) => {
                self.bump();
                let name = self.upper("the name of a protocol")?;
                self.expect(Symbol::Equal)?;
                Ok(DeclarationKind::Protocol(name, self.protocol()?))
            }
            Some(Keyword::Let) => Ok(DeclarationKind::Let(self.let_declaration()?)),
            _ => Err(self.no_declaration()),
        }
    }

    fn no_declaration(&mut self) -> Told {
        if matches!(self.kind(), TokenKind::Symbol(symbol) if symbol.closes()) {
            self.unopened();
            return Told;
        }
        let mut told = self.unexpected("a declaration");
        told = match self.kind() {
            TokenKind::Keyword(Keyword::Spawn) => {
                told.hint("Processes are spawned in the body of a `plumb`.")
            }
            _ => told.hint("A declaration starts with `use`, `type`, `let` or `protocol`."),
        };
        self.tell(told)
    }

    /// `let name : signature = body`.
    fn let_declaration(&mut self) -> Parsed<Let> {
        self.bump();
        let name = self.lower("the name of a process")?;
        let bare = self.at_symbol(Symbol::Equal);
        if bare {
            let told = self
                .unexpected("`:` and a signature")
                .hint(format!("Write `let {} : !A -> !B = …`.", name.text));
            self.tell(told);
        } else {
            self.expect(Symbol::Colon)?;
        }
        let start = self.token().span;
        let signature = match bare {
            true => Err(Told),
            false => self.signature(),
        };
        let signature = signature.unwrap_or_else(|Told| {
            self.skip_until(|_, token| token.kind == TokenKind::Symbol(Symbol::Equal));
            broken_signature(start)
        });
        let equal = self.expect(Symbol::Equal)?;
        let body = match self.let_body() {
            Ok(body) => body,
            Err(Told) => {
                self.skip_until(|_, _| false);
                Body::Broken(equal)
            }
        };
        Ok(Let {
            name,
            signature,
            body,
        })
    }

    fn let_body(&mut self) -> Parsed<Body> {
        let token = self.token();
        let opens = matches!(
            self.peek(1).kind,
            TokenKind::Symbol(Symbol::OpenBrace | Symbol::Open)
        );
        match self.word(&[Keyword::Agent, Keyword::Tool, Keyword::Plumb], opens) {
            Some(Keyword::Agent) => {
                let (span, settings) = self.settings()?;
                Ok(Body::Agent(span, settings))
            }
            Some(Keyword::Tool) => {
                let (span, settings) = self.settings()?;
                Ok(Body::Tool(span, settings))
            }
            Some(Keyword::Plumb) => Ok(Body::Plumb(self.plumb()?)),
            Some(Keyword::Channel) => {
                let span = self.last_span().to(token.span);
                self.bump();
                Err(self.tell(codes::misplaced_channel(span)))
            }
            _ => Ok(Body::Wire(self.let_wire()?)),
        }
    }

    fn let_wire(&mut self) -> Parsed<Wire> {
        let wire = self.wire()?;
        let ended = self.kind() == TokenKind::End || self.at_declaration();
        let opens = matches!(
            self.kind(),
            TokenKind::Symbol(Symbol::OpenBrace | Symbol::Open | Symbol::Star)
        );
        if !ended && opens {
            let told = self
                .unexpected("`;` or the end of the declaration")
                .hint("Parallel composition stands in parentheses: `(f * g)`.");
            return Err(self.tell(told));
        }
        Ok(wire)
    }

    /// `agent { key: value, … }`; it is at the word.
    fn settings(&mut self) -> Parsed<(Span, Vec<Setting>)> {
        let word = self.bump().span;
        let (span, settings) = self.list(Symbol::OpenBrace, |p| {
            let key = p.field("a key")?;
            p.expect(Symbol::Colon)?;
            Ok(Setting {
                key,
                value: p.expression()?,
            })
        })?;
        Ok((word.to(span), settings))
    }

    /// `plumb(ports) { statements }`; it is at the word.
    fn plumb(&mut self) -> Parsed<Plumb> {
        let word = self.bump().span;
        let (_, ports) = self.list(Symbol::Open, |p| p.lower("the name of a port"))?;
        let (span, statements) = self.body()?;
        Ok(Plumb {
            span: word.to(span),
            ports,
            statements,
        })
    }
}

/// A signature that could not be read: its only port is broken.
fn broken_signature(span: Span) -> Signature {
    let broken = Type::broken(span);
    Signature {
        span,
        inputs: vec![broken.clone()],
        outputs: vec![broken],
    }
}
