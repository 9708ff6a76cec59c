//! The parser: tokens to the syntax tree.
//!
//! By recursive descent, one file for each part of the grammar. A mistake is reported once: the function that
//! meets it returns [`Told`], and the next list, statement or declaration around it goes on behind it. So one
//! run tells several mistakes, and what could be read is there.

mod declaration;
mod expression;
mod protocol;
mod recovery;
mod statement;
mod types;
mod wire;

use super::ast::{Name, Path, Program};
use super::lexer::{KEPT, Lexed, lex};
use super::token::{Keyword, Symbol, Token, TokenKind};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::span::{SourceId, Span};
use crate::syntax::codes;

/// The maximum depth of a tree; more is [`P0108`](codes::TOO_DEEP). Code that walks a tree may recurse this
/// deep.
pub const DEPTH: u32 = 128;

/// The maximum number of mistakes reported in one run.
const TOLD: usize = 100;

/// Reads a program. Never fails: what could not be read is `Broken` in the tree and told.
#[must_use]
pub fn parse(source: SourceId, text: &str) -> (Program, Vec<Diagnostic>) {
    let Lexed {
        tokens,
        comments,
        diagnostics,
    } = lex(source, text);
    let gaps = diagnostics.iter().map(|told| told.span.start).collect();
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        depth: 0,
        deep: false,
        gaps,
        diagnostics,
    };
    let declarations = parser.declarations();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|told| told.span.start);
    if diagnostics.len() > TOLD {
        diagnostics.truncate(TOLD);
        if let Some(last) = diagnostics.last() {
            diagnostics.push(codes::too_many(last.span));
        }
    }
    let program = Program {
        declarations,
        comments,
    };
    (program, diagnostics)
}

/// A mistake that has been told.
#[derive(Clone, Copy, Debug)]
struct Told;

/// The parsed element, or the fact that its mistake has been reported.
type Parsed<T> = Result<T, Told>;

/// A part of a tree and how high it is, where it grows without recursion.
struct Tall<T> {
    node: T,
    height: u32,
}

