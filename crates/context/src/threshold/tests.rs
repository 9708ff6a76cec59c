//! The verified values, the clamps, the reasons, and signals from turns.

use super::{AdaptiveThreshold, LoopSignal, Signals, TaskList, Watch};
use crate::counter::Heuristic;
use crate::turn::{CallId, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};
use crate::units::Pressure;

fn effective(progress: f64, error_rate: f64, looping: LoopSignal) -> f64 {
    let signals = Signals::new(Some(progress), error_rate, looping);
    AdaptiveThreshold::default()
        .under(&signals)
        .threshold()
        .get()
}

fn check(progress: f64, error_rate: f64, looping: LoopSignal, expected: f64) {
    let got = effective(progress, error_rate, looping);
    assert!(
        (got - expected).abs() < 1e-9,
        "progress {progress}, errors {error_rate}: {got}, not {expected}"
    );
}

#[test]
fn the_verified_values() {
    check(0.0, 0.0, LoopSignal::Clear, 0.80);
    check(0.2, 0.0, LoopSignal::Clear, 0.70);
    check(0.8, 0.0, LoopSignal::Clear, 0.70);
    check(0.81, 0.0, LoopSignal::Clear, 0.60);
    check(0.5, 1.0, LoopSignal::Clear, 0.85);
    check(0.5, 0.0, LoopSignal::Detected, 0.55);
    let fresh = AdaptiveThreshold::default()
        .under(&Signals::default())
        .threshold();
    assert!((fresh.get() - 0.8).abs() < 1e-9);
}

#[test]
fn it_stays_between_its_clamps() {
    check(0.9, 0.0, LoopSignal::Detected, 0.5);
    let high = AdaptiveThreshold::new(Pressure::new(0.9).unwrap());
    let signals = Signals::new(Some(0.0), 1.0, LoopSignal::Clear);
    assert_eq!(high.under(&signals).threshold().get(), 0.95);
    let signals = Signals::new(Some(f64::NAN), f64::NAN, LoopSignal::Clear);
    assert!((high.under(&signals).threshold().get() - 0.9).abs() < 1e-9);
}

#[test]
fn the_reasons_are_told() {
    let told = |progress, errors, looping| {
        let signals = Signals::new(progress, errors, looping);
        AdaptiveThreshold::default().under(&signals).to_string()
    };
    assert_eq!(told(None, 0.0, LoopSignal::Clear), "no signal moves it");
    assert_eq!(
        told(Some(0.0), 0.4, LoopSignal::Detected),
        "the agent repeats itself, early in the task, tools are failing"
    );
}

fn call(name: &str, arguments: &str) -> Part {
    Part::Call(ToolCall {
        id: CallId::from("c"),
        name: name.into(),
        arguments: arguments.into(),
    })
}

fn result(outcome: Outcome) -> Part {
    Part::Result(ToolResult {
        call: CallId::from("c"),
        text: "done".into(),
        outcome,
    })
}

fn watched(turns: &[Turn], recent: usize) -> Watch {
    let mut watch = Watch::new(recent);
    for turn in turns {
        watch.push(turn);
    }
    watch
}

fn turns(all: Vec<(Role, Vec<Part>)>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    all.into_iter()
        .map(|(role, parts)| {
            let turn = TurnDraft::said(role, parts).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

#[test]
fn progress_comes_from_the_newest_list() {
    let older = call("TodoWrite", r#"{"todos":[{"status":"pending"}]}"#);
    let newer = call(
        "update_plan",
        r#"{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"},
           {"step":"c","status":"pending"},{"step":"d","status":"cancelled"}]}"#,
    );
    let turns = turns(vec![
        (Role::Assistant, vec![older]),
        (Role::Assistant, vec![newer]),
        (
            Role::Assistant,
            vec![call("Bash", r#"{"command":"grep \"status\" x"}"#)],
        ),
    ]);
    let list = watched(&turns, 8).tasks().unwrap();
    assert_eq!(list, TaskList { done: 1, all: 3 });
}

#[test]
fn single_task_calls_add_up() {
    let turns = turns(vec![
        (
            Role::Assistant,
            vec![
                call("TaskCreate", r#"{"subject":"a"}"#),
                call("TaskCreate", r#"{"subject":"b"}"#),
            ],
        ),
        (
            Role::Assistant,
            vec![call("TaskUpdate", r#"{"taskId":"1","status":"completed"}"#)],
        ),
        (
            Role::Assistant,
            vec![call("TaskUpdate", r#"{"taskId":"2","status":"completed"}"#)],
        ),
        (
            Role::Assistant,
            vec![call(
                "TaskUpdate",
                r#"{"taskId":"2","status":"in_progress"}"#,
            )],
        ),
    ]);
    assert_eq!(
        watched(&turns, 8).tasks(),
        Some(TaskList { done: 1, all: 2 })
    );
}

#[test]
fn signals_of_real_turns() {
    let turns = turns(vec![
        (Role::Tool, vec![result(Outcome::Failed)]),
        (
            Role::Tool,
            vec![result(Outcome::Succeeded), result(Outcome::Failed)],
        ),
    ]);
    let signals = watched(&turns, 2).signals(LoopSignal::Clear);
    assert!((signals.error_rate() - 0.5).abs() < 1e-9);
    assert_eq!(signals.progress(), None);
    assert_eq!(
        watched(&[], 8)
            .signals(LoopSignal::Clear)
            .error_rate()
            .to_bits(),
        0
    );
}
