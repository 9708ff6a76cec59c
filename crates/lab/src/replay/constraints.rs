//! Constraint survival: of the rules, decisions and preferences that the user typed, those that the last request
//! contains verbatim.

use context::classify::{Classifier, Demands, Standing};
use context::{Heuristic, Role, Tokens, Turn, typed_lines};
use wire::api::{Dialect, Request};

use crate::compare::Constraints;

/// A turn in which the user sets a rule, decides or prefers something.
pub(super) struct Constraint {
    /// Its index.
    turn: usize,
    /// The lines that the user typed.
    lines: Vec<String>,
}

/// The constraints of a session, however many there are: what the default classifier takes for a demand.
pub(super) fn of(turns: &[Turn], window: Tokens) -> Vec<Constraint> {
    let demands = Demands::with_budget(1.0).unwrap_or_default();
    let standing = Standing {
        limit: window,
        ..Standing::default()
    };
    let said = turns.iter().enumerate();
    said.filter(|(_, turn)| turn.role() == Role::User)
        .filter(|(_, turn)| demands.classify(turn, standing).demand)
        .map(|(index, turn)| Constraint {
            turn: index,
            lines: typed_lines(turn).map(str::to_owned).collect(),
        })
        .collect()
}

/// Counts those that were said before the turn that answers this request, and those whose lines all stand in it.
pub(super) fn survived(
    constraints: &[Constraint],
    answer: usize,
    (dialect, body): (Dialect, &[u8]),
) -> Constraints {
    let said = constraints.iter().filter(|it| it.turn < answer);
    let Ok(request) = Request::parse(dialect, body) else {
        return Constraints::default();
    };
    let turns = request.turns(&Heuristic);
    let shown: Vec<String> = turns.iter().map(Turn::readable).collect();
    let shown = shown.join("\n");
    let mut found = Constraints::default();
    for constraint in said {
        found.said += 1;
        let stands = constraint.lines.iter().all(|line| shown.contains(line));
        found.kept += usize::from(stands);
    }
    found
}
