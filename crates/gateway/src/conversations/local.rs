//! Carries out what an effect changes in this process: the log, the metrics, the account, and what is learnt of
//! models.

use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::{Effect, Input, Notice};
use jiff::Timestamp;

use super::running::{Running, Shared};
use super::writer::{StoreFailure, Writer};
use super::{Clock, spending};
use crate::config::Config;
use crate::metrics::{Failure, Metrics, TokenKind};

/// About the size of what a request adds to the account, in bytes.
const SPENT: usize = 100;

/// The parts of a gateway that hear of effects.
pub(super) struct Local {
    pub(super) config: Arc<Config>,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
}

impl Local {
    /// Carries out the effects that concern only this process; the others.
    pub(super) fn settle(&self, shared: &Shared, key: u64, effects: Vec<Effect>) -> Vec<Effect> {
        let now = || (self.clock)();
        let here = |effect: Effect| match effect {
            Effect::Abandon(job) => {
                shared.beside.abandon(job);
                None
            }
            Effect::Tell(notice) => {
                self.tell(shared, &notice);
                None
            }
            Effect::Learn(lesson) => {
                self.directory.commons.learn(key, lesson, now());
                None
            }
            other => Some(other),
        };
        effects.into_iter().filter_map(here).collect()
    }

    /// Logs and counts.
    fn tell(&self, shared: &Shared, notice: &Notice) {
        let (metrics, conversation) = (&self.metrics, shared.id);
        if matches!(notice, Notice::Billed(_) | Notice::Spent(_)) {
            let model = shared.lock().record().model.clone();
            let now = (self.clock)();
            if let Some(spent) = spending::spent(notice, &model, now) {
                let work = spending::work(spent);
                if !self.writer.write_aside(shared.tenant, work, SPENT) {
                    metrics.failed(Failure::Keeping);
                }
            }
        }
        match notice {
            Notice::Swapped(route) => metrics.swapped(route.as_str()),
            Notice::StrategyFailed(failure) => {
                let strategy = self.config.policy.strategy.written();
                tracing::warn!(
                    strategy, %conversation, %failure,
                    "the strategy failed; the default strategy takes over"
                );
                metrics.failed(Failure::Strategy);
            }
            Notice::Commanded(command, refused) => tracing::debug!(
                target: "ebbtide::strategy",
                %conversation, command, refused, "the strategy gave a command"
            ),
            Notice::CameToNothing(refusal) => tracing::debug!(
                target: "ebbtide::strategy",
                %conversation, why = refusal.word(),
                "a summary that the strategy asked for came to nothing"
            ),
            Notice::SoftMoved(moved) => tracing::debug!(
                target: "ebbtide::strategy", %conversation, %moved, "moved"
            ),
            Notice::Acted(acted) => metrics.acted(acted),
            Notice::CacheMissed(reason) => metrics.cache_missed(reason),
            Notice::Transformed(kind) => metrics.transformed(kind),
            Notice::Spent(cost) => metrics.cost(*cost),
            Notice::Billed(bill) => {
                let used = &bill.used;
                metrics.used(TokenKind::Fresh, used.fresh.get());
                metrics.used(TokenKind::CacheRead, used.cache_read.get());
                let written = used.cache_write + used.cache_write_long;
                metrics.used(TokenKind::CacheWrite, written.get());
                metrics.used(TokenKind::Output, used.output.get());
                metrics.cost(bill.cost);
            }
            _ => {}
        }
    }

    /// The store failed: told, counted and noted, and the next request stores everything again.
    pub(super) fn not_stored(&self, shared: &Shared, failure: &StoreFailure, now: Timestamp) {
        let conversation = shared.id;
        tracing::warn!(%conversation, %failure, "not stored; the next request stores it again");
        self.metrics.failed(Failure::Keeping);
        shared.lock().on(Input::NotStored, now);
    }
}
