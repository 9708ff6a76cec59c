//! The codes of what the checker finds: `P02xx` names and modules, `P03xx` types, `P04xx` expressions,
//! `P05xx` wiring, `P07xx` agents and tools.

use crate::diagnostic::{Code, CodeEntry};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $meaning:literal, $remedy:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code($code);)*

        /// The meaning and the remedy of each code.
        pub const CODES: &[CodeEntry] = &[
            $(CodeEntry { code: $name, meaning: $meaning, remedy: $remedy },)*
        ];
    };
}

codes! {
    /// A process, channel or port that is not there.
    UNKNOWN_NAME = "P0201", "a process, channel or port that nothing defines",
        "Define it, or correct its spelling.";
    /// A type that is not there.
    UNKNOWN_TYPE = "P0202", "a type that nothing defines",
        "Define it, `use` the module that does, or correct its spelling.";
    /// A module that is not there.
    UNKNOWN_MODULE = "P0203", "a module that cannot be found, or that is named without a `use`",
        "Add `use name` in front, and see that the file is on the search path.";
    /// Modules that use each other.
    MODULE_CYCLE = "P0204", "modules that use each other in a circle",
        "Move what both need into a third module.";
    /// A name that is defined twice.
    DEFINED_TWICE = "P0205", "one name for two things",
        "Rename one of them.";
    /// A process that is a part of itself.
    RECURSIVE_PROCESS = "P0206", "a process that is a part of itself",
        "Lead the stream back with a statement instead: feedback needs no recursion.";

    /// A type that does not fit where it is used.
    MISFIT = "P0301", "what comes does not fit what is wanted",
        "Change one of the two types, or put a `map` between that makes the one from the other.";
    /// A sum of variants with values in common.
    NOT_DISJOINT = "P0302", "a sum of types that have values in common",
        "Give the variants a required field that tells them apart.";
    /// A type that is a part of itself.
    RECURSIVE_TYPE = "P0303", "a type that is a part of itself",
        "Use `json` for the part that may be of any depth.";
    /// A stream where a type is wanted, or the other way round.
    STREAM = "P0304", "a stream where a plain type is wanted, or a plain type where a stream is wanted",
        "Streams, `!T`, stand in the signatures of processes and in channels; tools have plain types.";
    /// A record that has a field twice.
    FIELD_TWICE = "P0305", "one field twice in a record",
        "Remove one of them, or rename it.";
    /// A type that is too large.
    TYPE_TOO_LARGE = "P0306", "a type that is larger or deeper than a message may be",
        "Use `json` for a part of it.";

    /// A field that the message does not have.
    UNKNOWN_FIELD = "P0401", "a field or part that the value does not have",
        "Correct the spelling, or make the type have it.";
    /// An operand of the wrong type.
    OPERAND = "P0402", "an operator or function with a value of a type that it does not take",
        "Use a value of the type that is wanted.";
    /// An optional field without a guard.
    UNGUARDED = "P0403", "a field that may be missing, and is not asked for first",
        "Ask first, `if defined(f) then … else …`, or let a `filter` drop what lacks it.";
    /// A filter whose expression is not a bool.
    NOT_BOOL = "P0404", "a filter whose expression is not true or false",
        "Compare the value with something.";
    /// Branches that do not go together.
    BRANCHES = "P0405", "two branches of an `if` whose types have values in common and are not the same",
        "Give both branches one type.";
    /// `defined` of something that is not a field.
    NOT_A_FIELD = "P0407", "`defined` of something that is not a field",
        "`defined(f)` asks whether the field `f` is there.";
    /// A comparison that can never be true.
    INCOMPARABLE = "P0408", "a comparison of values that can never be equal",
        "Compare values of one type.";
    /// A test that nothing passes.
    NEVER_TRUE = "P0409", "a test that no value can pass",
        "Correct the test, or remove it.";
    /// A literal that is too large.
    NUMBER = "P0410", "a literal that no message can hold",
        "Write a smaller one.";
    /// A `once` that reads a message.
    NOT_CONSTANT = "P0411", "an expression that reads a message where there is none",
        "Write a literal, a list or a record of literals.";

    /// A stream that nothing feeds.
    NEVER_FED = "P0501", "a stream that nothing feeds",
        "Lead something into it, or remove what reads from it.";
    /// A barrier that waits for ever.
    NEVER_FILLS = "P0502", "a barrier one of whose sides never gets a message",
        "Feed that side; in a feedback loop, begin with `once(…)`.";
    /// A different number of streams on the two sides of a `;`.
    ARITY = "P0503", "another number of streams comes than is taken",
        "`copy` makes two of one, `merge` and `barrier` one of several, `discard` ends one.";
    /// A port that the process does not have.
    UNKNOWN_PORT = "P0504", "a port that the process does not have",
        "Use one of its ports.";
    /// A port used the wrong way round.
    DIRECTION = "P0505", "an input that is written to, or an output that is read from",
        "Messages go into inputs and come out of outputs; inside a `plumb` its own input is where they come from.";
    /// Another number of ports than the signature has.
    PORTS = "P0506", "a `plumb` that names another number of ports than its signature has",
        "Name each stream of the signature once, inputs first.";
    /// Arguments of a `spawn` that do not go with the ports.
    SPAWN = "P0507", "a `spawn` whose arguments do not go with the ports of the process",
        "Join each port at most once: by name, or all of them in the order of the signature.";
    /// A cycle that never stops.
    NEVER_STOPS = "P0508", "a cycle in which every message goes round for ever",
        "Put a `filter` or a `barrier` into the cycle.";
    /// Statements that no message reaches.
    UNREACHABLE = "P0509", "a statement that no message ever reaches",
        "Feed it, or remove it.";
    /// A stream that nothing reads.
    UNUSED = "P0510", "a stream that nobody reads",
        "Lead it somewhere, or end it with `discard`.";
    /// A name that stands for several instances.
    AMBIGUOUS = "P0511", "a name that stands for several spawned instances",
        "Join its ports in the `spawn`, through channels.";
    /// A network that is too large.
    TOO_LARGE = "P0512", "a network that is too large once its processes are put in",
        "Use fewer copies of the processes inside.";
    /// A setting that there is not.
    UNKNOWN_SETTING = "P0701", "a setting that agents or tools do not have",
        "Correct its spelling, or remove it.";
    /// A setting with a value of the wrong kind.
    SETTING_VALUE = "P0702", "a setting with a value that it cannot have",
        "Give it a value of the kind that the message names.";
    /// A provider that there is not.
    UNKNOWN_PROVIDER = "P0703", "a provider that is not known",
        "Use \"anthropic\", \"openai\", \"sim\", \"eliza\" or \"script\".";
    /// An agent's ports that are not an agent's.
    AGENT_PORTS = "P0704", "a signature that an agent or a tool cannot have",
        "An agent has `(!input, !CtrlCmd) -> (!output, !CtrlResp, !json)`, or fewer from the right; a tool `A -> B`.";
    /// An answer that cannot be asked for.
    ANSWER = "P0705", "an output type that the provider cannot be asked for",
        "Ask for a type that says something; \"eliza\" answers with a `string`.";
    /// A setting that is given twice.
    SETTING_TWICE = "P0706", "one setting twice",
        "Remove one of them.";
    /// A tool that is not one.
    NOT_A_TOOL = "P0707", "a name that is not that of a tool or of a process that can be one",
        "Name a `tool`, or a process with one input and one output.";
    /// A setting that is missing.
    SETTING_MISSING = "P0708", "a setting that is missing",
        "Add it.";
}
