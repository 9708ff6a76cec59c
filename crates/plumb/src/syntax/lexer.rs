//! The lexer: text to tokens and comments. It is total: it reports and skips everything that is not part of
//! the language.

use std::sync::Arc;

use super::ast::Comment;
use super::literal;
use super::token::{Before, Keyword, Symbol, Token, TokenKind};
use crate::diagnostic::Diagnostic;
use crate::span::{SourceId, Span};
use crate::syntax::codes;

/// The maximum number of mistakes that are kept: more than are ever shown, few enough that hostile text costs
/// little.
pub(super) const KEPT: usize = 1_000;

/// The output of the lexer: at least the end token.
#[derive(Debug, Default)]
pub struct Lexed {
    /// The tokens; the last one is the end.
    pub tokens: Vec<Token>,
    /// The comments, in order.
    pub comments: Vec<Comment>,
    /// The diagnostics.
    pub diagnostics: Vec<Diagnostic>,
}

/// Cuts a text into tokens and comments.
#[must_use]
pub fn lex(source: SourceId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        source,
        text,
        at: 0,
        before: Before::Line(0),
        lexed: Lexed::default(),
    };
    if u32::try_from(text.len()).is_err() {
        lexer.tell(codes::too_large(Span::new(source, 0, 0)));
        lexer.text = "";
    }
    while lexer.next() {}
    lexer.push(TokenKind::End, lexer.at);
    lexer.lexed
}

