//! Tests of the signs that an agent misses something.

use super::{Hidden, Kind, LastSeen, Regret, Sight, Trail};
use crate::counter::Heuristic;
use crate::text::Text;
use crate::turn::{CallId, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};

/// A model that saw the turns from `hidden` on. `told` stands in the hidden ones, `shown` in what it saw.
struct Saw {
    hidden: Hidden,
    told: &'static str,
    shown: &'static str,
}

impl Sight for Saw {
    fn hidden(&self) -> Hidden {
        self.hidden
    }

    fn shows(&self, identifier: &str) -> bool {
        self.shown.contains(identifier)
    }

    fn hides(&self, identifier: &str) -> bool {
        self.told.contains(identifier)
    }

    fn front(&self) -> Vec<&str> {
        vec![self.shown]
    }

    fn is_way_back(&self, tool: &str) -> bool {
        tool == "expand"
    }
}

fn saw(turns: usize) -> Saw {
    let hidden = Hidden {
        turns,
        results: turns,
    };
    Saw {
        hidden,
        told: "",
        shown: "",
    }
}

fn turn(role: Role, part: Part) -> Turn {
    TurnDraft::said(role, vec![part]).after(TurnId::ROOT, &Heuristic)
}

/// A call and its result.
fn step(tool: &str, arguments: &str, outcome: Outcome) -> [Turn; 2] {
    let call = CallId::from("c");
    let asked = Part::Call(ToolCall {
        id: call.clone(),
        name: tool.into(),
        arguments: arguments.into(),
    });
    let text = Text::from("what it said");
    let said = Part::Result(ToolResult {
        call,
        text,
        outcome,
    });
    [turn(Role::Assistant, asked), turn(Role::Tool, said)]
}

fn did(tool: &str, arguments: &str) -> [Turn; 2] {
    step(tool, arguments, Outcome::Succeeded)
}

fn failed(command: &str) -> [Turn; 2] {
    let arguments = format!(r#"{{"command":"{command}"}}"#);
    step("Bash", &arguments, Outcome::Failed)
}

fn says(text: &str) -> [Turn; 2] {
    let user = turn(Role::User, Part::Text(Text::from(text)));
    [user, turn(Role::Assistant, Part::Text(Text::from("Yes.")))]
}

/// The regrets in `after`, which follows `before` once the first `hidden` turns are out of sight.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is done is written in place"
)]
fn missed(before: &[[Turn; 2]], hidden: usize, after: [Turn; 2]) -> Vec<(Kind, usize)> {
    missed_by(before, &saw(hidden), &after)
}

fn missed_by(before: &[[Turn; 2]], sight: &Saw, after: &[Turn; 2]) -> Vec<(Kind, usize)> {
    let mut trail = Trail::default();
    assert!(trail.take(0, &before.concat(), None).is_empty());
    let missed = trail.take(before.len() * 2, after, Some(sight));
    let turn = |place| match place {
        LastSeen::Turn(turn) => turn,
        LastSeen::Hidden | LastSeen::Before => 0,
    };
    let missed = missed.iter();
    missed.map(|it| (it.kind, turn(it.place))).collect()
}

const READ: &str = r#"{"file_path":"/a/b.rs"}"#;

