//! The request that a summary is made from.

use std::sync::Arc;

use ::conversation::homunculus::Preparation;
use ::conversation::view::View;
use bytes::Bytes;
use context::{Text, Tokens, Turn};
use history::Tenant;
use http::HeaderMap;
use model::{Endpoint, ModelError, Order, Shows, Writer};
use tokens::Model;
use wire::api::{Dialect, Request};

use super::ticket::Passage;
use crate::config::Summariser;

/// The request that a summary is made from.
#[derive(Clone)]
pub(super) struct Source {
    /// The request as the client sent it: all that was said.
    pub body: Bytes,
    /// The request as it was sent on; `None` where it was not sent.
    pub sent: Option<AsSent>,
    /// The dialect.
    pub dialect: Dialect,
    /// The URL that it went to: a summary is asked for there.
    pub url: String,
    /// The headers: a summary is asked for with the same key.
    pub headers: HeaderMap,
    /// The model.
    pub model: Arc<Model>,
    /// The name it was asked for by.
    pub name: Text,
    /// The window in force.
    pub window: Tokens,
    /// The texts of the pins in force.
    pub pins: Vec<Text>,
    /// Whose it is.
    pub tenant: Tenant,
}

/// A request as it was sent on.
#[derive(Clone)]
pub(super) struct AsSent {
    /// The bytes.
    pub body: Bytes,
    /// The betas that it needs.
    pub betas: Vec<&'static str>,
    /// The extent of the view: everything, or a part.
    pub shows: Shows,
    /// Its size.
    pub tokens: Tokens,
}

impl AsSent {
    /// A view as it was sent, with the betas it needs and its size.
    pub(super) fn new(
        view: &View,
        body: Bytes,
        (betas, tokens): (Vec<&'static str>, Tokens),
    ) -> Self {
        Self {
            body,
            betas,
            shows: match view.shows_all() {
                true => Shows::Originals,
                false => Shows::Part,
            },
            tokens,
        }
    }
}

impl Source {
    /// From a request of a conversation.
    pub(super) fn of(passage: &Passage, sent: Option<AsSent>) -> Self {
        let conversation = passage.shared.lock();
        let flight = &passage.flight;
        let mut headers = passage.arrival.headers.clone();
        crate::server::remove_ours(&mut headers);
        Self {
            body: passage.arrival.body.clone(),
            sent,
            dialect: flight.dialect(),
            url: passage.arrival.url.clone(),
            headers,
            model: Arc::clone(flight.model()),
            name: flight.model_name().clone(),
            window: conversation.limits().window,
            pins: conversation
                .pins()
                .iter()
                .map(|pin| pin.text.clone())
                .collect(),
            tenant: passage.arrival.tenant,
        }
    }

    /// All turns of the request.
    fn turns(&self) -> Option<Vec<Turn>> {
        let request = Request::parse(self.dialect, &self.body).ok()?;
        Some(request.turns(&self.model.counter()))
    }

    /// The order for a summary.
    pub(super) fn order(&self, preparation: &Preparation) -> Option<Order> {
        let turns = self.turns()?;
        let (old, tail) = turns.split_at_checked(preparation.cut)?;
        Some(Order {
            old: old.into(),
            tail: tail.into(),
            pins: self.pins.clone(),
            budget: preparation.budget,
            words: preparation.words,
            standing: preparation.standing,
            instructions: None,
            counter: Arc::new(self.model.counter()),
            model: self.name.to_string(),
        })
    }

    /// Another model that writes. `None` where it can only be reached with a key that it is not to know.
    pub(super) fn writer(
        &self,
        other: &Summariser,
        own: &Endpoint,
    ) -> Result<Option<Writer>, ModelError> {
        let dialect = other.dialect.unwrap_or(self.dialect);
        let endpoint = match &other.url {
            Some(url) => Endpoint::new(dialect, url)?,
            None => own.clone().speaking(dialect)?,
        };
        let endpoint = match &other.key {
            Some(key) => endpoint.with_key(key.reveal())?,
            None if endpoint.shares_server(own) => endpoint.with_headers(&self.headers),
            None => {
                tracing::warn!(
                    "the summariser has no key, and this agent's is for another server: \
                     its summary is made without a model"
                );
                return Ok(None);
            }
        };
        Ok(Some(Writer::new(endpoint, &other.model)))
    }
}
