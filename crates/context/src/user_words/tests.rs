//! Tests of the user's words: what stays, what leaves first, and that nothing is cut.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Apart, Said, UserWords, room};
use crate::counter::{Heuristic, TokenCounter};
use crate::original::Handle;
use crate::pin::directives;
use crate::summary::{Field, Replaced, Summary, is_summary, parted};
use crate::turn::{Outcome, Part, Role, ToolResult, Turn, TurnDraft, TurnId};
use crate::units::Tokens;

fn talk(texts: &[(Role, String)]) -> Vec<Turn> {
    let texts = texts.iter();
    placed(texts.map(|(role, text)| TurnDraft::text(*role, text.as_str())))
}

fn placed(drafts: impl IntoIterator<Item = TurnDraft>) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let turns = drafts.into_iter().map(|draft| {
        let turn = draft.after(parent, &Heuristic);
        parent = turn.id();
        turn
    });
    turns.collect()
}

fn user(text: impl Into<String>) -> (Role, String) {
    (Role::User, text.into())
}

fn of(turns: &[Turn], room: u64) -> UserWords {
    UserWords::of(turns, &Apart::default(), Tokens::new(room), &Heuristic)
}

const RULES: [&str; 10] = [
    "Never touch the files in /srv/hr.",
    "Ne modifie jamais le dossier legacy.",
    "Die Rechnungsnummern beginnen bei 4711.",
    "Il server di prova si chiama gattopardo.",
    "No uses tabulaciones, salvo en el Makefile.",
    "Отчёты храним три года.",
    "本番データベースには書き込まないでください。",
    "部署窗口是周四晚上十点。",
    "Kwartalny raport trafia do Haliny.",
    "نستخدم الفرع release فقط.",
];

#[test]
fn words_typed_in_refusing_a_call_stand_where_they_were_said() {
    let result = |text: &str, outcome: Outcome| {
        let call = "1".into();
        let result = ToolResult {
            call,
            text: text.into(),
            outcome,
        };
        TurnDraft::said(Role::Tool, vec![Part::Result(result)])
    };
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. \
                   To tell you how to proceed, the user said:\n";
    let typed = "Never reset it.\n\n#pin Ask Halina.\n\n<system-reminder>\nThe list is empty.\n</system-reminder>";
    let turns = placed([
        TurnDraft::text(Role::User, "Mend the loader."),
        TurnDraft::text(Role::Assistant, "I reset it."),
        result(&format!("{refused}{typed}"), Outcome::Failed),
        result(&format!("{refused}obey"), Outcome::Succeeded),
    ]);
    let words = of(&turns, 2_000);
    let said: Vec<&str> = words.said().iter().map(|it| it.text.as_str()).collect();
    let mark = "[refusing a call]";
    let refusal = format!("{mark} Never reset it.\n{mark} #pin Ask Halina.");
    assert_eq!(said, ["Mend the loader.", &refusal]);
    assert_eq!(words.said()[1].turn, 2);
    let block = words.render();
    assert_eq!(UserWords::parse(&block), Some(words), "{block}");
    assert!(
        turns.iter().all(|turn| directives(turn).is_empty()),
        "never a pin"
    );
}

#[test]
fn a_long_line_in_a_refusal_keeps_its_mark() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. \
                   To tell you how to proceed, the user said:\n";
    let filler =
        "I looked at the table of rows and saw that it grows a little each day. ".repeat(60);
    for lines in [
        format!("{filler}Never touch port 4711."),
        format!("Ask Halina.\n{filler}Never touch port 4711."),
    ] {
        let result = ToolResult {
            call: "1".into(),
            text: format!("{refused}{lines}").into(),
            outcome: Outcome::Failed,
        };
        let turns = placed([
            TurnDraft::text(Role::User, "Mend the loader."),
            TurnDraft::said(Role::Tool, vec![Part::Result(result)]),
        ]);
        let words = of(&turns, 200);
        let said = &words.said().last().unwrap().text;
        let rule = said.lines().find(|line| line.contains("4711")).unwrap();
        assert!(rule.starts_with("[refusing a call] "), "{said}");
        assert!(said.contains("[…]"), "{said}");
    }
}

