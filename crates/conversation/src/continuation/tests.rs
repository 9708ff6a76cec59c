//! Texts that hold an answer, and the answers that are remembered.

use context::turn::{Digest, Outcome, ToolResult};
use context::{CallId, Heuristic, Part, Role, Text, Turn, TurnDraft, TurnId};
use history::{
    Conversation, ConversationId, Engine, Labels, Limits, MemoryEngine, Standing, Tenant, Totals,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{ANSWERS, Answer, Answers, LIFE, Print, Reader, Words, stored_answers, summary_in};
use crate::identity::Keyed;

const SUMMARY: &str = "The user wants the port of the server to be 8080, and no folder deleted.";

fn keyed() -> Keyed {
    Keyed::new(&[7; 32])
}

fn answer(print: Print, of: u8, at: i64) -> Answer {
    Answer {
        print,
        of: ConversationId::from_bytes([of; 16]),
        at: Timestamp::from_second(at).unwrap(),
    }
}

fn turn(role: Role, text: &str) -> Turn {
    TurnDraft::text(role, text).after(TurnId::ROOT, &Heuristic)
}

/// Checks if a client's text holds the answer to its compaction.
fn check(answered: &str, text: &str, holds: bool) {
    let print = Words::of(keyed(), summary_in(answered)).print();
    let known: Vec<Answer> = print.map(|print| answer(print, 1, 0)).into_iter().collect();
    let reader = Reader::new(keyed(), &[turn(Role::User, text)]);
    assert_eq!(reader.first(&known).is_some(), holds, "{text:?}");
}

#[test]
fn a_summary_is_known_in_the_words_of_its_client() {
    check(SUMMARY, SUMMARY, true);
    check(
        SUMMARY,
        &format!("Summary so far:\n\n{SUMMARY}\n\nGo on."),
        true,
    );
    let tagged = format!("<analysis>long thoughts</analysis>\n<summary>\n{SUMMARY}\n</summary>");
    check(
        &tagged,
        &format!("This session goes on. Summary:\n{SUMMARY}"),
        true,
    );
    check(&tagged, &tagged, true);
    check(&tagged, &SUMMARY.replace(' ', " \n "), true);
    check(SUMMARY, &SUMMARY.replace("8080", "8081"), false);
    check(SUMMARY, SUMMARY.split_once(" to be").unwrap().0, false);
    check("Done.", "Done.", false);
}

#[test]
fn what_a_tool_returned_is_not_looked_at() {
    let print = Words::of(keyed(), SUMMARY).print().unwrap();
    let result = Part::Result(ToolResult {
        call: CallId::from("call_1"),
        text: SUMMARY.into(),
        outcome: Outcome::Succeeded,
    });
    let result = TurnDraft::said(Role::Tool, vec![result]).after(TurnId::ROOT, &Heuristic);
    let reader = Reader::new(keyed(), &[result]);
    assert_eq!(reader.first(&[answer(print, 1, 0)]), None);
}

#[test]
fn the_newest_answers_of_a_tenant_are_remembered_for_a_time() {
    let answers = Answers::default();
    let (one, other) = (Tenant::from_bytes([1; 16]), Tenant::from_bytes([2; 16]));
    let now = Timestamp::from_second(1_000_000).unwrap();
    assert_eq!(answers.of(one, now), None, "the store was not read");
    for second in 0..50 {
        let print = Print::Block(Digest::of(&[second]));
        let known = answer(print, 1, i64::from(second));
        answers.add(one, [known, known], true);
    }
    let known = answers.of(one, now).unwrap();
    assert_eq!(known.len(), ANSWERS);
    assert_eq!(known[0].at, Timestamp::from_second(49).unwrap());
    assert_eq!(answers.of(other, now), None);
    let later = now + LIFE + SignedDuration::from_secs(1);
    assert_eq!(answers.of(one, later), Some(Vec::new()));
}

#[test]
fn they_are_kept() {
    let engine = MemoryEngine::new([7; 32], Limits::default());
    let tenant = Tenant::from_bytes([1; 16]);
    let now = Timestamp::from_second(1_000_000).unwrap();
    let of = ConversationId::from_bytes([1; 16]);
    let known = [
        answer(Print::Block(Digest::of(b"block")), 1, 10),
        answer(Words::of(keyed(), SUMMARY).print().unwrap(), 1, 20),
    ];
    for answer in known {
        // It may be run again.
        let store = || engine.write(tenant, &mut |store| answer.store(store));
        store().unwrap();
        store().unwrap();
    }
    let save = Conversation {
        id: of,
        parent: None,
        head: TurnId::ROOT,
        turns: 0,
        labels: Labels::default(),
        title: None,
        model: Text::from("m"),
        standing: Standing::WHOLE,
        strategy: None,
        totals: Totals::default(),
        began: now,
        seen: now,
    };
    engine
        .write(tenant, &mut |store| store.save(&save))
        .unwrap();
    let mut found = Vec::new();
    let later = now + SignedDuration::from_secs(1);
    engine
        .read(tenant, &mut |store| {
            found = stored_answers(store, later)?;
            Ok(())
        })
        .unwrap();
    assert_eq!(found, known);
}

proptest! {
    #[test]
    fn rolling_along_a_text_finds_what_it_holds(
        before in prop::collection::vec("[a-c]{1,2}", 0..20),
        words in prop::collection::vec("[a-c]{1,2}", 8..20),
        behind in prop::collection::vec("[a-c]{1,2}", 0..20),
    ) {
        let summary = words.join(" ");
        let Some(Print::Words { count, sum }) = Words::of(keyed(), &summary).print() else {
            panic!("it has enough words");
        };
        let rest = [before.clone(), behind.clone()].concat();
        let expected = rest.windows(words.len()).any(|window| *window == words);
        prop_assert_eq!(Words::of(keyed(), &rest.join(" ")).hold(count, sum), expected);
        let all = [before, words, behind].concat();
        prop_assert!(Words::of(keyed(), &all.join("\n")).hold(count, sum));
    }
}
