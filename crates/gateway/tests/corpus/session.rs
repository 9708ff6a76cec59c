//! A recorded session as what its client said and what it was answered.

use std::collections::BTreeSet;
use std::path::Path;

use context::turn::Outcome;
use context::{CallId, Heuristic, Part, Role, Turn};
use serde_json::{Value, json};
use sim::Say;

/// Something that the client said.
#[derive(Clone, Debug)]
pub enum Said {
    /// The user's words.
    Text(String),
    /// The result of a call of the answer before, by its place among the calls.
    Result {
        call: usize,
        text: String,
        failed: bool,
    },
}

/// One request and its answer.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    pub said: Vec<Said>,
    pub answer: Vec<Say>,
    calls: Vec<CallId>,
}

/// A recorded session.
#[derive(Debug)]
pub struct Recorded {
    pub exchanges: Vec<Exchange>,
    /// The names of all tools that were called.
    pub tools: BTreeSet<String>,
}

/// Reads the first session of a file of the corpus.
pub fn read(corpus: &Path, file: &str) -> Recorded {
    let bytes = std::fs::read(corpus.join(file)).expect("a session");
    let document = wire::session::load(&bytes, file, &Heuristic).expect("a transcript");
    let mut exchanges: Vec<Exchange> = Vec::new();
    for turn in &document.sessions[0].turns {
        add(&mut exchanges, turn);
    }
    // What came last was never answered.
    exchanges.retain(|exchange| !exchange.answer.is_empty());
    let calls = exchanges.iter().flat_map(|exchange| &exchange.answer);
    let tools = calls
        .filter_map(|say| match say {
            Say::Call { name, .. } => Some(name.clone()),
            _ => None,
        })
        .collect();
    Recorded { exchanges, tools }
}

fn add(exchanges: &mut Vec<Exchange>, turn: &Turn) {
    match turn.role() {
        Role::Assistant => {
            if exchanges.is_empty() {
                let said = vec![Said::Text("(the session begins)".to_owned())];
                exchanges.push(Exchange {
                    said,
                    ..Exchange::default()
                });
            }
            if let Some(exchange) = exchanges.last_mut() {
                turn.parts().iter().for_each(|part| exchange.answers(part));
            }
        }
        Role::System => {}
        Role::User | Role::Tool | Role::Other => {
            if exchanges.last().is_none_or(|it| !it.answer.is_empty()) {
                let open = exchanges.last().map_or(0, |before| before.calls.len());
                let mut next = Exchange::default();
                next.said.extend((0..open).map(|call| Said::Result {
                    call,
                    text: "(no result was recorded)".to_owned(),
                    failed: true,
                }));
                exchanges.push(next);
            }
            let (exchange, before) = exchanges.split_last_mut().expect("one was pushed");
            let calls = before.last().map_or(&[][..], |it| &it.calls);
            turn.parts()
                .iter()
                .for_each(|part| exchange.says(part, calls));
        }
    }
}

impl Said {
    /// The beginning of a result.
    pub fn begun(&self) -> Option<Self> {
        let Self::Result { call, text, failed } = self else {
            return None;
        };
        Some(Self::Result {
            call: *call,
            text: text.chars().take(200).collect(),
            failed: *failed,
        })
    }
}

impl Exchange {
    /// About how many tokens the client says.
    pub fn tokens(&self, model: &str) -> u64 {
        let counter = tokens::counter_for(model);
        let texts = self.said.iter().map(|said| match said {
            Said::Text(text) | Said::Result { text, .. } => text,
        });
        texts.map(|text| counter.count(text).get()).sum()
    }

    fn answers(&mut self, part: &Part) {
        match part {
            Part::Text(text) if !text.as_str().trim().is_empty() => {
                self.answer.push(Say::Text(text.as_str().to_owned()));
            }
            Part::Thinking(text) if !text.as_str().trim().is_empty() => {
                self.answer.push(Say::Think(text.as_str().to_owned()));
            }
            Part::Call(call) => {
                let input: Option<Value> = serde_json::from_str(call.arguments.as_str()).ok();
                self.answer.push(Say::Call {
                    name: call.name.as_str().to_owned(),
                    input: input.filter(Value::is_object).unwrap_or_else(|| json!({})),
                });
                self.calls.push(call.id.clone());
            }
            _ => {}
        }
    }

    /// Something that was said, `calls` being those of the answer before.
    fn says(&mut self, part: &Part, calls: &[CallId]) {
        match part {
            Part::Text(text) if !text.as_str().trim().is_empty() => {
                self.said.push(Said::Text(text.as_str().to_owned()));
            }
            Part::Result(result) => match calls.iter().position(|id| *id == result.call) {
                Some(call) => {
                    self.said[call] = Said::Result {
                        call,
                        text: result.text.as_str().to_owned(),
                        failed: result.outcome == Outcome::Failed,
                    };
                }
                None => self
                    .said
                    .push(Said::Text(format!("(late) {}", result.text.as_str()))),
            },
            _ => {}
        }
    }
}
