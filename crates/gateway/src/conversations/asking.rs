//! The effects of a decision, and the bytes that are sent: a conversation is asked until it lets its request go.

use std::sync::Arc;
use std::time::Duration;

use ::conversation::rewrite::{RewriteError, betas, render_asking};
use ::conversation::{Effect, Hold, Incoming, Input, Rescue, Sending, Start};
use bytes::Bytes;
use jiff::SignedDuration;
use tokio::time::timeout;

use super::jobs::Jobs;
use super::local::Local;
use super::source::{AsSent, Source};
use super::storing::Storing;
use super::ticket::Passage;
use super::{Clock, Outgoing};

/// The longest time that a request waits for a summary that is made without a model.
const ON_THE_SPOT: Duration = Duration::from_secs(30);

/// The outcome of asking a conversation about a request.
pub(super) enum Decided {
    /// The gateway sends the request.
    Send(Box<Sending>),
    /// The conversation went elsewhere: the client's own bytes.
    Overtaken,
}

/// The rescue of a refused request, if there is one.
type Rescued<'a> = Option<&'a mut Rescue>;

/// Asks conversations about requests, and carries out what they decide.
pub(super) struct Asking {
    pub(super) clock: Clock,
    pub(super) local: Arc<Local>,
    pub(super) storing: Arc<Storing>,
    pub(super) jobs: Arc<Jobs>,
}

impl Asking {
    /// Asks the conversation until it lets a request go.
    pub(super) async fn decided(
        &self,
        incoming: &Incoming<'_>,
        passage: &mut Passage,
        mut rescue: Rescued<'_>,
    ) -> Decided {
        let shared = Arc::clone(&passage.shared);
        let mut now = incoming.now;
        loop {
            let settled = shared.beside.settled.notified();
            tokio::pin!(settled);
            // From here on no end of a preparation is missed.
            settled.as_mut().enable();
            let input = match &mut rescue {
                Some(rescue) => Input::Rescue(incoming, &mut passage.flight, rescue),
                None => Input::Request(incoming, &mut passage.flight),
            };
            let mut effects = shared.lock().on(input, now);
            let hold = effects.iter().find_map(|effect| match effect {
                Effect::Hold(hold) => Some(*hold),
                _ => None,
            });
            effects.retain(|effect| !matches!(effect, Effect::Hold(_)));
            if let Some(decided) = self.carry_out(passage, effects).await {
                return decided;
            }
            self.begin_what_is_waited_for(passage);
            if self.jobs.maker.are_few_slots(passage) {
                shared.beside.hurry();
            }
            match hold {
                Some(Hold::OnTheSpot) => drop(timeout(ON_THE_SPOT, settled).await),
                Some(Hold::Until(until)) => {
                    let wait = until.duration_since(now).max(SignedDuration::ZERO);
                    let wait = Duration::try_from(wait).unwrap_or_default();
                    drop(timeout(wait, settled).await);
                }
                Some(Hold::Ready) => settled.await,
                // Neither sent nor held cannot be; the client's own bytes are always right.
                None => return Decided::Overtaken,
            }
            now = (self.clock)().max(now);
        }
    }

    /// Begins a summary that was to begin with the answer to this request. The provider refused the request, which
    /// waits for that summary now.
    fn begin_what_is_waited_for(&self, passage: &mut Passage) {
        let Some((order, _, source)) = passage.prepare.take() else {
            return;
        };
        if passage.shared.lock().is_preparing(order.job) {
            let source = source.unwrap_or_else(|| Source::of(passage, None));
            passage.hand_over();
            self.jobs.prepare(&passage.shared, order, source);
        }
    }

    /// Carries out what a conversation decided about a request.
    pub(super) async fn carry_out(
        &self,
        passage: &mut Passage,
        effects: Vec<Effect>,
    ) -> Option<Decided> {
        let shared = Arc::clone(&passage.shared);
        let mut decided = None;
        for effect in self.local.settle(&shared, passage.model_key(), effects) {
            match effect {
                Effect::Store(batch) => self.storing.store_in_time(&shared, batch).await,
                Effect::Send(sending) => decided = Some(Decided::Send(Box::new(sending))),
                Effect::Overtaken => decided = Some(Decided::Overtaken),
                Effect::Prepare(order, Start::Now) if decided.is_none() => {
                    passage.hand_over();
                    self.jobs.prepare(&shared, order, Source::of(passage, None));
                }
                // It is begun when the bytes are made.
                Effect::Prepare(order, start) => passage.prepare = Some((order, start, None)),
                _ => {}
            }
        }
        decided
    }

    /// The bytes of a request.
    ///
    /// # Errors
    /// Where the view cannot be written.
    pub(super) fn outgoing(
        &self,
        incoming: &Incoming<'_>,
        passage: &mut Passage,
        sending: Sending,
    ) -> Result<Outgoing, RewriteError> {
        let Sending {
            view,
            tokens,
            did,
            previous,
        } = sending;
        let body = match view.is_plain() {
            true => passage.arrival.body.clone(),
            false => {
                let asking = previous.as_deref();
                Bytes::from(render_asking(incoming.request, &view, asking)?)
            }
        };
        let mut betas = betas(incoming.dialect(), &view);
        if previous.is_some() {
            betas.extend(incoming.dialect().facts().betas.cache_question);
        }
        if let Some((order, start, _)) = passage.prepare.take() {
            let source = Source::of(
                passage,
                Some(AsSent::new(&view, body.clone(), (betas.clone(), tokens))),
            );
            match start {
                Start::Now => {
                    passage.hand_over();
                    self.jobs.prepare(&passage.shared, order, source);
                }
                Start::WithAnswer => passage.prepare = Some((order, start, Some(source))),
            }
        }
        Ok(Outgoing {
            body: passage.naming.sends(body, view.is_plain()),
            encoding: None,
            betas,
            drops: &[],
            prefix: None,
            did,
            conversation: Some(passage.shared.id),
            tokens: Some(tokens),
        })
    }
}
