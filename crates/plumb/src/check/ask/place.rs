//! The place of a cursor in the grammar, from the tokens before it: a text that is being typed rarely parses.

use crate::span::SourceId;
use crate::syntax::token::{Before, Keyword, Symbol, Token, TokenKind};
use crate::syntax::tokens;

/// A place of the grammar, by the words that can stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A declaration.
    Top,
    /// The body of a process: a word for one, or a morphism.
    Body,
    /// The first part of a statement: something that messages come out of, or a word for a statement.
    Statement,
    /// A part behind `;`: something that messages go into.
    Behind,
    /// A part of a parallel composition or of a declared morphism.
    Part,
    /// A type.
    Type,
    /// The word of a channel.
    Channel,
    /// A step of a protocol.
    Step,
    /// A protocol.
    Protocol,
    /// The name of a module.
    Module,
    /// A process to spawn.
    Spawned,
    /// An argument of a spawned process: a port of it, or a channel.
    Argument(String),
    /// A channel for a port.
    Joined,
    /// The type of a step of a session: the session and the word.
    StepType(String, String),
    /// A label of a session: the session and the word.
    Label(String, String),
    /// A name that is new, or anything that only the type of a message says.
    Unknown,
}

/// The place behind a text.
pub(super) fn place(before: &str) -> Place {
    let mut all = tokens(SourceId(0), before);
    all.pop();
    // Columns of what stands at the end count as a new line.
    let fresh = before.trim_end_matches([' ', '\t']).ends_with('\n') || before.trim().is_empty();
    Scan {
        text: before,
        tokens: &all,
        fresh,
    }
    .place()
}

struct Scan<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// True if the place is the first of its line.
    fresh: bool,
}

/// The content of a pair of delimiters.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Inside {
    Body,
    Settings,
    Ports,
    TypeRecord,
    TypeGroup,
    Arms,
    Expression,
    Wires,
    Spawn(String),
    Binding,
    StepType(String, String),
    Label(String, String),
}

