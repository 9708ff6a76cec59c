//! Answers one message: calls of the model, calls of tools, and retries after an answer of the wrong type.

use context::turn::{Outcome, ToolResult};
use context::{Part, Role, Text, TurnDraft};
use plumb::value::Value;

use super::Agent;
use super::compressor::Handed;
use super::vitals::Step;
use crate::answer;
use crate::error::FailureReason;
use crate::memory::{shown, user};
use crate::provider::{Calls, Ended, ModelAnswer, Provider, Question, ViewTurn};
use crate::report::Control;
use crate::telemetry;

/// The state of one message while it is being answered.
struct Exchange {
    heard: String,
    /// The turns to remember.
    kept: Vec<TurnDraft>,
    /// The turns to show: the earlier memory, `kept`, and the answers that could not be used.
    turns: Vec<ViewTurn>,
    /// The number of answers so far.
    attempts: u32,
    /// The number of tool calls so far.
    calls: u32,
}

impl Agent {
    /// Answers a message, and remembers it and its answer.
    ///
    /// # Errors
    /// If there is no answer of the right type; then nothing is remembered.
    pub(super) async fn exchange(
        &mut self,
        message: &Value,
        telemetry: &mut Vec<Value>,
    ) -> Result<Value, FailureReason> {
        if let Provider::Extract = self.provider {
            return self.sum_up(message);
        }
        self.offer().await?;
        let handed = self.handed(message);
        let mut exchange = self.begin(message, &handed);
        let value = loop {
            let said = self.ask(&exchange, telemetry).await?;
            let step = Step::of(&said);
            if !said.calls.is_empty() {
                self.call(said, &mut exchange).await?;
                let step = match exchange.kept.last() {
                    Some(results) => step.got(results),
                    None => step,
                };
                telemetry.push(self.pulse(&step, &exchange));
                continue;
            }
            telemetry.push(self.pulse(&step, &exchange));
            exchange.attempts += 1;
            self.tried = exchange.attempts;
            let text = TurnDraft::text(Role::Assistant, said.text.as_str());
            match self.read(&said) {
                Ok(value) => {
                    if said.ended == Ended::Cut {
                        telemetry.push(telemetry::error("cut_off", exchange.attempts));
                    }
                    exchange.kept.push(text);
                    break value;
                }
                Err(detail) if exchange.attempts > self.settings.limits.retries => {
                    let attempts = exchange.attempts;
                    return Err(FailureReason::Answer { attempts, detail });
                }
                Err(detail) => {
                    let word = "output_type_mismatch";
                    telemetry.push(telemetry::error(word, exchange.attempts));
                    exchange.turns.extend(again(text, said.raw, &detail));
                    let kind = self.kind.to_string();
                    self.log(Control::Again {
                        why: answer::without_quotes(&detail, &kind),
                    });
                }
            }
        };
        self.keep(exchange.kept);
        Ok(handed.answered(value))
    }

    /// Builds the turns that a message is shown with. A memory in it is shown in full, and remembered as it
    /// came: otherwise an agent that sums up memories would fill its own with them.
    fn begin(&self, message: &Value, handed: &Handed) -> Exchange {
        let note = self.settings.runtime_context.then(|| self.note());
        let said = |message: &Value| {
            let mut said = user(&shown(message));
            let note = note.as_deref().map(|note| Part::Text(note.into()));
            said.parts.extend(note);
            said
        };
        let full = handed.message().unwrap_or(message);
        let instructions = self.instructions().into_iter();
        let before = instructions.chain(self.memory.view());
        let turns = before.chain([said(full)]).map(ViewTurn::from);
        Exchange {
            heard: shown(full),
            turns: turns.collect(),
            kept: vec![said(message)],
            attempts: 0,
            calls: 0,
        }
    }

