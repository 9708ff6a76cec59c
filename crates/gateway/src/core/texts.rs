//! The texts of a conversation that have left memory, read again.

use std::sync::Arc;

use conversation::homunculus::{Homunculus, Path, Shown};
use history::Standing;

use super::Inner;
use super::choice::Choice;
use super::dress::{self, Dress, FrontText, Wanted};
use super::live::{Live, Shared};
use super::writer::StoreFailure;

impl Inner {
    /// Reads the texts of a conversation where they have left memory.
    pub(super) async fn dressed(
        &self,
        tenant: history::Tenant,
        shared: &Shared,
    ) -> Result<(), StoreFailure> {
        let wanted = {
            let live = shared.lock();
            live.dress.is_none().then(|| live.wanted())
        };
        if let Some(wanted) = wanted {
            let dress = self.load(tenant, wanted).await?;
            self.dress_up(&mut shared.lock(), dress);
        }
        Ok(())
    }

    /// Reads texts.
    pub(super) async fn load(
        &self,
        tenant: history::Tenant,
        wanted: Wanted,
    ) -> Result<Dress, StoreFailure> {
        self.writer
            .read(tenant, move |store| dress::load(store, &wanted))
            .await
    }

    /// Puts texts that were read in their place. A summary that is not in the store any more, since
    /// somebody purged it, is not missed: everything is shown, and kept, again.
    pub(super) fn dress_up(&self, live: &mut Live, dress: Dress) {
        if live.dress.is_some() {
            return;
        }
        let machine = &live.supervisor.machine;
        let is_shown_lost = live.record.standing.mark.is_some() && dress.front.mark.is_none();
        let is_ready_lost = machine.ready().is_some() && dress.ready.is_none();
        let shown = match is_shown_lost {
            true => Shown::default(),
            false => machine.shown(),
        };
        live.dress = Some(dress);
        if is_shown_lost {
            live.show_whole();
            live.pins.forget_restated();
        }
        if is_shown_lost || is_ready_lost {
            live.said.is_unkept = true;
            let (route, model) = (live.supervisor.route, Arc::clone(&live.supervisor.model));
            live.supervise(self.choice(route, &model), shown);
        }
    }
}

impl Live {
    /// Everything is shown until there is another summary.
    pub(super) fn show_whole(&mut self) {
        self.record.standing = Standing {
            compactions: self.record.standing.compactions,
            ..Standing::WHOLE
        };
        if let Some(dress) = &mut self.dress {
            dress.front = FrontText::default();
        }
    }

    /// Whether the summary that stands was made with turns in view that are not among the first `common`: it
    /// tells of them, and leaves out what they named.
    pub(super) fn tells_of_others(&self, common: usize) -> bool {
        let front = self.dress.as_ref().map(|dress| &dress.front);
        let mark = front.and_then(|front| front.mark.as_ref());
        mark.is_some_and(|mark| !(1..=common).contains(&self.place_of(mark.made_from)))
    }

    /// Gives it another supervisor, which goes on from what is shown.
    pub(super) fn supervise(&mut self, chosen: Choice, shown: Shown) {
        let outline = &self.said.outline;
        let path = Path::new(outline, outline.len(), self.pins.places());
        let before = self.supervisor.machine.strategy();
        let strategy = chosen.strategy.with_vitals_of(before);
        self.supervisor.machine = Homunculus::resume(strategy, chosen.limits, shown, &path);
    }

    /// What has to be read to show it.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            of: (self.record.id, self.record.standing.compactions),
            mark: self.record.standing.mark,
            ready: self.supervisor.machine.ready(),
            path: self.said.outline.ids().to_vec(),
        }
    }
}
