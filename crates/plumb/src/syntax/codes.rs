//! The codes of the lexer and the parser, `P01xx`. A new one takes the next free number and keeps it.

use crate::diagnostic::{Code, CodeEntry};

macro_rules! codes {
    ($($name:ident = $code:literal: $meaning:literal, $remedy:literal;)*) => {
        $(
            #[doc = concat!($code, ": ", $meaning, ".")]
            pub const $name: Code = Code($code);
        )*

        /// Every code with its meaning and its remedy, in order.
        pub const CODES: &[CodeEntry] = &[
            $(CodeEntry { code: $name, meaning: $meaning, remedy: $remedy },)*
        ];
    };
}

codes! {
    UNEXPECTED = "P0101":
        "something else was expected here",
        "Look at what the message says was expected.";
    UNCLOSED = "P0102":
        "a parenthesis, bracket or brace is not closed",
        "Close it; the label shows where it was opened.";
    UNCLOSED_COMMENT = "P0103":
        "a comment is not closed",
        "Comments nest: each `(*` needs a `*)` of its own.";
    UNCLOSED_STRING = "P0104":
        "a string is not closed",
        "Close it on the same line; a line break in a string is `\\n`.";
    BAD_ESCAPE = "P0105":
        "a string contains what is no escape of JSON, or a control character",
        "Write `\\\\` for a backslash, `\\n` for a line break, `\\uXXXX` for anything else.";
    BAD_NUMBER = "P0106":
        "a number is not written as in JSON, or too large for its place",
        "Numbers are written as in JSON: `7`, `0.5`, `1e6`.";
    FOREIGN = "P0107":
        "a character or a sign that the language does not have",
        "Remove it, or write what the hint says.";
    TOO_DEEP = "P0108":
        "something is nested more than 128 levels deep",
        "Give the inner part a name and use the name.";
    MISSPELT = "P0109":
        "a word is probably a misspelt keyword",
        "Write the keyword that the message names.";
    WRONG_CASE = "P0110":
        "a name starts with the wrong case",
        "Types, protocols and modules start with a capital; processes, channels, ports and fields do not.";
    KEYWORD_AS_NAME = "P0111":
        "a keyword stands where a name is given",
        "Take another name; only fields may be called like a keyword.";
    MIXED_COMPOSITION = "P0112":
        "`;` and `*` stand side by side in one pair of parentheses",
        "Put the parts of the one into parentheses: `((a ; b) * c)`.";
    MISPLACED_STREAM = "P0113":
        "a stream stands where a message type must, or beside one",
        "Streams are the ports of signatures and channels; inside `!(…)` stand message types.";
    UNENDED_PROTOCOL = "P0114":
        "a protocol stops without `end`, `loop` or the name of another protocol",
        "Write what comes next behind a `.`, or `. end`.";
    LOOSE_SEMICOLON = "P0115":
        "a `;` joins nothing",
        "`;` composes two processes and does not end a statement: remove it.";
    WRONG_COUNT = "P0116":
        "a built-in has the wrong number of arguments",
        "Look at the form that the hint shows.";
    CHAINED_COMPARISON = "P0117":
        "comparisons are chained",
        "Write `a < b && b < c`.";
    TOO_LARGE = "P0118":
        "the source is larger than 4 GiB",
        "Split it into modules.";
    BAD_DURATION = "P0119":
        "a duration is not a whole number with `ms`, `s` or `m`",
        "Write `500ms`, `30s` or `2m`.";
    UNOPENED = "P0120":
        "a parenthesis, bracket or brace closes nothing",
        "Remove it, or open it where it belongs.";
    UNKNOWN_FUNCTION = "P0121":
        "a function that the language does not have",
        "There are `len(e)`, `contains(s, t)`, `defined(e)` and `is(e, T)`.";
    TOO_MANY = "P0122":
        "there are more mistakes than are told at once",
        "Mend the first ones and check again.";
    MISPLACED_DECLARATION = "P0123":
        "a declaration stands in the body of a `plumb`",
        "Declare processes, types and protocols at the top level.";
}
