//! The incremental cuts against their definition.

use context::cut::{Cuts, Rule};
use context::split::cuts;
use context::step::{Step, steps};
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
            prop_assert_eq!(grown.steps().collect::<Vec<Step>>(), steps(seen), "of {} turns", len);
            for rule in [Rule::Steps, Rule::Provider] {
                let old = match rule {
                    Rule::Steps => context::split::Rule::Steps,
                    Rule::Provider => context::split::Rule::Provider,
                };
                let legal: Vec<usize> = cuts(seen, old)
                    .into_iter()
                    .map(|cut| cut.index())
                    .filter(|&cut| cut > 0)
                    .collect();
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
