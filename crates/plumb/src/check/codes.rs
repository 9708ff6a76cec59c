//! The codes of the checker: `P02xx` names and modules, `P03xx` types, `P04xx` expressions,
//! `P05xx` wiring, `P07xx` agents and tools.

use crate::diagnostic::{Code, CodeEntry, code_table};

code_table! {
    pub UNKNOWN_NAME = "P0201": "a process, channel or port that nothing defines",
        "Define it, or correct its spelling.";
    pub UNKNOWN_TYPE = "P0202": "a type that nothing defines",
        "Define it, `use` the module that does, or correct its spelling.";
    pub UNKNOWN_MODULE = "P0203": "a module that cannot be found, or that is named without a `use`",
        "Add `use name` in front, and see that the file is on the search path.";
    pub MODULE_CYCLE = "P0204": "modules that use each other in a circle",
        "Move what both need into a third module.";
    pub DEFINED_TWICE = "P0205": "a name that is defined twice",
        "Rename one of them.";
    pub RECURSIVE_PROCESS = "P0206": "a process that is a part of itself",
        "Route the stream back with a statement instead; feedback needs no recursion.";

    pub MISFIT = "P0301": "a type that does not fit where it is used",
        "Change one of the two types, or convert between them with a `map`.";
    pub NOT_DISJOINT = "P0302": "a sum of types that have values in common",
        "Give the variants a required field that tells them apart.";
    pub RECURSIVE_TYPE = "P0303": "a type that is a part of itself",
        "Use `json` for the part that may be of any depth.";
    pub STREAM = "P0304": "a stream where a plain type is wanted, or a plain type where a stream is wanted",
        "Signatures of processes and channels have streams, `!T`; tools have plain types.";
    pub FIELD_TWICE = "P0305": "a field that a record has twice",
        "Remove one of them, or rename it.";
    pub TYPE_TOO_LARGE = "P0306": "a type that is larger or deeper than a message may be",
        "Use `json` for a part of it.";

    pub UNKNOWN_FIELD = "P0401": "a field or part that the value does not have",
        "Correct the spelling, or make the type have it.";
    pub OPERAND = "P0402": "an operator or function with a value of a type that it does not take",
        "Use a value of the type that is wanted.";
    pub UNGUARDED = "P0403": "a field that may be missing and is read without a check",
        "Check it first, `if defined(f) then … else …`, or let a `filter` drop messages that lack it.";
    pub NOT_BOOL = "P0404": "a filter whose expression is not true or false",
        "Compare the value with something.";
    pub BRANCHES = "P0405": "two branches of an `if` whose types have values in common and are not the same",
        "Give both branches one type.";
    pub NOT_A_FIELD = "P0407": "`defined` of something that is not a field",
        "`defined(f)` is true if the field `f` exists.";
    pub INCOMPARABLE = "P0408": "a comparison of values that can never be equal",
        "Compare values of one type.";
    pub NEVER_TRUE = "P0409": "a test that no value can pass",
        "Correct the test, or remove it.";
    pub NUMBER = "P0410": "a literal that no message can hold",
        "Write a smaller one.";
    pub NOT_CONSTANT = "P0411": "an expression that reads a message where there is none",
        "Write a literal, a list or a record of literals.";

    pub NEVER_FED = "P0501": "a stream that nothing feeds",
        "Feed it, or remove its readers.";
    pub NEVER_FILLS = "P0502": "a barrier one of whose sides never gets a message",
        "Feed that side; in a feedback loop, begin with `once(…)`.";
    pub ARITY = "P0503": "the number of streams does not match",
        "`copy` makes two of one, `merge` and `barrier` one of several, `discard` ends one.";
    pub UNKNOWN_PORT = "P0504": "a port that the process does not have",
        "Use one of its ports.";
    pub DIRECTION = "P0505": "an input that is written to, or an output that is read from",
        "Write to inputs and read from outputs; inside a `plumb`, read from its own inputs.";
    pub PORTS = "P0506": "a `plumb` that names another number of ports than its signature has",
        "Name each stream of the signature once, inputs first.";
    pub SPAWN = "P0507": "a `spawn` whose arguments do not go with the ports of the process",
        "Join each port at most once: by name, or all of them in the order of the signature.";
    pub NEVER_STOPS = "P0508": "a cycle in which every message loops forever",
        "Put a `filter` or a `barrier` into the cycle.";
    pub UNREACHABLE = "P0509": "a statement that no message ever reaches",
        "Feed it, or remove it.";
    pub UNUSED = "P0510": "a stream that nothing reads",
        "Connect it, or end it with `discard`.";
    pub AMBIGUOUS = "P0511": "a name that stands for several spawned instances",
        "Join its ports in the `spawn`, through channels.";
    pub TOO_LARGE = "P0512": "a network that is too large once its processes are inlined",
        "Use fewer copies of the processes inside.";
    pub UNKNOWN_SETTING = "P0701": "a setting that agents or tools do not have",
        "Correct its spelling, or remove it.";
    pub SETTING_VALUE = "P0702": "a setting with a value that it cannot have",
        "Give it a value of the kind that the message names.";
    pub UNKNOWN_PROVIDER = "P0703": "a provider that is not known",
        "Use \"anthropic\", \"openai\", \"sim\", \"eliza\" or \"script\".";
    pub AGENT_PORTS = "P0704": "a signature that an agent or a tool cannot have",
        "An agent has `(!input, !CtrlCmd) -> (!output, !CtrlResp, !json)`, or fewer from the right; a tool `A -> B`.";
    pub ANSWER = "P0705": "an output type that the provider cannot be asked for",
        "Use an output type with content; \"eliza\" answers with a `string`.";
    pub SETTING_TWICE = "P0706": "a setting that is given twice",
        "Remove one of them.";
    pub NOT_A_TOOL = "P0707": "a name that is neither a tool nor a process that can be one",
        "Name a `tool`, or a process with one input and one output.";
    pub SETTING_MISSING = "P0708": "a setting that is missing",
        "Add it.";
}
