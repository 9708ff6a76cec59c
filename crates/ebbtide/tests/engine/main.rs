//! The engine before the strict provider.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "what fails here fails the test, and a missing corpus is told"
)]

mod corpus;
#[path = "../../examples/loop.rs"]
#[expect(dead_code, reason = "its main function prints what is checked here")]
mod example;
mod talk;

use std::sync::Arc;

use ebbtide::history::Limits;
use ebbtide::{
    Coded, Did, EngineError, Keep, Mode, Next, ResourceClass, Selection, SignedDuration, Summaries,
    Tokens, Turn,
};
use serde_json::json;
use talk::{Talk, builder, provider, words};

const RECORD: &str = "## Goal\n- mend all parts of the program\n## Decisions, constraints and preferences\nnone\n## Tasks, open and closed\n- in progress: the part that was named last\n## What was done\nnone\n## Where the work stands\n- the part that was named last\n## Key facts\n- the violet parser is the slow one\n## Dead ends\nnone\n## Next steps\n- go on with the next part";

#[test]
fn a_short_conversation_passes_untouched() {
    let mut talk = Talk::new(builder().notes(false));
    for number in 0..3 {
        let came = talk.say(&words(number));
        assert_eq!(came.sent, came.body);
        assert_eq!(came.did, [Did::Kept]);
    }
}

#[test]
fn a_long_one_swaps_and_keeps_its_tail_byte_for_byte() {
    let mut talk = Talk::new(builder().notes(false));
    let came = talk.until(Did::Swapped);
    let (sent, body) = (came.sent.len(), came.body.len());
    assert!(sent < body * 3 / 5, "{sent} of {body}");
    let tail = talk.messages[talk.messages.len() - 2].to_string();
    let behind = format!("{tail}]");
    assert!(came.body.contains(&behind) && came.sent.contains(&behind));
    // Until the next swap, what was sent before is sent again.
    let next = talk.say("go on");
    let (stem, _) = came.sent.rsplit_once(']').unwrap();
    assert!(next.sent.starts_with(stem), "{}", next.sent);
}

#[test]
fn nothing_is_changed_in_observe_mode() {
    let mut talk = Talk::new(builder().mode(Mode::Observe));
    talk.provider = provider(1_000_000);
    let came = talk.until(Did::WouldSwap);
    assert_eq!(came.sent, came.body);
}

#[test]
fn pins_survive_every_swap() {
    let mut talk = Talk::new(builder());
    let of = talk.say("Let us begin.").of.unwrap();
    let now = talk.now();
    let pin = talk
        .engine
        .pin(&talk.client, of, "Never touch src/part_3.rs.", now);
    let pin = pin.unwrap();
    let first = talk.engine.pin_turn(&talk.client, of, 1, now).unwrap();
    assert_eq!(first.text.as_str(), "Let us begin.");
    let file = talk.engine.pin_file(&talk.client, of, "a.rs", now);
    assert!(matches!(file, Err(EngineError::PinRefused(_))), "{file:?}");
    talk.say("#pin Answer in French.");
    for _ in 0..2 {
        talk.until(Did::Swapped);
        let came = talk.say("go on");
        assert!(came.sent.contains("Never touch src/part_3.rs."));
        assert!(came.sent.contains("Answer in French."));
        assert!(came.sent.contains("\\n- Let us begin."));
    }
    let now = talk.now();
    assert!(talk.engine.unpin(&talk.client, of, pin.id, now).unwrap());
    assert!(!talk.engine.unpin(&talk.client, of, pin.id, now).unwrap());
    let pins = talk.engine.explain(&talk.client, of).unwrap().pins;
    assert_eq!(pins.len(), 2);
}

#[test]
fn a_text_that_a_line_pins_too_is_not_told_as_unpinned() {
    let mut talk = Talk::new(builder());
    let of = talk.say("Let us begin.").of.unwrap();
    let now = talk.now();
    let mut pin = |text: &str| {
        let pin = talk.engine.pin(&talk.client, of, text, now).unwrap();
        talk.say(&format!("#pin {text}"));
        pin.id
    };
    let (first, second) = (pin("Answer in French."), pin("Be brief."));
    // The newest message is stored with the next request.
    talk.say("go on");
    let kept = || {
        let pins = talk.engine.explain(&talk.client, of).unwrap().pins;
        let texts = pins.iter().map(|pin| pin.text.to_string());
        texts.collect::<Vec<_>>()
    };
    let both = ["Answer in French.", "Be brief."];
    assert!(!talk.engine.unpin(&talk.client, of, first, now).unwrap());
    assert_eq!(kept(), both);
    // At rest.
    let later = now + SignedDuration::from_hours(1);
    talk.engine.rest(later);
    assert!(!talk.engine.unpin(&talk.client, of, second, later).unwrap());
    assert_eq!(kept(), both);
    talk.say("#unpin Be brief.");
    let pins = talk.engine.explain(&talk.client, of).unwrap().pins;
    assert_eq!(pins.len(), 1);
}

