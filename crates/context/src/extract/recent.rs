//! The last steps of the work, a line a step: statements, calls, and the results that tell something. The next
//! step follows from them.

use std::collections::HashSet;

use serde_json::Value;

use super::clip::{clip, clip_lines};
use super::fields::by_assistant;
use super::here_documents;
use super::secrets::{handles_secrets, holds_secrets};
use super::steps::{Action, CHANGES, NEW, OLD, PATHS, Step, file_name};
use super::story::FILLER;
use super::tasks;
use crate::client_summary::is_client_summary;
use crate::counter::TokenCounter;
use crate::summary::{as_item, one_line};
use crate::turn::{Part, Provenance, Role, Turn};
use crate::units::Tokens;

/// The longest quotation of a statement, in bytes.
const STATEMENT: usize = 280;
/// The longest quotations of the assistant's newest text, in bytes, if no call follows it: a report, whose
/// later sentences often tell what is left to do.
const REPORTS: [usize; 2] = [900, 600];
/// The largest share of the room that a report may have.
const REPORTED: f64 = 0.5;
/// The longest quotation of what stands in a file after a change, in bytes: the next change begins from it.
const AFTER: usize = 300;
/// The longest argument that is no path, in bytes.
const ARGUMENT: usize = 110;
/// The length at which a call takes no further argument, in bytes.
const CALL: usize = 240;
/// The longest line of a result, in bytes.
const RESULT: usize = 130;
/// The longest quotation of the user, in bytes: it only says when they spoke, and their words stand in front of the
/// summary.
const REQUEST: usize = 48;

/// The share of a small summary that the last steps have: little else in it tells how to go on. A large one has room for
/// what is needed later.
const SMALL: f64 = 0.65;
/// The sizes of a small and of a large summary, in tokens.
const SIZES: (f64, f64) = (2_000.0, 4_000.0);
/// The share of a large summary that the last steps have, and the most tokens of them in any, where the newest messages
/// stand behind it: newer steps than these.
const BESIDE_TAIL: (f64, Tokens) = (0.12, Tokens::new(700));
/// The same where nothing newer stands behind it.
const ALONE: (f64, Tokens) = (0.16, Tokens::new(850));
/// The least size of the newest messages, in tokens: a single step tells little.
const TAIL: Tokens = Tokens::new(2_000);

/// The room of the last steps in a summary with so much room, in front of messages of `tail` tokens.
pub(super) fn room(summary: Tokens, tail: Tokens) -> Tokens {
    let (large, most) = if tail < TAIL { ALONE } else { BESIDE_TAIL };
    let (from, to) = SIZES;
    let grown = ((summary.as_f64() - from) / (to - from)).clamp(0.0, 1.0);
    let share = SMALL + (large - SMALL) * grown;
    summary.scaled(share).min(most)
}

