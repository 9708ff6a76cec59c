//! Tokens: what the lexer gives the parser.

use crate::span::Span;

/// A token where it stands. Its text is that of its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind.
    pub kind: TokenKind,
    /// The place.
    pub span: Span,
    /// The gap before it. The grammar ignores it; only error recovery uses it.
    pub before: Before,
}

/// The gap before a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Another token, without anything between.
    Token,
    /// Blanks or comments, on the same line.
    Blank,
    /// A line break, and as many columns of indentation.
    Line(u32),
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier that starts with a small letter or `_`.
    Lower,
    /// An identifier that starts with a capital.
    Upper,
    /// A word of the language.
    Keyword(Keyword),
    /// A string with its quotes.
    Text,
    /// A number.
    Number,
    /// Anything else that has a meaning.
    Symbol(Symbol),
    /// The end of the text.
    End,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The written form.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

words! {
    /// A word of the language. It may be the name of a field, and of nothing else.
    Keyword {
        Type = "type",
        Let = "let",
        Agent = "agent",
        Tool = "tool",
        Plumb = "plumb",
        Protocol = "protocol",
        Spawn = "spawn",
        Channel = "channel",
        Use = "use",
        As = "as",
        Send = "send",
        Recv = "recv",
        Select = "select",
        Offer = "offer",
        Rec = "rec",
        Loop = "loop",
        End = "end",
        Id = "id",
        Copy = "copy",
        Merge = "merge",
        Discard = "discard",
        Empty = "empty",
        Barrier = "barrier",
        Map = "map",
        Filter = "filter",
        Project = "project",
        Tag = "tag",
        True = "true",
        False = "false",
        Null = "null",
    }
}

words! {
    /// An operator or delimiter. A longer symbol comes before its prefixes.
    Symbol {
        Bind = "<->",
        Arrow = "->",
        AtMost = "<=",
        AtLeast = ">=",
        Unequal = "!=",
        DoubleEqual = "==",
        FatArrow = "=>",
        And = "&&",
        Or = "||",
        Less = "<",
        Greater = ">",
        Equal = "=",
        Bang = "!",
        Bar = "|",
        Open = "(",
        Close = ")",
        OpenBrace = "{",
        CloseBrace = "}",
        OpenBracket = "[",
        CloseBracket = "]",
        Comma = ",",
        Colon = ":",
        Semicolon = ";",
        Dot = ".",
        Star = "*",
        Slash = "/",
        Plus = "+",
        Minus = "-",
        At = "@",
        Question = "?",
    }
}

impl Keyword {
    /// The keyword that is written so.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.text() == text)
    }
}

impl Symbol {
    /// The delimiter that closes what this one opens.
    #[must_use]
    pub const fn closer(self) -> Option<Self> {
        match self {
            Self::Open => Some(Self::Close),
            Self::OpenBrace => Some(Self::CloseBrace),
            Self::OpenBracket => Some(Self::CloseBracket),
            _ => None,
        }
    }

    /// Returns true for a closing delimiter.
    #[must_use]
    pub const fn closes(self) -> bool {
        matches!(self, Self::Close | Self::CloseBrace | Self::CloseBracket)
    }
}
