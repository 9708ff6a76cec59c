//! Answers one message: calls of the model, calls of tools, and retries after an answer of the wrong type.

use context::turn::{Outcome, ToolResult};
use context::{Heuristic, Part, Role, Text, Tokens, Turn, TurnDraft, TurnId, extract};
use plumb::value::Value;

use super::Agent;
use super::vitals::Step;
use crate::answer;
use crate::error::FailureReason;
use crate::memory::{conversation, shown, user};
use crate::provider::{Calls, Ended, ModelAnswer, Provider, Question, ViewTurn};
use crate::report::Control;
use crate::telemetry;

/// The most tokens of a summary that no model writes.
const SUMMARY: Tokens = Tokens::new(2_000);

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
            return extracted(message);
        }
        self.offer().await?;
        let mut exchange = self.begin(message);
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
            let text = TurnDraft::text(Role::Assistant, said.text.as_str());
            match self.read(&said) {
                Ok(value) => {
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
                    self.log(Control::Again { why: detail });
                }
            }
        };
        self.keep(exchange.kept);
        Ok(value)
    }

    /// Builds the turns that a message is shown with.
    fn begin(&self, message: &Value) -> Exchange {
        let heard = shown(message);
        let mut said = user(&heard);
        if self.settings.runtime_context {
            said.parts.push(Part::Text(self.note().into()));
        }
        let instructions = self.instructions().into_iter();
        let before = instructions.chain(self.memory.view());
        let turns = before.chain([said.clone()]).map(ViewTurn::from);
        Exchange {
            heard,
            turns: turns.collect(),
            kept: vec![said],
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
        for call in said.calls {
            exchange.calls += 1;
            let done = if exchange.calls > most {
                Err(format!(
                    "no more than {most} calls are allowed; answer without this one"
                ))
            } else {
                self.log(Control::Called {
                    tool: call.name.as_str().into(),
                });
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
        // Nobody takes a message without words.
        ViewTurn::from(TurnDraft::text(Role::Assistant, "(no answer)"))
    } else {
        ViewTurn { draft: text, raw }
    };
    [text, user(&answer::remark(detail)).into()]
}

/// `Mem.compressor` without a model: the memory with its turns summed up by extraction.
fn extracted(message: &Value) -> Result<Value, FailureReason> {
    let malformed = || FailureReason::NoAnswer("the message is not a memory".to_owned());
    let memory = message.get("memory").ok_or_else(malformed)?;
    let mut parent = TurnId::ROOT;
    let drafts = conversation(memory).map_err(FailureReason::NoAnswer)?;
    let turns: Vec<Turn> = drafts
        .into_iter()
        .map(|draft| {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect();
    let summary = extract::extract(&turns, &[], SUMMARY, &Heuristic).render();
    let fields = memory.fields().unwrap_or_default().iter();
    let kept = fields.filter(|(name, _)| matches!(&**name, "mark" | "pinned"));
    let mut fields: Vec<_> = kept.cloned().collect();
    let too_large = |_| malformed();
    fields.push(("turns".into(), Value::list(vec![]).map_err(too_large)?));
    fields.push(("summary".into(), Value::from(summary)));
    let memory = Value::record(fields).map_err(too_large)?;
    Value::record(vec![("set_memory".into(), memory)]).map_err(too_large)
}