impl Scan<'_> {
    fn text(&self, at: usize) -> &str {
        let token = self.tokens.get(at);
        token
            .and_then(|token| self.text.get(token.span.range()))
            .unwrap_or_default()
    }

    fn kind(&self, at: Option<usize>) -> Option<TokenKind> {
        Some(self.tokens.get(at?)?.kind)
    }

    fn is(&self, at: Option<usize>, symbol: Symbol) -> bool {
        self.kind(at) == Some(TokenKind::Symbol(symbol))
    }

    fn word(&self, at: Option<usize>, keyword: Keyword) -> bool {
        self.kind(at) == Some(TokenKind::Keyword(keyword))
    }

    fn place(&self) -> Place {
        let mut open: Vec<(usize, Inside)> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let TokenKind::Symbol(symbol) = token.kind else {
                continue;
            };
            if symbol.closer().is_some() {
                let around = open.last().map(|(_, inside)| inside.clone());
                let inside = self.opens(at, symbol, around.as_ref());
                open.push((at, inside));
            } else if symbol.closes() {
                open.pop();
            }
        }
        let last = self.tokens.len().checked_sub(1);
        match open.last() {
            None => self.top(last),
            Some((at, inside)) => self.inside(*at, inside, last),
        }
    }

    /// The content of the delimiter that opens at token `at`.
    fn opens(&self, at: usize, symbol: Symbol, around: Option<&Inside>) -> Inside {
        let before = at.checked_sub(1);
        let earlier = |by: usize| at.checked_sub(by);
        match symbol {
            Symbol::OpenBrace if self.word(before, Keyword::Agent) => Inside::Settings,
            Symbol::OpenBrace if self.word(before, Keyword::Tool) => Inside::Settings,
            Symbol::OpenBrace if around.is_none() && self.is(before, Symbol::Close) => {
                let plumb = self.declares(at) == Some(Keyword::Let);
                if plumb {
                    Inside::Body
                } else {
                    Inside::TypeRecord
                }
            }
            Symbol::OpenBrace if self.declares(at) == Some(Keyword::Protocol) => match around {
                Some(Inside::TypeRecord | Inside::TypeGroup) => Inside::TypeRecord,
                _ if self.word(before, Keyword::Send) || self.word(before, Keyword::Recv) => {
                    Inside::TypeRecord
                }
                _ => Inside::Arms,
            },
            Symbol::Open if self.word(before, Keyword::Plumb) => Inside::Ports,
            Symbol::Open if self.is(earlier(2), Symbol::At) => {
                let (session, word) = (self.text(at.saturating_sub(3)), self.text(at - 1));
                let of = (session.to_owned(), word.to_owned());
                match word {
                    "select" | "offer" => Inside::Label(of.0, of.1),
                    _ => Inside::StepType(of.0, of.1),
                }
            }
            Symbol::Open
                if matches!(self.text(at.saturating_sub(1)), "map" | "filter" | "once") =>
            {
                Inside::Expression
            }
            Symbol::Open if around == Some(&Inside::Body) => self.in_body(at),
            _ => match around {
                Some(Inside::Expression | Inside::Settings) => Inside::Expression,
                Some(Inside::TypeRecord | Inside::TypeGroup | Inside::StepType(..)) => {
                    group(symbol)
                }
                Some(Inside::Wires) => Inside::Wires,
                Some(Inside::Body) => group(symbol),
                _ if self.in_signature(at) => group(symbol),
                _ if self.declares(at) == Some(Keyword::Type) => group(symbol),
                _ => Inside::Wires,
            },
        }
    }

    /// A parenthesis in a body.
    fn in_body(&self, at: usize) -> Inside {
        let before = at.checked_sub(1);
        // `spawn p(` or `spawn Mod.p(`.
        for back in [2, 4] {
            if self.word(at.checked_sub(back), Keyword::Spawn) {
                let name = self.tokens.get(at - back + 1..at).unwrap_or_default();
                let name = name.first().zip(name.last());
                let span = name.map(|(first, last)| first.span.to(last.span));
                let text = span.and_then(|span| self.text.get(span.range()));
                return Inside::Spawn(text.unwrap_or_default().to_owned());
            }
        }
        if self.is(before, Symbol::Bang) || self.is(before, Symbol::Bar) {
            return Inside::TypeGroup;
        }
        let rest = self.tokens.get(at + 1..).unwrap_or_default();
        let mut rest = rest.iter().map(|token| token.kind);
        let name = matches!(rest.next(), Some(TokenKind::Lower));
        let comma = rest.next() == Some(TokenKind::Symbol(Symbol::Comma));
        if name && comma {
            Inside::Binding
        } else {
            Inside::Wires
        }
    }

    /// The keyword of the declaration around a token.
    fn declares(&self, at: usize) -> Option<Keyword> {
        let before = self.tokens.get(..at).unwrap_or_default();
        before.iter().enumerate().rev().find_map(|(index, token)| {
            let TokenKind::Keyword(keyword) = token.kind else {
                return None;
            };
            let starts = matches!(token.before, Before::Line(_)) || index == 0;
            let known = matches!(
                keyword,
                Keyword::Type | Keyword::Let | Keyword::Protocol | Keyword::Use
            );
            (known && starts).then_some(keyword)
        })
    }

    /// Returns true between the `:` and the `=` of a `let`.
    fn in_signature(&self, at: usize) -> bool {
        let before = self.tokens.get(..at).unwrap_or_default();
        let mut before = before.iter().rev().map(|token| token.kind);
        let found = before.find(|kind| {
            matches!(
                kind,
                TokenKind::Keyword(Keyword::Let | Keyword::Type | Keyword::Protocol)
                    | TokenKind::Symbol(Symbol::Equal)
            )
        });
        found == Some(TokenKind::Keyword(Keyword::Let))
    }

    fn top(&self, last: Option<usize>) -> Place {
        let Some(at) = last else {
            return Place::Top;
        };
        let declares = self.declares(self.tokens.len());
        let joins = matches!(self.kind(last), Some(TokenKind::Symbol(symbol)) if !symbol.closes());
        match self.kind(last) {
            Some(TokenKind::Keyword(Keyword::Use)) => return Place::Module,
            Some(TokenKind::Keyword(Keyword::Let | Keyword::Type | Keyword::Protocol)) => {
                return Place::Unknown;
            }
            Some(TokenKind::Keyword(Keyword::Send | Keyword::Recv)) => return Place::Type,
            _ => {}
        }
        if self.fresh && !joins {
            return Place::Top;
        }
        match declares {
            Some(Keyword::Type) if self.is(last, Symbol::Equal) || self.is(last, Symbol::Bar) => {
                Place::Type
            }
            Some(Keyword::Protocol)
                if self.is(last, Symbol::Equal) || self.is(last, Symbol::Dot) =>
            {
                Place::Step
            }
            Some(Keyword::Let) if self.in_signature(self.tokens.len()) => match self.kind(last) {
                Some(TokenKind::Symbol(_)) => Place::Type,
                _ => Place::Unknown,
            },
            Some(Keyword::Let) if self.is(last, Symbol::Equal) => Place::Body,
            Some(Keyword::Let) if self.is(last, Symbol::Semicolon) => Place::Part,
            _ if at == 0 || self.fresh => Place::Top,
            _ => Place::Unknown,
        }
    }

    fn inside(&self, opened: usize, inside: &Inside, last: Option<usize>) -> Place {
        let first = last == Some(opened);
        match inside {
            Inside::Body => self.statement(first, last),
            Inside::Wires => Place::Part,
            Inside::TypeGroup => Place::Type,
            Inside::TypeRecord if self.is(last, Symbol::Colon) || self.is(last, Symbol::Bar) => {
                Place::Type
            }
            Inside::Arms => match self.kind(last) {
                Some(TokenKind::Symbol(Symbol::Colon | Symbol::Dot)) => Place::Step,
                Some(TokenKind::Keyword(Keyword::Send | Keyword::Recv)) => Place::Type,
                _ => Place::Unknown,
            },
            Inside::Spawn(_) if self.is(last, Symbol::Equal) => Place::Joined,
            Inside::Spawn(process) => Place::Argument(process.clone()),
            Inside::Binding => Place::Joined,
            Inside::StepType(session, word) if first => {
                Place::StepType(session.clone(), word.clone())
            }
            Inside::Label(session, word) if first => Place::Label(session.clone(), word.clone()),
            _ => Place::Unknown,
        }
    }

    fn statement(&self, first: bool, last: Option<usize>) -> Place {
        match self.kind(last) {
            _ if first => Place::Statement,
            Some(TokenKind::Symbol(Symbol::Semicolon)) => Place::Behind,
            Some(TokenKind::Symbol(Symbol::Colon | Symbol::Bang | Symbol::Bar)) => Place::Type,
            Some(TokenKind::Symbol(Symbol::Equal)) => Place::Channel,
            Some(TokenKind::Symbol(Symbol::Bind)) => Place::Protocol,
            Some(TokenKind::Keyword(Keyword::Spawn)) => Place::Spawned,
            Some(TokenKind::Keyword(Keyword::Let | Keyword::As)) => Place::Unknown,
            Some(TokenKind::Lower) if last.is_some_and(|at| self.text(at) == "dual") => {
                Place::Protocol
            }
            Some(TokenKind::Symbol(symbol)) if !symbol.closes() => Place::Unknown,
            // A statement may also stand on the line of another one.
            _ => Place::Statement,
        }
    }
}

