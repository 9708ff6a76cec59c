//! The fields of an earlier summary of ours. The turns that it replaced are gone, so what it says is carried on.

use super::artefacts::Artefacts;
use super::fields::{Known, Page};
use super::folder::{self, STATES};
use super::steps::ends_in;
use super::tasks::{self, State};
use crate::summary::{Field, Summary};
use crate::units::Tokens;
use crate::user_words::newest_summary;

/// The shares of the room for the fields, the most needed first.
const SHARES: [(Field, f64); 5] = [
    (Field::Decisions, 0.35),
    (Field::Tasks, 0.3),
    (Field::Done, 0.3),
    (Field::Errors, 0.15),
    (Field::DeadEnds, 0.15),
];

/// The words behind a task that was open then.
const THEN: &str = " (in the earlier summary)";

/// Adds what the newest summary of ours among the turns says, and what nothing newer replaces, in at most `budget`
/// tokens. Of what was done these are commits and files: commands of long ago say little.
pub(super) fn carry(page: &mut Page<'_>, known: &Known<'_>, done: &Artefacts, budget: Tokens) {
    let Some(earlier) = newest_summary(known.old) else {
        return;
    };
    let earlier = Summary::parse(&folder::in_full(&earlier.render())).summary;
    let tasks: Vec<String> = tasks::tasks(known.steps)
        .into_iter()
        .map(|task| task.text)
        .collect();
    let behind = |entry: &str| {
        let (_, text) = entry.split_once(": ")?;
        Some(text.trim_end_matches(THEN).to_owned())
    };
    let stands = |field: Field, entry: &str| match field {
        Field::Tasks => behind(entry).is_some_and(|text| !tasks.contains(&text)),
        Field::Done => entry.starts_with("commit ") || is_kept(entry, done),
        Field::Errors => !done.commands.iter().any(|it| begins(entry, &it.line)),
        _ => true,
    };
    let mut left = budget;
    for (field, share) in SHARES {
        let mut room = budget.scaled(share).min(left);
        let before = room;
        for entry in earlier.entries(field) {
            if !stands(field, entry) {
                continue;
            }
            // A newer step may have changed the task by its number alone.
            let is_open = field == Field::Tasks && !entry.starts_with(State::Closed.as_str());
            match is_open && !entry.ends_with(THEN) {
                true => page.add(field, &format!("{entry}{THEN}"), &mut room),
                false => page.add(field, entry, &mut room),
            };
        }
        left = left.saturating_sub(before.saturating_sub(room));
    }
}

/// Returns true if an entry tells the state of a file that no newer step touched.
fn is_kept(entry: &str, done: &Artefacts) -> bool {
    let Some((path, state)) = entry.split_once(": ") else {
        return false;
    };
    let is_known = |known: &str| ends_in(known, path) || ends_in(path, known);
    STATES.iter().any(|it| state.starts_with(it))
        && !done.files.iter().any(|file| is_known(&file.path))
}

/// Returns true if an entry begins with this command.
fn begins(entry: &str, command: &str) -> bool {
    entry
        .strip_prefix(command)
        .is_some_and(|it| it.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::{call, placed, result};
    use crate::summary::Field;
    use crate::turn::{Outcome, Role, Turn, TurnDraft};
    use crate::units::Tokens;

    fn step(name: &str, input: &str, output: &str, outcome: Outcome) -> [TurnDraft; 2] {
        [call(name, input), result(output, outcome)]
    }

    #[test]
    fn what_an_earlier_summary_says_is_carried_field_by_field() {
        let ok = Outcome::Succeeded;
        let edit =
            |path: &str| format!(r#"{{"file_path":"{path}","old_string":"a","new_string":"b"}}"#);
        let tasks = r#"{"todos":[{"content":"sort the rows","status":"completed"},{"content":"mend the writer","status":"pending"}]}"#;
        let first = [
            [
                TurnDraft::text(Role::Assistant, "Shall I lock the reader?"),
                TurnDraft::text(Role::User, "yes"),
            ],
            step("Edit", &edit("/p/src/rows.rs"), "ok", ok),
            step("Edit", &edit("/p/src/load.rs"), "ok", ok),
            step("TodoWrite", tasks, "ok", ok),
            step(
                "Bash",
                r#"{"command":"make check"}"#,
                "make: *** [check] Error 2",
                Outcome::Failed,
            ),
            step(
                "Bash",
                r#"{"command":"git commit -m Lock"}"#,
                "[main 4f5e6d7] Lock the reader",
                ok,
            ),
        ];
        let asks = [TurnDraft::text(
            Role::User,
            "Make the importer keep the order of the rows.",
        )];
        let summed = |drafts: Vec<TurnDraft>| {
            let turns: Vec<Turn> = placed(drafts);
            extract(&turns, &[], Tokens::new(3_000), &Heuristic)
        };
        let mut summary = summed(
            asks.into_iter()
                .chain(first.into_iter().flatten())
                .collect(),
        );
        for round in 0..3 {
            let later = [
                step("Edit", &edit("/p/src/load.rs"), "ok", ok),
                step(
                    "Bash",
                    &format!(r#"{{"command":"make round_{round}"}}"#),
                    "done",
                    ok,
                ),
            ];
            let later = later.into_iter().flatten();
            summary = summed(std::iter::once(summary.draft()).chain(later).collect());
        }
        let has = |field: Field, wanted: &str| {
            let all = summary.entries(field);
            assert_eq!(
                all.iter().filter(|it| it.contains(wanted)).count(),
                1,
                "{wanted}: {all:?}"
            );
        };
        has(
            Field::Decisions,
            "the user answered \"yes\" (turn 3) to: Shall I lock the reader?",
        );
        has(
            Field::Tasks,
            "open: mend the writer (in the earlier summary)",
        );
        has(Field::Tasks, "closed: sort the rows");
        has(Field::Done, "commit 4f5e6d7 on main: Lock the reader");
        has(Field::Done, "rows.rs: changed once");
        has(Field::Done, "load.rs: changed");
        has(Field::Errors, "make check: ");
    }
}
