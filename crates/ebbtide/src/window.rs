//! A conversation as a window that can be moved along its turns.

use context::Tokens;
use context::window::ContextWindow;
use history::ConversationId;

use crate::client::Client;
use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// A conversation as a window over its stored turns, focused on the last; the newest answer is stored
    /// with the request that follows it. The window shows the conversation as it was said, without summaries.
    /// Each turn has the class that decides whether it may be summarized or dropped; a turn that a pin was
    /// said in is preserved. Moving it changes nothing in the conversation.
    ///
    /// ```
    /// # use ebbtide::{Engine, Next, Timestamp, Tokens, Turn};
    /// # let engine = Engine::builder().window(8_000).open()?;
    /// # let client = engine.client("my key");
    /// # let now = Timestamp::UNIX_EPOCH;
    /// # let mut messages = Vec::new();
    /// # let mut conversation = None;
    /// # for question in ["Which port?", "And the host?"] {
    /// #     messages.push(format!(r#"{{"role":"user","content":"{question}"}}"#));
    /// #     let list = messages.join(",");
    /// #     let body = format!(r#"{{"model":"claude-opus-4-5","max_tokens":99,"messages":[{list}]}}"#);
    /// #     let Next::Send(out) = engine.request(&client, body, now)? else { panic!() };
    /// #     conversation = out.ticket.conversation();
    /// #     let answer = r#"{"role":"assistant","content":"It is 7341."}"#;
    /// #     messages.push(answer.to_owned());
    /// #     engine.observe(out.ticket, answer.as_bytes(), now)?;
    /// # }
    /// # let conversation = conversation.unwrap();
    /// // After two questions and their answers:
    /// let window = engine.window(&client, conversation)?;
    /// let second = window.seek(2).extract().map(Turn::readable);
    /// assert_eq!(second.as_deref(), Some("It is 7341."));
    /// // How full the window was at each turn; only the places that are looked at are computed.
    /// let filled = window.extend(|here| {
    ///     let turns = here.turns_up_to(here.position());
    ///     turns.map(Turn::tokens).sum::<Tokens>()
    /// });
    /// assert!(filled.peek(1) < filled.peek(3));
    /// # Ok::<(), ebbtide::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// Where there is no such conversation, or the store fails.
    pub fn window(
        &self,
        client: &Client,
        of: ConversationId,
    ) -> Result<ContextWindow, EngineError> {
        let record = self.record(client, of)?;
        let (path, _) = self.past(client, &record)?;
        let pins = self.read(client.tenant, |store| store.pins(of))?;
        let limit = self.limit(client, of, &record.model);
        Ok(conversation::window::of(limit, path, &pins))
    }

    /// The context window, in tokens: the conversation's own while it is in memory, otherwise its model's.
    fn limit(&self, client: &Client, of: ConversationId, model: &context::Text) -> Tokens {
        match self.live(client, of) {
            Some(shared) => shared.lock().limits().window,
            None => {
                let model = self.directory.commons.model(model);
                self.directory.terms.limits(&model).window
            }
        }
    }
}