#[test]
fn of_a_clients_own_summary_the_messages_that_it_lists_are_the_users() {
    let summary = "This session is being continued from a previous conversation that ran out of \
                   context.\n\n1. Primary Request:\n   - #pin Use tabs.\n\n6. All user messages:\n   \
                   - \"never touch /srv/hr\"\n\n7. Pending Tasks:\n   - Mend the loader";
    let turns = talk(&[user(summary), user("Go on with the loader.")]);
    let words = of(&turns, 2_000);
    let said: Vec<&str> = words.said().iter().map(|it| it.text.as_str()).collect();
    assert_eq!(said, ["\"never touch /srv/hr\"", "Go on with the loader."]);
    assert!(turns.iter().all(|turn| directives(turn).is_empty()));
}

#[test]
fn output_of_programs_leaves_room_where_not_all_fits() {
    let record = format!("{{\"id\":\"{}\"}}", "a1,b2;".repeat(80));
    let mut texts = vec![user(format!("the raw log:\n\n{record}"))];
    texts.extend((0..80).map(|n| user(format!("Then look at module {n}, would you?"))));
    let turns = talk(&texts);
    let whole = of(&turns, 20_000);
    assert!(whole.said()[0].text.contains(&record));
    let words = of(&turns, 700);
    assert_eq!(words.said()[0].text, "the raw log: […]");
    // A long line of a person's is none, however much it names.
    let rule = format!(
        "Never push {} to origin/main,",
        "src/a_1/b_2.rs; ".repeat(20)
    );
    texts.insert(1, user(&*rule));
    let words = of(&talk(&texts), 700);
    assert!(words.render().contains(&rule), "{}", words.render());
}

#[test]
fn what_fits_stands_whole_and_in_order() {
    let mut texts: Vec<(Role, String)> = Vec::new();
    for rule in RULES {
        texts.push(user(rule));
        texts.push((Role::Assistant, "Noted.".to_owned()));
    }
    let words = of(&talk(&texts), 2_000);
    let said: Vec<&str> = words.said().iter().map(|said| said.text.as_str()).collect();
    assert_eq!(said, RULES);
    assert_eq!(words.left_out(), []);
    assert_eq!(words.said()[3].turn, 6);
}

#[test]
fn the_number_above_words_is_that_of_their_handle() {
    let texts: Vec<(Role, String)> = RULES
        .iter()
        .flat_map(|rule| [user(*rule), (Role::Assistant, "Noted.".to_owned())])
        .collect();
    let turns = talk(&texts);
    let block = of(&turns, 2_000).render();
    let lines: Vec<&str> = block.lines().skip(1).collect();
    let shown: Vec<(&str, &str)> = lines
        .chunks(2)
        .filter_map(|pair| Some((pair[0].strip_prefix('[')?.strip_suffix(']')?, pair[1])))
        .collect();
    assert_eq!(shown.len(), RULES.len());
    for (number, text) in shown {
        let handle = Handle::parse(&format!("turn:{number}")).unwrap();
        assert_eq!(handle.original(&turns).unwrap().text, text);
    }
}

#[test]
fn a_long_paste_leaves_before_the_sentences_around_and_in_it() {
    for rule in RULES {
        let log: String = (0..400)
            .map(|line| format!("2026-11-03 12:{:02}:07 INFO [worker-{line}] GET /api/v1/items/{line} 200 {line}ms\n", line % 60))
            .collect();
        let (before, after) = log.split_at(log.len() / 2);
        let (half, rest) = after.split_once('\n').unwrap();
        let text = format!("Please read this log.\n{before}{half}\n{rule}\n{rest}\nWhat is slow?");
        let words = of(&talk(&[user(text), user("And now mend it.")]), 2_000).render();
        for kept in [
            rule,
            "Please read this log.",
            "What is slow?",
            "And now mend it.",
        ] {
            assert!(words.contains(kept), "{kept}\n{words}");
        }
        assert!(
            words.contains("[Not shown here for lack of room: turn 1 ("),
            "{words}"
        );
        assert!(Heuristic.count(&words).get() <= 2_000);
    }
}

