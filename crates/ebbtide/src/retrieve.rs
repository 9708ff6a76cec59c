//! The way back: what a summary leaves out, the originals by their handles, and the orders that take a swap back.

use context::Text;
use context::extract::receipt::Receipt;
use context::original::{Handle, Section};
use conversation::{Effect, Input, Order, originals};
use history::{ConversationId, MarkId};
use jiff::Timestamp;

use crate::client::Client;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::told::{Excerpt, Loss, Lost, SummaryReport};

impl Engine {
    /// Lists what the model can no longer see because of a summary, ranked: sentences of the user, decisions,
    /// tasks, failed attempts, actions, identifiers. Without a name, the summary that is shown.
    ///
    /// ```
    /// # use ebbtide::{Engine, Next, Timestamp};
    /// # let engine = Engine::builder().window(8_000).notes(false).open()?;
    /// # let client = engine.client("my key");
    /// # let now = Timestamp::UNIX_EPOCH;
    /// # let mut messages = Vec::new();
    /// # let mut conversation = None;
    /// # for number in 0..60 {
    /// #     let line = |line| format!("Line {line} of src/part_{number}.rs must never call helper_{number}_{line}. ");
    /// #     let said: String = (0..12).map(line).collect();
    /// #     messages.push(format!(r#"{{"role":"user","content":"{said}"}}"#));
    /// #     let list = messages.join(",");
    /// #     let body = format!(r#"{{"model":"claude-opus-4-5","max_tokens":99,"messages":[{list}]}}"#);
    /// #     let Next::Send(out) = engine.request(&client, body, now)? else { panic!() };
    /// #     conversation = out.ticket.conversation();
    /// #     let answer = r#"{"role":"assistant","content":"done"}"#;
    /// #     messages.push(answer.to_owned());
    /// #     engine.observe(out.ticket, answer.as_bytes(), now)?;
    /// #     if engine.lost(&client, conversation.unwrap(), None)?.turns > 0 { break; }
    /// # }
    /// # let conversation = conversation.unwrap();
    /// // After a swap:
    /// let lost = engine.lost(&client, conversation, None)?;
    /// assert!(lost.turns > 0);
    /// let first = &lost.entries[0];
    /// let original = engine.original(&client, conversation, (&first.handle, None), 4_000)?;
    /// assert!(original.text.contains("src/part_"));
    /// engine.undo(&client, conversation, now)?;
    /// # Ok::<(), ebbtide::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// Where there is no such conversation or summary, or the store fails.
    pub fn lost(
        &self,
        client: &Client,
        of: ConversationId,
        summary: Option<MarkId>,
    ) -> Result<Lost, EngineError> {
        let record = self.record(client, of)?;
        let (path, summaries) = self.past(client, &record)?;
        let Some(wanted) = summary.or(record.standing.mark) else {
            return Ok(Lost::default());
        };
        let found = summaries.iter().find(|summary| summary.id == wanted);
        let found = found.ok_or(EngineError::NoSummary(wanted))?;
        let pins = self.explain(client, of)?.pins;
        let front = front(found, pins.iter().map(|pin| &pin.text));
        Ok(listed(&originals::lost(&path, found.turns, &front)))
    }

    /// The original text behind a handle: `turn:14`, `turn:14.2`, `turns:13-14`, `call:ID`, or the ID of a
    /// turn. `section` chooses lines (`10-80`) or bytes (`b0-4000`); at most `room` bytes are given.
    ///
    /// # Errors
    /// Where there is no such conversation, the handle or the section names nothing, or the store fails.
    pub fn original(
        &self,
        client: &Client,
        of: ConversationId,
        (handle, section): (&str, Option<&str>),
        room: usize,
    ) -> Result<Excerpt, EngineError> {
        let handle = Handle::parse(handle)?;
        let section = section.map(Section::parse).transpose()?;
        let record = self.record(client, of)?;
        let (path, _) = self.past(client, &record)?;
        Ok(Excerpt::of(&handle.original(&path)?, section, room))
    }

    /// Orders that the newest swap is taken back. The next request shows the whole conversation again where it
    /// fits; otherwise a larger summary of the same turns is made.
    ///
    /// # Errors
    /// Where the conversation is not in memory, or there is nothing to take back.
    pub fn undo(
        &self,
        client: &Client,
        of: ConversationId,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        self.order(client, of, (Order::Undo, now))
    }

    /// Orders that the view that was taken back is shown again.
    ///
    /// # Errors
    /// Where the conversation is not in memory, or nothing was taken back.
    pub fn redo(
        &self,
        client: &Client,
        of: ConversationId,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        self.order(client, of, (Order::Redo, now))
    }

    fn order(
        &self,
        client: &Client,
        of: ConversationId,
        (order, now): (Order, Timestamp),
    ) -> Result<(), EngineError> {
        let Some(shared) = self.live(client, of) else {
            self.record(client, of)?;
            return Err(EngineError::AtRest(of));
        };
        let effects = shared.lock().on(Input::Order(order), now);
        match effects.into_iter().next() {
            Some(Effect::Refuse(refusal)) => Err(EngineError::OrderRefused(refusal)),
            _ => Ok(()),
        }
    }
}

/// All text in front of the turns that are shown.
fn front<'p>(summary: &SummaryReport, pins: impl Iterator<Item = &'p Text>) -> String {
    let mut front = summary.text.to_string();
    for pin in pins {
        front.push('\n');
        front.push_str(pin);
    }
    front
}

fn listed(receipt: &Receipt) -> Lost {
    let entry = |loss: &context::extract::receipt::Loss| Loss {
        kind: loss.kind.as_str(),
        handle: loss.handle(),
        text: loss.text.clone(),
    };
    Lost {
        turns: receipt.turns,
        tokens: receipt.tokens,
        entries: receipt.lost.iter().map(entry).collect(),
        left_out: receipt.left_out,
    }
}
