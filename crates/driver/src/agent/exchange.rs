//! From a message to its answer: asking, tools, answers of the wrong type.

use context::{Heuristic, Part, Role, Tokens, Turn, TurnDraft, TurnId, extract};
use plumb::value::Value;

use super::Agent;
use crate::answer;
use crate::error::Why;
use crate::memory::{conversation, shown, user};
use crate::provider::{Provider, Question};
use crate::report::Control;
use crate::telemetry;

/// The most tokens of a summary that no model writes.
const SUMMARY: Tokens = Tokens::new(2_000);

impl Agent {
    /// Answers a message, and remembers it and its answer.
    ///
    /// # Errors
    /// Where there is no answer of the right type; then nothing is remembered.
    pub(super) async fn exchange(
        &mut self,
        message: &Value,
        telemetry: &mut Vec<Value>,
    ) -> Result<Value, Why> {
        if let Provider::Extract = self.provider {
            return extracted(message);
        }
        let heard = shown(message);
        let mut said = user(&heard);
        if self.settings.runtime_context {
            said.parts.push(Part::Text(self.note().into()));
        }
        // What is remembered, and what is shown: that and the answers that could not be used.
        let mut kept = vec![said.clone()];
        let mut turns: Vec<TurnDraft> = self.instructions().into_iter().collect();
        turns.extend(self.memory.view());
        turns.push(said);
        let mut attempts = 0;
        let value = loop {
            let question = Question {
                turns: &turns,
                heard: &heard,
            };
            let said = self.provider.ask(&question).await?;
            self.used = Some(said.spent.input + said.spent.output);
            let (window, compactions) = (self.provider.window(), self.memory.compactions());
            telemetry.push(telemetry::usage(&said.spent, window, compactions));
            attempts += 1;
            let text = TurnDraft::text(Role::Assistant, said.text.as_str());
            match self.read(&said.text) {
                Ok(value) => {
                    kept.push(text);
                    break value;
                }
                Err(detail) if attempts > self.settings.limits.retries => {
                    return Err(Why::Answer { attempts, detail });
                }
                Err(detail) => {
                    telemetry.push(telemetry::error("output_type_mismatch", attempts));
                    self.log(Control::Again {
                        why: detail.clone(),
                    });
                    turns.push(text);
                    turns.push(user(&answer::remark(&detail)));
                }
            }
        };
        if !self.settings.amnesiac {
            self.memory.remember(kept);
            if let Some(most) = self.settings.limits.messages {
                self.memory.keep(most);
            }
        }
        Ok(value)
    }

    /// The prompt, and what is to be said about the form of answers.
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

    fn read(&self, text: &str) -> Result<Value, String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        answer::read(&self.kind, text)
    }
}

/// `Mem.compressor` without a model: the memory with its turns summed up by extraction.
fn extracted(message: &Value) -> Result<Value, Why> {
    let malformed = || Why::NoAnswer("the message is no memory".to_owned());
    let memory = message.get("memory").ok_or_else(malformed)?;
    let mut parent = TurnId::ROOT;
    let drafts = conversation(memory).map_err(Why::NoAnswer)?;
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