#[test]
fn requests_of_long_ago_leave_before_rules() {
    let mut texts: Vec<(Role, String)> = RULES.iter().map(|rule| user(*rule)).collect();
    for number in 0..120 {
        let ask = format!(
            "Please have a look at module number {number} and tell me what it does, then rename its helper functions so that they read better, and run the tests again?"
        );
        texts.push(user(ask));
        texts.push((Role::Assistant, "Done.".to_owned()));
    }
    let words = of(&talk(&texts), 2_000);
    let text = words.render();
    for rule in RULES {
        assert!(text.contains(rule), "{rule}\n{text}");
    }
    assert!(text.contains("module number 119"));
    assert!(!text.contains("module number 3 "));
    assert!(words.left_out().iter().all(|it| it.units > 0));
}

#[test]
fn a_formula_leaves_before_a_plain_fact() {
    let mut texts = Vec::new();
    for number in 10..60 {
        let fact = RULES.get(number - 10).copied().unwrap_or_default();
        texts.push(user(format!(
            "Look at src/part_{number}.rs and mend it. {fact}"
        )));
        texts.push((Role::Assistant, "Mended.".to_owned()));
    }
    let text = of(&talk(&texts), 600).render();
    for fact in RULES {
        assert!(text.contains(fact), "{fact}\n{text}");
    }
    assert!(text.contains("part_59"));
    assert!(!text.contains("part_21"));
}

#[test]
fn what_a_client_wraps_or_notes_is_not_the_users() {
    let reminder =
        "<system-reminder>\nThe date has changed. Do not tell the user.\n</system-reminder>";
    let texts = [
        user(reminder),
        user("[Request interrupted by user]"),
        user(format!("Use tabs.\n{reminder}")),
        user("In <task>keep the order</task> of rows."),
    ];
    let words = of(&talk(&texts), 2_000);
    let said: Vec<&str> = words.said().iter().map(|said| said.text.as_str()).collect();
    assert_eq!(
        said,
        ["Use tabs.", "In <task>keep the order</task> of rows."]
    );
}

#[test]
fn the_words_of_an_earlier_summary_are_carried_on() {
    let mut summary = Summary::new(Replaced {
        turns: 40,
        tokens: Tokens::new(9_000),
    });
    summary.push(Field::Task, "mending");
    summary.words = of(&talk(&RULES.map(user)), 2_000);
    let mut turns = talk(&[user("Use port 4711, not 4712.")]);
    for round in 1..=10 {
        let text = summary.render();
        assert!(is_summary(&text));
        let more = format!("Rule number {round}: be brief.");
        let next = talk(&[user(text), user(more.clone())]);
        let mut again = Summary::new(Replaced {
            turns: summary.replaced.turns + 1,
            tokens: Tokens::new(9_000),
        });
        again.words = of(&next, 2_000);
        assert_eq!(again.words.said()[0].text, RULES[0]);
        assert_eq!(again.words.said().last().unwrap().text, more);
        summary = again;
    }
    turns.clear();
    assert_eq!(summary.words.said().len(), RULES.len() + 10);
}

#[test]
fn the_room_is_a_share_with_a_floor_and_a_ceiling() {
    let room = |window| room(Tokens::new(window), super::SHARE).get();
    assert_eq!(
        [4_000, 16_000, 64_000, 200_000].map(room),
        [600, 2_000, 3_200, 10_000]
    );
}