/// Talks until there is a summary to make.
fn to_work(talk: &mut Talk) -> ebbtide::Work {
    let mut number = 0;
    loop {
        number += 1;
        assert!(number < 60, "no work");
        if let Some(work) = talk.say(&words(number)).work {
            return work;
        }
    }
}

#[test]
fn a_summary_that_the_caller_has_written_is_shown() {
    let mut talk = Talk::new(builder().summaries(Summaries::ByCaller));
    let work = to_work(&mut talk);
    let prompt = work.prompt(Tokens::new(100_000));
    assert!(prompt.source.contains("src/part_1.rs"));
    assert!(prompt.system.contains("## Goal"));
    let now = talk.now();
    talk.engine.prepared(work, RECORD, now).unwrap();
    let came = talk.until(Did::Swapped);
    assert!(came.sent.contains("the violet parser is the slow one"));
}

#[test]
fn work_that_failed_falls_back_to_a_summary_without_a_model() {
    let mut talk = Talk::new(builder().summaries(Summaries::ByCaller));
    let work = to_work(&mut talk);
    let (of, now) = (work.conversation(), talk.now());
    talk.engine.failed(work, "no credit", now);
    let told = talk.engine.explain(&talk.client, of).unwrap();
    let told: Vec<String> = told.journal.into_iter().map(|(_, text)| text).collect();
    assert!(
        told.iter().any(|text| text.contains("no credit")),
        "{told:?}"
    );
    assert!(
        told.iter()
            .any(|text| text.contains("is ready (extractive)")),
        "{told:?}"
    );
    talk.until(Did::Swapped);
}

#[test]
fn a_text_that_is_no_summary_is_turned_away() {
    let mut talk = Talk::new(builder().summaries(Summaries::ByCaller));
    let work = to_work(&mut talk);
    let now = talk.now();
    let turned = talk
        .engine
        .prepared(work, "I would rather talk of the weather.", now);
    let error = turned.unwrap_err();
    assert_eq!(error.code().as_str(), "E1010");
    assert!(error.hint().is_some());
    talk.until(Did::Swapped);
}

#[test]
fn a_request_is_held_where_the_strategy_waits() {
    let held = builder().summaries(Summaries::ByCaller);
    let mut talk = Talk::new(held.strategy("stop_the_world").unwrap());
    let came = talk.until(Did::Waited);
    assert!(came.did.contains(&Did::Swapped), "{:?}", came.did);
}

#[test]
fn a_request_that_is_refused_as_too_long_is_rescued() {
    let mut talk = Talk::new(ebbtide::Engine::builder().window(1_000_000));
    let mut shorter = 0;
    for number in 0..30 {
        let came = talk.say(&words(number));
        shorter += usize::from(came.sent.len() < came.body.len());
    }
    assert!(shorter > 3, "{shorter}");
}

#[test]
fn the_betas_of_the_body_after_a_refusal_are_named() {
    // One prompt and a loop of tools: the note comes with the swap, which the refusal brings.
    let engine = builder().open().unwrap();
    let client = engine.client("key-one");
    let mut messages = vec![json!({"role": "user", "content": "Mend src/part_1.rs."})];
    let mut seconds = 1_790_000_000;
    let mut rescued = 0;
    for number in 0..30 {
        seconds += 5;
        let now = ebbtide::Timestamp::from_second(seconds).unwrap();
        let body = json!({"model": "claude-opus-5-5", "max_tokens": 500, "messages": messages});
        let next = engine.request(&client, body.to_string(), now).unwrap();
        let Next::Send(out) = next else {
            panic!("{next:?}");
        };
        let mut ticket = out.ticket;
        if number % 4 == 3 {
            let refusal = (400, talk::TOO_LONG.as_bytes());
            if let Some(body) = engine.refused(&mut ticket, refusal, now) {
                let body = String::from_utf8(body.to_vec()).unwrap();
                let is_named = !ticket.betas().is_empty();
                assert_eq!(is_named, body.contains("clear_at"), "{body}");
                rescued += usize::from(is_named && out.betas.is_empty());
            }
        }
        let id = format!("toolu_{number}");
        let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file": number}});
        let answer = json!({
            "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [call], "stop_reason": "tool_use",
            "usage": {"input_tokens": 900, "output_tokens": 9},
        });
        engine
            .observe(ticket, answer.to_string().as_bytes(), now)
            .unwrap();
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": words(number)});
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [result]}));
    }
    assert!(rescued > 0);
}

