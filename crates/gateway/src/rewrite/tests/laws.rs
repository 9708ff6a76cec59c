//! What has to hold for any conversation and any recipe.

use context::Role;
use history::Change;
use proptest::prelude::*;
use proptest::sample::Index;
use wire::api::{Dialect, Request};

use crate::rewrite::{Front, Recipe, RewriteError, betas, render};

/// One message of a conversation, as it stands in the body, and what can be done to it.
#[derive(Clone, Debug)]
struct Said {
    raw: String,
    /// Its raw bytes with a cache breakpoint.
    marked: Option<String>,
    results: bool,
    thinks: bool,
    /// The view may begin here.
    opens: bool,
    user: bool,
}

#[derive(Clone, Debug)]
struct Round {
    ask: String,
    say: String,
    thinks: bool,
    results: Vec<String>,
    spaced: bool,
}

#[derive(Clone, Debug)]
struct Plan {
    dialect: Dialect,
    rounds: Vec<Round>,
    /// Where breakpoints are wanted, and how many of the first live long.
    marks: Vec<u8>,
    long: usize,
    front: u8,
    texts: [String; 2],
    from: Index,
    cleared: Index,
    stripped: Index,
    changes: Vec<(Index, u8)>,
}

fn text() -> impl Strategy<Value = String> {
    "[ -~é漢\n]{0,24}".prop_map(|text| format!("x{text}"))
}

fn round() -> impl Strategy<Value = Round> {
    let results = prop::collection::vec(text(), 0..3);
    (text(), text(), any::<bool>(), results, any::<bool>()).prop_map(
        |(ask, say, thinks, results, spaced)| Round {
            ask,
            say,
            thinks,
            results,
            spaced,
        },
    )
}