impl<T> Tall<T> {
    const fn leaf(node: T) -> Self {
        Self { node, height: 0 }
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The last one is the end.
    tokens: Vec<Token>,
    /// The number of the token at which it is.
    at: usize,
    /// The number of open levels of the tree.
    depth: u32,
    /// True if the current depth has been reported as too deep. Unwinding must not report it again.
    deep: bool,
    /// The offsets of the lexer's mistakes, in order.
    gaps: Vec<u32>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    /// The token at which it is.
    fn token(&self) -> Token {
        self.peek(0)
    }

    /// The token so many further on.
    fn peek(&self, further: usize) -> Token {
        let token = self.tokens.get(self.at + further).or(self.tokens.last());
        // The lexer always gives an end.
        token.copied().unwrap_or(Token {
            kind: TokenKind::End,
            span: Span::default(),
            before: super::token::Before::Token,
        })
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    /// The token before the one at which it is.
    fn previous(&self) -> Option<Token> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    /// The span of what was read last.
    fn last_span(&self) -> Span {
        self.previous()
            .map_or(self.token().span, |token| token.span)
    }

    /// Takes the token.
    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn at_symbol(&self, symbol: Symbol) -> bool {
        self.kind() == TokenKind::Symbol(symbol)
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        self.kind() == TokenKind::Keyword(keyword)
    }

    /// Returns true at this word, which is not a keyword.
    fn at_word(&self, word: &str) -> bool {
        self.kind() == TokenKind::Lower && self.text_of(self.token()) == word
    }

    fn eat(&mut self, symbol: Symbol) -> Option<Span> {
        self.at_symbol(symbol).then(|| self.bump().span)
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.text.get(token.span.range()).unwrap_or_default()
    }

    /// Takes the token as a name.
    fn take_name(&mut self) -> Name {
        let token = self.bump();
        Name {
            text: self.text_of(token).into(),
            span: token.span,
        }
    }

    /// Tells a mistake, unless one has been told at the same place.
    fn tell(&mut self, diagnostic: Diagnostic) -> Told {
        let place = diagnostic.span;
        let told = |other: &Diagnostic| other.span.start == place.start;
        // Text that the lexer passed over just before is why something seems to be missing here.
        let before = self.previous().map_or(0, |token| token.span.end);
        let gap = self.gaps.partition_point(|gap| *gap < before);
        let gap = self.gaps.get(gap).is_some_and(|gap| *gap < place.start);
        let kept = self.diagnostics.len() < 2 * KEPT;
        if kept && !gap && !self.swallowed(place) && !self.diagnostics.last().is_some_and(told) {
            self.diagnostics.push(diagnostic);
        }
        Told
    }

    /// Returns true if the missing part may be in an unclosed comment.
    fn swallowed(&self, place: Span) -> bool {
        let unclosed = |told: &Diagnostic| told.code == codes::UNCLOSED_COMMENT;
        place.range().start >= self.text.len() && self.diagnostics.iter().any(unclosed)
    }

    /// Tells that something else was expected.
    fn expected(&mut self, what: &str) -> Told {
        let diagnostic = self.unexpected(what);
        self.tell(diagnostic)
    }

    fn unexpected(&self, what: &str) -> Diagnostic {
        let token = self.token();
        codes::expected(token.span, &what, &self.describe(token))
    }

    fn describe(&self, token: Token) -> String {
        let text = self.text_of(token);
        match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::Text if text.chars().count() > 20 => "a string".to_owned(),
            TokenKind::Text => format!("the string {text}"),
            TokenKind::Keyword(_) => format!("the keyword `{text}`"),
            _ => format!("`{text}`"),
        }
    }

    fn expect(&mut self, symbol: Symbol) -> Parsed<Span> {
        match self.eat(symbol) {
            Some(span) => Ok(span),
            None => Err(self.expected(&format!("`{}`", symbol.text()))),
        }
    }

    fn expect_keyword(&mut self, keyword: Keyword) -> Parsed<Span> {
        if self.at_keyword(keyword) {
            return Ok(self.bump().span);
        }
        let token = self.token();
        if token.kind == TokenKind::Lower
            && nearest(self.text_of(token), [keyword.text()]).is_some()
        {
            self.misspelt(token, keyword);
            return Ok(self.bump().span);
        }
        Err(self.expected(&format!("`{}`", keyword.text())))
    }

    /// Tells that a keyword is misspelt.
    fn misspelt(&mut self, token: Token, keyword: Keyword) {
        self.tell(codes::misspelt(
            token.span,
            &self.text_of(token),
            &keyword.text(),
        ));
    }

    /// The one of these keywords that the word at which it is was probably meant to be.
    fn meant(&self, words: &[Keyword]) -> Option<Keyword> {
        let token = self.token();
        if token.kind != TokenKind::Lower {
            return None;
        }
        let near = nearest(self.text_of(token), words.iter().map(|word| word.text()))?;
        Keyword::of(near)
    }

    /// The keyword here. A name that is probably one of `words` misspelt is reported and counts as well, if
    /// something `likely` follows.
    fn word(&mut self, words: &[Keyword], likely: bool) -> Option<Keyword> {
        let token = self.token();
        match token.kind {
            TokenKind::Keyword(word) => Some(word),
            _ if likely => {
                let meant = self.meant(words)?;
                self.misspelt(token, meant);
                Some(meant)
            }
            _ => None,
        }
    }

    /// The name of a process, a channel, a port or a session; `what` says which of them.
    fn lower(&mut self, what: &str) -> Parsed<Name> {
        self.cased(what, TokenKind::Lower)
    }

    /// The name of a type or a protocol.
    fn upper(&mut self, what: &str) -> Parsed<Name> {
        self.cased(what, TokenKind::Upper)
    }

    fn cased(&mut self, what: &str, case: TokenKind) -> Parsed<Name> {
        let token = self.token();
        match token.kind {
            kind if kind == case => {}
            TokenKind::Lower | TokenKind::Upper => {
                let start = match case {
                    TokenKind::Upper => "starts with a capital",
                    _ => "starts with a small letter",
                };
                let text = self.text_of(token);
                self.tell(codes::wrong_case(
                    token.span,
                    &what,
                    &start,
                    &text,
                    &recased(text),
                ));
            }
            TokenKind::Keyword(_) => {
                self.tell(codes::keyword_as_name(
                    token.span,
                    &self.text_of(token),
                    &what,
                ));
            }
            _ => return Err(self.expected(what)),
        }
        Ok(self.take_name())
    }

    /// The name of a field, which may be a keyword.
    fn field(&mut self, what: &str) -> Parsed<Name> {
        match self.kind() {
            TokenKind::Lower | TokenKind::Upper | TokenKind::Keyword(_) => Ok(self.take_name()),
            TokenKind::Text => {
                let told = self.unexpected(what).hint("Write names without quotes.");
                Err(self.tell(told))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// The name of a field of a message: a word, or in quotes any other name.
    fn field_name(&mut self) -> Parsed<Name> {
        let token = self.token();
        if token.kind != TokenKind::Text {
            return self.field("the name of a field");
        }
        self.bump();
        Ok(Name {
            text: self.string(token).into(),
            span: token.span,
        })
    }

    /// `name` or `Module.name`, as `case` says.
    fn path(&mut self, what: &str, case: TokenKind) -> Parsed<Path> {
        let qualified =
            self.kind() == TokenKind::Upper && self.peek(1).kind == TokenKind::Symbol(Symbol::Dot);
        let module = qualified.then(|| {
            let module = self.take_name();
            self.bump();
            module
        });
        let name = self.cased(what, case)?;
        Ok(Path { module, name })
    }

    /// Goes one level deeper into the tree.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        self.deep &= self.depth > 0;
        read
    }

    /// A node on top of something that is so high.
    fn taller<T>(&mut self, node: T, height: u32) -> Parsed<Tall<T>> {
        let height = height + 1;
        if self.depth + height > DEPTH {
            return Err(self.too_deep());
        }
        Ok(Tall { node, height })
    }

    fn too_deep(&mut self) -> Told {
        if std::mem::replace(&mut self.deep, self.depth > 0) {
            return Told;
        }
        self.tell(codes::too_deep(self.token().span, &DEPTH))
    }
}

/// The name with its first letter in the other case.
fn recased(text: &str) -> String {
    let mut rest = text.trim_start_matches('_').chars();
    let Some(first) = rest.next() else {
        return "X".to_owned();
    };
    let first = if first.is_ascii_uppercase() {
        first.to_ascii_lowercase()
    } else {
        first.to_ascii_uppercase()
    };
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests;
