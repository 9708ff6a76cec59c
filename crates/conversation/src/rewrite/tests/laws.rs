//! Laws that hold for any conversation and any view.

use context::Role;
use history::Change;
use proptest::prelude::*;
use proptest::sample::Index;
use wire::api::{Dialect, Request};

use super::case::{Case, plan, round};
use crate::rewrite::{RewriteError, betas, render};
use crate::view::{Front, View};

/// Results answer calls, nothing stands between them, and the first message is one that may be first.
fn is_legal(request: &Request<'_>, native: bool) {
    let mut open = std::collections::BTreeSet::new();
    for (at, message) in request.messages().enumerate() {
        let draft = message.draft();
        if at == 0 && !native && request.dialect() == Dialect::Anthropic {
            assert_eq!(message.role(), Role::User);
        }
        for result in draft.parts.iter().filter_map(|part| match part {
            context::Part::Result(result) => Some(result.call.clone()),
            _ => None,
        }) {
            assert!(open.remove(&result), "{result:?} answers nothing");
        }
        if draft.role != Role::Tool {
            assert!(open.is_empty(), "a message between calls and results");
        }
        open.extend(draft.parts.iter().filter_map(|part| match part {
            context::Part::Call(call) => Some(call.id.clone()),
            _ => None,
        }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_empty_view_is_the_body(plan in plan()) {
        let case = Case::of(&plan);
        let request = Request::parse(case.dialect, case.body.as_bytes()).unwrap();
        let same = render(&request, &View::default()).unwrap();
        prop_assert_eq!(same, case.body.into_bytes());
    }

    #[test]
    fn what_is_kept_keeps_its_bytes_and_its_order(plan in plan()) {
        let case = Case::of(&plan);
        let shown = case.rendered(&case.body).unwrap();
        let list = format!("\"{}\":[", case.dialect.list_key());
        let before = |body: &str| body.split_once(&list).unwrap().0.to_owned();
        prop_assert_eq!(before(&shown), before(&case.body));
        let mut rest = shown.as_str();
        for index in 0..case.said.len() {
            let system = index == 0 && case.dialect != Dialect::Anthropic;
            if system || case.is_kept(index) {
                let raw = &case.said[index].raw;
                let found = rest.split_once(raw.as_str());
                prop_assert!(found.is_some(), "message {} is missing in {}", index, shown);
                rest = found.unwrap().1;
            }
        }
    }

    #[test]
    fn the_result_is_legal(plan in plan()) {
        let case = Case::of(&plan);
        let shown = case.rendered(&case.body).unwrap();
        let request = Request::parse(case.dialect, shown.as_bytes()).unwrap();
        is_legal(&request, case.front == 2);
        let marks = request.breakpoints();
        prop_assert!(marks.len() <= 4);
        let lives: Vec<bool> = marks.iter().map(|mark| mark.ttl.as_deref() == Some("1h")).collect();
        prop_assert!(lives.is_sorted_by(|one, two| one >= two), "{:?}", marks);
        let thinks = |raw: &str| raw.contains(r#""type":"thinking""#);
        let left = request.messages().filter(|message| thinks(message.raw())).count();
        let due = (case.from..case.said.len())
            .filter(|at| case.said[*at].thinks && *at >= case.stripped);
        prop_assert_eq!(left, due.count(), "all thinking up to a place, or none");
    }

    #[test]
    fn between_swaps_no_byte_before_the_newest_message_changes(plan in plan(), more in round()) {
        let case = Case::of(&plan);
        let mut longer = plan.clone();
        longer.rounds.push(more);
        longer.marks.clear();
        let mut plain = plan;
        plain.marks.clear();
        let (before, after) = (Case::of(&plain), Case::of(&longer));
        let first = case.rendered(&before.body).unwrap();
        let second = case.rendered(&after.body).unwrap();
        let kept = first.strip_suffix("]}").unwrap();
        prop_assert!(second.starts_with(kept), "{}\n{}", first, second);
    }

    #[test]
    fn a_cut_that_tears_calls_from_results_is_refused(plan in plan(), at in any::<Index>()) {
        let mut case = Case::of(&plan);
        case.from = at.index(case.said.len() + 2);
        case.changes.clear();
        match case.rendered(&case.body) {
            Ok(shown) => {
                let request = Request::parse(case.dialect, shown.as_bytes()).unwrap();
                is_legal(&request, case.front == 2);
            }
            Err(error) => {
                let last = case.said.len();
                let results = case.said.get(case.from).is_some_and(|said| said.results);
                prop_assert!(results || case.from >= last || case.front == 2, "{}", error);
            }
        }
    }

    #[test]
    fn betas_are_named_for_what_is_shown(plan in plan()) {
        let mut case = Case::of(&plan);
        let clears = Change::Followed(r#"{"role":"system","clear_at":"never","content":"n"}"#.into());
        case.changes = vec![(plan.cleared.index(case.said.len()), clears)];
        let named = case.with_view(|view| betas(case.dialect, view));
        let anthropic = case.dialect == Dialect::Anthropic;
        let shown = case.changes[0].0 >= case.from;
        prop_assert_eq!(named.contains(&super::super::beta::COMPACT), anthropic && case.front == 2);
        prop_assert_eq!(named.contains(&super::super::beta::CLEAR_AT), anthropic && shown);
    }
}

#[test]
fn what_a_provider_would_refuse_is_an_error() {
    let check = |dialect, body: &str, front, from, expected: &str| {
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let view = View {
            front,
            from,
            ..View::default()
        };
        let error = render(&request, &view).unwrap_err();
        assert_eq!(
            context::coded::Coded::code(&error).as_str(),
            expected,
            "{error}"
        );
    };
    let said = r#""messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"system","content":"d"}]"#;
    let body = format!("{{{said}}}");
    let native = Front::Native { message: "{}".into() };
    let readable = Front::Readable {
        pins: "".into(),
        summary: "s".into(),
    };
    check(Dialect::Anthropic, &body, readable.clone(), 5, "E0851");
    check(Dialect::Anthropic, &body, readable.clone(), 4, "E0851");
    check(Dialect::Anthropic, &body, readable, 3, "E0852");
    check(Dialect::Chat, &body, native.clone(), 1, "E0854");
    check(
        Dialect::Anthropic,
        &body,
        Front::Native { message: " ".into() },
        1,
        "E0854",
    );
    let same = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
    check(Dialect::Anthropic, same, native, 1, "E0852");
    let carried = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"compaction","content":"s"}]}]}"#;
    check(Dialect::Anthropic, carried, native, 1, "E0854");
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    let changes = vec![(
        0,
        Change::Shrunk {
            result: 0,
            text: "x".into(),
        },
    )];
    let view = View {
        changes: changes.clone(),
        ..View::default()
    };
    assert_eq!(
        render(&request, &view),
        Err(RewriteError::DoesNotFit { message: 0 })
    );
}

