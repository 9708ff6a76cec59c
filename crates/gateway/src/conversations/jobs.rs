//! Summaries, made in the background.

use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::homunculus::Preparation;
use ::conversation::identity::Key;
use ::conversation::{Effect, Input, Spent, Stored, Summary, Unmade};
use context::coded::Coded;
use jiff::Timestamp;
use model::Made;
use tokio_util::sync::CancellationToken;

use super::Clock;
use super::background::Background;
use super::local::Local;
use super::maker::{Fault, Maker};
use super::running::{Reins, Running, Shared};
use super::source::Source;
use super::writer::{StoreFailure, Writer, work};
use crate::metrics::{self, Metrics};

/// The preparations of all conversations.
pub(super) struct Jobs {
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    pub(super) local: Arc<Local>,
    pub(super) background: Background,
    pub(super) maker: Maker,
}

impl Jobs {
    /// Begins to make a summary.
    pub(super) fn prepare(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        order: Preparation,
        source: Source,
    ) {
        let key = self.key_of(&source);
        let effects = {
            let mut conversation = shared.lock();
            let effects = conversation.on(Input::Preparing(&order), (self.clock)());
            // It was abandoned before it began.
            if effects
                .iter()
                .any(|it| matches!(it, Effect::Abandon(job) if *job == order.job))
            {
                return;
            }
            // A preparation that takes too long teaches something before it ends.
            self.directory
                .commons
                .learn_duration(key, conversation.writing());
            effects
        };
        self.local.settle(shared, key, effects);
        let reins = Reins {
            cancel: self.background.signal(),
            hurry: CancellationToken::new(),
        };
        shared.beside.begin(order.job, reins.clone());
        let (jobs, shared) = (Arc::clone(self), Arc::clone(shared));
        self.background.spawn(async move {
            let made = tokio::select! {
                biased;
                () = reins.cancel.cancelled() => Err(Fault::Abandoned),
                made = jobs.maker.make(&order, &source, &reins.hurry) => made,
            };
            jobs.made(&shared, (&order, key), made).await;
            shared.beside.settled.notify_waiters();
        });
    }

    fn key_of(&self, source: &Source) -> Key {
        let commons = &self.directory.commons;
        commons.model_key(source.tenant, &source.url, &source.name)
    }

    /// Stores what was made and tells the conversation.
    async fn made(
        &self,
        shared: &Shared,
        (order, key): (&Preparation, Key),
        made: Result<(Made, Vec<String>), Fault>,
    ) {
        let now = (self.clock)();
        let metrics = &self.metrics;
        let effects = match made {
            Ok((made, lost)) => {
                let route = made.route.as_str();
                let summary = summary(made, lost, now);
                // Before it can be shown: a summary that is shown must survive a restart.
                let batch = summary.batch(order);
                let receipt = self.writer.write(shared.tenant, work(batch)).await;
                // A request may wait for it. Kept late it is kept again, which changes nothing.
                let kept = self.writer.in_time(receipt.kept()).await;
                let kept = kept.unwrap_or(Err(StoreFailure::Late));
                if let Err(failure) = &kept {
                    self.local.not_stored(shared, failure, now);
                }
                metrics.prepared(route, metrics::Preparation::Ready);
                let mut conversation = shared.lock();
                // Another conversation may have learned more since.
                conversation.on(Input::Learned(self.directory.commons.duration(key)), now);
                let input = Input::Prepared(order, summary, stored(&kept));
                let effects = conversation.on(input, now);
                self.directory
                    .commons
                    .learn_duration(key, conversation.writing());
                effects
            }
            Err(fault) => {
                let (result, why) = match fault {
                    Fault::Abandoned => (metrics::Preparation::Abandoned, Unmade::Abandoned),
                    fault => (
                        metrics::Preparation::Failed,
                        Unmade::Failed(fault.to_string()),
                    ),
                };
                metrics.prepared(order.route.as_str(), result);
                shared.lock().on(Input::Unprepared(order, why), now)
            }
        };
        self.local.settle(shared, key, effects);
    }
}

/// A summary as its conversation takes it.
fn summary(made: Made, lost: Vec<String>, at: Timestamp) -> Summary {
    let fallen = made.fallen.iter();
    Summary {
        // The provider's own goes back byte for byte.
        text: made.message.unwrap_or(made.text),
        tokens: made.tokens,
        route: made.route,
        ledger: made.ledger,
        lost,
        beside: made.beside,
        spent: made
            .spent
            .iter()
            .map(|spent| Spent {
                used: spent.used,
                cost: spent.cost.get(),
            })
            .collect(),
        fallen: fallen
            .map(|fallen| (fallen.route, fallen.error.code().to_string()))
            .collect(),
        at,
    }
}

/// Converts the result of a write.
const fn stored<E>(kept: &Result<(), E>) -> Stored {
    match kept {
        Ok(()) => Stored::Yes,
        Err(_) => Stored::No,
    }
}
