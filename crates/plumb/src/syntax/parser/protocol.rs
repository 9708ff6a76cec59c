//! Protocols.

use super::{Parsed, Parser};
use crate::span::Span;
use crate::syntax::ast::{Name, Protocol, ProtocolKind};
use crate::syntax::codes;
use crate::syntax::token::{Keyword, Symbol, TokenKind};

const WORDS: &[Keyword] = &[
    Keyword::Send,
    Keyword::Recv,
    Keyword::Select,
    Keyword::Offer,
    Keyword::Rec,
    Keyword::Loop,
    Keyword::End,
];

impl Parser<'_> {
    /// A protocol. Each step is one level of the tree, so a path through it has at most
    /// [`DEPTH`](super::DEPTH) steps.
    pub(super) fn protocol(&mut self) -> Parsed<Protocol> {
        self.nested(Self::protocol_step)
    }

    fn protocol_step(&mut self) -> Parsed<Protocol> {
        let token = self.token();
        let kind = match self.word(WORDS, true) {
            Some(word) if WORDS.contains(&word) => {
                self.bump();
                self.step_of(word)?
            }
            _ => match token.kind {
                TokenKind::Symbol(Symbol::OpenBrace) => ProtocolKind::Select(self.arms()?),
                TokenKind::Symbol(Symbol::Open) => return self.protocol_group(token.span),
                TokenKind::Upper => {
                    ProtocolKind::Named(self.path("the name of a protocol", TokenKind::Upper)?)
                }
                _ => {
                    let mut told = self.unexpected("a step of a protocol");
                    if self.at_word("dual") {
                        told = told
                            .hint("Write `dual` where it is bound: `(in, out) <-> dual P as s`.");
                    }
                    return Err(self.tell(told));
                }
            },
        };
        Ok(Protocol {
            span: token.span.to(self.last_span()),
            kind,
        })
    }

    /// The step after its word.
    fn step_of(&mut self, word: Keyword) -> Parsed<ProtocolKind> {
        Ok(match word {
            Keyword::Send => {
                let payload = self.payload_type()?;
                ProtocolKind::Send(payload, Box::new(self.next_step()?))
            }
            Keyword::Recv => {
                let payload = self.payload_type()?;
                ProtocolKind::Recv(payload, Box::new(self.next_step()?))
            }
            Keyword::Rec => {
                let name = self.upper("the variable of a `rec`")?;
                ProtocolKind::Rec(name, Box::new(self.next_step()?))
            }
            Keyword::Select => ProtocolKind::Select(self.arms()?),
            Keyword::Offer => ProtocolKind::Offer(self.arms()?),
            Keyword::Loop => ProtocolKind::Loop,
            _ => ProtocolKind::End,
        })
    }

    /// Parses the protocol after the dot of a step.
    fn next_step(&mut self) -> Parsed<Protocol> {
        let step = self.last_span();
        if self.eat(Symbol::Dot).is_some() {
            return self.protocol();
        }
        self.tell(codes::unended(step));
        Ok(Protocol {
            span: step,
            kind: ProtocolKind::Broken,
        })
    }

    fn arms(&mut self) -> Parsed<Vec<(Name, Protocol)>> {
        let (span, arms) = self.list(Symbol::OpenBrace, |p| {
            let label = p.field("a label")?;
            p.expect(Symbol::Colon)?;
            Ok((label, p.protocol()?))
        })?;
        if self.at_symbol(Symbol::Dot) {
            let told = codes::after_choice(self.token().span).label(span, "the arms of the choice");
            return Err(self.tell(told));
        }
        Ok(arms)
    }

    fn protocol_group(&mut self, opened: Span) -> Parsed<Protocol> {
        self.bump();
        let inner = self.protocol()?;
        let span = opened.to(self.close(opened, Symbol::Close));
        Ok(Protocol { span, ..inner })
    }
}
