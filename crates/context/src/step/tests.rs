//! Tests of steps.

use super::{Step, StepKind, steps};
use crate::counter::Heuristic;
use crate::text::Text;
use crate::turn::{Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};

/// A conversation in one line, a turn a word: `u` user text, `s` system text, `a` assistant text,
/// `a(xy)` an assistant turn with calls `x` and `y`, `r(xy)` a tool turn with results, `u(x)` a user
/// turn with text and a result.
fn conversation(sketch: &str) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    sketch
        .split_whitespace()
        .map(|word| {
            let turn = turn(word).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

fn turn(word: &str) -> TurnDraft {
    let role = match word.chars().next() {
        Some('u') => Role::User,
        Some('s') => Role::System,
        Some('a') => Role::Assistant,
        _ => Role::Tool,
    };
    let mut parts = Vec::new();
    if role != Role::Tool {
        parts.push(Part::Text(Text::from("text")));
    }
    for id in word.chars().skip(2).filter(|&id| id != ')') {
        parts.push(if role == Role::Assistant {
            Part::Call(ToolCall {
                id: id.to_string().as_str().into(),
                name: "tool".into(),
                arguments: "{}".into(),
            })
        } else {
            Part::Result(ToolResult {
                call: id.to_string().as_str().into(),
                text: "done".into(),
                outcome: Outcome::Succeeded,
            })
        });
    }
    TurnDraft::said(role, parts)
}

/// Expects the steps as words: `.` plain, `C`, `A`, `F` (in flight), `S` (stray), each as often as
/// it has turns.
fn check(sketch: &str, expected: &str) {
    let turns = conversation(sketch);
    let shown: Vec<String> = steps(&turns).iter().map(show).collect();
    assert_eq!(shown.join(" "), expected, "{sketch}");
}

fn show(step: &Step) -> String {
    let letter = match step.kind() {
        StepKind::Plain => ".",
        StepKind::Complete => "C",
        StepKind::Aborted => "A",
        StepKind::InFlight => "F",
        StepKind::Stray => "S",
    };
    letter.repeat(step.turns().len())
}

#[test]
fn a_call_and_its_result_are_one_step() {
    check("", "");
    check("u a u", ". . .");
    check("s u a(x) r(x) a", ". . CC .");
    check("u a(x) u(x) a", ". CC .");
}

#[test]
fn parallel_calls_are_one_step_however_their_results_come() {
    check("u a(xy) r(xy) a", ". CC .");
    check("u a(xyz) r(y) r(xz) a", ". CCC .");
    check("u a(xy) r(x) u r(y) a", ". CCCC .");
    check("u a(x) a(y) r(x) r(y) a", ". CCCC .");
    check("u a(x) a(y) r(y) r(x) a", ". CCCC .");
}

#[test]
fn a_call_in_flight_reaches_to_the_end() {
    check("u a(x)", ". F");
    check("u a(xy) r(x)", ". FF");
    check("u a(xy) r(x) s", ". FFF");
}

#[test]
fn an_aborted_call_ends_where_somebody_speaks() {
    check("u a(x) u a", ". A . .");
    check("u a(x) a(y) r(y)", ". A CC");
    check("u a(xy) r(x) u", ". AA .");
    check("u a(x) s u", ". AA .");
    check("u a(xy) u(x) a", ". AA .");
}

#[test]
fn a_result_without_a_call_stands_alone() {
    check("r(x) u a", "S . .");
    check("u a(x) r(x) r(x) a", ". CC S .");
    check("r(x) a(x) r(x)", "S CC");
}

#[test]
fn one_id_for_two_calls() {
    check("a(x) r(x) u a(x) r(x)", "CC . CC");
    check("a(xx) r(x) r(x) a", "CCC .");
    check("a(x) a(x) r(x) r(x)", "CCCC");
    check("a(x) u a(x) r(x)", "A . CC");
}
