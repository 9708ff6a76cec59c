//! Tests of receipts: what stands in one, in what order, and what does not.

use super::{Kind, MOST, Receipt};
use crate::counter::Heuristic;
use crate::turn::{
    Digest, Opaque, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId,
};

fn placed(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let drafts = drafts.into_iter();
    drafts
        .map(|draft| {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect()
}

fn step(name: &str, arguments: &str, result: &str, outcome: Outcome) -> [TurnDraft; 2] {
    let call = Part::Call(ToolCall {
        id: "one".into(),
        name: name.into(),
        arguments: arguments.into(),
    });
    let result = Part::Result(ToolResult {
        call: "one".into(),
        text: result.into(),
        outcome,
    });
    [
        TurnDraft::said(Role::Assistant, vec![call]),
        TurnDraft::said(Role::Tool, vec![result]),
    ]
}

/// A session with an entry of every kind.
fn session() -> Vec<Turn> {
    let todos = r#"{"todos":[{"content":"sort the batches by offset","status":"in_progress"},
        {"content":"read the importer once","status":"completed"}]}"#;
    let mut drafts = vec![TurnDraft::text(
        Role::User,
        "Make the importer keep the row order. Never touch the schema of the table users.",
    )];
    drafts.extend(step("TodoWrite", todos, "ok", Outcome::Succeeded));
    drafts.push(TurnDraft::text(
        Role::Assistant,
        "I'll use an ordered channel because the parallel reader loses the order. \
         Buffering all rows didn't work, it needs 12 GB.",
    ));
    drafts.extend(step(
        "Edit",
        r#"{"file_path":"src/import/rows.rs","old_string":"a","new_string":"b"}"#,
        "changed",
        Outcome::Succeeded,
    ));
    drafts.extend(step(
        "Bash",
        r#"{"command":"cargo test import_keeps_order"}"#,
        "error: test import_keeps_order failed at row 812",
        Outcome::Failed,
    ));
    drafts.extend(step(
        "Bash",
        r#"{"command":"cargo build --release"}"#,
        "finished in 12 seconds",
        Outcome::Succeeded,
    ));
    drafts.extend(step(
        "Read",
        r#"{"file_path":"config/limits.toml"}"#,
        "the greatest batch_size_of_rows is read from here and is never above 4096",
        Outcome::Succeeded,
    ));
    placed(drafts)
}

fn kinds(receipt: &Receipt) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = receipt.lost.iter().map(|loss| loss.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[test]
fn every_kind_stands_in_it_with_its_handle() {
    let turns = session();
    let receipt = Receipt::of(&turns, &[], "");
    let all = [
        Kind::Constraint,
        Kind::Decision,
        Kind::OpenTask,
        Kind::FailedAttempt,
        Kind::ClosedTask,
        Kind::Action,
        Kind::Identifier,
    ];
    assert_eq!(kinds(&receipt), all);
    assert_eq!((receipt.turns, receipt.left_out), (turns.len(), 0));
    let lines: Vec<String> = receipt.lines(MOST).collect();
    insta::assert_snapshot!(lines.join("\n"));
    for loss in &receipt.lost {
        assert_eq!(loss.handle(), format!("turn:{}", loss.turn));
        assert!((1..=turns.len()).contains(&loss.turn));
    }
}

#[test]
fn what_is_shown_is_not_lost() {
    let turns = session();
    let (old, tail) = turns.split_at(4);
    let front = "- the user said: never touch the schema of the table users";
    let receipt = Receipt::of(old, tail, front);
    let says = |words: &str| receipt.lost.iter().any(|loss| loss.text.contains(words));
    assert!(!says("schema"), "{receipt:?}");
    assert!(says("row order"));
    assert!(!says("import_keeps_order"), "the tail shows it");
    let whole: Vec<String> = turns.iter().map(Turn::readable).collect();
    let receipt = Receipt::of(&turns, &[], &whole.join("\n"));
    let said = |kind: Kind| matches!(kind, Kind::Constraint | Kind::Decision | Kind::OpenTask);
    let lost = receipt.lost.iter().filter(|loss| said(loss.kind));
    assert_eq!(lost.count(), 0, "{receipt:?}");
}

#[test]
fn it_is_bounded_and_the_same_each_time() {
    let drafts = (0..900).map(|number| {
        let text = format!("We decided number {number}: file src/part_{number}.rs stays as it is.");
        let role = [Role::Assistant, Role::User][number % 2];
        TurnDraft::text(role, &*text)
    });
    let turns = placed(drafts);
    let receipt = Receipt::of(&turns, &[], "");
    assert_eq!(receipt.lost.len(), MOST);
    assert!(receipt.left_out > 0);
    assert_eq!(receipt, Receipt::of(&turns, &[], ""));
    assert_eq!(Receipt::of(&[], &turns, ""), Receipt::default());
}

#[test]
fn a_clients_notice_is_no_constraint() {
    let said = [
        "[Request interrupted by user]",
        "Never touch the schema of users.",
    ];
    let turns = placed(said.map(|text| TurnDraft::text(Role::User, text)));
    let receipt = Receipt::of(&turns, &[], "");
    let texts: Vec<&str> = receipt.lost.iter().map(|loss| &*loss.text).collect();
    assert_eq!(texts, ["Never touch the schema of users."]);
}

#[test]
fn a_clients_remark_beside_loaded_tools_is_no_constraint() {
    let reference = Part::Opaque(Opaque {
        kind: "tool_reference".into(),
        bytes: 40,
        digest: Digest::of(b"WebSearch"),
    });
    let mut drafts = vec![TurnDraft::text(Role::User, "Mend the importer of rows.")];
    drafts.extend(step("ToolSearch", "{}", "", Outcome::Succeeded));
    let loaded = drafts.last_mut().unwrap();
    loaded.role = Role::User;
    loaded.parts.push(reference);
    loaded.parts.push(Part::Text("Tool loaded.".into()));
    let receipt = Receipt::of(&placed(drafts), &[], "");
    let texts: Vec<&str> = receipt.lost.iter().map(|loss| &*loss.text).collect();
    assert_eq!(texts, ["Mend the importer of rows."]);
}