#[test]
fn what_may_not_stand_beside_a_block_is_taken_out() {
    let block = r#"{"role":"assistant","content":[{"type":"compaction"}]}"#;
    let rest = r#""messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
    let shown_rest = format!(
        r#""messages":[{block},{{"role":"assistant","content":"b"}},{{"role":"user","content":"c"}}]}}"#
    );
    let check = |field: &str, expected: &str| {
        let body = format!("{{{field}{rest}");
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        let native = View {
            front: Front::Native { message: block.into() },
            from: 1,
            ..View::default()
        };
        let shown = String::from_utf8(render(&request, &native).unwrap()).unwrap();
        assert_eq!(shown, format!("{{{expected}{shown_rest}"));
        let readable = View {
            front: Front::Readable {
                pins: "".into(),
                summary: "s".into(),
            },
            ..native
        };
        let shown = String::from_utf8(render(&request, &readable).unwrap()).unwrap();
        assert!(shown.contains(field), "a readable summary asks for nothing");
    };
    check(
        r#""output_config":{"effort":"high","task_budget":{"type":"tokens","total":9,"remaining":5}},"#,
        r#""output_config":{"effort":"high","task_budget":{"type":"tokens","total":9}},"#,
    );
    let compacts = r#"{"type":"compact_20260112"}"#;
    let clears = r#"{"type":"clear_tool_uses_20250919"}"#;
    check(
        &format!(r#""context_management":{{"edits":[{clears},{compacts}]}},"#),
        &format!(r#""context_management":{{"edits":[{clears}]}},"#),
    );
    check(
        &format!(r#""context_management":{{"edits":[{compacts}]}},"#),
        "",
    );
    let kept = format!(r#""context_management": {{"edits": [{clears}]}},"#);
    check(&kept, &kept);
}