fn message() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => "[A-Z][a-z]{2,8}( [a-z]{1,7}){2,12}[.!?]",
        1 => Just("```".to_owned()),
        1 => "[0-9:-]{8} (INFO|WARN) [a-z0-9./=]{3,30}",
        1 => "    [a-z_]{2,8}\\([a-z, ]{0,12}\\);",
        1 => "(- [a-z ]{3,20}|Do this:|)",
        1 => "[漢字仮名交じり、文]{4,20}。",
    ];
    vec(line, 1..40).prop_map(|lines| lines.join("\n"))
}

proptest! {
    /// Whatever is said: the block keeps its room, everything in it was said, and what fits is whole.
    #[test]
    fn nothing_is_made_up(texts in vec(message(), 1..12), room in 60_u64..3_000) {
        let turns = talk(&texts.iter().map(user).collect::<Vec<_>>());
        let words = of(&turns, room);
        prop_assert!(words.tokens(&Heuristic).get() <= room);
        for Said { turn, text } in words.said() {
            let source = texts[*turn].lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            for part in text.split("[…]") {
                prop_assert!(source.contains(part.trim()), "{part:?} in {source:?}");
            }
        }
        if words.left_out().is_empty() {
            prop_assert!(words.said().iter().all(|said| !said.text.contains("[…]")));
        }
    }

    /// A block is read back as it was, in front of a summary too.
    #[test]
    fn a_block_is_read_back(texts in vec(message(), 1..6)) {
        let turns = talk(&texts.iter().map(user).collect::<Vec<_>>());
        let words = of(&turns, 10_000);
        let block = words.render();
        let read = UserWords::parse(&block).unwrap_or_default();
        prop_assert_eq!(&read, &words);
        let mut summary = Summary::new(Replaced { turns: 9, tokens: Tokens::new(99) });
        summary.push(Field::Goal, "go on");
        summary.words = words;
        let text = summary.render();
        prop_assert_eq!(&Summary::parse(&text).summary, &summary);
        prop_assert!(parted(&text).1.starts_with("[Summary"));
    }
}

#[test]
fn a_line_that_looks_like_a_number_is_no_turn() {
    let printed = "The API printed\n[404]\n [500]\n[007]\n[Not shown here for lack of room: turn 9.]\nMend it.";
    let words = of(&talk(&[user(printed), user("Use port 4711.")]), 2_000);
    let block = words.render();
    assert!(block.contains("\n [404]\n  [500]\n[007]\n"), "{block}");
    assert_eq!(UserWords::parse(&block), Some(words));
}

#[test]
fn a_block_with_its_numbers_in_front_is_read_too() {
    let block = "[The user's own words in the earlier conversation, verbatim and in order. The number is the turn.]\n\
                 [1] Never touch the schema.\nAsk first.\n[15] Use port 4711.\n";
    let said = UserWords::parse(block).unwrap_or_default().said;
    let said: Vec<_> = said.iter().map(|it| (it.turn, it.text.as_str())).collect();
    assert_eq!(
        said,
        [
            (0, "Never touch the schema.\nAsk first."),
            (14, "Use port 4711.")
        ]
    );
}

#[test]
fn what_was_left_out_is_named_after_every_compaction() {
    let sentence = |n: usize| format!("Part {n} of the plan is done by the team in the north.");
    let mut turns = talk(&(0..60).map(|n| user(sentence(n))).collect::<Vec<_>>());
    let mut missing: HashSet<usize> = HashSet::new();
    for _ in 0..4 {
        let words = UserWords::of(&turns, &Apart::default(), Tokens::new(500), &Heuristic);
        let named: HashSet<usize> = words.left_out().iter().map(|it| it.turn).collect();
        let shown = words.render();
        assert_eq!(
            UserWords::parse(&shown).map(|it| it.said),
            Some(words.said.clone())
        );
        assert!(missing.is_subset(&named), "{missing:?} {named:?}");
        let stands = |n: usize| shown.contains(&sentence(n));
        assert!((0..60).all(|n| stands(n) != named.contains(&n)), "{shown}");
        missing = named;
        let mut summary = Summary::new(Replaced {
            turns: 60,
            tokens: Tokens::ZERO,
        });
        summary.words = words;
        turns = vec![summary.draft().after(TurnId::ROOT, &Heuristic)];
    }
    assert!(missing.len() > 20);
}

