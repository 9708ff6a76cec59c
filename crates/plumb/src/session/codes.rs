//! The codes of protocols and sessions.

use crate::diagnostic::{Code, CodeEntry, code_table};

code_table! {
    pub UNKNOWN_PROTOCOL = "P0601": "a name in a protocol is neither a variable of a `rec` around it nor a protocol",
        "Declare the protocol, or name the variable of a `rec` that stands around it.";
    pub UNGUARDED = "P0602": "a jump leads back to itself with no step between: `rec X . X`",
        "Put a `send`, a `recv` or a choice before the jump.";
    pub DUPLICATE_LABEL = "P0603": "a choice has one label twice",
        "Give each arm a label of its own.";
    pub EMPTY_CHOICE = "P0604": "a choice has no arms",
        "Give the choice an arm, or write `end`.";
    pub UNUSED_VARIABLE = "P0605": "the variable of a `rec` is never used (warning)",
        "Remove the `rec`, or jump to it.";
    pub TOO_LARGE = "P0606": "a protocol has too many steps, or choices nested too deeply",
        "Split the protocol into several sessions.";
    pub UNKNOWN_SESSION = "P0610": "`s@…` where no session is called `s`",
        "Bind one: `(incoming, outgoing) <-> Protocol as name`.";
    pub DUPLICATE_SESSION = "P0611": "two sessions of one body have the same name",
        "Give each session a name of its own.";
    pub UNKNOWN_ENDPOINT = "P0612": "a session has no endpoint of this name",
        "Use `trigger`, `send(T)`, `recv(T)`, `done(T)`, `select(l)`, `offer(l)` or `error`.";
    pub UNKNOWN_STEP = "P0613": "the protocol has no such step",
        "Name a type or a label of the protocol that is bound.";
    pub WRONG_DIRECTION = "P0614": "a step used against its direction, or an endpoint at the wrong end of a statement",
        "Sources stand at the beginning of a statement, sinks at its end.";
    pub AMBIGUOUS_STEP = "P0615": "the type or label stands at several steps, and the endpoint does not say which",
        "Number it, counting from 1: `s@send(T, 2)`.";
    pub MISSING_STEP = "P0616": "a step that nothing feeds",
        "Feed it a stream: `… ; s@send(T)`.";
    pub DOUBLE_STEP = "P0617": "a step that is fed twice",
        "Merge the streams in one channel, and feed the step from it.";
    pub COPIED_STEP = "P0618": "a step whose payload is read twice",
        "Send what it receives to a channel, and read that.";
    pub SHARED_STREAM = "P0619": "the stream that a session receives from is read by something else as well",
        "Split the stream with filters into channels, and bind the session to one of them.";
    pub NOT_CARRIED = "P0620": "a step sends messages that the session's stream does not carry",
        "Bind the session to a stream of a wider type; the session sends to the second of the two.";
    pub NOT_BROUGHT = "P0621": "a step receives messages that never come from the session's stream",
        "Bind the session to the stream that brings it; the session receives from the first of the two.";
}