/// The last steps, as many as fit in `room`, oldest first, and the index of the first turn that they tell. `steps`
/// are those of `turns`.
pub(super) fn lines(
    turns: &[Turn],
    steps: &[Step<'_>],
    room: Tokens,
    counter: &dyn TokenCounter,
) -> (Vec<String>, usize) {
    let mut told: Vec<Told<'_, '_>> = Vec::new();
    let mut first = turns.len();
    let mut left = room;
    let mut before = String::new();
    let mut named = HashSet::new();
    let mut may_report = true;
    // A call that the user spoke behind gets no result any more.
    let spoken = turns.iter().rposition(is_spoken).unwrap_or(0);
    let mut calls = steps.iter().rev();
    let parts = turns
        .iter()
        .enumerate()
        .rev()
        .flat_map(|(at, turn)| turn.parts().iter().rev().map(move |part| (at, turn, part)));
    for (at, turn, part) in parts {
        let part = match part {
            Part::Text(text) if may_report && turn.role() == Role::Assistant => {
                may_report = false;
                let fits = |it: &String| counter.count(it) <= room.scaled(REPORTED);
                let mut reports = REPORTS.iter().map(|&most| statement(turn, text, most));
                let report = reports.find_map(|report| report.filter(fits));
                let said = report.or_else(|| statement(turn, text, STATEMENT));
                said.map(Told::Said)
            }
            Part::Text(text) => statement(turn, text, STATEMENT).map(Told::Said),
            Part::Call(_) => {
                may_report = false;
                let step = calls.next();
                step.map(|step| Told::Called(step, step.turn < spoken))
            }
            _ => None,
        };
        let Some(part) = part else { continue };
        let line = part.line(&mut named);
        if line == before || part.is_bare_task(&line) {
            continue;
        }
        let cost = counter.count(&as_item(&line));
        if cost > left {
            break;
        }
        left = left.saturating_sub(cost);
        first = at;
        before = line;
        told.push(part);
    }
    // Each file is named in full once; now that is its first place.
    named.clear();
    let lines = told.iter().rev().map(|part| part.line(&mut named));
    (lines.collect(), first)
}

/// A part of the last steps.
enum Told<'s, 'a> {
    /// A statement.
    Said(String),
    /// A call, and true if the user spoke behind it.
    Called(&'s Step<'a>, bool),
}

impl Told<'_, '_> {
    /// Returns true if a line only names a tool that keeps tasks: the list tells what it did.
    fn is_bare_task(&self, line: &str) -> bool {
        matches!(self, Self::Called(step, _) if keeps_tasks(step) && line == &*step.call.name)
    }

    fn line(&self, named: &mut HashSet<String>) -> String {
        match self {
            Self::Said(line) => line.clone(),
            Self::Called(step, is_over) => call(step, *is_over, named),
        }
    }
}

/// Returns true for a message that the user typed.
fn is_spoken(turn: &Turn) -> bool {
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    turn.role() == Role::User
        && turn.provenance() == Provenance::Said
        && turn.parts().iter().any(is_text)
}

/// A statement of the assistant, of at most so many bytes, or of the user.
fn statement(turn: &Turn, text: &str, most: usize) -> Option<String> {
    let is_user = turn.role() == Role::User;
    let said = match turn.role() {
        Role::Assistant if text.trim() == FILLER => return None,
        Role::Assistant => clip_lines(text, most),
        // Text in brackets is a client's, and so is its summary.
        Role::User
            if turn.provenance() == Provenance::Said
                && !text.starts_with(['[', '<'])
                && !is_client_summary(text) =>
        {
            clip(text, REQUEST)
        }
        _ => return None,
    };
    said.contains(char::is_alphanumeric).then(|| {
        if is_user {
            format!("user: {said}")
        } else {
            by_assistant(said)
        }
    })
}

/// A call with its arguments, and the telling line of its result. A file is named in full where `named` does not
/// hold it yet.
fn call(step: &Step<'_>, is_over: bool, named: &mut HashSet<String>) -> String {
    let mut out = step.call.name.to_string();
    let action = step.actions().into_iter().next();
    let script = step.script();
    let is_secret = handles_secrets(step);
    // The list itself tells the state of tasks.
    let is_task = keeps_tasks(step);
    match &step.arguments {
        Value::Object(members) => {
            let change = change(&step.arguments).filter(|_| !is_secret);
            for (key, value) in members {
                if is_secret && !PATHS.contains(&&**key) && script.is_none() {
                    continue;
                }
                // A description beside a command says the same as the command.
                let is_told = (script.is_some() && key == "description")
                    || (change.is_some() && (OLD.contains(&&**key) || NEW.contains(&&**key)));
                let script = script.as_deref().filter(|_| step.is_command(key));
                // The documents of a script may be such files.
                let rest = script
                    .filter(|_| is_secret)
                    .map(|it| here_documents::split(it).1);
                let script = rest.as_deref().or(script);
                // Lists of tasks and of changes are told elsewhere.
                let is_told = is_told || value.is_array() && (is_task || CHANGES.contains(&&**key));
                let ran = script.and_then(|line| argument(&Value::from(line)));
                let value = ran.or_else(|| argument(value));
                let Some(value) = value.filter(|_| !is_told && out.len() <= CALL) else {
                    continue;
                };
                match &action {
                    _ if script.is_some() => out.extend([": ", &value]),
                    Some(Action::Read(path) | Action::Changed(path) | Action::Wrote(path, _))
                        if *path == value =>
                    {
                        out.extend([" ", key, ": ", name_of(path, named)]);
                    }
                    _ => out.extend([" ", key, ": ", &value]),
                }
            }
            match change {
                // What stood there still does.
                Some((_, new)) if step.is_refused() => out.extend([" to ", &*new]),
                Some((old, new)) => out.extend([" ", &*old, " → ", &*new]),
                None => {}
            }
        }
        _ => out.extend([" ", &clip(&one_line(&step.call.arguments), CALL)]),
    }
    match step.result {
        None if is_over => out.push_str(" (no result)"),
        None => out.push_str(" (no result yet)"),
        Some(_) if step.is_refused() => {
            out.push_str(" (refused by the user)");
            return out;
        }
        Some(_) if step.failed() => out.push_str(" (failed)"),
        // A file that was read or changed is still there.
        Some(_) if script.is_none() && !matches!(action, Some(Action::Other)) => return out,
        Some(_) => {}
    }
    let line = step.telling_line().filter(|_| step.failed() || !is_task);
    let line = line.map(|line| clip(line, RESULT));
    if let Some(line) = line.filter(|line| !line.is_empty()) {
        out.extend([" -> ", &line]);
    }
    out
}

/// Returns true if a call only writes the task list.
fn keeps_tasks(step: &Step<'_>) -> bool {
    let name = step.call.name.to_lowercase();
    let is_named = ["task", "todo", "plan"].iter().any(|it| name.contains(it));
    let changes = || step.arguments.get("status").is_some();
    is_named
        && (tasks::list(&step.arguments).is_some()
            || tasks::changed(&step.arguments).is_some() && changes())
}

/// The path of a file where it is named first, then its name.
fn name_of<'p>(path: &'p str, named: &mut HashSet<String>) -> &'p str {
    if named.insert(path.to_owned()) {
        return path;
    }
    file_name(path)
}

