//! The incremental cuts against their definition.

use std::ops::Range;

use context::cut::{Cuts, Rule};
use context::step::StepKind;
use context::turn::{Outcome, Part, ToolCall, ToolResult};
use context::{CallId, Heuristic, Role, Text, Turn, TurnDraft, TurnId};
use proptest::collection::vec;
use proptest::prelude::*;

/// A turn of a random conversation: who speaks, whether it has text, the ids it calls and answers.
type Said = (u8, bool, Vec<u8>, Vec<u8>);

fn said() -> impl Strategy<Value = Vec<Said>> {
    let ids = || vec(0..3_u8, 0..3);
    vec((any::<u8>(), any::<bool>(), ids(), ids()), 0..14)
}

/// Mostly calls in assistant turns and results elsewhere; now and then both in one turn.
fn placed(said: &[Said]) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let id = |name: &u8| CallId::from(format!("c{name}").as_str());
    said.iter()
        .map(|(kind, spoken, calls, answers)| {
            let mut parts: Vec<Part> = Vec::new();
            if *spoken {
                parts.push(Part::Text(Text::from("word")));
            }
            let role = match kind % 6 {
                0 => Role::System,
                1 => Role::User,
                2 => Role::Tool,
                3 => Role::Other,
                _ => Role::Assistant,
            };
            let both = kind % 7 == 0;
            if role == Role::Assistant || both {
                parts.extend(calls.iter().map(|call| {
                    Part::Call(ToolCall {
                        id: id(call),
                        name: Text::from("read"),
                        arguments: Text::from("{}"),
                    })
                }));
            }
            if role != Role::Assistant || both {
                parts.extend(answers.iter().map(|call| {
                    Part::Result(ToolResult {
                        call: id(call),
                        text: Text::from("found"),
                        outcome: Outcome::Succeeded,
                    })
                }));
            }
            let turn = TurnDraft::said(role, parts).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

/// The steps of a conversation, found with all of it in sight: which result answers which call, and
/// where the next speaker after each call stands.
fn definition(turns: &[Turn]) -> Vec<(Range<usize>, StepKind)> {
    let mut asked: Vec<(usize, &str, Option<usize>)> = Vec::new();
    let mut stray = vec![false; turns.len()];
    for (index, turn) in turns.iter().enumerate() {
        asked.extend(turn.calls().map(|call| (index, call.id.as_str(), None)));
        for result in turn.results() {
            let id = result.call.as_str();
            let open = asked
                .iter_mut()
                .rev()
                .find(|call| call.1 == id && call.2.is_none());
            match open {
                Some(call) => call.2 = Some(index),
                None => stray[index] = true,
            }
        }
    }
    let speaks = |turn: &Turn| match turn.role() {
        Role::Assistant => true,
        Role::User => turn.texts().next().is_some(),
        Role::System | Role::Tool | Role::Other => false,
    };
    let mut steps: Vec<(Range<usize>, StepKind)> = Vec::new();
    for (index, stray) in stray.into_iter().enumerate() {
        let calls = || asked.iter().filter(|call| call.0 == index);
        let next = (index + 1..turns.len()).find(|&later| speaks(&turns[later]));
        let answered = calls().filter_map(|call| call.2).max().unwrap_or(index) + 1;
        let open = calls().any(|call| call.2.is_none());
        let (end, kind) = match next {
            _ if calls().next().is_none() && stray => (index + 1, StepKind::Stray),
            _ if calls().next().is_none() => (index + 1, StepKind::Plain),
            _ if !open => (answered, StepKind::Complete),
            Some(next) => (answered.max(next), StepKind::Aborted),
            None => (turns.len(), StepKind::InFlight),
        };
        match steps.last_mut().filter(|step| index < step.0.end) {
            None => steps.push((index..end, kind)),
            Some(step) => {
                step.0.end = step.0.end.max(end);
                let rank = |kind| {
                    [StepKind::Aborted, StepKind::InFlight]
                        .iter()
                        .position(|&of| of == kind)
                };
                if rank(kind) > rank(step.1) {
                    step.1 = kind;
                }
            }
        }
    }
    steps
}

/// The cuts by a rule, from the steps.
fn legal(steps: &[(Range<usize>, StepKind)], turns: &[Turn], rule: Rule) -> Vec<usize> {
    let speaker = |at: usize| match turns[at].role() {
        Role::Tool | Role::Other => Role::User,
        role => role,
    };
    let provider = |at: usize, kind| {
        speaker(at) != Role::System && speaker(at) != speaker(at - 1) && kind != StepKind::Stray
    };
    let later = steps.iter().skip(1);
    later
        .filter(|(step, kind)| rule == Rule::Steps || provider(step.start, *kind))
        .map(|(step, _)| step.start)
        .collect()
}

proptest! {
    #[test]
    fn turn_by_turn_the_cuts_are_those_of_the_whole(said in said()) {
        let turns = placed(&said);
        let mut grown = Cuts::default();
        for len in 0..=turns.len() {
            if let Some(turn) = len.checked_sub(1).and_then(|last| turns.get(last)) {
                grown.push(turn);
            }
            let seen = &turns[..len];
            let expected = definition(seen);
            let found: Vec<_> = grown.steps().map(|step| (step.turns(), step.kind())).collect();
            prop_assert_eq!(&found, &expected, "of {} turns", len);
            for rule in [Rule::Steps, Rule::Provider] {
                let legal = legal(&expected, seen, rule);
                let found: Vec<usize> = (0..=len).filter(|&at| grown.is_cut(at, rule)).collect();
                prop_assert_eq!(&found, &legal, "{:?} of {} turns", rule, len);
                for at in 0..=len {
                    let most = legal.iter().rev().find(|&&cut| cut <= at).copied();
                    let least = legal.iter().find(|&&cut| cut >= at).copied();
                    prop_assert_eq!(grown.at_most(at, rule), most);
                    prop_assert_eq!(grown.at_least(at, rule), least);
                }
            }
        }
    }
}
