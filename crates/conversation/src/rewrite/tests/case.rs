//! Random conversations and recipes.

use history::Change;
use proptest::prelude::*;
use proptest::sample::Index;
use wire::api::{Dialect, Request};

use crate::rewrite::{RewriteError, render};
use crate::view::{Front, View};

/// One message of a conversation, as it stands in the body, and what can be done to it.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) raw: String,
    /// Its raw bytes with a cache breakpoint.
    pub(super) marked: Option<String>,
    pub(super) results: bool,
    pub(super) thinks: bool,
    /// The view may begin here.
    pub(super) opens: bool,
    pub(super) user: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) ask: String,
    pub(super) say: String,
    pub(super) thinks: bool,
    pub(super) results: Vec<String>,
    pub(super) spaced: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) dialect: Dialect,
    pub(super) rounds: Vec<Round>,
    /// Where breakpoints are wanted, and how many of the first live long.
    pub(super) marks: Vec<u8>,
    pub(super) long: usize,
    pub(super) front: u8,
    pub(super) texts: [String; 2],
    pub(super) from: Index,
    pub(super) cleared: Index,
    pub(super) stripped: Index,
    pub(super) changes: Vec<(Index, u8)>,
}

fn text() -> impl Strategy<Value = String> {
    "[ -~é漢\n]{0,24}".prop_map(|text| format!("x{text}"))
}

pub(super) fn round() -> impl Strategy<Value = Round> {
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
    pub(super) fn plan()(
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
    let say = quoted(&round.say);
    let mut out = vec![question(dialect, round)];
    if round.results.is_empty() {
        out.push(done(dialect, &say));
        return out;
    }
    let results: Vec<(String, String)> = round
        .results
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("c{number}_{at}"), quoted(text)))
        .collect();
    match dialect {
        Dialect::Anthropic => {
            let thinking =
                format!(r#"{{"type":"thinking","thinking":"t{number}","signature":"s"}}"#);
            let mut blocks = vec![format!(r#"{{"type":"text","text":{say}}}"#)];
            if round.thinks {
                blocks.insert(0, thinking);
            }
            out.extend(anthropic_tools(blocks, &results, round.thinks));
        }
        Dialect::Chat => out.extend(chat_tools(&say, &results)),
        Dialect::Responses => out.extend(responses_tools(number, &results)),
    }
    out.push(done(dialect, "\"done\""));
    out
}

impl Said {
    fn new(raw: String) -> Self {
        Self {
            raw,
            marked: None,
            results: false,
            thinks: false,
            opens: true,
            user: false,
        }
    }

    fn result(raw: String) -> Self {
        Self {
            results: true,
            opens: false,
            ..Self::new(raw)
        }
    }
}

fn question(dialect: Dialect, round: &Round) -> Said {
    let ask = quoted(&round.ask);
    let gap = if round.spaced { " " } else { "" };
    let blocks = |mark: &str| {
        format!(r#"{{"role":{gap}"user","content":[{{"type":"text","text":{ask}{mark}}}{gap}]}}"#)
    };
    match dialect {
        Dialect::Anthropic => Said {
            marked: Some(blocks("MARK")),
            user: true,
            ..Said::new(blocks(""))
        },
        _ => Said {
            user: true,
            ..Said::new(format!(r#"{{"role":"user",{gap}"content":{ask}}}"#))
        },
    }
}

fn done(dialect: Dialect, text: &str) -> Said {
    Said::new(match dialect {
        Dialect::Responses => format!(
            r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{text}}}]}}"#
        ),
        _ => format!(r#"{{"role":"assistant", "content":{text}}}"#),
    })
}

fn anthropic_tools(
    mut blocks: Vec<String>,
    results: &[(String, String)],
    thinks: bool,
) -> Vec<Said> {
    blocks.extend(
        results
            .iter()
            .map(|(id, _)| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#)),
    );
    let answers: Vec<String> = results
        .iter()
        .map(|(id, text)| {
            format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{text}}}"#)
        })
        .collect();
    let list = |role: &str, blocks: &[String]| {
        format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(" , "))
    };
    vec![
        Said {
            thinks,
            ..Said::new(list("assistant", &blocks))
        },
        Said {
            user: true,
            ..Said::result(list("user", &answers))
        },
    ]
}

fn chat_tools(say: &str, results: &[(String, String)]) -> Vec<Said> {
    let calls: Vec<String> = results
        .iter()
        .map(|(id, _)| {
            format!(
                r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#
            )
        })
        .collect();
    let asked = format!(
        r#"{{"role":"assistant","content":{say},"tool_calls":[{}]}}"#,
        calls.join(",")
    );
    let answers = results.iter().map(|(id, text)| {
        Said::result(format!(
            r#"{{"role":"tool","tool_call_id":"{id}","content":{text}}}"#
        ))
    });
    std::iter::once(Said::new(asked)).chain(answers).collect()
}

fn responses_tools(number: usize, results: &[(String, String)]) -> Vec<Said> {
    let mut items = vec![format!(
        r#"{{"type":"reasoning","summary":[],"id":"r{number}"}}"#
    )];
    items.extend(results.iter().map(|(id, _)| {
        format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#)
    }));
    let answers = results.iter().map(|(id, text)| {
        Said::result(format!(
            r#"{{"type":"function_call_output","call_id":"{id}","output":{text}}}"#
        ))
    });
    std::iter::once(Said::new(items.join(", ")))
        .chain(answers)
        .collect()
}

/// A conversation, its body and its recipe.
pub(super) struct Case {
    pub(super) dialect: Dialect,
    pub(super) said: Vec<Said>,
    pub(super) body: String,
    pub(super) front: u8,
    pub(super) texts: [String; 2],
    pub(super) from: usize,
    pub(super) cleared: usize,
    pub(super) stripped: usize,
    pub(super) changes: Vec<(usize, Change)>,
}

impl Case {
    pub(super) fn of(plan: &Plan) -> Self {
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

    pub(super) fn with_view<T>(&self, run: impl FnOnce(&View) -> T) -> T {
        let front = match self.front {
            0 => Front::Nothing,
            1 => Front::Readable {
                pins: self.texts[0].as_str().into(),
                summary: self.texts[1].as_str().into(),
            },
            _ if self.dialect == Dialect::Anthropic => Front::Native {
                message: r#"{"role":"assistant","content":[{"type":"compaction","content":"s","signature":"x"}]}"#.into(),
            },
            _ => Front::Native {
                message: r#"{"type":"compaction","encrypted_content":"x"}"#.into(),
            },
        };
        run(&View {
            front,
            from: self.from,
            cleared: self.cleared,
            stripped: self.stripped,
            changes: self.changes.clone(),
        })
    }

    pub(super) fn rendered(&self, body: &str) -> Result<String, RewriteError> {
        let request = Request::parse(self.dialect, body.as_bytes()).unwrap();
        let bytes = self.with_view(|view| render(&request, view))?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// Returns true if nothing is to be changed about a message that is shown.
    pub(super) fn is_kept(&self, at: usize) -> bool {
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