/// The first line that a change removes, and what stands there after it, each behind the name of its argument.
fn change(arguments: &Value) -> Option<(String, String)> {
    let text = |names: &[&'static str]| {
        let mut found = names.iter();
        found.find_map(|name| Some((*name, arguments.get(name)?.as_str()?)))
    };
    let ((old, removed), (new, added)) = (text(&OLD)?, text(&NEW)?);
    let kept: HashSet<&str> = telling(added).collect();
    let quoted = |name: &str, said: Option<String>| match said {
        Some(said) => format!("{name}: `{said}`"),
        None => format!("{name}: nothing"),
    };
    let gone = telling(removed).find(|line| !kept.contains(line));
    Some((
        quoted(old, gone.map(|line| clip(line, ARGUMENT))),
        quoted(
            new,
            whole_lines(from_change(removed, added, gone.is_some())),
        ),
    ))
}

/// The lines of the new text from the one in front of the first that is new, where that one is short. A change that only
/// removes lines (`is_gone` of one) has none.
fn from_change<'t>(removed: &str, added: &'t str, is_gone: bool) -> impl Iterator<Item = &'t str> {
    let old: HashSet<&str> = telling(removed).collect();
    let first = telling(added).position(|line| !old.contains(line));
    // Of a conflict that is resolved, what stays says most.
    let is_conflict = removed.contains("<<<<<<<");
    let only_removes = is_gone
        && first.is_none()
        && !is_conflict
        && telling(added).count() < telling(removed).count();
    let at = first.unwrap_or(0);
    let before = at.checked_sub(1).and_then(|at| telling(added).nth(at));
    let is_short = before.is_some_and(|line| line.len() <= ARGUMENT);
    let lines = telling(added).skip(at - usize::from(is_short));
    lines.take(if only_removes { 0 } else { usize::MAX })
}