#[test]
fn a_summary_that_a_refusal_overtakes_is_not_forgotten() {
    for every in 2..12 {
        let mut talk = Talk::new(builder().summaries(Summaries::ByCaller));
        let mut works = 0;
        for number in 0..50 {
            // At last none is refused, and a summary is ordered again.
            talk.refusals = if number % every == 1 && number < 30 {
                2
            } else {
                0
            };
            let came = talk.say(&words(number));
            if let Some(work) = came.work {
                works += usize::from(number >= 30);
                talk.engine.extract(work, talk.now());
            }
        }
        assert!(works > 0, "refused every {every}: none to make");
    }
}

#[test]
fn two_tenants_never_meet() {
    let mut talk = Talk::new(builder());
    let one = talk.say("#pin the violet key\nLet us begin.").of.unwrap();
    let messages = talk.messages.clone();
    talk.client = talk.engine.client("key-two");
    talk.messages = messages;
    let other = talk.say("go on").of.unwrap();
    assert_ne!(one, other);
    let foreign = talk.engine.explain(&talk.client, one);
    assert!(matches!(foreign, Err(EngineError::NoConversation(_))));
    assert_eq!(talk.engine.conversations(&talk.client).unwrap().len(), 1);
    let purged = talk
        .engine
        .purge(&talk.client, Selection::One(one))
        .unwrap();
    assert_eq!(purged.conversations, 0);
}

#[test]
fn a_restart_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let stored = |file: &str| {
        let path = folder.path().join(file);
        let store = history_sqlite::Sqlite::open(&path, Limits::default()).unwrap();
        builder().store(Arc::new(store))
    };
    let mut kept = Talk::new(stored("kept"));
    let mut restarted = Talk::new(stored("restarted"));
    for number in 0..24 {
        if number % 7 == 5 {
            // The first one closes before its file is opened again.
            restarted.engine = stored("between").open().unwrap();
            restarted.engine = stored("restarted").open().unwrap();
            restarted.client = restarted.engine.client("key-one");
        }
        let (one, other) = (kept.say(&words(number)), restarted.say(&words(number)));
        assert!(
            one.sent == other.sent,
            "{number}: {}\n\n{}",
            one.sent,
            other.sent
        );
    }
    let lines = kept.engine.conversations(&kept.client).unwrap();
    assert!(lines[0].compactions > 1, "{lines:?}");
}

#[test]
fn the_window_holds_every_turn_behind_a_swap_and_moves_along_them() {
    let mut talk = Talk::new(builder());
    let came = talk.until(Did::Swapped);
    let of = came.of.unwrap();
    let window = talk.engine.window(&talk.client, of).unwrap();
    // The newest answer is stored with the request that follows it.
    assert_eq!(window.len(), talk.messages.len() - 1);
    assert_eq!(window.limit(), Tokens::new(talk::WINDOW));
    for (at, message) in talk.messages.iter().enumerate().take(window.len()) {
        let here = window.seek(at + 1);
        let said = here.extract().map(Turn::readable);
        let content = &message["content"];
        let expected = content.as_str().or(content[0]["text"].as_str());
        assert_eq!(said.as_deref(), expected);
    }
    // The same place, reached in two ways.
    let back = window.seeks(|at| at - 1);
    let places = window.duplicate();
    assert_eq!(places.peek(back.position()).extract(), back.extract());
    let first = window.peek(1).unwrap().id();
    assert_eq!(window.class_of(first), Some(ResourceClass::Required));
    let stranger = talk.engine.client("key-two");
    let refused = talk.engine.window(&stranger, of).map(|window| window.len());
    assert!(matches!(refused, Err(EngineError::NoConversation(_))));
}

#[test]
fn the_originals_behind_a_summary_come_back() {
    let mut talk = Talk::new(builder());
    let image = serde_json::json!({"type": "image", "source": {
        "type": "base64", "media_type": "image/png", "data": "aGVsbG8="}});
    talk.messages
        .push(serde_json::json!({"role": "user", "content": [image]}));
    talk.messages
        .push(serde_json::json!({"role": "assistant", "content": "A picture."}));
    let came = talk.until(Did::Swapped);
    let originals = talk
        .engine
        .expand(&talk.client, came.of.unwrap(), None)
        .unwrap();
    assert!(originals.len() > 3);
    assert_eq!(
        originals[0].message,
        talk.messages[0].to_string().as_bytes()
    );
    for (original, message) in originals.iter().zip(&talk.messages).skip(1) {
        let said = message["content"].as_str().map(str::to_owned);
        let said =
            said.unwrap_or_else(|| message["content"][0]["text"].as_str().unwrap().to_owned());
        assert_eq!(original.text, said);
    }
}

