//! What editors are told. `¦` in a program is where the question is asked.

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
    ];
    for (text, nth, shown) in cases {
        let (checked, at) = asked(text, nth, 1);
        let place = checked.at(at).expect(text);
        assert_eq!(place.text, shown, "at `{text}`");
    }
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
fn what_could_stand_there() {
    let labels = |text: &str, at: usize, kind: CompletionKind| -> Vec<String> {
        let checked = super::super::check("test.plumb", text, &BuiltIn);
        let found = checked.completions(u32::try_from(at).expect("short"));
        let found = found.into_iter().filter(|one| one.kind == kind);
        found.map(|one| one.label).collect()
    };
    let marked = |text: &str| {
        let at = text.find('¦').expect("a mark");
        (text.replace('¦', ""), at)
    };
    let body = |statement: &str| PROGRAM.replace("again ; judge", statement);
    let cases = [
        (
            body("judge@¦"),
            CompletionKind::Port,
            "ctrl_in ctrl_out input output telemetry",
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
    ];
    for (text, kind, wanted) in cases {
        let (text, at) = marked(&text);
        assert_eq!(labels(&text, at, kind).join(" "), wanted, "{text}");
    }
}
