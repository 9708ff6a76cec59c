//! Tests of standing matter.

use super::{Matter, Standing};
use crate::counter::Heuristic;
use crate::extract::{Room, extract, extract_in, front};
use crate::turn::{
    Digest, Opaque, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId,
};
use crate::units::Tokens;

const RULES: &str = "<system-reminder>\n# claudeMd\nNever use tabs.\n</system-reminder>";

fn placed(drafts: Vec<TurnDraft>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let turns = drafts.into_iter().map(|draft| {
        let turn = draft.after(parent, &Heuristic);
        parent = turn.id();
        turn
    });
    turns.collect()
}

fn user(texts: &[&str]) -> TurnDraft {
    let parts = texts.iter().map(|text| Part::Text((*text).into()));
    TurnDraft::said(Role::User, parts.collect())
}

fn said(text: &str) -> TurnDraft {
    TurnDraft::text(Role::Assistant, text)
}

const ALL: Tokens = Tokens::new(u64::MAX);

fn call(name: &str, arguments: &str) -> TurnDraft {
    let call = ToolCall {
        id: "a".into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    TurnDraft::said(Role::Assistant, vec![Part::Call(call)])
}

/// The turns and texts that stand in front of the turns from `cut` on.
fn check(drafts: Vec<TurnDraft>, cut: usize, expected: &[(usize, usize)]) {
    let standing = Standing::of(&placed(drafts), ALL);
    let found: Vec<(usize, usize)> = standing
        .before(cut)
        .map(|it| match it.matter {
            Matter::Text { text, .. } => (it.turn, text),
            Matter::Loads => (it.turn, 99),
            Matter::System => (it.turn, 98),
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_the_client_puts_before_the_first_answer_stands() {
    // Claude Code: one message, reminders before the prompt.
    check(
        vec![user(&[RULES, "Mend the parser."]), said("Yes.")],
        2,
        &[(0, 0)],
    );
    // Codex: messages of their own; the rules of the project begin with a heading.
    let agents = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nUse jj.\n</INSTRUCTIONS>";
    let environment = "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>";
    let codex = vec![
        user(&[agents]),
        user(&[environment]),
        user(&["Mend it."]),
        said("Yes."),
    ];
    check(codex, 4, &[(0, 0), (1, 0)]);
    // A client without tags.
    check(
        vec![
            user(&["We use tabs here."]),
            user(&["Mend it."]),
            said("Yes."),
        ],
        3,
        &[(0, 0)],
    );
    // A person's first message alone.
    check(vec![user(&["Mend it."]), said("Yes.")], 2, &[]);
}

#[test]
fn a_newer_version_takes_the_place_of_the_older() {
    let environment = |folder: &str| {
        format!("<environment_context>\n  <cwd>{folder}</cwd>\n</environment_context>")
    };
    let (first, second) = (environment("/work"), environment("/work/sub"));
    let drafts = || {
        vec![
            user(&[first.as_str()]),
            user(&["Mend it."]),
            said("Yes."),
            user(&[second.as_str(), "And this."]),
            said("Yes."),
            user(&["Thanks."]),
        ]
    };
    check(drafts(), 3, &[(0, 0)]);
    check(drafts(), 5, &[(3, 0)]);
}

#[test]
fn of_late_reminders_the_newest_stands_while_it_is_short() {
    let todo = |list: &str| {
        format!("<system-reminder>Your todo list has changed: {list}</system-reminder>")
    };
    let long = todo(&"x ".repeat(5_000));
    let drafts = |newest: &str| {
        vec![
            user(&["Mend it."]),
            said("Yes."),
            user(&[todo("a").as_str()]),
            said("Yes."),
            user(&[newest, "Go on."]),
            said("Yes."),
        ]
    };
    check(drafts(&todo("b")), 6, &[(4, 0)]);
    check(drafts(&long), 6, &[(2, 0)]);
}

#[test]
fn skills_and_loaded_tools_stand() {
    let result = |extra: Option<Part>| {
        let result = ToolResult {
            call: "a".into(),
            text: "Launching".into(),
            outcome: Outcome::Succeeded,
        };
        let parts = [Part::Result(result)].into_iter().chain(extra);
        TurnDraft::said(Role::Tool, parts.collect())
    };
    let reference = Part::Opaque(Opaque {
        kind: "tool_reference".into(),
        bytes: 40,
        digest: Digest::of(b"WebSearch"),
    });
    let drafts = vec![
        user(&["Mend it."]),
        call("Skill", r#"{"skill":"tdd"}"#),
        result(None),
        user(&["Base directory: /x\n# TDD\nWrite the test first."]),
        call("ToolSearch", r#"{"query":"select:WebSearch"}"#),
        result(Some(reference)),
        said("Yes."),
        user(&["What a nice day."]),
    ];
    check(drafts, 8, &[(3, 0), (5, 99)]);
}

#[test]
fn room_is_kept() {
    let rules = format!(
        "<system-reminder>\n{}\n</system-reminder>",
        "Never use tabs. ".repeat(400)
    );
    let mut standing = Standing::within(Tokens::new(500));
    for turn in placed(vec![
        user(&[rules.as_str(), RULES, "Mend it."]),
        said("Yes."),
    ]) {
        standing.push(&turn);
    }
    let texts: Vec<Matter> = standing.before(2).map(|it| it.matter).collect();
    assert_eq!(texts, [Matter::Text { text: 1, part: 1 }]);
    assert!(standing.tokens(2) <= Tokens::new(500));
    assert_eq!(standing.tokens(0), Tokens::ZERO);
}

#[test]
fn a_text_that_adds_to_an_older_one_does_not_replace_it() {
    let skills = |list: &str| {
        format!(
            "<system-reminder>\nThese skills are available, by name:\n{list}\n</system-reminder>"
        )
    };
    let (all, new) = (
        skills("- greet: a\n- mend: b\n- build: c\n- plant: d\n- water: e"),
        skills("- farewell: f"),
    );
    let again = skills("- greet: a\n- mend: b\n- build: c\n- plant: x\n- farewell: f");
    let drafts = vec![
        user(&[all.as_str(), "Mend it."]),
        said("Yes."),
        user(&[new.as_str(), "And this."]),
        said("Yes."),
        user(&[again.as_str(), "Thanks."]),
        said("Yes."),
    ];
    check(drafts.clone(), 4, &[(0, 0), (2, 0)]);
    check(drafts, 6, &[(4, 0)]);
}

#[test]
fn rules_of_two_folders_that_begin_alike_both_stand() {
    let rules = |folder: &str, rules: &str| {
        let opening = "# NOTES.md\n\nThis guides agents.";
        let text = format!("Contents of /{folder}/NOTES.md:\n\n{opening}\n{rules}");
        TurnDraft::said(Role::System, vec![Part::Text(text.into())])
    };
    let drafts = vec![
        user(&["Mend it."]),
        said("Yes."),
        user(&["Read a."]),
        rules(
            "a",
            "Indent with tabs.\nName no one.\nTest all.\nAsk before a push.",
        ),
        said("Yes."),
        user(&["Read b."]),
        rules("b", "Write tests first."),
        said("Yes."),
    ];
    check(drafts, 8, &[(3, 98), (6, 98)]);
}

#[test]
fn of_system_messages_that_pile_up_the_newest_stand() {
    let words = |from: usize| (from..from + 150).map(|word| format!("w{}", letters(word)));
    let mut drafts = vec![
        TurnDraft::said(Role::System, vec![Part::Text("Be brief.".into())]),
        user(&["Mend it."]),
    ];
    for turn in 0..6 {
        let text = words(turn * 1_000).collect::<Vec<_>>().join(" ");
        drafts.push(said("Yes."));
        drafts.push(user(&["Go on."]));
        drafts.push(TurnDraft::said(Role::System, vec![Part::Text(text.into())]));
    }
    let turns = placed(drafts);
    let one = turns.last().unwrap().tokens();
    let mut standing = Standing::within(Tokens::new(one.get() * 2 + 1));
    turns.iter().for_each(|turn| standing.push(turn));
    let found: Vec<usize> = standing.before(20).map(|it| it.turn).collect();
    assert_eq!(found, [16, 19]);
    assert_eq!(standing.tokens(20), Tokens::ZERO);
}

/// A number in letters, since digits do not tell two texts apart.
fn letters(number: usize) -> String {
    let digits = number.to_string();
    digits.bytes().map(|digit| char::from(digit + 49)).collect()
}

#[test]
fn a_remark_beside_a_loaded_tool_is_the_clients() {
    let result = ToolResult {
        call: "a".into(),
        text: "".into(),
        outcome: Outcome::Succeeded,
    };
    let reference = Part::Opaque(Opaque {
        kind: "tool_reference".into(),
        bytes: 40,
        digest: Digest::of(b"WebSearch"),
    });
    let parts = vec![
        Part::Result(result),
        reference,
        Part::Text("The tool is there.".into()),
    ];
    let turns = placed(vec![
        user(&["Mend it."]),
        call("ToolSearch", "{}"),
        TurnDraft::said(Role::Tool, parts),
        said("Yes."),
    ]);
    let parts = Standing::of(&turns, ALL).apart().elsewhere;
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), [(2, 2)]);
}

#[test]
fn a_text_without_room_is_the_users() {
    let long: Vec<String> = (0..400)
        .map(|it| format!("Rule {} holds.", letters(it)))
        .collect();
    let text = format!(
        "<context>\n{}\n</context>\nMend the parser.",
        long.join("\n")
    );
    let turns = placed(vec![user(&[&text]), said("Yes.")]);
    let size = turns.first().unwrap().tokens();
    let wide = Standing::of(&turns, size);
    assert_eq!(wide.before(2).count(), 1);
    assert_eq!(wide.apart().elsewhere.len(), 1);
    assert_eq!(wide.crowded_out(2), (0, Tokens::ZERO));
    let narrow = Standing::of(&turns, size.scaled(0.5));
    assert_eq!(narrow.before(2).count(), 0);
    assert_eq!(narrow.apart().elsewhere.len(), 0);
    assert_eq!(narrow.crowded_out(2), (1, size));
    assert_eq!(narrow.crowded_out(0), (0, Tokens::ZERO));
    let room = Room {
        words: Tokens::new(100),
        standing: size.scaled(0.5),
        summary: Tokens::new(500),
    };
    let summary = extract_in(&turns, &[], room, &Heuristic);
    assert!(
        summary.render().contains("Mend the parser."),
        "{}",
        summary.render()
    );
}

/// Each of these messages of the user's stands in front of what replaces the conversation.
#[track_caller]
fn check_kept(messages: &[&str], kept: &[&str]) {
    let drafts = messages.iter().flat_map(|it| [user(&[it]), said("Done.")]);
    let turns = placed(drafts.collect());
    let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
    let front = front(&turns, &summary);
    let front: Vec<String> = front
        .iter()
        .map(|it| it.clone().after(TurnId::ROOT, &Heuristic).readable())
        .collect();
    let front = front.join("\n");
    for line in kept {
        assert!(front.contains(line), "{line} is not in {front}");
    }
}

#[test]
fn words_typed_behind_a_reminder_stay() {
    let reminded = |words: &str| {
        format!("<system-reminder>\nThe list of tasks is empty.\n</system-reminder>\n{words}")
    };
    let rules = [
        "Leave port 8443 closed.",
        "Leave port 9443 open.",
        "Sort the rows.",
    ];
    let messages = rules.map(reminded);
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    check_kept(&messages, &rules);
    let opened = |words: &str| format!("<ide_opened_file>a.rs</ide_opened_file>\n{words}");
    let messages = rules.map(opened);
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    check_kept(&messages, &rules);
}

#[test]
fn two_messages_before_the_first_answer_stay() {
    let first = "Please read the rows of the table first. Never touch payroll_2019.";
    let second = "Please read the rows of the table first. Then sort them.";
    let drafts = vec![
        user(&[first]),
        user(&[second]),
        user(&["Go on."]),
        said("Done."),
    ];
    check(drafts, 4, &[(0, 0), (1, 0)]);
}

#[test]
fn a_heading_with_another_path_is_no_typed_line() {
    let rules = |path: &str| {
        format!("# AGENTS.md instructions for {path}\n\n<INSTRUCTIONS>\nNo tabs.\n</INSTRUCTIONS>")
    };
    let (old, new) = (rules("/p/a"), rules("/p/b"));
    let drafts = vec![
        user(&[&old, "Sort."]),
        said("Done."),
        user(&[&new, "Go on."]),
    ];
    check(drafts, 3, &[(2, 0)]);
}

#[test]
fn our_own_summary_never_stands() {
    let old = placed(vec![user(&["Sort the rows."]), said("Done.")]);
    let summary = extract(&old, &[], Tokens::new(500), &Heuristic);
    let told = placed(vec![
        summary.draft(),
        user(&["Now the columns."]),
        said("Done."),
    ]);
    let standing = Standing::of(&told, ALL);
    assert_eq!(standing.before(3).count(), 0);
    let next = extract(&told, &[], Tokens::new(500), &Heuristic).render();
    assert_eq!(next.matches("Sort the rows.").count(), 1, "{next}");
    assert!(next.contains("Now the columns."), "{next}");
}

#[test]
fn a_skill_called_again_with_other_arguments_stands_once() {
    let body = |arguments: &str| {
        let rules =
            "Base directory for this skill: /p/rows\n\nSort the rows first.\nThen lock them.";
        user(&[&format!("{rules}\n\nARGUMENTS: {arguments}")])
    };
    let calls =
        ["users", "orders", "files"].map(|it| [call("Skill", "{\"skill\":\"rows\"}"), body(it)]);
    let start = [user(&["Sort."]), said("I do.")];
    let drafts: Vec<TurnDraft> = start
        .into_iter()
        .chain(calls.into_iter().flatten())
        .collect();
    check(drafts, 8, &[(7, 0)]);
}