    /// The prompt, and the instructions on the form of answers.
    fn instructions(&self) -> Option<TurnDraft> {
        let mut text = self.settings.prompt.clone();
        if let Some(form) = answer::form(&self.kind) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&form);
        }
        (!text.is_empty()).then(|| TurnDraft::text(Role::System, text))
    }

    async fn ask(
        &mut self,
        exchange: &Exchange,
        telemetry: &mut Vec<Value>,
    ) -> Result<ModelAnswer, FailureReason> {
        let question = Question {
            turns: &exchange.turns,
            heard: &exchange.heard,
            tools: self.cards.as_slice(),
            calls: if exchange.calls < self.settings.limits.tool_calls {
                Calls::Allowed
            } else {
                Calls::Over
            },
            temperature: self.temperature,
        };
        self.driver.count_call()?;
        self.tried = exchange.attempts + 1;
        let said = self.provider.ask(&question).await?;
        self.vitals.used = Some(said.spent.input + said.spent.output);
        let (window, compactions) = (self.provider.window(), self.memory.compactions());
        telemetry.push(telemetry::usage(&said.spent, window, compactions));
        Ok(said)
    }

    /// The pulse after a step.
    fn pulse(&mut self, step: &Step, exchange: &Exchange) -> Value {
        let (now, window) = (self.driver.now(), self.provider.window());
        self.vitals.pulse(step, now, window, exchange.turns.len())
    }

    /// Calls the tools that an answer asks for. The agent is told about a tool's error.
    async fn call(&self, said: ModelAnswer, exchange: &mut Exchange) -> Result<(), FailureReason> {
        let most = self.settings.limits.tool_calls;
        if exchange.calls >= most {
            let why = format!("it calls more than {most} tools");
            return Err(FailureReason::NoAnswer(why));
        }
        let mut parts = Vec::new();
        if !said.text.is_empty() {
            parts.push(Part::Text(Text::from(said.text)));
        }
        let mut results = Vec::new();
        let last = said.calls.len() - 1;
        for (number, call) in said.calls.into_iter().enumerate() {
            exchange.calls += 1;
            let is_cut = said.ended == Ended::Cut && number == last;
            let done = if is_cut {
                Err("the answer was cut off in this call, so it was not made".to_owned())
            } else if exchange.calls > most {
                Err(format!(
                    "no more than {most} calls are allowed; answer without this one"
                ))
            } else {
                if self.cards.iter().any(|card| *card.name == *call.name) {
                    self.log(Control::Called {
                        tool: call.name.as_str().into(),
                    });
                }
                self.use_tool(call.name.as_str(), call.arguments.as_str())
                    .await
            };
            let (outcome, text) = match done {
                Ok(text) => (Outcome::Succeeded, text),
                Err(why) => (Outcome::Failed, why),
            };
            results.push(Part::Result(ToolResult {
                call: call.id.clone(),
                text: Text::from(text),
                outcome,
            }));
            parts.push(Part::Call(call));
        }
        let called = TurnDraft::said(Role::Assistant, parts);
        let results = TurnDraft::said(Role::Tool, results);
        exchange.kept.extend([called.clone(), results.clone()]);
        exchange.turns.push(ViewTurn {
            draft: called,
            raw: said.raw,
        });
        exchange.turns.push(results.into());
        Ok(())
    }

    fn read(&self, said: &ModelAnswer) -> Result<Value, String> {
        if said.text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        answer::read(&self.kind, &said.text).map_err(|why| match said.ended {
            Ended::Whole => why,
            Ended::Cut => format!("it is cut off at the maximum length; {why}"),
        })
    }

    fn keep(&mut self, said: Vec<TurnDraft>) {
        if self.settings.amnesiac {
            return;
        }
        self.memory.remember(said);
        if let Some(most) = self.settings.limits.messages {
            self.memory.keep(most);
        }
    }
}

/// An unusable answer, and the remark about it.
fn again(text: TurnDraft, raw: Option<String>, detail: &str) -> [ViewTurn; 2] {
    let is_empty = text.parts.iter().all(|part| match part {
        Part::Text(text) => text.trim().is_empty(),
        _ => false,
    });
    let text = if is_empty {
        // Providers refuse a message without text.
        ViewTurn::from(TurnDraft::text(Role::Assistant, "(no answer)"))
    } else {
        ViewTurn { draft: text, raw }
    };
    [text, user(&answer::remark(detail)).into()]
}