/// The first of these lines, as many as fit in [`AFTER`] bytes; of a longer one its beginning.
fn whole_lines<'t>(mut lines: impl Iterator<Item = &'t str>) -> Option<String> {
    let first = lines.next()?;
    let mut out = clip(first, AFTER);
    if out.is_empty() {
        let end = first.floor_char_boundary(AFTER.min(first.len()));
        out = format!("{}…", first.get(..end).unwrap_or_default());
    }
    if out.ends_with('…') {
        return Some(out);
    }
    for line in lines {
        if out.len() + line.len() > AFTER {
            out.push_str(" …");
            break;
        }
        out.extend([" / ", line]);
    }
    Some(out)
}

fn telling(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| says(line))
}

fn says(line: &str) -> bool {
    line.contains(char::is_alphanumeric)
}

/// The first line of an argument, or a list or an object in JSON; none of a flag.
fn argument(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(_) | Value::Null => return None,
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if names_a_secret(&text) {
                return None;
            }
            let end = text.floor_char_boundary(text.len().min(2 * ARGUMENT));
            let mark = if end < text.len() { "…" } else { "" };
            return Some(format!("{}{mark}", text.get(..end)?));
        }
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let is_path = first.contains('/') && !first.contains(' ');
    let mut shown = clip(first, if is_path { ARGUMENT * 2 } else { ARGUMENT });
    if lines.next().is_some() && !shown.ends_with('…') {
        shown.push_str(" …");
    }
    Some(shown)
}

/// Returns true if a list or an object may hold a secret, or the content of a file.
fn names_a_secret(json: &str) -> bool {
    const WORDS: [&str; 9] = [
        "passw",
        "secret",
        "token",
        "credential",
        "authorization",
        "api_key",
        "apikey",
        "private_key",
        "\"content",
    ];
    let lower = json.to_lowercase();
    let mut values = lower.split('"');
    WORDS.iter().any(|word| lower.contains(word)) || values.any(holds_secrets)
}

#[cfg(test)]
mod tests {
    use super::room;
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::{call, placed, result};
    use crate::summary::Field;
    use crate::turn::{Outcome, Role, TurnDraft};
    use crate::units::Tokens;