#[test]
fn compaction_on_order_needs_two_requests() {
    let mut talk = Talk::new(builder());
    for number in 0..4 {
        talk.say(&words(number));
    }
    let of = talk.say("go on").of.unwrap();
    let now = talk.now();
    talk.engine.compact(&talk.client, of, now).unwrap();
    assert!(talk.say("go on").did.contains(&Did::Preparing));
    assert!(talk.say("go on").did.contains(&Did::Swapped));
}

#[test]
fn conversations_are_listed_and_purged() {
    let mut talk = Talk::new(builder());
    let of = talk.say("Let us begin.").of.unwrap();
    let lines = talk.engine.conversations(&talk.client).unwrap();
    assert_eq!((lines[0].id, lines[0].totals.requests), (of, 1));
    let purged = talk.engine.purge(&talk.client, Selection::One(of)).unwrap();
    assert_eq!((purged.conversations, purged.turns), (1, 2));
    assert!(talk.engine.conversations(&talk.client).unwrap().is_empty());
    // It is as if it were new.
    assert_ne!(talk.say("go on").of, Some(of));
}

#[test]
fn a_streamed_answer_is_heard() {
    let mut talk = Talk::new(builder());
    talk.stream = true;
    talk.say("Let us begin.");
    let lines = talk.engine.conversations(&talk.client).unwrap();
    assert_eq!(lines[0].totals.requests, 1);
    assert!(lines[0].totals.output > Tokens::ZERO);
}

#[test]
fn what_cannot_be_read_passes_and_settings_are_checked() {
    let engine = builder().open().unwrap();
    let now = ebbtide::Timestamp::UNIX_EPOCH;
    let next = engine.request(&engine.client("k"), "no JSON", now).unwrap();
    let Next::Send(out) = next else {
        panic!("{next:?}");
    };
    assert_eq!(
        (&*out.body, &*out.did),
        (&b"no JSON"[..], &[Did::Passed][..])
    );
    assert!(engine.observe(out.ticket, b"", now).unwrap().is_none());
    let unknown = builder().strategy("none such").unwrap_err();
    assert_eq!(unknown.code().as_str(), "E1002");
    let unsound = builder().strategy_text("mine", "let main = 1").unwrap_err();
    assert_eq!(unsound.code().as_str(), "E1001");
    // The first fault with its place.
    assert!(unsound.to_string().starts_with("mine:1:"), "{unsound}");
    for refused in [
        builder().window(0).open().err(),
        builder()
            .patience(SignedDuration::from_secs(-5))
            .open()
            .err(),
        engine
            .digest(&engine.client("k"), b"{}", Keep::AllBut(f64::NAN))
            .err(),
        engine
            .digest(&engine.client("k"), b"{}", Keep::AllBut(7.0))
            .err(),
    ] {
        let code = refused.map(|error| error.code().as_str());
        assert_eq!(code, Some("E1014"));
    }
}

/// A person reads the hint beside the error.
#[test]
fn a_hint_says_what_to_do_about_what_failed() {
    let mut talk = Talk::new(builder());
    let of = talk.say("Mend the parser.").of.unwrap();
    let (engine, client) = (&talk.engine, &talk.client);
    let now = ebbtide::Timestamp::UNIX_EPOCH;
    let hint = |error: EngineError| error.hint().unwrap_or_default();
    let empty = engine.pin(client, of, " ", now).unwrap_err();
    assert!(hint(empty).starts_with("Give the pin a text"));
    let nowhere = engine.original(client, of, ("turn:99", None), 100);
    assert!(hint(nowhere.unwrap_err()).contains("turns are counted from 1"));
    let nothing = engine.undo(client, of, now).unwrap_err();
    assert!(hint(nothing).starts_with("`undo` takes back"));
    let folder = tempfile::tempdir().unwrap();
    let unreachable = EngineError::NoStore(
        history_sqlite::Sqlite::open(folder.path(), Limits::default())
            .err()
            .unwrap(),
    );
    assert!(hint(unreachable).contains("a file in a folder"));
}

#[test]
fn the_example_crosses_its_window_several_times() {
    let told = example::run().unwrap();
    let swaps = told.split(", ").nth(1).unwrap().split(' ').next().unwrap();
    assert!(swaps.parse::<u32>().unwrap() > 2, "{told}");
}