prop_compose! {
    fn plan()(
        dialect in prop::sample::select(vec![Dialect::Anthropic, Dialect::Chat, Dialect::Responses]),
        rounds in prop::collection::vec(round(), 1..7),
        marks in prop::collection::vec(0..4_u8, 0..5),
        long in 0..5_usize,
        front in 0..3_u8,
        texts in [prop_oneof![Just(String::new()), text()], prop_oneof![Just(String::new()), text()]],
        places in any::<[Index; 3]>(),
        changes in prop::collection::vec((any::<Index>(), 0..3_u8), 0..6),
    ) -> Plan {
        let [from, cleared, stripped] = places;
        Plan { dialect, rounds, marks, long, front, texts, from, cleared, stripped, changes }
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A round as messages: a question, an answer with calls, their results, an answer without any.
fn messages(dialect: Dialect, number: usize, round: &Round) -> Vec<Said> {
    let gap = if round.spaced { " " } else { "" };
    let say = quoted(&round.say);
    let message = |raw: String| Said {
        raw,
        marked: None,
        results: false,
        thinks: false,
        opens: true,
        user: false,
    };
    let ask = quoted(&round.ask);
    let blocks = |mark: &str| {
        format!(r#"{{"role":{gap}"user","content":[{{"type":"text","text":{ask}{mark}}}{gap}]}}"#)
    };
    let question = match dialect {
        Dialect::Anthropic => Said {
            marked: Some(blocks("MARK")),
            user: true,
            ..message(blocks(""))
        },
        _ => Said {
            user: true,
            ..message(format!(r#"{{"role":"user",{gap}"content":{ask}}}"#))
        },
    };
    let ids: Vec<String> = (0..round.results.len())
        .map(|at| format!("c{number}_{at}"))
        .collect();
    let thinking = format!(r#"{{"type":"thinking","thinking":"t{number}","signature":"s"}}"#);
    let mut blocks = vec![format!(r#"{{"type":"text","text":{say}}}"#)];
    if round.thinks {
        blocks.insert(0, thinking);
    }
    let done = |text: &str| match dialect {
        Dialect::Responses => message(format!(
            r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text}}}]}}"#
        )),
        _ => message(format!(r#"{{"role":"assistant","content":{gap}{text}}}"#)),
    };
    let mut out = vec![question];
    if round.results.is_empty() {
        out.push(done(&say));
        return out;
    }
    let results = round.results.iter().zip(&ids);
    let result = |raw| Said {
        results: true,
        opens: false,
        ..message(raw)
    };
    match dialect {
        Dialect::Anthropic => {
            blocks.extend(
                ids.iter().map(|id| {
                    format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#)
                }),
            );
            out.push(Said {
                thinks: round.thinks,
                ..message(format!(
                    r#"{{"role":"assistant","content":[{}]}}"#,
                    blocks.join(",")
                ))
            });
            let blocks: Vec<String> = results
                .map(|(text, id)| {
                    let text = quoted(text);
                    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{text}}}"#)
                })
                .collect();
            out.push(Said {
                user: true,
                ..result(format!(
                    r#"{{"role":"user","content":[{}]}}"#,
                    blocks.join(" , ")
                ))
            });
        }
        Dialect::Chat => {
            let calls: Vec<String> = ids
                .iter()
                .map(|id| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#))
                .collect();
            out.push(message(format!(
                r#"{{"role":"assistant","content":{say},"tool_calls":[{}]}}"#,
                calls.join(",")
            )));
            out.extend(results.map(|(text, id)| {
                let text = quoted(text);
                result(format!(
                    r#"{{"role":"tool","tool_call_id":"{id}","content":{text}}}"#
                ))
            }));
        }
        Dialect::Responses => {
            let mut items: Vec<String> = ids
                .iter()
                .map(|id| format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#))
                .collect();
            items.insert(
                0,
                format!(r#"{{"type":"reasoning","summary":[],"id":"r{number}"}}"#),
            );
            out.push(message(items.join(", ")));
            out.extend(results.map(|(text, id)| {
                let text = quoted(text);
                result(format!(
                    r#"{{"type":"function_call_output","call_id":"{id}","output":{text}}}"#
                ))
            }));
        }
    }
    out.push(done("\"done\""));
    out
}

/// A conversation, its body and its recipe.
struct Case {
    dialect: Dialect,
    said: Vec<Said>,
    body: String,
    front: u8,
    texts: [String; 2],
    from: usize,
    cleared: usize,
    stripped: usize,
    changes: Vec<(usize, Change)>,
}

impl Case {
    fn of(plan: &Plan) -> Self {
        let dialect = plan.dialect;
        let mut said = Vec::new();
        if dialect != Dialect::Anthropic {
            said.push(Said {
                raw: r#"{"role":"developer","content":"rules"}"#.to_owned(),
                marked: None,
                results: false,
                thinks: false,
                opens: false,
                user: false,
            });
        }
        let last = plan.rounds.len() - 1;
        for (number, round) in plan.rounds.iter().enumerate() {
            let mut round = messages(dialect, number, round);
            if number == last {
                // The client waits for the answer to the newest message.
                round.pop();
            }
            said.extend(round);
        }
        let opens: Vec<usize> = (1..said.len()).filter(|at| said[*at].opens).collect();
        let from = match plan.from.index(opens.len() + 1) {
            0 => 0,
            at => opens[at - 1],
        };
        let body = body(dialect, &mut said, plan);
        let native = plan.front == 2 && dialect != Dialect::Chat && from > 0;
        let front = match plan.front {
            2 if !native => 1,
            front => front,
        };
        let stripped = if native {
            0
        } else {
            plan.stripped.index(said.len() + 1)
        };
        Self {
            changes: changes(dialect, &said, plan),
            cleared: plan.cleared.index(said.len() + 1),
            texts: plan.texts.clone(),
            dialect,
            said,
            body,
            front,
            from,
            stripped,
        }
    }

    fn with_recipe<T>(&self, run: impl FnOnce(&Recipe<'_>) -> T) -> T {
        let front = match self.front {
            0 => Front::Nothing,
            1 => Front::Readable {
                pins: &self.texts[0],
                summary: &self.texts[1],
            },
            _ if self.dialect == Dialect::Anthropic => Front::Native {
                message: r#"{"role":"assistant","content":[{"type":"compaction","content":"s","signature":"x"}]}"#,
            },
            _ => Front::Native {
                message: r#"{"type":"compaction","encrypted_content":"x"}"#,
            },
        };
        run(&Recipe {
            front,
            from: self.from,
            cleared: self.cleared,
            stripped: self.stripped,
            changes: &self.changes,
        })
    }

    fn rendered(&self, body: &str) -> Result<String, RewriteError> {
        let request = Request::parse(self.dialect, body.as_bytes()).unwrap();
        let bytes = self.with_recipe(|recipe| render(&request, recipe))?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// Whether nothing is to be changed about a message that is shown.
    fn is_kept(&self, at: usize) -> bool {
        let said = &self.said[at];
        let changed = self
            .changes
            .iter()
            .any(|(index, change)| *index == at && !matches!(change, Change::Followed(_)));
        let cleared = said.results && at < self.cleared;
        let stripped = said.thinks && at < self.stripped;
        at >= self.from && !changed && !cleared && !stripped
    }
}

/// The client's request, with the messages last. Breakpoints are set in the provider's order.
fn body(dialect: Dialect, said: &mut [Said], plan: &Plan) -> String {
    let mut wanted = plan.marks.clone();
    wanted.sort_unstable();
    wanted.dedup_by(|a, b| a == b && *a != 2);
    let mut lives = (0..wanted.len()).map(|at| {
        if at < plan.long {
            r#"{"type":"ephemeral","ttl":"1h"}"#
        } else {
            r#"{"type":"ephemeral"}"#
        }
    });
    let many = wanted.iter().filter(|place| **place == 2).count();
    let places: Vec<usize> = (0..said.len())
        .filter(|at| said[*at].marked.is_some())
        .collect();
    let places = places[places.len().saturating_sub(many)..].to_vec();
    let mut out = String::from(r#"{"model":"m""#);
    let mut marked = places.into_iter();
    let mut automatic = None;
    for place in &wanted {
        let Some(life) = lives.next() else { break };
        match place {
            _ if dialect != Dialect::Anthropic => {}
            0 => out += &format!(r#","tools":[{{"name":"f","cache_control":{life}}}]"#),
            1 => {
                out +=
                    &format!(r#","system":[{{"type":"text","text":"s","cache_control":{life}}}]"#)
            }
            2 => {
                if let Some(at) = marked.next() {
                    let mark = format!(r#","cache_control":{life}"#);
                    said[at].raw = said[at].marked.as_ref().unwrap().replace("MARK", &mark);
                }
            }
            _ => automatic = Some(life),
        }
    }
    if let Some(life) = automatic {
        out += &format!(r#","cache_control":{life}"#);
    }
    let raw: Vec<&str> = said.iter().map(|said| said.raw.as_str()).collect();
    out += &format!(r#","{}":[{}]}}"#, dialect.list_key(), raw.join(" ,"));
    out
}

fn changes(dialect: Dialect, said: &[Said], plan: &Plan) -> Vec<(usize, Change)> {
    let block = match dialect {
        Dialect::Responses => r#"{"type":"input_text","text":"note"}"#,
        _ => r#"{"type":"text","text":"note"}"#,
    };
    let mut out: Vec<(usize, Change)> = Vec::new();
    for (number, (place, kind)) in plan.changes.iter().enumerate() {
        let at = place.index(said.len());
        let message = &said[at];
        let complete = said.get(at + 1).is_none_or(|next| !next.results);
        let change = match kind {
            0 if message.user => Change::Appended(block.into()),
            1 if (message.user || message.results) && complete => {
                Change::Followed(format!(r#"{{"role":"user","content":"f{number}"}}"#).into())
            }
            2 if message.results => Change::Shrunk {
                result: 0,
                text: "short".into(),
            },
            _ => continue,
        };
        out.push((at, change));
    }
    out.sort_by_key(|(at, _)| *at);
    out
}

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
    fn an_empty_recipe_is_the_body(plan in plan()) {
        let case = Case::of(&plan);
        let request = Request::parse(case.dialect, case.body.as_bytes()).unwrap();
        let same = render(&request, &Recipe::default()).unwrap();
        prop_assert_eq!(same, case.body.into_bytes());
    }

    #[test]
    fn what_is_kept_keeps_its_bytes_and_its_order(plan in plan()) {
        let case = Case::of(&plan);
        let shown = case.rendered(&case.body).unwrap();
        let list = format!("\"{}\":[", case.dialect.list_key());
        let mut at = shown.find(&list).unwrap();
        prop_assert_eq!(&shown[..at], &case.body[..at], "what stands before the list");
        for index in 0..case.said.len() {
            let system = index == 0 && case.dialect != Dialect::Anthropic;
            if system || case.is_kept(index) {
                let raw = &case.said[index].raw;
                let found = shown[at..].find(raw.as_str());
                prop_assert!(found.is_some(), "message {} is missing in {}", index, shown);
                at += found.unwrap() + raw.len();
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
        let named = case.with_recipe(|recipe| betas(case.dialect, recipe));
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
        let recipe = Recipe {
            front,
            from,
            ..Recipe::default()
        };
        let error = render(&request, &recipe).unwrap_err();
        assert_eq!(
            context::coded::Coded::code(&error).as_str(),
            expected,
            "{error}"
        );
    };
    let said = r#""messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"system","content":"d"}]"#;
    let body = format!("{{{said}}}");
    let native = Front::Native { message: "{}" };
    let readable = Front::Readable {
        pins: "",
        summary: "s",
    };
    check(Dialect::Anthropic, &body, readable, 5, "E0851");
    check(Dialect::Anthropic, &body, readable, 4, "E0851");
    check(Dialect::Anthropic, &body, readable, 3, "E0852");
    check(Dialect::Chat, &body, native, 1, "E0854");
    check(
        Dialect::Anthropic,
        &body,
        Front::Native { message: " " },
        1,
        "E0854",
    );
    let same = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
    check(Dialect::Anthropic, same, native, 1, "E0852");
    let edits =
        format!(r#"{{{said},"context_management":{{"edits":[{{"type":"compact_20260112"}}]}}}}"#);
    check(Dialect::Anthropic, &edits, native, 1, "E0854");
    let carried = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"compaction","content":"s"}]}]}"#;
    check(Dialect::Anthropic, carried, native, 1, "E0854");
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    let changes = [(
        0,
        Change::Shrunk {
            result: 0,
            text: "x".into(),
        },
    )];
    let recipe = Recipe {
        changes: &changes,
        ..Recipe::default()
    };
    assert_eq!(
        render(&request, &recipe),
        Err(RewriteError::DoesNotFit { message: 0 })
    );
}

#[test]
fn the_rest_of_a_budget_is_not_said_beside_a_block() {
    let body = r#"{"output_config":{"effort":"high","task_budget":{"type":"tokens","total":9,"remaining":5}},"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
    let block = r#"{"role":"assistant","content":[{"type":"compaction"}]}"#;
    let recipe = Recipe {
        front: Front::Native { message: block },
        from: 1,
        ..Recipe::default()
    };
    let shown = String::from_utf8(render(&request, &recipe).unwrap()).unwrap();
    let config = r#"{"output_config":{"effort":"high","task_budget":{"type":"tokens","total":9}},"#;
    assert_eq!(
        shown,
        format!(
            r#"{config}"messages":[{block},{{"role":"assistant","content":"b"}},{{"role":"user","content":"c"}}]}}"#
        )
    );
}
