//! The codes of protocols and sessions.

use crate::diagnostic::{Code, CodeEntry, Diagnostic, code_table, mistakes};
use crate::span::Span;

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
        "Read it once: split it with filters, or make a message of your own of it with `map`.";
    pub SHARED_STREAM = "P0619": "the stream that a session receives from is read by something else as well",
        "Split the stream with filters into channels, and bind the session to one of them.";
    pub NOT_CARRIED = "P0620": "a step sends messages that the session's stream does not carry",
        "Bind the session to a stream of a wider type; the session sends to the second of the two.";
    pub NOT_BROUGHT = "P0621": "a step receives messages that never come from the session's stream",
        "Bind the session to the stream that brings it; the session receives from the first of the two.";
    pub NOT_DUAL = "P0622": "two ends of one conversation that do not follow dual protocols",
        "Bind one end to a protocol, and the other to its `dual`.";
    pub UNHANDLED_ARM = "P0623": "an arm of an `offer` that nothing handles",
        "Read the label, `s@offer(l) ; …`, or wire a step of the arm.";
    pub STUCK = "P0624": "a step of a session that waits for what only comes after it",
        "Feed the step from something that does not wait for it, or change the order of the protocol.";
}

mistakes! {
    error not_dual(mine, theirs) = NOT_DUAL:
        "the two ends do not go together: one would `{mine}` where the other would `{theirs}`",
        "Bind one end to a protocol, and the other to its `dual`.";
    error unhandled_arm(endpoint) = UNHANDLED_ARM: "nothing handles `{endpoint}`",
        "Add `{endpoint} ; …`, or `{endpoint} ; discard`.";
    error stuck(session, step) = STUCK:
        "the session `{session}` cannot get past `{step}`: what it waits for comes only after it",
        "Feed the step from something that does not wait for it, or change the order of the protocol.";
    error never_starts(session) = STUCK:
        "the session `{session}` never starts: its trigger waits for a run",
        "Trigger it from something that does not wait for the session.";
    error copied_message() = COPIED_STEP: "the message of this step is copied",
        "It is used once: split it with filters, or make a message of your own with `map`.";
    error unknown_protocol(name) = UNKNOWN_PROTOCOL: "no protocol is called `{name}`";
    error unknown_jump(name) = UNKNOWN_PROTOCOL:
        "`{name}` is neither a variable of a `rec` around it nor a protocol";
    error unguarded() = UNGUARDED: "this jumps back to itself with no step between",
        "Put a `send`, a `recv` or a choice before the jump.";
    error duplicate_label(label) = DUPLICATE_LABEL: "the label `{label}` stands twice in one choice";
    error empty_choice() = EMPTY_CHOICE: "a choice needs at least one arm";
    warning unused_variable(name) = UNUSED_VARIABLE: "`{name}` is never jumped to",
        "Remove the `rec`.";
    error many_steps(most) = TOO_LARGE: "the protocol has more than {most} steps";
    error deep_choices(most) = TOO_LARGE: "choices are nested more than {most} deep";

    error unknown_session(name) = UNKNOWN_SESSION: "no session is called `{name}` here",
        "`(incoming, outgoing) <-> Protocol as name` binds one.";
    error duplicate_session(name) = DUPLICATE_SESSION: "two sessions are called `{name}`";
    error untyped_endpoint(session, word) = UNKNOWN_ENDPOINT: "`{session}@{word}` needs the type of a step",
        "As in `{session}@{word}(T)`.";
    error unlabelled_endpoint(session, word) = UNKNOWN_ENDPOINT: "`{session}@{word}` needs a label",
        "As in `{session}@{word}(l)`.";
    error unknown_endpoint(word) = UNKNOWN_ENDPOINT: "a session has no endpoint `{word}`",
        "There are `trigger`, `send`, `recv`, `done`, `select`, `offer` and `error`.";
    error unknown_step(what, steps) = UNKNOWN_STEP: "the protocol has no {what}", "{steps}";
    error uncounted_step(what, count, places) = UNKNOWN_STEP:
        "{what} stands at {count} of the {places}, counted from 1";
    error ambiguous_step(what, count, places, example) = AMBIGUOUS_STEP:
        "{what} stands at {count} {places}",
        "Say which: `{example}` is the first.";
    error other_direction(does, what, endpoint) = WRONG_DIRECTION: "the {does} `{what}` here",
        "Use `{endpoint}({what})`.";
    error misplaced_sink() = WRONG_DIRECTION: "this takes messages and gives none",
        "It stands at the end of a statement.";
    error misplaced_source() = WRONG_DIRECTION: "this gives messages and takes none",
        "It stands at the beginning of a statement.";
    error missing_step(endpoint) = MISSING_STEP: "nothing feeds `{endpoint}`",
        "Add `… ; {endpoint}`.";
    error double_step() = DOUBLE_STEP: "this step is fed twice",
        "A step of a protocol happens once; merge several paths in a channel.";
    error copied_step() = COPIED_STEP: "the message of this step is read twice",
        "A step of a protocol happens once; merge several paths in a channel.";
    error shared_stream(stream, session) = SHARED_STREAM: "`{stream}` is read by the session `{session}`",
        "Split the stream with filters into channels, and bind the session to one of them.";
    error not_carried(what, stream) = NOT_CARRIED:
        "the protocol sends `{what}`, which `{stream}` does not carry",
        "The session receives from the first stream and sends to the second.";
    error not_brought(what, stream) = NOT_BROUGHT:
        "the protocol receives `{what}`, which never comes from `{stream}`",
        "The session receives from the first stream and sends to the second.";
}
