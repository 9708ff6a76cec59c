//! Composes the conversations of a gateway, from the ground up. Each part holds only what it uses, and
//! no part holds its own user. A passage (`ticket`) is the exception: it holds `generating`, from which it came.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::conversation::directory::Directory;

use super::asking::Asking;
use super::background::Background;
use super::calls::Calls;
use super::care::Care;
use super::compacting::Compacting;
use super::continuations::Continuations;
use super::counting::Counting;
use super::generating::Generating;
use super::jobs::Jobs;
use super::landing::Landing;
use super::lineage::{Earlier, Room};
use super::local::Local;
use super::lookup::Lookup;
use super::maker::Maker;
use super::protocol::Speaking;
use super::providers::Providers;
use super::reports::{Receipts, Reporter, Sizes};
use super::running::Running;
use super::slots::Slots;
use super::storing::Storing;
use super::unknowing::Unknowing;
use super::writer::Writer;
use super::{Conversations, Parts, Reading};

/// The ground that a gateway's conversations stand on.
pub(super) struct Ground {
    pub(super) parts: Parts,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    pub(super) reading: Arc<Reading>,
    pub(super) background: Background,
}

/// The parts that open a request and find its conversation.
type Finding<'a> = (&'a Arc<Speaking>, &'a Arc<Earlier>, &'a Arc<Lookup>);

impl Ground {
    /// Everything on this ground.
    pub(super) fn conversations(self) -> Conversations {
        let slots = Arc::new(Slots::new(self.parts.config.policy.slots));
        let calls = Arc::new(Calls::default());
        let local = self.local();
        let reporter = self.reporter(&local);
        let (speaking, earlier, lookup) = (self.speaking(), self.earlier(), self.lookup());
        let finding = (&speaking, &earlier, &lookup);
        let generating = self.generating(finding, (&local, &reporter), (&slots, &calls));
        Conversations {
            care: self.care(),
            counting: self.counting(finding),
            generating,
            reporter,
            calls,
            slots,
            parts: self.parts,
            directory: self.directory,
            writer: self.writer,
            background: self.background,
        }
    }

    fn local(&self) -> Arc<Local> {
        Arc::new(Local {
            config: Arc::clone(&self.parts.config),
            clock: Arc::clone(&self.parts.clock),
            metrics: Arc::clone(&self.parts.metrics),
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
        })
    }

    fn care(&self) -> Arc<Care> {
        Arc::new(Care {
            parts: self.parts.clone(),
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
            is_watched: AtomicBool::new(false),
        })
    }

    fn reporter(&self, local: &Arc<Local>) -> Arc<Reporter> {
        Arc::new(Reporter {
            config: Arc::clone(&self.parts.config),
            engine: Arc::clone(&self.parts.engine),
            clock: Arc::clone(&self.parts.clock),
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
            local: Arc::clone(local),
            reading: Arc::clone(&self.reading),
            receipts: Receipts::default(),
            sizes: Sizes::default(),
        })
    }

    fn generating(
        &self,
        (speaking, earlier, lookup): Finding<'_>,
        (local, reporter): (&Arc<Local>, &Arc<Reporter>),
        (slots, calls): (&Arc<Slots>, &Arc<Calls>),
    ) -> Arc<Generating> {
        let jobs = self.jobs(local, slots);
        let storing = self.storing(local);
        let continuations = self.continuations(reporter);
        let asking = Arc::new(Asking {
            clock: Arc::clone(&self.parts.clock),
            local: Arc::clone(local),
            storing: Arc::clone(&storing),
            jobs: Arc::clone(&jobs),
        });
        let compacting = Compacting {
            directory: Arc::clone(&self.directory),
            reading: Arc::clone(&self.reading),
            speaking: Arc::clone(speaking),
            continuations: Arc::clone(&continuations),
            asking: Arc::clone(&asking),
            earlier: Arc::clone(earlier),
            storing: Arc::clone(&storing),
        };
        let landing = Landing {
            clock: Arc::clone(&self.parts.clock),
            writer: self.writer.clone(),
            local: Arc::clone(local),
            storing,
            jobs,
            calls: Arc::clone(calls),
            earlier: Arc::clone(earlier),
            continuations,
        };
        Arc::new(Generating {
            config: Arc::clone(&self.parts.config),
            metrics: Arc::clone(&self.parts.metrics),
            directory: Arc::clone(&self.directory),
            speaking: Arc::clone(speaking),
            earlier: Arc::clone(earlier),
            lookup: Arc::clone(lookup),
            asking,
            compacting,
            landing,
        })
    }

    fn counting(&self, (speaking, earlier, lookup): Finding<'_>) -> Arc<Counting> {
        Arc::new(Counting {
            directory: Arc::clone(&self.directory),
            speaking: Arc::clone(speaking),
            earlier: Arc::clone(earlier),
            lookup: Arc::clone(lookup),
        })
    }

    fn speaking(&self) -> Arc<Speaking> {
        let providers = Providers {
            config: Arc::clone(&self.parts.config),
            directory: Arc::clone(&self.directory),
            unknowing: Unknowing::default(),
        };
        Arc::new(Speaking {
            directory: Arc::clone(&self.directory),
            reading: Arc::clone(&self.reading),
            providers,
        })
    }

    fn earlier(&self) -> Arc<Earlier> {
        Arc::new(Earlier {
            config: Arc::clone(&self.parts.config),
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
            room: Room::new(self.parts.config.limits.bodies),
        })
    }

    fn lookup(&self) -> Arc<Lookup> {
        Arc::new(Lookup {
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
            reading: Arc::clone(&self.reading),
        })
    }

    fn jobs(&self, local: &Arc<Local>, slots: &Arc<Slots>) -> Arc<Jobs> {
        Arc::new(Jobs {
            clock: Arc::clone(&self.parts.clock),
            metrics: Arc::clone(&self.parts.metrics),
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
            local: Arc::clone(local),
            background: self.background.clone(),
            maker: Maker::new(&self.parts, Arc::clone(slots)),
        })
    }

    fn storing(&self, local: &Arc<Local>) -> Arc<Storing> {
        Arc::new(Storing {
            clock: Arc::clone(&self.parts.clock),
            metrics: Arc::clone(&self.parts.metrics),
            writer: self.writer.clone(),
            local: Arc::clone(local),
            background: self.background.clone(),
        })
    }

    fn continuations(&self, reporter: &Arc<Reporter>) -> Arc<Continuations> {
        Arc::new(Continuations {
            directory: Arc::clone(&self.directory),
            writer: self.writer.clone(),
            reporter: Arc::clone(reporter),
            background: self.background.clone(),
        })
    }
}
