//! One order in progress.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use context::{Heuristic, Role, Tokens, TurnDraft, TurnId};
use wire::api::{Dialect, Reply, render_turn};

use crate::client::{Client, Restart};
use crate::endpoint::Endpoint;
use crate::error::ModelError;
use crate::made::Spent;
use crate::order::Order;

/// Room for reasoning: models that reason before they write count that too.
const REASONING: Tokens = Tokens::new(8_192);

/// One order in progress: the client, the order, and the costs so far.
pub(crate) struct Work<'a> {
    pub client: &'a Client,
    pub order: &'a Order,
    spent: Mutex<Vec<Spent>>,
}

impl<'a> Work<'a> {
    pub const fn new(client: &'a Client, order: &'a Order) -> Self {
        Self {
            client,
            order,
            spent: Mutex::new(Vec::new()),
        }
    }

    /// Asks a model and books the cost. Repeats the request if the answer breaks off.
    pub async fn ask(
        &self,
        endpoint: &Endpoint,
        model: &str,
        body: Bytes,
    ) -> Result<Reply, ModelError> {
        let answer = self
            .client
            .reply(endpoint, body, Restart::FromTheStart)
            .await?;
        let counts = answer.reply.usage.billed();
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        Spent::add(&mut spent, model, &counts, answer.attempts);
        Ok(answer.reply)
    }

    /// The costs since the last call of this function.
    pub fn take_spent(&self) -> Vec<Spent> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *spent)
    }
}

/// Runs a computation that takes longer than an async thread may be held.
pub(crate) async fn computed<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ModelError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ModelError::BrokenOff)
}

/// The most tokens to ask for, for a summary of `budget` by a model that writes `longest` at most.
pub(crate) fn longest_answer(budget: Tokens, longest: Tokens) -> Tokens {
    (budget + budget + REASONING).min(longest)
}

/// The least room for an answer that is worth a call, for a summary of `budget`: enough for a model that writes
/// what it is asked for and does not reason first.
pub(crate) fn least_answer(budget: Tokens) -> Tokens {
    budget.scaled(1.5)
}

/// The text of an answer, without reasoning and calls.
pub(crate) fn text_of(reply: &Reply) -> String {
    let turn = reply.draft().after(TurnId::ROOT, &Heuristic);
    turn.texts().collect::<Vec<_>>().join("\n")
}

/// A message of one text, as JSON.
pub(crate) fn message(dialect: Dialect, role: Role, text: &str) -> String {
    let turn = TurnDraft::text(role, text).after(TurnId::ROOT, &Heuristic);
    render_turn(dialect, &turn)
}
