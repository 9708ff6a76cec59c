//! The codes of the lexer and the parser, `P01xx`. A new one takes the next free number and keeps it.

use crate::diagnostic::{Code, CodeEntry, Diagnostic, code_table, mistakes};
use crate::span::Span;

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
    pub KEYWORD_AS_NAME = "P0111": "a keyword is used as a name",
        "Choose another name; only fields may be named like a keyword.";
    pub MIXED_COMPOSITION = "P0112": "`;` and `*` stand side by side in one pair of parentheses",
        "Put the parts of the one into parentheses: `((a ; b) * c)`.";
    pub MISPLACED_STREAM = "P0113": "a stream is used as a message type, or next to one",
        "Streams are the ports of signatures and channels; `!(…)` contains message types.";
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

mistakes! {
    error too_large() = TOO_LARGE: "the source is larger than 4 GiB";
    error unclosed_comment() = UNCLOSED_COMMENT: "a comment is not closed",
        "Comments nest: each `(*` needs a `*)` of its own.";
    error unclosed_string() = UNCLOSED_STRING: "a string is not closed",
        "Close it with `\"` on the same line; a line break in a string is `\\n`.";
    error bad_escape(fault, hint) = BAD_ESCAPE: "{fault}", "{hint}";
    error malformed_number(fault, hint) = BAD_NUMBER: "{fault}", "{hint}";
    error foreign_quotes() = FOREIGN: "this string is not in straight double quotes",
        "Write it in straight double quotes: `\"text\"`.";
    error foreign_comment() = FOREIGN: "this is not a plumb comment",
        "Write comments as `(* … *)`.";
    error foreign(text) = FOREIGN: "`{text}` means nothing here";

    error too_many() = TOO_MANY: "further errors are not shown";
    error expected(wanted, found) = UNEXPECTED: "expected {wanted}, found {found}";
    error misspelt(text, word) = MISSPELT: "`{text}` is not a keyword; `{word}` is",
        "Write `{word}`.";
    error wrong_case(what, start, text, other) = WRONG_CASE: "{what} {start}, `{text}` does not",
        "Call it `{other}`.";
    error keyword_as_name(text, what) = KEYWORD_AS_NAME: "`{text}` is a keyword and cannot be {what}",
        "Rename it, for example to `{text}_`.";
    error too_deep(depth) = TOO_DEEP: "this is nested more than {depth} levels deep",
        "Give the inner part a name and use the name.";
    error unclosed(closer, found) = UNCLOSED: "expected `{closer}`, found {found}",
        "Close it with `{closer}`.";
    error unopened(found) = UNOPENED: "{found} closes nothing";

    error misplaced_channel() = UNEXPECTED: "a channel stands outside of a `plumb`",
        "Declare channels in the body of a `plumb`.";
    error misplaced_declaration(word) = MISPLACED_DECLARATION:
        "a `{word}` declaration stands in the body of a `plumb`",
        "Declare it at the top level, and use its name here.";
    error bad_duration() = BAD_DURATION: "this is not a duration",
        "Write a whole number with its unit: `500ms`, `30s` or `2m`.";

    error foreign_operator(sign, hint) = UNEXPECTED: "`{sign}` is not an operator", "{hint}";
    error chained() = CHAINED_COMPARISON: "comparisons cannot be chained",
        "Write `a < b && b < c`.";
    error weak_operand(word) = UNEXPECTED: "`{word}` stands behind an operator without parentheses",
        "Write `({word} …)`.";
    error unknown_function(name) = UNKNOWN_FUNCTION: "there is no function `{name}`",
        "There are `len(e)`, `contains(s, t)`, `defined(e)` and `is(e, T)`.";
    error wrong_count(name, count, form) = WRONG_COUNT: "`{name}` has {count}",
        "It is written `{form}`.";
    error bad_number(text, what) = BAD_NUMBER: "`{text}` is not {what}", "Write a whole number.";

    error unended() = UNENDED_PROTOCOL: "the protocol stops behind this step",
        "Write what comes next behind a `.`, or `. end`, or `. loop`.";
    error after_choice() = UNEXPECTED: "nothing can follow a choice; each arm has its own continuation",
        "Name what all arms have in common as a protocol, and end each arm with its name.";

    error plain_channel() = MISPLACED_STREAM: "the type of a channel is a stream",
        "Put a `!` before it: `!T` is a stream of `T`.";
    error message_beside_streams() = MISPLACED_STREAM: "a message type stands beside streams",
        "Several ports are `(!A, !B)`; one stream of pairs is `!(A, B)`.";
    error stream_in_sum() = MISPLACED_STREAM: "a stream stands in a sum",
        "A stream of several kinds of messages is `!(A | B)`.";
    error stream_in_message() = MISPLACED_STREAM: "a stream cannot be a message or a part of one",
        "Streams are the ports of signatures and channels; remove the `!` here.";
    error empty_type() = UNEXPECTED: "`()` is no type of messages",
        "The type with the one value `null` is `unit`.";
    error capital_field(name) = WRONG_CASE: "a field starts with a small letter, `{name}` does not",
        "Write it in quotes, `\"{name}\"`.";

    error loose_semicolon(found) = LOOSE_SEMICOLON: "expected a process after this `;`, found {found}",
        "`;` composes and does not end a statement: remove it.";
    error keyword_in_wire(text) = KEYWORD_AS_NAME: "`{text}` is a keyword and cannot be a process or a channel",
        "Choose another name.";
    error mixed() = MIXED_COMPOSITION: "`;` and `*` stand side by side",
        "Put the parts of the one into parentheses: `((a ; b) * c)`.";
    error port_of_module() = UNEXPECTED: "a process of a module is not addressed by its ports",
        "Spawn it, and join its ports to channels.";
}