fn group(symbol: Symbol) -> Inside {
    match symbol {
        Symbol::OpenBrace => Inside::TypeRecord,
        _ => Inside::TypeGroup,
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, place};

    #[track_caller]
    fn check(cases: &[(&str, Place)]) {
        for (text, wanted) in cases {
            assert_eq!(place(text), *wanted, "{text}");
        }
    }

    #[test]
    fn declarations() {
        check(&[
            ("", Place::Top),
            ("type A = int\n", Place::Top),
            ("use ", Place::Module),
            ("type ", Place::Unknown),
            ("type A = ", Place::Type),
            ("type A = int | ", Place::Type),
            ("type A = { a: ", Place::Type),
            ("type A = { ", Place::Unknown),
            ("type A = [", Place::Type),
            ("let f : ", Place::Type),
            ("let f : !int -> ", Place::Type),
            ("let f : (!int, !", Place::Type),
            ("let f : !int -> !int = ", Place::Body),
            ("let f : !int -> !int = id ; ", Place::Part),
            ("let f : !int -> !int = map(", Place::Unknown),
            ("protocol P = ", Place::Step),
            ("protocol P = send ", Place::Type),
            ("protocol P = send int . ", Place::Step),
            ("protocol P = { a: ", Place::Step),
            ("protocol P = { ", Place::Unknown),
            ("protocol P = send { a: ", Place::Type),
        ]);
    }

    #[test]
    fn statements() {
        let body = |text: &str| place(&format!("let f : !A -> !B = plumb(i, o) {{\n  {text}"));
        let step = |word: &str| Place::StepType("s".to_owned(), word.to_owned());
        let cases = [
            ("", Place::Statement),
            ("i ; o\n  ", Place::Statement),
            ("i ; ", Place::Behind),
            ("i ; map(a) ; ", Place::Behind),
            ("(", Place::Part),
            ("(i * ", Place::Part),
            ("let ", Place::Unknown),
            ("let c : ", Place::Type),
            ("let c : !", Place::Type),
            ("let c : !{ a: ", Place::Type),
            ("let c : !int = ", Place::Channel),
            ("spawn ", Place::Spawned),
            ("spawn p(", Place::Argument("p".to_owned())),
            ("spawn Mem.p(a=", Place::Joined),
            ("(i, ", Place::Joined),
            ("(i, o) <-> ", Place::Protocol),
            ("(i, o) <-> dual ", Place::Protocol),
            ("(i, o) <-> P as ", Place::Unknown),
            ("i ; s@send(", step("send")),
            ("s@offer(", Place::Label("s".to_owned(), "offer".to_owned())),
        ];
        for (text, wanted) in cases {
            assert_eq!(body(text), wanted, "{text}");
        }
    }
}