#[test]
fn a_file_is_read_again() {
    let read = || did("Read", READ);
    let again = vec![(Kind::ReadAgain, 1)];
    assert_eq!(missed(&[read()], 2, read()), again);
    // It is still in sight, or was read again meanwhile.
    assert_eq!(missed(&[read()], 0, read()), []);
    assert_eq!(missed(&[read(), read()], 2, read()), []);
    // Another file, and a tool that finds it for the first time.
    let other = did("Read", r#"{"file_path":"/a/c.rs"}"#);
    assert_eq!(missed(&[read()], 2, other), []);
    let missing = step("Read", READ, Outcome::Failed);
    assert_eq!(missed(&[missing], 2, read()), []);
}

#[test]
fn a_part_of_a_file_is_read_again_where_that_part_was_seen() {
    let whole = || did("Read", READ);
    let part = |offset: u32| {
        let arguments = format!(r#"{{"file_path":"/a/b.rs","offset":{offset}}}"#);
        did("Read", &arguments)
    };
    let again = vec![(Kind::ReadAgain, 1)];
    assert_eq!(missed(&[whole()], 2, part(10)), again);
    assert_eq!(missed(&[part(10)], 2, part(10)), again);
    assert_eq!(missed(&[part(10)], 2, part(200)), []);
    assert_eq!(missed(&[part(10)], 2, whole()), []);
}

#[test]
fn a_file_that_was_written_or_is_being_changed() {
    let wrote = did("Write", r#"{"file_path":"/a/b.rs","content":"x"}"#);
    assert_eq!(
        missed(&[wrote], 2, did("Read", READ)),
        [(Kind::ReadAgain, 1)]
    );
    let changed = r#"{"file_path":"/a/b.rs","old_string":"x","new_string":"y"}"#;
    let before = [did("Read", READ), did("Edit", changed)];
    assert_eq!(missed(&before, 2, did("Read", READ)), []);
    assert_eq!(
        missed(&before, 4, did("Read", READ)),
        [(Kind::ReadAgain, 1)]
    );
}

#[test]
fn a_shell_reads_too() {
    let cat = || {
        did(
            "shell",
            r#"{"command":["bash","-lc","cd /a && sed -n 1,40p b.rs"]}"#,
        )
    };
    assert_eq!(missed(&[cat()], 2, cat()), [(Kind::ReadAgain, 1)]);
    let write = || did("Bash", r#"{"command":"cat > b.rs <<EOF\nx\nEOF"}"#);
    assert_eq!(missed(&[write()], 2, write()), []);
}

#[test]
fn an_identifier_is_searched_that_was_told_before() {
    let search = || did("Grep", r#"{"pattern":"parse_header\\(","path":"src"}"#);
    let saw = |told, shown| Saw {
        told,
        shown,
        ..saw(2)
    };
    let check = |told, shown, count| {
        let found = missed_by(&[says("Hello.")], &saw(told, shown), &search());
        assert_eq!(found.len(), count, "{told} {shown}");
    };
    check("fn parse_header()", "", 1);
    check("fn parse_header()", "parse_header is in src/a.rs", 0);
    check("", "", 0);
    // A search that is in sight found it.
    let before = [says("Hello."), search()];
    let found = missed_by(&before, &saw("fn parse_header()", ""), &search());
    assert_eq!(found, []);
    let shell = || did("Bash", r#"{"command":"rg -n \"parse_header\" src"}"#);
    let found = missed_by(&[shell()], &saw("", ""), &shell());
    assert_eq!(found, [(Kind::SearchedAgain, 1)]);
    let found = missed_by(
        &[shell()],
        &saw("", ""),
        &did("expand", r#"{"query":"parse_header"}"#),
    );
    assert_eq!(found, []);
}

#[test]
fn a_command_fails_again() {
    let fails = || failed("make test");
    assert_eq!(missed(&[fails()], 2, fails()), [(Kind::FailedAgain, 1)]);
    assert_eq!(missed(&[fails()], 0, fails()), []);
    let works = || did("Bash", r#"{"command":"make test"}"#);
    assert_eq!(missed(&[fails()], 2, works()), []);
    assert_eq!(missed(&[fails(), works()], 4, fails()), []);
    // Something was changed to make it work.
    let changed = did(
        "Edit",
        r#"{"file_path":"/a","old_string":"x","new_string":"y"}"#,
    );
    assert_eq!(missed(&[fails(), changed], 4, fails()), []);
}

#[test]
fn the_user_says_it_again() {
    let corrected = vec![(Kind::Corrected, 1)];
    for (before, after, counts) in [
        (
            "Please run every command inside the container.",
            "No. Every command has to run inside the container!",
            true,
        ),
        (
            "Bitte schreibe die Kommentare immer auf Deutsch.",
            "Die Kommentare bitte immer auf Deutsch schreiben.",
            true,
        ),
        ("请不要修改数据库的结构。", "数据库的结构请不要修改！", true),
        (
            "Use pnpm in this repository.",
            "I told you: pnpm, not npm.",
            true,
        ),
        (
            "Use pnpm in this repository.",
            "Now add a test for the parser.",
            false,
        ),
        ("Run the tests.", "Run the tests.", false),
    ] {
        let expected = if counts {
            corrected.clone()
        } else {
            Vec::new()
        };
        assert_eq!(missed(&[says(before)], 2, says(after)), expected, "{after}");
        assert_eq!(missed(&[says(before)], 0, says(after)), [], "{after}");
    }
}

#[test]
fn a_closed_task_is_opened_again() {
    let list = |status: &str| {
        let arguments = format!(r#"{{"todos":[{{"content":"Port it","status":"{status}"}}]}}"#);
        did("TodoWrite", &arguments)
    };
    let reopened = vec![(Kind::Reopened, 1)];
    assert_eq!(missed(&[list("completed")], 2, list("pending")), reopened);
    assert_eq!(missed(&[list("completed")], 2, list("completed")), []);
    assert_eq!(missed(&[list("completed")], 0, list("pending")), []);
    assert_eq!(missed(&[list("pending")], 2, list("in_progress")), []);
    let single = |status: &str| {
        let arguments = format!(r#"{{"taskId":"3","status":"{status}"}}"#);
        did("TaskUpdate", &arguments)
    };
    assert_eq!(
        missed(&[single("completed")], 2, single("in_progress")),
        reopened
    );
}

#[test]
fn everything_lies_behind_the_clients_own_compaction() {
    let mut trail = Trail::default();
    trail.take(0, &[did("Read", READ), failed("make")].concat(), None);
    let mut next = trail.behind();
    let after = [did("Read", READ), failed("make")].concat();
    let missed = next.take(1, &after, Some(&saw(0)));
    let place = LastSeen::Before;
    let regret = |kind| Regret { kind, place };
    assert_eq!(missed, [regret(Kind::ReadAgain), regret(Kind::FailedAgain)]);
    // Now it is in sight.
    assert_eq!(next.take(5, &after, Some(&saw(0))), []);
    next.go_back();
    assert_eq!(next.take(1, &after, Some(&saw(0))), []);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut trail = Trail::default();
    for turn in 0..3_000 {
        let arguments = format!(r#"{{"file_path":"/a/{turn}.rs"}}"#);
        trail.take(turn * 2, &did("Read", &arguments), None);
        let text = format!("Please look at the number {turn} of these files, and tell me.");
        trail.take(turn * 2, &says(&text), None);
    }
    assert!(trail.bytes() < 24_000, "{}", trail.bytes());
}

#[test]
fn what_stands_in_front_is_not_missed() {
    let front = "The user's words:\nPlease run every command inside the container.\n\
                 `make test` failed: no rule\nclosed: Port it";
    let told = Saw {
        shown: front,
        ..saw(2)
    };
    let closed = did(
        "TodoWrite",
        r#"{"todos":[{"content":"Port it","status":"completed"}]}"#,
    );
    let open = did(
        "TodoWrite",
        r#"{"todos":[{"content":"Port it","status":"pending"}]}"#,
    );
    for (before, after) in [
        (failed("make test"), failed("make test")),
        (closed, open),
        (
            says("Please run every command inside the container."),
            says("Run every command inside the container, please!"),
        ),
    ] {
        assert_eq!(
            missed_by(std::slice::from_ref(&before), &saw(2), &after).len(),
            1
        );
        assert_eq!(missed_by(&[before], &told, &after), []);
    }
}