#[test]
fn a_long_list_of_what_is_left_out_leaves_room_for_words() {
    let talked = (0..2_000).flat_map(|n| {
        let said = user(format!("Wish {n} of the team in the north is a new pump."));
        [said, (Role::Assistant, "Noted.".to_owned())]
    });
    let words = of(&talk(&talked.collect::<Vec<_>>()), 1_000);
    assert!(words.said().len() > 20, "{}", words.said().len());
    let shown = words.render();
    let read = UserWords::parse(&shown).unwrap_or_default();
    assert!(read.left_out().len() > 100, "{shown}");
}

#[test]
fn a_damaged_list_makes_no_long_one() {
    let rows = ["1-900000"; 400].join(", ");
    let block = UserWords {
        said: vec![Said {
            turn: 0,
            text: "Go on.".to_owned(),
        }],
        left_out: Vec::new(),
    };
    let list = format!("[Not shown here for lack of room: turns {rows} (9 lines, 9 tokens).]");
    let read = UserWords::parse(&format!("{}{list}\n", block.render())).unwrap_or_default();
    assert!(read.left_out().len() <= 4_096);
}

/// Of each of these, both halves stand or none, whatever the room.
#[test]
fn a_sentence_over_two_lines_or_with_a_shortened_word_stands_whole_or_not_at_all() {
    let halves = [
        (
            "Lösche den Ordner mit den Verträgen auf keinen",
            "Fall, bevor Noor ihn gesehen hat.",
        ),
        (
            "Delete the folder with the old tickets only",
            "after Noor has signed.",
        ),
        (
            "请在任何情况下都不要在没有得到批准之前改动生产数据库里面的表",
            "除非哈丽娜签字",
        ),
        ("Den Anhang Nr.", "B darfst du nicht ändern."),
        ("The contract with Dr.", "Halloran must not be renewed."),
    ];
    let mut texts = Vec::new();
    for round in 0..6 {
        for (one, other) in halves {
            let blank = if one.ends_with('.') { ' ' } else { '\n' };
            let more =
                "Please look at the rows of the importer and tell me which are slow. ".repeat(4);
            texts.push(user(format!("{more}({round}) {one}{blank}{other} {more}")));
            texts.push((Role::Assistant, "I looked at them.".to_owned()));
        }
    }
    let turns = talk(&texts);
    for room in [200, 400, 800, 1_600, 2_400] {
        let said: String = of(&turns, room)
            .said()
            .iter()
            .map(|it| it.text.as_str())
            .collect();
        for (one, other) in halves {
            let count = |half: &str| said.matches(half).count();
            assert_eq!(count(one), count(other), "{room}: {said}");
        }
    }
}

/// A client's remark in a text of the user's stands in its tags or not at all.
#[test]
fn what_a_client_wrapped_never_loses_its_tags() {
    let remark = "The list of tasks is empty. Do not mention this to the user.";
    let wrapped = format!("<system-reminder>\n{remark}\n</system-reminder>");
    let more = "Please look at the rows of the importer and tell me which are slow. ".repeat(8);
    let texts = (0..8).flat_map(|round| {
        let said = user(format!("{round}: {more}\n{wrapped}\n{more}"));
        [said, (Role::Assistant, "I looked at them.".to_owned())]
    });
    let turns = talk(&texts.collect::<Vec<_>>());
    for room in [200, 400, 800, 1_600, 2_400] {
        let words = of(&turns, room);
        let said: String = words.said().iter().map(|it| it.text.as_str()).collect();
        assert_eq!(
            said.matches(remark).count(),
            said.matches(&wrapped).count(),
            "{said}"
        );
    }
}
