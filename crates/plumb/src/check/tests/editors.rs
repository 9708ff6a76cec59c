//! Answers to editors. `¦` in a program is where the question is asked.

use crate::check::{Checked, CompletionKind};
use crate::modules::BuiltIn;

const PROGRAM: &str = "
use mem
type Verdict = { resolved: bool, topic: string, score?: int }
protocol Ask = send string . recv Verdict . end
let judge : !string -> !Verdict = agent { provider: \"sim\" }
let main : !string -> !string = plumb(input, output) {
  let again : !string = channel
  input ; judge
  judge ; filter(resolved).topic ; output
  judge ; filter(defined(score) && score > 3).topic ; again
  again ; judge
}
";

/// The program with a mark in front of the nth occurrence of a text, plus so many bytes.
fn asked(text: &str, nth: usize, plus: usize) -> (Checked, u32) {
    let (at, _) = PROGRAM.match_indices(text).nth(nth).expect("it is there");
    let checked = super::super::check("test.plumb", PROGRAM, &BuiltIn);
    (checked, u32::try_from(at + plus).expect("a short program"))
}

#[test]
fn what_stands_at_a_place() {
    let cases = [
        ("judge ; filter", 0, "judge : !string -> !Verdict"),
        ("again ; judge", 0, "again : !string"),
        ("input ; judge", 0, "input : !string"),
        (
            "filter(resolved)",
            0,
            "!{ resolved: bool, topic: string, score?: int } -> !{ resolved: bool, topic: string, score?: int }",
        ),
        ("resolved).topic", 0, "bool"),
        ("score > 3", 0, "int"),
        (
            "Verdict = agent",
            0,
            "type Verdict = { resolved: bool, topic: string, score?: int }",
        ),
        // Where they are declared.
        ("judge : !string", 0, "judge : !string -> !Verdict"),
        (
            "Verdict = {",
            0,
            "type Verdict = { resolved: bool, topic: string, score?: int }",
        ),
        (
            "Ask = send",
            0,
            "protocol Ask = send string . recv Verdict . end",
        ),
        ("mem\n", 0, "use mem"),
    ];
    for (text, nth, shown) in cases {
        let (checked, at) = asked(text, nth, 1);
        let place = checked.at(at).expect(text);
        assert_eq!(place.text, shown, "at `{text}`");
    }
}

/// A body with a session.
const SESSION: &str = "
protocol Ask = send string . recv (int | bool) . end
let main : (!(int | bool), !string) -> (!string, !json) = plumb(heard, go, said, out) {
  let again : !string = channel
  (heard, said) <-> Ask as s
  go ; again
  go ; s@trigger
  again ; s@send(string)
  s@recv(int | bool) ; out
}
";

#[test]
fn sessions_show_what_is_written_and_not_what_becomes_of_them() {
    let checked = super::super::check("test.plumb", SESSION, &BuiltIn);
    let byte = |text: &str| u32::try_from(SESSION.find(text).expect(text)).expect("short");
    let at = |text: &str| checked.at(byte(text));
    let cases = [
        ("heard, said) <->", "heard : !(int | bool)", "heard, go"),
        ("said) <->", "said : !string", "said, out"),
        ("Ask as s", "s : Ask", "Ask = send"),
        ("s@trigger", "s@trigger : !json\ns : Ask", "s\n  go"),
        ("s@send", "s@send(string) : !string\ns : Ask", "s\n  go"),
        (
            "s@recv",
            "s@recv(int | bool) : !(int | bool)\ns : Ask",
            "s\n  go",
        ),
    ];
    for (text, shown, defined) in cases {
        let place = at(text).expect(text);
        assert_eq!(place.text, shown, "at `{text}`");
        let start = place.definition.map(|span| span.start);
        assert_eq!(start, Some(byte(defined)), "of `{text}`");
    }
    assert_eq!(at("<-> Ask"), None);
    let found = checked.completions(byte("go ; again"));
    let found = found.iter();
    let streams: Vec<&str> = found
        .filter(|one| one.kind == CompletionKind::Channel)
        .map(|one| one.label.as_str())
        .collect();
    assert_eq!(streams, ["again", "go", "heard", "out", "s", "said"]);
    let found = checked.completions(byte("Ask as s"));
    let labels: Vec<&str> = found.iter().map(|one| one.label.as_str()).collect();
    let wanted = ["Ask", "Compaction", "dual"];
    assert!(
        wanted.iter().all(|name| labels.contains(name)),
        "{labels:?}"
    );
    for other in ["defined", "again", "map"] {
        assert!(!labels.contains(&other), "{labels:?}");
    }
}

#[test]
fn commands_show_what_they_mean() {
    let text = "let f : !json -> !Pause = map({ pause: true })";
    let checked = super::super::check("test.plumb", text, &BuiltIn);
    let shown = "type Pause = { pause: bool }\n(* Holds an agent's messages, or a conversation's \
                 requests, until `resume`. Obeyed by agents and conversations. *)";
    for before in ["Pause =", "pause:"] {
        let at = u32::try_from(text.find(before).expect(before)).expect("short");
        let place = checked.at(at + 1).expect(before);
        assert_eq!(place.text, shown, "at `{before}`");
        assert!(place.definition.is_some(), "at `{before}`");
    }
}

#[test]
fn nothing_is_shown_of_what_is_not_known() {
    let text = "let f : !string -> !string = map(\"x\") ; filtr";
    let checked = super::super::check("test.plumb", text, &BuiltIn);
    let at = u32::try_from(text.find("map").expect("it is there")).expect("short");
    let shown = checked.at(at).map(|place| place.text);
    assert!(
        !shown.as_deref().is_some_and(|text| text.contains("never")),
        "{shown:?}"
    );
}

#[test]
fn where_it_is_defined() {
    let cases = [
        ("judge ; filter", "judge : !string"),
        ("again ; judge", "again : !string"),
        ("Verdict = agent", "Verdict = {"),
    ];
    for (text, defined) in cases {
        let (checked, at) = asked(text, 0, 1);
        let definition = checked
            .at(at)
            .and_then(|place| place.definition)
            .expect(text);
        let (wanted, _) = PROGRAM.match_indices(defined).next().expect("it is there");
        assert_eq!(definition.start as usize, wanted, "of `{text}`");
    }
}

#[test]
fn a_process_that_is_kept_is_used_there() {
    let text = "let inc : !int -> !int = map(value + 1)
let main : !int -> !int = plumb(input, output) { input ; keep(inc) ; project(1) ; output }";
    let checked = super::super::check("test.plumb", text, &BuiltIn);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    let start = text.find("inc)").expect("it is there");
    let found = checked.name_at(u32::try_from(start).expect("short"));
    let found = found.expect("it is a name");
    assert_eq!(found.span.start as usize, start);
    let defined = found.definition.expect("it is defined").start as usize;
    assert_eq!(defined, text.find("inc :").expect("it is there"));
}

fn body(statement: &str) -> String {
    PROGRAM.replace("again ; judge", statement)
}

/// Completes at the mark in a text, and compares the completions of one kind.
#[track_caller]
fn check(text: &str, kind: CompletionKind, wanted: &str) {
    let at = u32::try_from(text.find('¦').expect("a mark")).expect("short");
    let checked = super::super::check("test.plumb", &text.replace('¦', ""), &BuiltIn);
    let found = checked.completions(at).into_iter();
    let labels: Vec<String> = found
        .filter(|one| one.kind == kind)
        .map(|one| one.label)
        .collect();
    assert_eq!(labels.join(" "), wanted, "{text}");
}

#[test]
fn what_could_stand_there() {
    let agent = |inside: &str| format!("let f : !string -> !string = agent {{ {inside} }}");
    let tool = |inside: &str| format!("let f : int -> int = tool {{ {inside} }}");
    let providers = ["anthropic", "eliza", "openai", "script", "sim"];
    let quoted = providers.map(|name| format!("\"{name}\""));
    let rest = [
        "amnesiac",
        "endpoint",
        "max_failures",
        "max_messages",
        "max_restarts",
        "max_retries",
        "max_tokens",
        "max_tool_calls",
        "mcp",
        "prompt",
        "prompts",
        "provider",
        "runtime_context",
        "temperature",
        "thinking_budget",
        "timeout",
        "tools",
    ]
    .join(" ");
    let cases = [
        (
            body("judge@¦"),
            CompletionKind::Port,
            "ctrl_in ctrl_out error input output telemetry",
        ),
        (
            body("judge ; filter(r¦) ; discard"),
            CompletionKind::Field,
            "resolved score topic",
        ),
        (
            body("judge ; filter(value.¦topic = \"\") ; discard"),
            CompletionKind::Field,
            "resolved score topic",
        ),
        (body("¦"), CompletionKind::Channel, "again input output"),
        (body("¦"), CompletionKind::Process, "judge main"),
        (
            body("Mem.c¦ ; discard"),
            CompletionKind::Process,
            "compressor prepared stop_the_world",
        ),
        (
            body("(again, again) <-> Ask as s  s@¦"),
            CompletionKind::Port,
            "done(Verdict) done(string) error recv(Verdict) send(string) trigger",
        ),
        (
            PROGRAM.replace("use mem", "use ¦"),
            CompletionKind::Word,
            "mem",
        ),
        (
            PROGRAM.replace("let judge", "let ¦"),
            CompletionKind::Word,
            "",
        ),
        (agent("model: \"m\", ¦"), CompletionKind::Field, &rest),
        (agent("model: \"m\", pro¦"), CompletionKind::Field, &rest),
        (
            agent("provider: ¦"),
            CompletionKind::Word,
            &quoted.join(" "),
        ),
        (
            agent("provider: \"¦\""),
            CompletionKind::Word,
            &providers.join(" "),
        ),
        (agent("tools: [¦]"), CompletionKind::Process, "f"),
        (agent("prompt: \"a ¦\""), CompletionKind::Process, ""),
        (
            tool("¦"),
            CompletionKind::Field,
            "description max_failures max_restarts mcp name process timeout timer",
        ),
        (tool("process: ¦"), CompletionKind::Process, "f"),
    ];
    for (text, kind, wanted) in cases {
        check(&text, kind, wanted);
    }
}

#[test]
fn commands_and_their_modifiers_could_stand_there() {
    let program = |fields: &str| body(&format!("again ; map({{ {fields}¦ }}) ; judge@ctrl_in"));
    let commands = "abandon clear drop_to extract get_memory hold mark pause pin prepare resume \
                    set_memory set_temp swap unpin";
    check(&program("p"), CompletionKind::Field, commands);
    check(
        &program("clear: true, "),
        CompletionKind::Field,
        "at_least keep_results",
    );
}
