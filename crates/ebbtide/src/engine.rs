//! The engine: carries out what each conversation decides about its requests.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use context::coded::Coded;
use conversation::directory::{self, Directory};
use conversation::homunculus::Preparation;
use conversation::rewrite::{RewriteError, betas, render_asking};
use conversation::words::Did;
use conversation::{Effect, Incoming, Input, Sending};
use history::{HistoryError, Tenant};
use jiff::Timestamp;
use wire::api::Failure;

use crate::builder::Builder;
use crate::client::Client;
use crate::error::EngineError;
use crate::rest::Rounds;
use crate::ticket::{Held, Next, Outgoing, Passage, Ticket};
use crate::work::Work;

/// A conversation in memory.
pub(crate) type Shared = directory::Shared<Beside>;

/// Beside a conversation.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// True if the next summary is swapped in as soon as it is ready.
    pub compacts: AtomicBool,
}

/// The memory of conversations. It does no I/O besides the store's and reads no clock; all its methods take
/// `&self`, so that threads can share it.
pub struct Engine {
    pub(crate) directory: Directory<Beside>,
    pub(crate) store: Arc<dyn history::Engine>,
    /// Held while conversations leave memory.
    pub(crate) rounds: Mutex<Rounds>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// The decision of a conversation about a request.
pub(crate) enum Decided {
    Sent(Box<Sending>),
    Held(Option<Preparation>, Option<Timestamp>),
    /// The conversation went elsewhere: the caller's own bytes.
    Overtaken,
}

impl Engine {
    /// Begins to set up an engine.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client, by the key or name of its tenant. Conversations of different tenants never meet.
    #[must_use]
    pub fn client(&self, key: &str) -> Client {
        Client::new(Tenant::of(self.directory.commons.secret(), key.as_bytes()))
    }

    /// Takes the body of a request for the next message, and says what to send. A body that cannot be
    /// read, or whose conversation the provider holds, is sent as it came.
    ///
    /// # Errors
    /// [`EngineError::Store`] where the store fails. Send your own body then.
    pub fn request(
        &self,
        client: &Client,
        body: impl Into<Bytes>,
        now: Timestamp,
    ) -> Result<Next, EngineError> {
        let (commons, body) = (&self.directory.commons, body.into());
        let bytes = body.clone();
        let read = commons.read(client.tenant, client.dialect, &bytes);
        let read =
            read.filter(|(request, _)| !request.is_held_by_provider() && !request.is_empty());
        let Some((request, elements)) = read else {
            return Ok(as_it_came(body, Did::Passed, Ticket::default()));
        };
        let incoming = commons.incoming(&request, elements, client.origin(), now);
        let Some((shared, flight)) = self.join(&incoming)? else {
            return Ok(as_it_came(body, Did::Passed, Ticket::default()));
        };
        // Its own conversation stays: a request of it is under way.
        self.rest_in_passing(now);
        let passage = Box::new(Passage {
            shared,
            flight,
            client: client.clone(),
            body,
            betas: Vec::new(),
            prepare: None,
            seen: now,
        });
        Ok(self.advance(&incoming, passage, now))
    }

    /// Goes on with a request that was held.
    ///
    /// # Errors
    /// [`EngineError::Store`] where the store fails. Send your own body then.
    pub fn resume(&self, held: Held, now: Timestamp) -> Result<Next, EngineError> {
        let passage = held.passage;
        let (client, body) = (passage.client.clone(), passage.body.clone());
        let commons = &self.directory.commons;
        let Some((request, elements)) = commons.read(client.tenant, client.dialect, &body) else {
            return Ok(as_it_came(
                passage.body.clone(),
                Did::Failed,
                ticket(passage),
            ));
        };
        let incoming = commons.incoming(&request, elements, client.origin(), now);
        Ok(self.advance(&incoming, passage, now))
    }

    /// The provider refused a request: the body to send instead, or `None` where the refusal is the
    /// caller's to handle. [`Ticket::betas`] names what the header `anthropic-beta` needs then.
    pub fn refused(
        &self,
        ticket: &mut Ticket,
        (status, body): (u16, &[u8]),
        now: Timestamp,
    ) -> Option<Bytes> {
        let passage = ticket.passage.as_mut()?;
        passage.seen = now;
        let failure = Failure::parse(body).ok().flatten();
        let input = Input::Refused(&passage.flight, status, failure.as_ref());
        let effects = passage.shared.lock().on(input, now);
        let effects = self.settle(passage, effects, now);
        let mut rescue = effects.into_iter().find_map(|effect| match effect {
            Effect::Retry(rescue) => Some(rescue),
            _ => None,
        })?;
        let (client, body) = (passage.client.clone(), passage.body.clone());
        let commons = &self.directory.commons;
        let (request, elements) = commons.read(client.tenant, client.dialect, &body)?;
        let incoming = commons.incoming(&request, elements, client.origin(), now);
        loop {
            // A rescue does not wait for a model; the conversation holds a request a few times at most.
            match self.decided(&incoming, passage, (Some(&mut rescue), now)) {
                Decided::Sent(sending) => {
                    let written = written(&incoming, passage, *sending);
                    let (body, betas) = written.ok()?;
                    passage.betas = betas;
                    return Some(body);
                }
                Decided::Overtaken => return None,
                Decided::Held(order, _) => {
                    if let Some(order) = order {
                        let work = self.begun(&incoming, &passage.shared, (order, now));
                        self.extract(work, now);
                    }
                }
            }
        }
    }

