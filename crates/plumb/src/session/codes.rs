//! The codes of protocols and sessions.

use crate::diagnostic::{Code, CodeEntry};

/// A name in a protocol is neither a variable of a `rec` around it nor a protocol.
pub const UNKNOWN_PROTOCOL: Code = Code("P0601");
/// A jump leads back to itself with no step between: `rec X . X`.
pub const UNGUARDED: Code = Code("P0602");
/// A choice has one label twice.
pub const DUPLICATE_LABEL: Code = Code("P0603");
/// A choice has no arms.
pub const EMPTY_CHOICE: Code = Code("P0604");
/// The variable of a `rec` is never used (warning).
pub const UNUSED_VARIABLE: Code = Code("P0605");
/// A protocol has too many steps, or choices nested too deeply.
pub const TOO_LARGE: Code = Code("P0606");
/// `s@…` where no session is called `s`.
pub const UNKNOWN_SESSION: Code = Code("P0610");
/// Two sessions of one body have the same name.
pub const DUPLICATE_SESSION: Code = Code("P0611");
/// A session has no endpoint of this name.
pub const UNKNOWN_ENDPOINT: Code = Code("P0612");
/// The protocol has no such step.
pub const UNKNOWN_STEP: Code = Code("P0613");
/// A step used against its direction, or an endpoint at the wrong end of a statement.
pub const WRONG_DIRECTION: Code = Code("P0614");
/// The type or label stands at several steps, and the endpoint does not say which.
pub const AMBIGUOUS_STEP: Code = Code("P0615");
/// A step that nothing feeds.
pub const MISSING_STEP: Code = Code("P0616");
/// A step that is fed twice.
pub const DOUBLE_STEP: Code = Code("P0617");
/// A step whose payload is read twice.
pub const COPIED_STEP: Code = Code("P0618");
/// The stream that a session receives from is read by something else as well.
pub const SHARED_STREAM: Code = Code("P0619");
/// A step sends what the stream of the session does not carry.
pub const NOT_CARRIED: Code = Code("P0620");
/// A step receives what never comes from the stream of the session.
pub const NOT_BROUGHT: Code = Code("P0621");

/// All of them, for the generated page.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: UNKNOWN_PROTOCOL,
        meaning: "a name in a protocol is neither a variable of a `rec` around it nor a protocol",
        remedy: "Declare the protocol, or name the variable of a `rec` that stands around it.",
    },
    CodeEntry {
        code: UNGUARDED,
        meaning: "a jump leads back to itself with no step between: `rec X . X`",
        remedy: "Put a `send`, a `recv` or a choice before the jump.",
    },
    CodeEntry {
        code: DUPLICATE_LABEL,
        meaning: "a choice has one label twice",
        remedy: "Give each arm a label of its own.",
    },
    CodeEntry {
        code: EMPTY_CHOICE,
        meaning: "a choice has no arms",
        remedy: "Give the choice an arm, or write `end`.",
    },
    CodeEntry {
        code: UNUSED_VARIABLE,
        meaning: "the variable of a `rec` is never used (warning)",
        remedy: "Leave the `rec` out, or jump to it.",
    },
    CodeEntry {
        code: TOO_LARGE,
        meaning: "a protocol has too many steps, or choices nested too deeply",
        remedy: "Split the protocol into several sessions.",
    },
    CodeEntry {
        code: UNKNOWN_SESSION,
        meaning: "`s@…` where no session is called `s`",
        remedy: "Bind one: `(incoming, outgoing) <-> Protocol as name`.",
    },
    CodeEntry {
        code: DUPLICATE_SESSION,
        meaning: "two sessions of one body have the same name",
        remedy: "Give each session a name of its own.",
    },
    CodeEntry {
        code: UNKNOWN_ENDPOINT,
        meaning: "a session has no endpoint of this name",
        remedy: "Use `trigger`, `send(T)`, `recv(T)`, `done(T)`, `select(l)`, `offer(l)` or `error`.",
    },
    CodeEntry {
        code: UNKNOWN_STEP,
        meaning: "the protocol has no such step",
        remedy: "Name a type or a label of the protocol that is bound.",
    },
    CodeEntry {
        code: WRONG_DIRECTION,
        meaning: "a step used against its direction, or an endpoint at the wrong end of a statement",
        remedy: "Sources stand at the beginning of a statement, sinks at its end.",
    },
    CodeEntry {
        code: AMBIGUOUS_STEP,
        meaning: "the type or label stands at several steps, and the endpoint does not say which",
        remedy: "Say which, counted from 1: `s@send(T, 2)`.",
    },
    CodeEntry {
        code: MISSING_STEP,
        meaning: "a step that nothing feeds",
        remedy: "Lead a stream to it: `… ; s@send(T)`.",
    },
    CodeEntry {
        code: DOUBLE_STEP,
        meaning: "a step that is fed twice",
        remedy: "Lead the streams into one channel, and that to the step.",
    },
    CodeEntry {
        code: COPIED_STEP,
        meaning: "a step whose payload is read twice",
        remedy: "Lead what it receives into a channel, and read that.",
    },
    CodeEntry {
        code: SHARED_STREAM,
        meaning: "the stream that a session receives from is read by something else as well",
        remedy: "Split the stream with filters into channels, and bind the session to one of them.",
    },
    CodeEntry {
        code: NOT_CARRIED,
        meaning: "a step sends what the stream of the session does not carry",
        remedy: "Bind the session to a stream of a wider type; the second of the two is sent to.",
    },
    CodeEntry {
        code: NOT_BROUGHT,
        meaning: "a step receives what never comes from the stream of the session",
        remedy: "Bind the session to the stream that brings it; the first of the two is received from.",
    },
];
