//! Pulses as programs receive them.

use std::sync::Arc;

use context::turn::{CallId, Outcome, ToolCall, ToolResult};
use context::{Heuristic, Part, Role, Turn, TurnDraft, TurnId};
use plumb::modules::BuiltIn;

use super::super::{Hosted, StrategyProgram};
use super::{House, at, with};
use crate::homunculus::event::{Action, Event};
use crate::homunculus::strategy::When;

/// A step: a call of a tool, and what it got.
fn step(index: usize, command: &str, got: &str) -> [TurnDraft; 2] {
    let call = ToolCall {
        id: CallId::from(&*format!("call-{index}")),
        name: "shell".into(),
        arguments: command.into(),
    };
    let result = ToolResult {
        call: call.id.clone(),
        text: got.into(),
        outcome: Outcome::Succeeded,
    };
    [
        TurnDraft::said(Role::Assistant, vec![Part::Call(call)]),
        TurnDraft::said(Role::Tool, vec![Part::Result(result)]),
    ]
}

fn turns(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let placed = drafts.into_iter().map(|draft| {
        let turn = draft.after(parent, &Heuristic);
        parent = turn.id();
        turn
    });
    placed.collect()
}

/// So many steps that are all the same.
fn circling(steps: usize) -> Vec<Turn> {
    turns((0..steps).flat_map(|index| step(index, "make", "all is up to date")))
}

/// Says what it was told of each pulse.
const ECHO: &str = "reports ; filter(kind = \"pulse\") ;
    map({ unpin: if repeats = 0 then phase else if repeats = 3 then \"three\"
      else if repeats = 4 then \"four\" else severity }) ; commands
    answers ; discard";

/// The answer of [`ECHO`] to a request, after these turns were said.
fn heard(house: &mut House, when: When, turns: &[Turn]) -> Vec<String> {
    house
        .machine
        .on(Event::Said(when, turns), at(house.second + 10));
    let said = |action: &Action| match action {
        Action::Unpin(text) => Some(text.clone()),
        _ => None,
    };
    house.request(3).iter().filter_map(said).collect()
}

#[test]
fn each_step_is_told_once_with_the_request_that_brings_it() {
    let mut house = House::of(&with(ECHO));
    assert_eq!(heard(&mut house, When::Now, &circling(1)), ["acting"]);
    assert!(
        heard(&mut house, When::Now, &[]).is_empty(),
        "nothing is new"
    );
    assert_eq!(heard(&mut house, When::Now, &circling(1)), ["acting"]);
    assert_eq!(
        heard(&mut house, When::Now, &circling(2)),
        ["three", "four"]
    );
    assert_eq!(heard(&mut house, When::Now, &circling(1)), ["critical"]);
    let answer = turns([TurnDraft::text(Role::Assistant, "All done.")]);
    assert_eq!(heard(&mut house, When::Now, &answer), ["yielding"]);
}

#[test]
fn what_was_said_before_counts_and_is_not_told() {
    let mut house = House::of(&with(ECHO));
    assert!(heard(&mut house, When::Before, &circling(2)).is_empty());
    assert_eq!(heard(&mut house, When::Now, &circling(1)), ["three"]);
    // The client went back to before all this.
    assert!(heard(&mut house, When::Before, &[]).is_empty());
    assert_eq!(heard(&mut house, When::Now, &circling(1)), ["acting"]);
}

#[test]
fn of_many_steps_at_once_the_newest_are_told() {
    let mut house = House::of(&with(ECHO));
    let told = heard(&mut house, When::Now, &circling(400));
    assert_eq!(told, ["critical"; 8]);
    house.machine.rest();
    let bytes = house.machine.strategy().bytes();
    assert!(bytes <= 8 << 10, "{bytes}");
}

#[test]
fn another_supervisor_of_the_same_conversation_knows_it_too() {
    let text = with(ECHO);
    let mut house = House::of(&text);
    heard(&mut house, When::Now, &circling(2));
    let known = house.machine.strategy().clone();
    let mut next = House::of(&text);
    next.machine
        .strategy_mut(|strategy| *strategy = strategy.clone().with_vitals_of(&known));
    assert_eq!(heard(&mut next, When::Now, &circling(1)), ["three"]);
}

#[test]
fn who_reads_no_pulses_holds_none() {
    for program in StrategyProgram::all() {
        assert!(!program.reads_pulses(), "{}", program.name());
        let mut house = House::new(Arc::clone(&program), super::limits());
        let fresh = Hosted::new(program, super::HostSettings::default()).bytes();
        house
            .machine
            .on(Event::Said(When::Now, &circling(60)), at(0));
        assert_eq!(house.machine.strategy().bytes(), fresh);
    }
}

#[test]
fn who_reads_pulses() {
    let check = |body: &str, expected: bool| {
        let text = with(&format!("{body} ; commands answers ; discard"));
        let program = StrategyProgram::new("mine", &text, &BuiltIn).unwrap();
        assert_eq!(program.reads_pulses(), expected, "{body}");
    };
    check(
        "reports ; filter(kind = \"pulse\") ; map({ swap: true })",
        true,
    );
    check("reports ; filter(repeats >= 3) ; map({ swap: true })", true);
    check("reports ; filter(turns > 100) ; map({ swap: true })", true);
    check(
        "reports ; filter(contains([\"pulse\", \"swap\"], kind)) ; map({ swap: true })",
        true,
    );
    check(
        "reports ; filter(severity = \"critical\" || pressure > 0.5) ; map({ swap: true })",
        true,
    );
    check(
        "reports ; filter(kind = \"usage\" && pressure > 0.5) ; map({ swap: true })",
        false,
    );
    check(
        "answers ; filter(len(marked.turns) > 3) ; map({ swap: true }) ; commands
         reports ; filter(pressure > 0.5) ; map({ swap: true })",
        false,
    );
}
