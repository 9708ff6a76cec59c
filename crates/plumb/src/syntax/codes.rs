//! The codes of the lexer and the parser, `P01xx`. A new one takes the next free number and keeps it.

use crate::diagnostic::{Code, CodeEntry, code_table};

code_table! {
    pub UNEXPECTED = "P0101": "something else was expected here",
        "Look at what the message says was expected.";
    pub UNCLOSED = "P0102": "a parenthesis, bracket or brace is not closed",
        "Close it; the label shows where it was opened.";
    pub UNCLOSED_COMMENT = "P0103": "a comment is not closed",
        "Comments nest: each `(*` needs a `*)` of its own.";
    pub UNCLOSED_STRING = "P0104": "a string is not closed",
        "Close it on the same line; a line break in a string is `\\n`.";
    pub BAD_ESCAPE = "P0105": "a string contains an invalid JSON escape or a control character",
        "Write `\\\\` for a backslash, `\\n` for a line break, `\\uXXXX` for anything else.";
    pub BAD_NUMBER = "P0106": "a number is not written as in JSON, or too large for its place",
        "Numbers are written as in JSON: `7`, `0.5`, `1e6`.";
    pub FOREIGN = "P0107": "a character or an operator that the language does not have",
        "Remove it, or write what the hint says.";
    pub TOO_DEEP = "P0108": "something is nested more than 128 levels deep",
        "Give the inner part a name and use the name.";
    pub MISSPELT = "P0109": "a word is probably a misspelt keyword",
        "Write the keyword that the message names.";
    pub WRONG_CASE = "P0110": "a name starts with the wrong case",
        "Types, protocols and modules start with a capital; processes, channels, ports and fields do not.";
    pub KEYWORD_AS_NAME = "P0111": "a keyword stands where a name is given",
        "Take another name; only fields may have the name of a keyword.";
    pub MIXED_COMPOSITION = "P0112": "`;` and `*` stand side by side in one pair of parentheses",
        "Put the parts of the one into parentheses: `((a ; b) * c)`.";
    pub MISPLACED_STREAM = "P0113": "a stream stands where a message type must, or beside one",
        "Streams are the ports of signatures and channels; inside `!(…)` stand message types.";
    pub UNENDED_PROTOCOL = "P0114": "a protocol stops without `end`, `loop` or the name of another protocol",
        "Write what comes next behind a `.`, or `. end`.";
    pub LOOSE_SEMICOLON = "P0115": "a `;` joins nothing",
        "`;` composes two processes and does not end a statement: remove it.";
    pub WRONG_COUNT = "P0116": "a built-in has the wrong number of arguments",
        "Look at the form that the hint shows.";
    pub CHAINED_COMPARISON = "P0117": "comparisons are chained",
        "Write `a < b && b < c`.";
    pub TOO_LARGE = "P0118": "the source is larger than 4 GiB",
        "Split it into modules.";
    pub BAD_DURATION = "P0119": "a duration is not a whole number with `ms`, `s` or `m`",
        "Write `500ms`, `30s` or `2m`.";
    pub UNOPENED = "P0120": "a parenthesis, bracket or brace closes nothing",
        "Remove it, or open it where it belongs.";
    pub UNKNOWN_FUNCTION = "P0121": "a function that the language does not have",
        "There are `len(e)`, `contains(s, t)`, `defined(e)` and `is(e, T)`.";
    pub TOO_MANY = "P0122": "there are more mistakes than are shown at once",
        "Fix the first ones and check again.";
    pub MISPLACED_DECLARATION = "P0123": "a declaration stands in the body of a `plumb`",
        "Declare processes, types and protocols at the top level.";
}