struct Lexer<'a> {
    source: SourceId,
    text: &'a str,
    /// The byte at which it is.
    at: usize,
    before: Before,
    lexed: Lexed,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn span(&self, start: usize, end: usize) -> Span {
        // The text is no longer than `u32` counts; see `lex`.
        let byte = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(self.source, byte(start), byte(end))
    }

    fn tell(&mut self, diagnostic: Diagnostic) {
        if self.lexed.diagnostics.len() < KEPT {
            self.lexed.diagnostics.push(diagnostic);
        }
    }

    /// Pushes a token from the current position to `end`.
    fn push(&mut self, kind: TokenKind, end: usize) {
        self.lexed.tokens.push(Token {
            kind,
            span: self.span(self.at, end),
            before: self.before,
        });
        self.before = Before::Token;
        self.at = end;
    }

    /// Takes the next token, comment or blank; false at the end.
    fn next(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        match first {
            '\n' => {
                self.at += 1;
                let columns = self
                    .rest()
                    .bytes()
                    .take_while(|b| matches!(b, b' ' | b'\t'));
                let columns = u32::try_from(columns.count()).unwrap_or(u32::MAX);
                self.before = Before::Line(columns);
            }
            ' ' | '\t' | '\r' | '\u{feff}' => {
                self.at += first.len_utf8();
                if self.before == Before::Token {
                    self.before = Before::Blank;
                }
            }
            '(' if rest.starts_with("(*") => self.comment(),
            '"' => self.string(),
            '0'..='9' => self.number(),
            'A'..='Z' | 'a'..='z' | '_' => self.word(),
            '\'' | '\u{2018}' | '\u{201c}' if self.foreign_string(first) => {}
            _ => self.symbol(first),
        }
        true
    }

    fn comment(&mut self) {
        let start = self.at;
        let mut open = Vec::new();
        let bytes = self.rest().as_bytes();
        let mut at = 0;
        let end = loop {
            match bytes.get(at..at + 2) {
                Some(b"(*") => {
                    open.push(at);
                    at += 2;
                }
                Some(b"*)") => {
                    open.pop();
                    at += 2;
                    if open.is_empty() {
                        break at;
                    }
                }
                Some(_) => at += 1,
                None => break bytes.len(),
            }
        };
        if let (Some(outer), Some(inner)) = (open.first(), open.last()) {
            let span = self.span(start + outer, start + outer + 2);
            let mut told = codes::unclosed_comment(span);
            if inner != outer {
                let inner = self.span(start + inner, start + inner + 2);
                told = told.label(inner, "the innermost one that is open starts here");
            }
            self.tell(told);
        }
        let text = self.rest().get(..end).unwrap_or_default();
        let span = self.span(start, start + end);
        self.lexed.comments.push(Comment {
            span,
            text: Arc::from(text),
        });
        self.at += end;
        if self.before == Before::Token {
            self.before = Before::Blank;
        }
    }

    fn string(&mut self) {
        let inside = self.rest().get(1..).unwrap_or_default();
        let mut escaped = false;
        let mut end = None;
        let mut length = 0;
        for c in inside.chars() {
            match c {
                '\n' => break,
                '"' if !escaped => {
                    end = Some(length);
                    break;
                }
                _ => escaped = c == '\\' && !escaped,
            }
            length += c.len_utf8();
        }
        let start = self.at + 1;
        if end.is_none() {
            self.tell(codes::unclosed_string(self.span(self.at, start + length)));
        } else if let Err(fault) = literal::unescape(inside.get(..length).unwrap_or_default()) {
            let span = self.span(start + fault.at.start, start + fault.at.end);
            self.tell(codes::bad_escape(span, &fault.message, &fault.hint));
        }
        self.push(TokenKind::Text, start + end.map_or(length, |end| end + 1));
    }

    /// A string in quotes of another kind, if they close on the line.
    fn foreign_string(&mut self, quote: char) -> bool {
        let inside = self.rest().get(quote.len_utf8()..).unwrap_or_default();
        let line = inside.lines().next().unwrap_or_default();
        let close = match quote {
            '\u{2018}' => '\u{2019}',
            '\u{201c}' => '\u{201d}',
            other => other,
        };
        let Some(length) = line.find(close) else {
            return false;
        };
        let end = self.at + quote.len_utf8() + length + close.len_utf8();
        self.tell(codes::foreign_quotes(self.span(self.at, end)));
        self.push(TokenKind::Text, end);
        true
    }

    fn number(&mut self) {
        let rest = self.rest().as_bytes();
        let digits = |from: usize| {
            let tail = rest.get(from..).unwrap_or_default();
            tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        // `e.0.1` is a part of a part.
        let dot = TokenKind::Symbol(Symbol::Dot);
        if self
            .lexed
            .tokens
            .last()
            .is_some_and(|last| last.kind == dot)
        {
            self.push(TokenKind::Number, self.at + end);
            return;
        }
        if rest.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let text = self.rest().get(..end).unwrap_or_default();
        if let Some(fault) = literal::number_fault(text) {
            let span = self.span(self.at, self.at + end);
            self.tell(codes::malformed_number(span, &fault.message, &fault.hint));
        }
        self.push(TokenKind::Number, self.at + end);
    }

    fn word(&mut self) {
        let rest = self.rest();
        let end = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count();
        let text = rest.get(..end).unwrap_or_default();
        let kind = match Keyword::of(text) {
            Some(keyword) => TokenKind::Keyword(keyword),
            None if text.starts_with(|c: char| c.is_ascii_uppercase()) => TokenKind::Upper,
            None => TokenKind::Lower,
        };
        self.push(kind, self.at + end);
    }

    fn symbol(&mut self, first: char) {
        let rest = self.rest();
        let line_start = matches!(self.before, Before::Line(_));
        if first == '#' || rest.starts_with("//") || line_start && rest.starts_with("--") {
            let line = rest.find('\n').unwrap_or(rest.len());
            self.tell(codes::foreign_comment(self.span(self.at, self.at + line)));
            self.at += line;
            return;
        }
        let symbol = Symbol::ALL
            .iter()
            .find(|symbol| rest.starts_with(symbol.text()));
        match symbol {
            Some(symbol) => {
                self.push(TokenKind::Symbol(*symbol), self.at + symbol.text().len());
            }
            None => self.foreign(first),
        }
    }

    /// Characters that are none of the language's, in one piece.
    fn foreign(&mut self, first: char) {
        let rest = self.rest();
        let known = |c: char| {
            c.is_ascii_alphanumeric()
                || c.is_ascii_whitespace()
                || "\"_<>=!|(){}[],:;.*/+-@?&#".contains(c)
        };
        let skipped = first.len_utf8();
        let tail = rest.get(skipped..).unwrap_or_default();
        let end = skipped + tail.find(known).unwrap_or(tail.len());
        let span = self.span(self.at, self.at + end);
        let shown: String = rest
            .get(..end)
            .unwrap_or_default()
            .chars()
            .take(20)
            .collect();
        let mut told = codes::foreign(span, &shown.escape_debug());
        if let Some(hint) = foreign_hint(first) {
            told = told.hint(hint);
        }
        self.tell(told);
        self.at += end;
        self.before = Before::Blank;
    }
}

fn foreign_hint(first: char) -> Option<&'static str> {
    match first {
        '\'' | '\u{2018}'..='\u{201f}' | '`' | '«' | '»' => {
            Some("Write strings in straight double quotes: `\"text\"`.")
        }
        '&' => Some("The logical `and` is written `&&`."),
        '→' => Some("Write `->`."),
        '↔' => Some("Write `<->`."),
        '⊗' | '×' => Some("Write `*`."),
        '≤' => Some("Write `<=`."),
        '≥' => Some("Write `>=`."),
        '≠' => Some("Write `!=`."),
        '%' => Some("There is no remainder."),
        c if c.is_alphanumeric() => Some("Names are of the letters a to z, digits and `_`."),
        _ => None,
    }
}
