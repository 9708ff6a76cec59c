//! Tests of extractive compaction: budget, determinism, nothing invented, what must be there.

use proptest::prelude::*;

use super::census::Census;
use super::{Extractive, extract, folder, ledger, source};
use crate::counter::{Heuristic, TokenCounter};
use crate::identifiers;
use crate::projector::Summarizer;
use crate::summary::{Field, Replaced, Summary, is_summary, one_line};
use crate::turn::{Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};
use crate::units::Tokens;
use crate::user_words::UserWords;

pub(super) fn placed(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    drafts
        .into_iter()
        .map(|draft| {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

pub(super) fn call(name: &str, arguments: &str) -> TurnDraft {
    TurnDraft::said(
        Role::Assistant,
        vec![Part::Call(ToolCall {
            id: "one".into(),
            name: name.into(),
            arguments: arguments.into(),
        })],
    )
}

pub(super) fn result(text: &str, outcome: Outcome) -> TurnDraft {
    TurnDraft::said(
        Role::Tool,
        vec![Part::Result(ToolResult {
            call: "one".into(),
            text: text.into(),
            outcome,
        })],
    )
}

fn small_session() -> Vec<Turn> {
    placed([
        TurnDraft::text(
            Role::User,
            "Make the importer keep the row order. Never touch the schema.",
        ),
        call("Read", r#"{"file_path":"src/import/rows.rs"}"#),
        result(
            "    1→fn load_rows(path: &Path) -> Vec<Row> {\n    2→    let batch_size = 4096;\n    3→}",
            Outcome::Succeeded,
        ),
        TurnDraft::text(
            Role::Assistant,
            "The root cause is the parallel reader in load_rows. I'll use an ordered channel.",
        ),
        call(
            "Bash",
            r#"{"command":"cargo test --no-fail-fast import_keeps_order"}"#,
        ),
        result(
            "error: test import_keeps_order failed at row 812",
            Outcome::Failed,
        ),
        call(
            "TodoWrite",
            r#"{"todos":[{"content":"sort the batches","status":"in_progress"},{"content":"run all tests","status":"pending"}]}"#,
        ),
        TurnDraft::text(
            Role::Assistant,
            "Next I will sort the batches by their offset.",
        ),
    ])
}

#[test]
fn a_small_session() {
    let turns = small_session();
    insta::assert_snapshot!(extract(&turns, &[], Tokens::new(600), &Heuristic).render());
}

#[test]
fn every_field_tells_the_state_of_the_work() {
    let turns = small_session();
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let said = &summary.words.said()[0].text;
    assert_eq!(
        said,
        "Make the importer keep the row order. Never touch the schema."
    );
    let check = |field: Field, expected: &str| {
        let entries = summary.entries(field).join("\n");
        assert!(entries.contains(expected), "{expected:?} in {entries}");
    };
    check(Field::Goal, "first request (turn 1): Make the importer");
    check(
        Field::Decisions,
        "The root cause is the parallel reader in load_rows.",
    );
    check(Field::Tasks, "in progress: sort the batches");
    check(Field::Tasks, "open: run all tests");
    check(Field::Done, "read: src/import/rows.rs");
    check(
        Field::Done,
        "import_keeps_order` failed: error: test import_keeps_order failed at row 812",
    );
    check(Field::Errors, "(turn 5; not seen to work since)");
    check(Field::Task, "Next I will sort the batches by their offset.");
}

#[test]
fn code_is_no_dead_end_and_an_announcement_no_fact() {
    let said = "Now let me fix it:\n```go\ncontinue // it did not work, the file was reverted\n```\n\
                The retry in loader.go did not work, because the lock is held by the writer.";
    let turns = placed([
        TurnDraft::text(Role::User, "Mend the loader."),
        TurnDraft::text(Role::Assistant, said),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    assert_eq!(
        summary.entries(Field::DeadEnds),
        ["The retry in loader.go did not work, because the lock is held by the writer."]
    );
    let facts = summary.entries(Field::Facts).join("\n");
    assert!(!facts.contains("Now let me fix it"), "{facts}");
}

#[test]
fn a_changed_file_names_what_was_declared_in_it() {
    let write = |old: &str, new: &str| {
        serde_json::json!({ "file_path": "src/a.go", "old_string": old, "new_string": new })
            .to_string()
    };
    let turns = placed([
        TurnDraft::text(Role::User, "Mend the loader."),
        call(
            "Edit",
            &write("type of file", "func (l *Loader) Load(path string) error {"),
        ),
        result("The file has been updated.", Outcome::Succeeded),
        call(
            "Edit",
            &write(
                "x",
                "pub(crate) async fn store<T>(it: T) {\nexport default class Row {\ntype of thing\n",
            ),
        ),
        result("The file has been updated.", Outcome::Succeeded),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    assert_eq!(
        summary.entries(Field::Done),
        ["src/a.go: changed 2 times: Row, store, Load"]
    );
}

/// Changes of these files, one call each.
fn changed(paths: &[&str]) -> Vec<Turn> {
    let edit = |path: &&str| {
        let edit = r#"{"file_path":"PATH","old_string":"a","new_string":"b"}"#;
        [
            call("Edit", &edit.replace("PATH", path)),
            result("The file has been updated.", Outcome::Succeeded),
        ]
    };
    placed(paths.iter().flat_map(edit))
}

#[test]
fn the_folder_of_the_files_is_named_once() {
    let done = |paths: &[&str]| {
        let summary = extract(&changed(paths), &[], Tokens::new(2_000), &Heuristic);
        summary.entries(Field::Done).to_vec()
    };
    assert_eq!(
        done(&[
            "/home/a/work/project/src/x.rs",
            "/home/a/work/project/src/z.rs",
            "/home/a/work/project/docs/y.md",
            "/home/a/notes.md"
        ]),
        [
            "/home/a/notes.md: changed once",
            "files with relative paths are in /home/a/work/project",
            "docs/y.md: changed once",
            "src/z.rs: changed once",
            "src/x.rs: changed once"
        ]
    );
    assert_eq!(
        done(&["/home/a/work/project/x.rs"]),
        ["/home/a/work/project/x.rs: changed once"]
    );
    assert_eq!(
        done(&["src/x.rs", "src/y.rs"]),
        ["src/y.rs: changed once", "src/x.rs: changed once"]
    );
}

#[test]
fn no_folder_is_left_out_where_a_path_would_be_ambiguous() {
    let done = |paths: &[&str], budget| {
        let summary = extract(&changed(paths), &[], Tokens::new(budget), &Heuristic);
        summary.entries(Field::Done).to_vec()
    };
    // A relative path that a call used, and the same end below a folder.
    assert_eq!(
        done(
            &[
                "/home/a/project/x.rs",
                "/home/a/project/y.rs",
                "/home/a/project/z.rs",
                "x.rs"
            ],
            2_000
        ),
        [
            "x.rs: changed once",
            "/home/a/project/z.rs: changed once",
            "/home/a/project/y.rs: changed once",
            "/home/a/project/x.rs: changed once"
        ]
    );
    // A rest that would be absolute.
    let odd = [
        "/home/a/project/x.rs",
        "/home/a/project/y.rs",
        "/home/a/project//etc/passwd",
    ];
    assert!(done(&odd, 2_000).contains(&"/home/a/project//etc/passwd: changed once".to_owned()));
    // Short paths save less than the line costs.
    assert_eq!(
        done(&["/a/b", "/a/c"], 2_000),
        ["/a/c: changed once", "/a/b: changed once"]
    );
    // The line never stands without a file that it is about.
    let many = [
        "/home/a/project/x.rs",
        "/home/a/project/y.rs",
        "/home/a/project/z.rs",
    ];
    for budget in (100..2_000).step_by(25) {
        let told = done(&many, budget);
        let files = told
            .iter()
            .filter(|entry| entry.ends_with(".rs: changed once"));
        let is_there = told.iter().any(|entry| entry.starts_with("files with"));
        let short = files.filter(|entry| !entry.starts_with('/')).count();
        assert_eq!(is_there, short > 0, "{budget}: {told:?}");
    }
}

#[test]
fn an_earlier_summary_is_quoted_with_whole_paths() {
    let turns = changed(&[
        "/home/a/work/project/src/loader.rs",
        "/home/a/work/project/src/parser.rs",
        "/home/a/work/project/docs/writer.md",
    ]);
    let text = extract(&turns, &[], Tokens::new(2_000), &Heuristic).render();
    assert!(text.contains("- src/loader.rs: changed once\n"), "{text}");
    let whole = folder::in_full(&text);
    let path = "- /home/a/work/project/src/loader.rs: changed once\n";
    assert!(whole.contains(path), "{whole}");
    assert!(!whole.contains("files with relative paths"), "{whole}");
    let plain = "## What was done\n- src/a.rs: changed once\n";
    assert_eq!(folder::in_full(plain), plain);
}

#[test]
fn what_only_points_is_not_quoted() {
    let found = "/home/a/work/src/sorted_rows.rs-10-let earlier_row = 0;\n\
                 src/sorted_rows.rs-11-let before_row = 1;\n\
                 src/sorted_rows.rs:12:fn sort_rows(rows: &mut RowBuffer) {\n\
                 [3 more matches of sort_rows]";
    let list = serde_json::json!([{"content": "x ".repeat(120), "row_state": "open_row"}]);
    let turns = placed([
        TurnDraft::text(Role::User, "Make the importer keep the row order."),
        call(
            "Grep",
            r#"{"pattern":"sort_rows|RowBuffer","output_mode":"content"}"#,
        ),
        result(found, Outcome::Succeeded),
        call("Plan", &serde_json::json!({"rows": list}).to_string()),
        result("done", Outcome::Succeeded),
        call(
            "Edit",
            r#"{"all":true,"file_path":"src/row_buffer.rs","new_string":"a"}"#,
        ),
        result("done", Outcome::Succeeded),
        TurnDraft::text(
            Role::Assistant,
            "You're absolutely right! It sorts too late.",
        ),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let facts = summary.entries(Field::Facts).join("\n");
    assert!(
        facts.contains("fn sort_rows(rows: &mut RowBuffer) {"),
        "{facts}"
    );
    for idle in [
        "Grep",
        "earlier_row",
        "before_row",
        "more matches",
        "row_state",
        "all: true",
        "absolutely",
    ] {
        assert!(!facts.contains(idle), "{idle} in {facts}");
    }
}

#[test]
fn what_tells_something_is_quoted_although_it_looks_idle() {
    let lines = [
        "[worker-7] lost the lease of ShardRouter to [worker-9]",
        "app.log-2024-01-02 holds the dump of the CrashReporter",
    ];
    // The last line is told elsewhere.
    let log = format!("{}\nAll of it was told.", lines.join("\n"));
    let calls = [
        (
            "http_request",
            r#"{"method":"DELETE","url":"https://a.b/UserBackup"}"#,
        ),
        (
            "db_execute",
            r#"{"query":"DROP TABLE user_backup_rows CASCADE"}"#,
        ),
        (
            "create_issue",
            r#"{"path":"acme/shop","title":"DeployGuard crashes at midnight"}"#,
        ),
    ];
    let mut drafts = vec![
        TurnDraft::text(Role::User, "Find out why the workers stop."),
        TurnDraft::text(
            Role::Assistant,
            "The scheduler loses its queue because the cache_guard is shared. Running it now.",
        ),
        call("Bash", r#"{"command":"tail worker.log"}"#),
        result(&log, Outcome::Succeeded),
    ];
    for (name, arguments) in calls {
        drafts.extend([call(name, arguments), result("done", Outcome::Succeeded)]);
    }
    for step in 0..60 {
        let make = format!(r#"{{"command":"make step{step}"}}"#);
        drafts.extend([call("Bash", &make), result("done", Outcome::Succeeded)]);
    }
    let told = extract(&placed(drafts), &[], Tokens::new(3_000), &Heuristic).render();
    for line in lines {
        assert!(told.contains(line), "{line:?} in {told}");
    }
    for said in [
        "loses its queue",
        "DELETE",
        "DROP TABLE",
        "crashes at midnight",
    ] {
        assert!(told.contains(said), "{said:?} in {told}");
    }
}

#[test]
fn a_paste_and_a_notice_are_no_goal_in_a_later_summary_either() {
    let paste = "panic: index out of range in the row buffer\n".repeat(60);
    let asked = format!("```\n{paste}```\n\nPlease fix the crash of the importer.");
    let mut turns = placed([
        TurnDraft::text(Role::User, &*asked),
        TurnDraft::text(Role::Assistant, "Mended."),
    ]);
    for round in 0..3 {
        let summary = extract(&turns, &[], Tokens::new(700), &Heuristic);
        let goal = &summary.entries(Field::Goal)[0];
        let want = "first request (turn 1): Please fix the crash of the importer.";
        assert_eq!(goal, want, "round {round}");
        turns = placed([
            summary.draft(),
            TurnDraft::text(
                Role::User,
                "[Image: original 2000x1000, displayed at 10x10]",
            ),
            TurnDraft::text(Role::Assistant, "I see."),
        ]);
    }
}

#[test]
fn a_number_is_named_where_the_user_or_the_agent_wrote_it() {
    let lines: String = (4_100..4_140).map(|it| format!("{it}\n")).collect();
    let turns = placed([
        TurnDraft::text(Role::User, "Which rows are too long?"),
        call("Bash", r#"{"command":"./long_rows --limit 2048"}"#),
        result(&lines, Outcome::Succeeded),
        TurnDraft::text(Role::Assistant, "Row 4117 is the longest of all."),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic).render();
    for (number, is_named) in [("4117", true), ("2048", true), ("4118", false)] {
        assert_eq!(summary.contains(number), is_named, "{number} in {summary}");
    }
}

#[test]
fn the_goal_is_what_the_user_asked_first_across_summaries() {
    let mut turns = small_session();
    let first = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    turns = placed([
        first.draft(),
        TurnDraft::text(
            Role::User,
            "<hint>\nThe client says this by itself.\n</hint>",
        ),
        TurnDraft::text(Role::User, "Now write the test of the ordered channel."),
        TurnDraft::text(Role::Assistant, "Written."),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let goal = summary.entries(Field::Goal);
    assert_eq!(
        goal,
        [
            "first request (turn 1): Make the importer keep the row order. Never touch the schema.",
            "newest request (turn 10): Now write the test of the ordered channel.",
        ]
    );
}

#[test]
fn turns_count_on_from_the_words_where_a_summary_says_too_few() {
    let mut turns = small_session();
    turns.insert(
        0,
        placed([TurnDraft::text(Role::Assistant, "Hello.")]).remove(0),
    );
    let mut first = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    first.replaced.turns = 1;
    let newest = "Now write the test of the ordered channel.";
    let turns = placed([first.draft(), TurnDraft::text(Role::User, newest)]);
    let goal = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let goal = goal.entries(Field::Goal).join("\n");
    assert!(
        goal.contains("first request (turn 2): Make the importer"),
        "{goal}"
    );
    assert!(
        goal.contains(&format!("newest request (turn 3): {newest}")),
        "{goal}"
    );
}

#[test]
fn the_first_request_stays_where_its_message_found_no_room() {
    let mut first = extract(&small_session(), &[], Tokens::new(2_000), &Heuristic);
    first.words = UserWords::default();
    let turns = placed([
        first.draft(),
        TurnDraft::text(Role::User, "Now write the test of the ordered channel."),
        TurnDraft::text(Role::Assistant, "Written."),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let goal = summary.entries(Field::Goal).join("\n");
    assert!(
        goal.contains("first request (turn 1): Make the importer"),
        "{goal}"
    );
    assert!(
        goal.contains("newest request (turn 9): Now write the test"),
        "{goal}"
    );
}

#[test]
fn a_failure_is_told_once() {
    let long = "error: the type of this expression cannot be known here ".repeat(3);
    let ran = |command: &str, text: &str, outcome| {
        [
            call("Bash", &format!(r#"{{"command":"{command}"}}"#)),
            result(text, outcome),
        ]
    };
    let turns = placed(
        [
            ran("make test", &long, Outcome::Failed),
            // What ran often is worth more than what ran once.
            ran("make lint", "no findings at all", Outcome::Succeeded),
            ran("make lint", "no findings at all", Outcome::Succeeded),
            ran("make lint", "no findings at all", Outcome::Succeeded),
            ran("make lint", "no findings at all", Outcome::Succeeded),
            ran("make docs", "12 pages written", Outcome::Succeeded),
        ]
        .into_iter()
        .flatten(),
    );
    for budget in (100..4_000).step_by(25) {
        let summary = extract(&turns, &[], Tokens::new(budget), &Heuristic);
        let done = summary.entries(Field::Done);
        let told = done.iter().filter(|entry| entry.contains("make test"));
        let told = told.count();
        assert!(told <= 1, "{budget}: {done:?}");
        // No success stands there without the failure.
        assert!(told == 1 || done.is_empty(), "{budget}: {done:?}");
    }
}

#[test]
fn a_refusal_is_told_by_its_first_line() {
    let refused = |text: &str| {
        let turns = placed([
            call(
                "Edit",
                r#"{"file_path":"a.rs","old_string":"a","new_string":"b"}"#,
            ),
            result(text, Outcome::Failed),
        ]);
        let summary = extract(&turns, &[], Tokens::new(4_000), &Heuristic);
        summary.entries(Field::Errors).join("\n")
    };
    let end = "(turn 1; not seen to work since)";
    let tagged = "<tool_use_error>The file src/table_cells.rs has changed since it was read.</tool_use_error>";
    let turns = placed([
        call("Bash", r#"{"command":"x"}"#),
        result(tagged, Outcome::Failed),
    ]);
    let pieces = source::pieces(&turns);
    let told = pieces.last().map(|piece| &*piece.text);
    assert_eq!(
        told,
        Some("The file src/table_cells.rs has changed since it was read.")
    );
    for text in [
        "<tool_use_error>Found 2 matches of it.\nString: fn a() {\n    x();\n}</tool_use_error>",
        "<tool_use_error>\nFound 2 matches of it.\n</tool_use_error>",
        "<tool_use_error>Found 2 matches of it.</tool_use_error>",
    ] {
        assert_eq!(refused(text), format!("a.rs: Found 2 matches of it. {end}"));
    }
}

#[test]
fn the_last_steps_are_told_with_their_files() {
    let edit =
        r#"{"replace_all":false,"file_path":"src/loader.go","old_string":"a","new_string":"b"}"#;
    let turns = placed([
        TurnDraft::text(Role::User, "Mend the loader."),
        call("Edit", edit),
        result("The file has been updated.", Outcome::Succeeded),
        TurnDraft::text(
            Role::Assistant,
            "```go\n// We decided to use a lock here.\n```",
        ),
        call("Edit", edit),
    ]);
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    assert_eq!(
        summary.entries(Field::Task),
        [
            "user: Mend the loader.",
            "Edit file_path: src/loader.go old_string: `a` → new_string: `b`",
            "```go\n// We decided to use a lock here.\n```",
            "Edit file_path: loader.go old_string: `a` → new_string: `b` (no result yet)",
        ]
    );
    assert_eq!(summary.entries(Field::Decisions), [""; 0]);
}

#[test]
fn an_escape_sequence_belongs_to_no_name() {
    let text = r"diff: \tMaxChunkSize = 50\n\tlastOffset = MaxChunkSize and loader_state";
    let turns = placed([
        TurnDraft::text(Role::User, "Mend the loader."),
        TurnDraft::text(Role::Assistant, text),
    ]);
    let entries = ledger(&turns, &[], "", Tokens::new(400), &Heuristic).join(" ");
    assert!(
        !entries.contains("tlastOffset") || entries.contains(r"\tlastOffset"),
        "{entries}"
    );
    let pieces = source::pieces(&turns);
    let census = Census::of(&pieces);
    let names: Vec<&str> = census.entries.iter().map(|it| it.text).collect();
    assert!(
        names.contains(&"MaxChunkSize") && names.contains(&"loader_state"),
        "{names:?}"
    );
    assert!(
        !names
            .iter()
            .any(|it| it.starts_with("tM") || it.starts_with("tl")),
        "{names:?}"
    );
}

#[test]
fn what_was_done_is_told_with_its_last_known_state() {
    let edit = |path: &str| {
        call(
            "Edit",
            &format!(r#"{{"file_path":"{path}","old_string":"a","new_string":"b"}}"#),
        )
    };
    let ok = || result("done", Outcome::Succeeded);
    let turns = placed([
        TurnDraft::text(Role::User, "Write the plan and commit it."),
        call(
            "Write",
            r#"{"file_path":"docs/plan.md","content":"one\ntwo\nthree"}"#,
        ),
        ok(),
        edit("docs/plan.md"),
        ok(),
        edit("src/a.rs"),
        result("String to replace not found in file.", Outcome::Failed),
        call("Bash", r#"{"command":"make test"}"#),
        result("Exit code 2\nundefined: load_rows", Outcome::Succeeded),
        edit("src/a.rs"),
        ok(),
        call("Bash", r#"{"command":"cd /work && make test"}"#),
        result("12 tests passed", Outcome::Succeeded),
        call(
            "shell",
            r#"{"command":["bash","-lc","git commit -qam plan"]}"#,
        ),
        result(
            "[refactor 1a2b3c4] Write the plan\n 1 file changed",
            Outcome::Succeeded,
        ),
        call(
            "apply_patch",
            "*** Begin Patch\n*** Delete File: old.md\n*** End Patch",
        ),
        ok(),
        call(
            "TodoWrite",
            r#"{"todos":[{"content":"write the plan","status":"completed"},{"content":"WP1","status":"pending"}]}"#,
        ),
        ok(),
    ]);
    let summary = extract(&turns, &[], Tokens::new(4_000), &Heuristic);
    assert_eq!(
        summary.entries(Field::Done),
        [
            "commit 1a2b3c4 on refactor: Write the plan",
            "old.md: deleted",
            "src/a.rs: changed once",
            "docs/plan.md: written (3 lines), then changed once",
            "`git commit -qam plan`: 1 file changed",
            "`make test` (2 runs): 12 tests passed",
        ]
    );
    assert_eq!(
        summary.entries(Field::Tasks),
        ["open: WP1", "closed: write the plan"]
    );
    assert_eq!(
        summary.entries(Field::Errors),
        [
            "make test: undefined: load_rows (turn 8; the same worked in turn 12)",
            "src/a.rs: String to replace not found in file. (turn 6; the same worked in turn 10)",
        ]
    );
}

#[test]
fn what_the_tail_shows_is_not_repeated() {
    let turns = small_session();
    let (old, tail) = turns.split_at(5);
    let summary = extract(old, tail, Tokens::new(900), &Heuristic);
    let quoted: Vec<_> = [Field::Facts, Field::Ledger]
        .into_iter()
        .flat_map(|field| summary.entries(field))
        .collect();
    assert!(
        quoted.iter().any(|entry| entry.contains("batch_size")),
        "{quoted:?}"
    );
    assert!(
        !quoted
            .iter()
            .any(|entry| entry.trim() == "import_keeps_order")
    );
}

#[test]
fn a_ledger_adds_only_what_is_missing() {
    let turns = small_session();
    let already = "We edit src/import/rows.rs and load_rows.";
    let lines = ledger(&turns, &[], already, Tokens::new(90), &Heuristic).join("\n");
    assert!(identifiers::mentions(&lines, "batch_size"), "{lines}");
    let with_all = format!("{already} {lines}");
    assert!(ledger(&turns, &[], &with_all, Tokens::new(60), &Heuristic).is_empty());
}

#[test]
fn as_a_summariser_it_never_fails() {
    let turns = small_session();
    let text = Extractive
        .summarize(&turns, &[], Tokens::new(400), &Heuristic)
        .expect("no model, no failure");
    assert!(is_summary(&text));
}

/// The source as [`extract`] quotes it: one line, escapes undone, without line numbers.
fn quotable(turns: &[Turn]) -> String {
    super::source::pieces(turns)
        .iter()
        .map(|piece| one_line(&piece.text) + "\n")
        .collect()
}

fn random_turns() -> impl Strategy<Value = Vec<Turn>> {
    let word = prop_oneof![
        Just("the".to_owned()),
        Just("must".to_owned()),
        Just("reads\n".to_owned()),
        Just("größe".to_owned()),
        Just("漢字、".to_owned()),
        "[a-z]{2,6}_[a-z]{2,6}",
        "[a-z]{2,5}/[a-z]{2,5}\\.rs",
        "[0-9]{3,5}",
        "--[a-z]{2,6}",
        "[ -~]{1,8}",
    ];
    let text = prop::collection::vec(word, 0..60).prop_map(|words| words.join(" "));
    let draft = (0_usize..5, text).prop_map(|(who, text)| match who {
        0 => TurnDraft::text(Role::User, text),
        1 => TurnDraft::text(Role::Assistant, text),
        2 => call(
            "Edit",
            &format!("{{\"text\":{}}}", serde_json::Value::from(text)),
        ),
        3 => result(&text, Outcome::Failed),
        _ => result(&text, Outcome::Succeeded),
    });
    prop::collection::vec(draft, 0..12).prop_map(placed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_budget_is_never_exceeded(old in random_turns(), tail in random_turns(), budget in 0_u64..1_500) {
        let budget = Tokens::new(budget);
        let summary = extract(&old, &tail, budget, &Heuristic);
        let empty = Summary::new(Replaced {
            turns: old.len(),
            tokens: old.iter().map(Turn::tokens).sum(),
        });
        let least = empty.tokens(&Heuristic);
        prop_assert!(summary.tokens(&Heuristic) <= budget.max(least));
        prop_assert_eq!(&summary, &extract(&old, &tail, budget, &Heuristic));
        let lines = ledger(&old, &tail, "", budget, &Heuristic);
        let listed: String = lines.iter().map(|line| format!("- {line}\n")).collect();
        prop_assert!(Heuristic.count(&listed) <= budget);
    }

    #[test]
    fn every_quotation_is_verbatim(old in random_turns(), budget in 100_u64..1_500) {
        let summary = extract(&old, &[], Tokens::new(budget), &Heuristic);
        let source = quotable(&old);
        for entry in summary.entries(Field::Facts) {
            let by = ["user:", "result:", "failed:"].into_iter().find_map(|by| entry.strip_prefix(by));
            for fragment in by.unwrap_or(entry).lines() {
                let fragment = fragment.trim().trim_matches('…').trim();
                prop_assert!(source.contains(fragment), "{fragment:?} in {source:?}");
            }
        }
        for entry in summary.entries(Field::Ledger) {
            for found in identifiers::scan(entry) {
                prop_assert!(identifiers::mentions(&source, found.text), "{:?}", found.text);
            }
        }
    }
}
