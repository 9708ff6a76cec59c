//! Tool results that are shortened before they enter a conversation, and the archive of their originals.
//!
//! Each original is a conversation of one turn, of a tenant beside the client's. So it stays in the store until it
//! is purged, and no conversation of the client finds it.

use context::original::{Handle, Section};
use context::shrink::{Limits, Recovery, shrink};
use context::turn::{self, CallId, Outcome, ToolCall};
use context::{Part, Role, Text, Tokens, Turn, TurnDraft, TurnId};
use history::{
    Conversation, ConversationId, HistoryError, Labels, Purge, Purged, Standing, Tenant, Totals,
};
use jiff::Timestamp;

use crate::client::Client;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::told::Excerpt;

/// The result of a tool call.
#[derive(Clone, Copy, Debug)]
pub struct ToolResult<'t> {
    /// The ID of the call.
    pub call: &'t str,
    /// The name of the tool.
    pub tool: &'t str,
    /// The arguments of the call, as JSON.
    pub arguments: &'t str,
    /// The text that the tool returned.
    pub text: &'t str,
}

/// A tool result that was shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortened {
    /// The text to use instead. Its first line says what is missing, and how to get it.
    pub text: Text,
    /// The handle of the original, for [`Engine::archived`].
    pub handle: String,
    /// The tokens of the original.
    pub before: Tokens,
    /// The tokens of [`Self::text`].
    pub after: Tokens,
}

impl Engine {
    /// Shortens a tool result of more than `most` tokens and keeps the original. `None` where it fits. The
    /// marker names a tool `expand`, which the caller offers the model and answers with
    /// [`archived`](Self::archived).
    ///
    /// ```
    /// use ebbtide::{Engine, Timestamp, ToolResult};
    ///
    /// let engine = Engine::builder().open()?;
    /// let client = engine.client("my key");
    /// let log: String = (0..2_000).map(|line| format!("step {line} is done\n")).collect();
    /// let result = ToolResult { call: "c1", tool: "build", arguments: "{}", text: &log };
    /// let short = engine.shorten(&client, result, 400, Timestamp::UNIX_EPOCH)?.expect("it is long");
    /// assert!(short.text.len() < log.len() / 4);
    /// let whole = engine.archived(&client, &short.handle, Some("1990-1990"), 4_000)?;
    /// assert_eq!(whole.text, "step 1989 is done\n");
    /// # Ok::<(), ebbtide::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// [`EngineError::Store`] where the store fails. Use the original then.
    pub fn shorten(
        &self,
        client: &Client,
        result: ToolResult<'_>,
        most: u64,
        now: Timestamp,
    ) -> Result<Option<Shortened>, EngineError> {
        let said = turn::ToolResult {
            call: CallId::from(result.call),
            text: Text::from(result.text),
            outcome: Outcome::Succeeded,
        };
        let call = ToolCall {
            id: CallId::from(result.call),
            name: Text::from(result.tool),
            arguments: Text::from(result.arguments),
        };
        let counter = self.directory.commons.model(&Text::default()).counter();
        let draft = TurnDraft::said(Role::Tool, vec![Part::Result(said.clone())]);
        let original = draft.after(TurnId::ROOT, &counter);
        let handle = original.id().to_string();
        let (limits, by) = (Limits::new(Tokens::new(most)), Recovery::Expand(&handle));
        let Some(shrunk) = shrink(&said, Some(&call), &limits, &counter, by) else {
            return Ok(None);
        };
        let of = beside(client.tenant);
        self.store.write(of, &mut |store| {
            store.record(std::slice::from_ref(&original))?;
            store.save(&kept(&original, now))
        })?;
        Ok(Some(Shortened {
            text: shrunk.text,
            handle,
            before: shrunk.before,
            after: shrunk.after,
        }))
    }

    /// The original of a shortened tool result. `section` chooses lines (`10-80`) or bytes (`b0-4000`); at most
    /// `room` bytes are given.
    ///
    /// # Errors
    /// Where the handle or the section names nothing, or the store fails.
    pub fn archived(
        &self,
        client: &Client,
        handle: &str,
        section: Option<&str>,
        room: usize,
    ) -> Result<Excerpt, EngineError> {
        let handle = Handle::parse(handle)?;
        let section = section.map(Section::parse).transpose()?;
        let id = match &handle {
            Handle::Id(id) => ConversationId::parse(id),
            _ => None,
        };
        let found = self.read(beside(client.tenant), |store| {
            let id = id.map(|id| TurnId::from_bytes(*id.as_bytes()));
            id.map_or(Ok(None), |id| store.node(id))
        })?;
        let turns: Vec<Turn> = found.into_iter().map(|(turn, _)| turn).collect();
        if turns.iter().any(Turn::is_gap) {
            let what = format!("the text of {handle} is lost");
            return Err(HistoryError::Corrupt { what }.into());
        }
        Ok(Excerpt::of(&handle.original(&turns)?, section, room))
    }

    /// Removes the originals of all tool results that were shortened for a client.
    ///
    /// # Errors
    /// [`EngineError::Store`] where the store fails.
    pub fn forget_results(&self, client: &Client) -> Result<Purged, EngineError> {
        Ok(self.store.purge(Purge {
            tenant: Some(beside(client.tenant)),
            conversation: None,
            before: None,
        })?)
    }
}

/// The tenant of the originals of another.
fn beside(tenant: Tenant) -> Tenant {
    Tenant::of(b"originals of shortened results  ", tenant.as_bytes())
}

/// The conversation that keeps one turn.
fn kept(turn: &Turn, now: Timestamp) -> Conversation {
    Conversation {
        id: ConversationId::from_bytes(*turn.id().as_bytes()),
        parent: None,
        head: turn.id(),
        turns: 1,
        labels: Labels::default(),
        title: None,
        model: Text::default(),
        standing: Standing::WHOLE,
        strategy: None,
        totals: Totals::default(),
        began: now,
        seen: now,
    }
}
