//! The codes of the checker: `P02xx` names and modules, `P03xx` types, `P04xx` expressions,
//! `P05xx` wiring, `P07xx` agents and tools.

use crate::diagnostic::{Code, CodeEntry, Diagnostic, code_table, mistakes};
use crate::span::Span;

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
    pub AMBIGUOUS_NAME = "P0207": "a type or protocol that several used modules define",
        "Say which module's it is: `Mod.Name`.";

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
    pub AMBIGUOUS = "P0511": "a name that stands for several instances",
        "Join its ports in the `spawn`, through channels.";
    pub TOO_LARGE = "P0512": "a network that is too large once its processes are inlined",
        "Use fewer copies of the processes inside.";
    pub KEPT = "P0520": "a `keep` around something that does not make one message of each, in order",
        "Keep an agent, a tool, a `map`, or a sequence of such; put a `filter` behind the `keep`.";
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
    pub TOOL_CALLS_ITSELF = "P0709": "a tool that calls itself, directly or through other processes",
        "Remove one of the calls; a stream that leads back in a body goes round without one.";
}

mistakes! {
    error unknown_type(name) = UNKNOWN_TYPE: "no type is called `{name}`";
    error unknown_process(name) = UNKNOWN_NAME: "no process is called `{name}`";
    // The translation of sessions reports protocols with a code of its own.
    error unknown_protocol(name) = UNKNOWN_NAME: "no protocol is called `{name}`";
    error unknown_channel(name) = UNKNOWN_NAME: "no channel or port is called `{name}`";
    error not_a_process(name) = UNKNOWN_NAME: "`{name}` is not a process";
    error unknown_module(module, file) = UNKNOWN_MODULE: "no module is called `{module}` here",
        "Write `use {file}` at the top of the file.";
    error missing_module(name) = UNKNOWN_MODULE: "the module `{name}` cannot be found",
        "Put `{name}.plumb` beside the program, or its folder on the search path.";
    error module_cycle(name, circle) = MODULE_CYCLE: "`{name}` uses itself: {circle} → {name}";
    error module_chain(most) = MODULE_CYCLE: "more than {most} modules use each other in a row";
    error defined_twice(name) = DEFINED_TWICE: "`{name}` is defined already";
    error ambiguous_name(name, full) = AMBIGUOUS_NAME: "several modules define `{name}`",
        "Write {full}.";
    error recursive_process(name, way) = RECURSIVE_PROCESS: "`{name}` is a part of itself: {way}",
        "Route the stream back with a statement instead; feedback needs no recursion.";

    error misfit(wanted, given) = MISFIT: "expected `{wanted}`, found `{given}`";
    error overlapping(value) = NOT_DISJOINT: "`{value}` would be this and another variant as well",
        "Give the variants a required field that tells them apart.";
    error overlapping_streams(one, other, value) = NOT_DISJOINT:
        "`{one}` and `{other}` come together here, and `{value}` would be both",
        "Put `tag(l)` on each of the streams first, or a `map` that tells them apart.";
    error recursive_type(why) = RECURSIVE_TYPE: "{why}",
        "Types cannot be recursive; use `json` for the part that may be of any depth.";
    error stream_in_type() = STREAM: "a stream cannot stand here",
        "Messages hold no streams: leave the `!` out. Several ports are `(!A, !B)`.";
    error streams_of_tool() = STREAM: "a tool has no streams",
        "Leave the `!` out: one message in, one out.";
    error plain_port() = STREAM: "a process has streams", "Write `!` in front.";
    error field_twice(name) = FIELD_TWICE: "field `{name}` appears twice here";
    error type_too_large() = TYPE_TOO_LARGE: "this type is too large when expanded";
    error output_too_large() = TYPE_TOO_LARGE: "the output type here is too large when expanded";
    error many_variants(most) = TYPE_TOO_LARGE: "a sum may have {most} variants";

    error unknown_field(kind, part) = UNKNOWN_FIELD: "`{kind}` has no {part}";
    error operand(wanted, given) = OPERAND: "expected `{wanted}`, found `{given}`";
    error no_length(kind) = OPERAND: "`{kind}` has no length: it is not a string or a list";
    error no_container(kind) = OPERAND: "`{kind}` is not a string or a list";
    error unguarded(why) = UNGUARDED: "{why}", "Let a `filter` drop what lacks it.";
    error unguarded_field(why, field) = UNGUARDED: "{why}",
        "Ask first: `if defined({field}) then … else …`, or let a `filter` drop what lacks it.";
    error not_bool(kind) = NOT_BOOL: "a filter needs `bool`, but this is `{kind}`",
        "Compare it with something: `filter(score > 85)`.";
    error branches(yes, no, value) = BRANCHES:
        "the branches give `{yes}` and `{no}`, which have `{value}` in common",
        "Give both branches one type, or types that no value has in common.";
    error not_a_field() = NOT_A_FIELD: "this is not a field",
        "`defined(f)` is true if the field `f` exists.";
    error never_equal(one, other) = INCOMPARABLE: "no `{one}` is equal to any `{other}`";
    error never_contained(whole, part) = INCOMPARABLE: "no part of `{whole}` is a `{part}`";
    error never_is(given, wanted) = NEVER_TRUE: "a `{given}` is never a `{wanted}`";
    error never_passes(kind) = NEVER_TRUE: "no variant of `{kind}` can pass this";
    error large_literal(why) = NUMBER: "{why}";
    error not_constant() = NOT_CONSTANT: "this reads a message, but there is none here",
        "Write a literal, a list or a record of literals.";

    error unfed_channel(name) = NEVER_FED: "`{name}` is read, but nothing feeds it";
    error unfed_output(name) = NEVER_FED: "nothing feeds the output `{name}`";
    error unfed_input(port, name) = NEVER_FED: "nothing feeds the input `{port}` of `{name}`";
    error unfed(name) = NEVER_FED: "nothing feeds this `{name}`";
    error never_fills() = NEVER_FILLS:
        "this barrier never fills: one of its sides never gets a message",
        "In a feedback loop, begin with `once(…)`: `(once(null) * loop) ; merge`.";
    error arity(come, taken, hint) = ARITY: "{come} in, but {taken} expected", "{hint}";
    error unknown_port(process, port) = UNKNOWN_PORT: "`{process}` has no port `{port}`";
    error port_of_channel(name) = UNKNOWN_PORT: "`{name}` is a channel or a port, and has no ports";
    error nothing_goes_in() = DIRECTION: "nothing can go in here";
    error nothing_comes_out() = DIRECTION: "nothing comes out here";
    error read_output(name) = DIRECTION: "`{name}` is an output here: nothing comes out of it";
    error fed_input(name) = DIRECTION: "`{name}` is an input here: nothing can go into it";
    error port_count(ports, named) = PORTS: "the signature has {ports}, and this names {named}";
    error spawn_count(joined, process, ports, names) = SPAWN:
        "{joined} joined, and `{process}` has {ports}", "Its ports are {names}.";
    error spawn_mixed() = SPAWN: "either all ports are named, or none is";
    error joined_twice() = SPAWN: "this port is joined already";
    warning never_stops() = NEVER_STOPS: "every message loops here forever",
        "Put a `filter` or a `barrier` into the cycle.";
    warning unreachable() = UNREACHABLE: "no message ever reaches this statement";
    warning unused_channel(name) = UNUSED: "the channel `{name}` is not used",
        "End an unneeded stream with `discard`.";
    warning unread_channel(name) = UNUSED: "nothing reads from the channel `{name}`",
        "End an unneeded stream with `discard`.";
    warning unread_input(name) = UNUSED: "nothing reads the input `{name}`",
        "End an unneeded stream with `discard`.";
    warning unread_output() = UNUSED: "nothing reads this output",
        "End an unneeded stream with `discard`.";
    error composed(name) = AMBIGUOUS:
        "`{name}` is composed with itself here, and has an instance for each time",
        "`spawn` makes instances with channels of their own; feedback is `{name} ; … ; {name}`.";
    error ambiguous(name) = AMBIGUOUS: "`{name}` is spawned several times: which one is meant?",
        "Join its ports in the `spawn`, through channels.";
    error network_too_large(name, nodes, depth) = TOO_LARGE:
        "with its inlined processes, `{name}` has more than {nodes} nodes, or is more than {depth} processes deep";

    error kept() = KEPT: "this does not make one message of each, so `keep` cannot pair them",
        "Keep an agent, a tool, a `map`, or a sequence of such; put a `filter` behind the `keep`.";

    error unknown_setting(what, key) = UNKNOWN_SETTING: "{what} has no setting `{key}`";
    error setting_value(key, wanted) = SETTING_VALUE: "`{key}` is {wanted}";
    error unknown_provider(name) = UNKNOWN_PROVIDER: "no provider is called `{name}`";
    error tool_ports() = AGENT_PORTS: "a tool takes one message and gives one",
        "Write `A -> B`; several values make a record or a product `(A, B)`.";
    error agent_ports() = AGENT_PORTS: "an agent has other ports",
        "Write `(!input, !CtrlCmd) -> (!output, !CtrlResp, !json)`, or fewer from the right.";
    error agent_input(kind) = AGENT_PORTS: "an agent does not understand `{kind}`",
        "The second input is `!CtrlCmd`, or some of its variants.";
    error agent_output(kind) = AGENT_PORTS: "the output here does not fit `{kind}`",
        "The second output is `!CtrlResp`, the third `!json`.";
    error answer_of_eliza() = ANSWER: "\"eliza\" answers with a string and nothing else";
    error answer_without_content() = ANSWER: "an agent with the output type `unit` has nothing to answer",
        "Ask for the type that is needed, or for `string`.";
    error setting_twice(key) = SETTING_TWICE: "`{key}` appears twice here";
    error not_a_tool(name) = NOT_A_TOOL: "`{name}` cannot be a tool",
        "A tool is a process with one input and one output.";
    error tool_input(name, wanted, given) = MISFIT:
        "`{name}` takes `{wanted}`, and the tool would give it `{given}`";
    error tool_output(name, found, wanted) = MISFIT:
        "`{name}` gives `{found}`, and the tool promises `{wanted}`";
    error tool_calls_itself(name, way) = TOOL_CALLS_ITSELF: "`{name}` calls itself: {way}",
        "Remove one of the calls; a stream that leads back in a body goes round without one.";
    error agent_without_provider(name, all) = SETTING_MISSING: "the agent `{name}` has no `provider`",
        "There are {all}.";
    error tool_without_process(name) = SETTING_MISSING: "the tool `{name}` has no `process`",
        "Name what it runs, `process: name`, or who serves it, `mcp: \"command\"`.";
}