    /// The answer has come whole, as a body or as an event stream. Returns the summary to make next.
    ///
    /// # Errors
    /// [`EngineError::Store`] where the store fails. The next request stores everything again.
    pub fn observe(
        &self,
        mut ticket: Ticket,
        answer: &[u8],
        now: Timestamp,
    ) -> Result<Option<Work>, EngineError> {
        ticket.hear(answer);
        self.answered(ticket, now)
    }

    /// Works like [`observe`](Self::observe), for an answer whose pieces the ticket has [heard](Ticket::hear).
    ///
    /// # Errors
    /// Those of [`observe`](Self::observe).
    pub fn answered(
        &self,
        mut ticket: Ticket,
        now: Timestamp,
    ) -> Result<Option<Work>, EngineError> {
        let hearing = ticket.hearing.take();
        let Some(mut passage) = ticket.passage.take() else {
            return Ok(None);
        };
        passage.seen = now;
        passage.shared.was_answered();
        let (reply, proof) = hearing.unwrap_or_default().end(passage.flight.dialect());
        let mut kept = match passage.flight.take_pending() {
            Some(batch) => self.write(passage.shared.tenant, &batch),
            None => Ok(()),
        };
        let input = Input::Answered(&passage.flight, reply.as_ref(), &proof);
        let effects = passage.shared.lock().on(input, now);
        for effect in self.settle(&passage, effects, now) {
            if let Effect::Store(batch) = effect {
                kept = kept.and_then(|()| self.write(passage.shared.tenant, &batch));
            }
        }
        if matches!(kept, Err(HistoryError::UnknownNode(_))) {
            // Somebody purged the conversation while it was in memory.
            kept = self.store_whole(&passage, reply.as_ref(), now);
        }
        if let Err(error) = kept {
            passage.shared.lock().on(Input::NotStored, now);
            return Err(error.into());
        }
        self.remember(&passage, reply.as_ref(), now)?;
        Ok(passage
            .prepare
            .take()
            .and_then(|order| self.work(&passage, order, now)))
    }

    /// Takes a summary that a model wrote after [`Work::prompt`]. It is checked and completed; where it is
    /// turned away, one is made without a model.
    ///
    /// # Errors
    /// [`EngineError::Rejected`] where it was turned away.
    pub fn prepared(&self, work: Work, text: &str, now: Timestamp) -> Result<(), EngineError> {
        match model::written(&work.order, text) {
            Ok(made) => {
                self.deliver(work, made, None, now);
                Ok(())
            }
            Err(error) => {
                self.failed(work, error.code().as_str(), now);
                Err(EngineError::Rejected(error))
            }
        }
    }

    /// A summary could not be made, for this reason: one is made without a model.
    pub fn failed(&self, work: Work, why: &str, now: Timestamp) {
        let made = model::extractive(&work.order);
        self.deliver(work, made, Some(why.to_owned()), now);
    }

    /// Makes a summary without a model.
    pub fn extract(&self, work: Work, now: Timestamp) {
        let made = model::extractive(&work.order);
        self.deliver(work, made, None, now);
    }
}

/// A request that goes out as it came.
pub(crate) fn as_it_came(body: Bytes, did: Did, ticket: Ticket) -> Next {
    Next::Send(Outgoing {
        body,
        betas: Vec::new(),
        did: vec![did],
        tokens: None,
        ticket,
    })
}

pub(crate) fn ticket(passage: Box<Passage>) -> Ticket {
    Ticket {
        passage: Some(passage),
        hearing: None,
    }
}

/// The bytes of a request, and the betas that they need.
pub(crate) fn written(
    incoming: &Incoming<'_>,
    passage: &Passage,
    sending: Sending,
) -> Result<(Bytes, Vec<&'static str>), RewriteError> {
    let Sending { view, previous, .. } = sending;
    let body = match view.is_plain() {
        true => passage.body.clone(),
        false => render_asking(incoming.request, &view, previous.as_deref())?.into(),
    };
    Ok((body, betas(incoming.dialect(), &view)))
}