    fn last_steps(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<String> {
        let summary = extract(&placed(drafts), &[], Tokens::new(3_000), &Heuristic);
        summary.entries(Field::Task).to_vec()
    }

    #[test]
    fn a_report_is_told_to_its_end() {
        let said = (1..=12).map(|n| format!("Package {n} moves the rows of table {n}."));
        let report = format!("{} Package 13 is left.", said.collect::<Vec<_>>().join(" "));
        let says = || TurnDraft::text(Role::Assistant, &*report);
        let asks = TurnDraft::text(Role::User, "Go on with the next one, please.");
        let ends = |lines: &[String], at: usize| lines[at].ends_with("Package 13 is left.");
        assert!(ends(&last_steps([says()]), 0));
        assert!(ends(&last_steps([says(), asks]), 0));
        let run = [
            call("Bash", r#"{"command":"make"}"#),
            result("done", Outcome::Succeeded),
        ];
        let lines = last_steps([says()].into_iter().chain(run));
        assert!(lines[0].len() < 300, "{lines:?}");
    }

    #[test]
    fn a_change_is_shown_with_the_code_around_it() {
        let input = serde_json::json!({
            "file_path": "/p/rows.rs",
            "old_string": "fn load() {\n    let a = 1;\n}",
            "new_string": "fn load() {\n    let b = 2;\n}",
        });
        let change = [
            call("Edit", &input.to_string()),
            result("done", Outcome::Succeeded),
        ];
        assert_eq!(
            last_steps(change),
            [
                "Edit file_path: /p/rows.rs old_string: `let a = 1;` → new_string: `fn load() { / let b = 2;`"
            ]
        );
        let before = (0..40).map(|n| format!("row_{n}();\n")).collect::<String>();
        let input = serde_json::json!({
            "file_path": "/p/rows.rs",
            "old_string": before,
            "new_string": format!("{before}last();\n"),
        });
        let change = [
            call("Edit", &input.to_string()),
            result("done", Outcome::Succeeded),
        ];
        assert_eq!(
            last_steps(change),
            ["Edit file_path: /p/rows.rs old_string: nothing → new_string: `row_39(); / last();`"]
        );
    }

    #[test]
    fn a_change_that_only_removes_lines_brings_nothing() {
        let edit = |old: &str, new: &str| {
            let input = serde_json::json!({ "path": "/p/a", "old_string": old, "new_string": new });
            let done = result("done", Outcome::Succeeded);
            last_steps([call("Edit", &input.to_string()), done]).remove(0)
        };
        assert_eq!(
            edit("use rows;\nuse sort;\nuse files;", "use rows;\nuse files;"),
            "Edit path: /p/a old_string: `use sort;` → new_string: nothing"
        );
        let conflict = "<<<<<<< HEAD\nuse rows;\n=======\nuse sort;\n>>>>>>> 1a2b3c4";
        let shown = edit(conflict, "use rows;\nuse sort;");
        assert!(shown.contains("`use rows; / use sort;`"), "{shown}");
    }

    #[test]
    fn a_list_among_the_arguments_is_told() {
        let input = r#"{"user":"mia_li","flights":[{"flight_number":"HAT136"}],"cabin":"economy"}"#;
        let booked = |more: &[TurnDraft]| {
            let booked = [call("book", input)];
            last_steps(booked.into_iter().chain(more.iter().cloned())).remove(0)
        };
        let told = r#"book user: mia_li flights: [{"flight_number":"HAT136"}] cabin: economy"#;
        assert_eq!(booked(&[]), format!("{told} (no result yet)"));
        let secret = r#"{"body":{"password":"hunter2"},"files":[{"path":"/p/.env"}],"n":1}"#;
        assert_eq!(
            last_steps([call("post", secret)]),
            ["post n: 1 (no result yet)"]
        );
        let stopped = TurnDraft::text(Role::User, "Stop, I fly on another day.");
        assert_eq!(booked(&[stopped]), format!("{told} (no result)"));
        let todos = r#"{"todos":[{"content":"Sort the rows","status":"pending"}]}"#;
        let kept = [
            call("TodoWrite", todos),
            result("Todos have been modified", Outcome::Succeeded),
            TurnDraft::text(Role::Assistant, "No response requested."),
        ];
        assert!(last_steps(kept).is_empty());
    }

    #[test]
    fn a_change_in_long_lines_is_shown_too() {
        let edit = |old: &str, new: &str| {
            let input = serde_json::json!({ "path": "/p/a", "old_string": old, "new_string": new });
            let done = result("done", Outcome::Succeeded);
            last_steps([call("Edit", &input.to_string()), done]).remove(0)
        };
        let front = format!("keep({});", "row, ".repeat(58));
        let shown = edit(
            &format!("{front}\nlimit = 3;"),
            &format!("{front}\nlimit = 9;"),
        );
        assert!(shown.ends_with("new_string: `limit = 9;`"), "{shown}");
        let shown = edit("a", &"x".repeat(400));
        assert!(shown.contains("xxx…`"), "{shown}");
    }

    #[test]
    fn what_says_nothing_about_a_step_is_left_out() {
        let ran = |command: &str, output: &str| {
            let input = serde_json::json!({ "command": command });
            [
                call("Bash", &input.to_string()),
                result(output, Outcome::Succeeded),
            ]
        };
        let update = [
            call("TaskUpdate", r#"{"taskId":"4","status":"completed"}"#),
            result("Updated task #4 status", Outcome::Succeeded),
        ];
        let reminded = "3 rows\n<system-reminder>\nThe list is empty.\n</system-reminder>\n";
        let unbroken = format!("{{{}}}", "\"a\":1,".repeat(60));
        let steps = [ran("make", reminded), ran("gh api x", &unbroken), update];
        assert_eq!(
            last_steps(steps.into_iter().flatten()),
            [
                "Bash: make -> 3 rows",
                "Bash: gh api x",
                "TaskUpdate taskId: 4 status: completed"
            ]
        );
    }

    #[test]
    fn steps_have_more_room_where_nothing_newer_stands_behind_them() {
        let sizes = [1_000, 3_000, 6_000].map(Tokens::new);
        let rooms = |tail: u64| sizes.map(|size| room(size, Tokens::new(tail)).get());
        assert_eq!(rooms(0), [650, 850, 850]);
        assert_eq!(rooms(8_000), [650, 700, 700]);
    }

    #[test]
    fn the_line_of_a_result_is_the_one_that_answers_the_command() {
        #[track_caller]
        fn check(command: &str, output: &str, outcome: Outcome, told: &str) {
            let input = serde_json::json!({ "command": command });
            let lines = last_steps([call("Bash", &input.to_string()), result(output, outcome)]);
            assert!(lines[0].ends_with(&format!("-> {told}")), "{lines:?}");
        }
        let (good, bad) = (Outcome::Succeeded, Outcome::Failed);
        let checked = "0 issues.\n[fmt] $ gofmt -w .";
        check("mise run lint", checked, good, "0 issues.");
        let published = "npm notice\n+ @app/rows@1.2.3";
        check("npm publish", published, good, "+ @app/rows@1.2.3");
        let tested = "--- PASS: TestRows (0.1s)\nok  \tapp/rows\t0.2s\nok  \tapp/x\t0.1s";
        check(
            "go test -v -run TestRows ./...",
            tested,
            good,
            "--- PASS: TestRows (0.1s)",
        );
        let part = "--- PASS: TestRows (0.1s)\nok  \tapp/rows\t0.2s";
        check(
            "go test -v -run TestRowsOrder",
            part,
            good,
            "ok app/rows 0.2s",
        );
        let log = "1a2b3c4 Sort the rows\n5d6e7f8 Read the rows";
        check(
            "git status; git log --oneline -2",
            log,
            good,
            "1a2b3c4 Sort the rows",
        );
        let prompt = "344 rows.csv\n(Open file: n/a)\n(Current directory: /p)\nbash-$";
        check("wc -l rows.csv", prompt, good, "344 rows.csv");
        let plain = "Exit code 1\n\n> app@1.0.0 test\n\nExpected 3 rows, found 2";
        check("npm test", plain, bad, "Expected 3 rows, found 2");
        let raised = "a.py:12: again\nValueError: failed to parse(\"bad\")";
        check(
            "python a.py",
            raised,
            bad,
            "ValueError: failed to parse(\"bad\")",
        );
        let apart = "Exit code 1\nThe paths are ignored:\n.rows\n\nInstalled 6 hooks";
        check("sh setup.sh", apart, bad, "The paths are ignored:");
        let shown = "[lint] ERROR task failed\n\nrows_test.go:17: 17-67 lines are duplicate\n\tt.Fatal(\"no rows\", err)";
        check(
            "mise run lint",
            shown,
            bad,
            "rows_test.go:17: 17-67 lines are duplicate",
        );
        let thrown = "src/a.ts:12:5: console.log says hello\nTypeError: rows is not iterable";
        check(
            "npx tsx src/a.ts",
            thrown,
            bad,
            "TypeError: rows is not iterable",
        );
        let linted = "rows.go:12:5: unused parameter `a`\n[lint] ERROR task failed";
        check(
            "mise run lint",
            linted,
            bad,
            "rows.go:12:5: unused parameter `a`",
        );
    }

    #[test]
    fn code_that_a_program_prints_is_no_message() {
        let output = format!(
            "/app/register.cjs:3\n{}\n\nError: Cannot find module './config.js'\n    at load",
            "onerror(\"x\"),".repeat(60)
        );
        let lines = last_steps([
            call("Bash", r#"{"command":"npx tsx a.ts"}"#),
            result(&output, Outcome::Failed),
        ]);
        assert_eq!(
            lines,
            ["Bash: npx tsx a.ts (failed) -> Error: Cannot find module './config.js'"]
        );
        let long = format!(
            "a.ts(1,2): error TS2345: {}\nnpm notice run npm install",
            "type ".repeat(150)
        );
        let lines = last_steps([
            call("Bash", r#"{"command":"npx tsc"}"#),
            result(&long, Outcome::Failed),
        ]);
        assert!(lines[0].contains("error TS2345"), "{lines:?}");
    }
}
