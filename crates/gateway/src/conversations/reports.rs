//! Tells of the conversations and takes orders about them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::journal::Journal;
use ::conversation::{Accepted, Effect, Input, NotPinned, PinBook, Resting};
use context::original::{Handle, Section};
use context::pin::{Origin, PinId, Subject};
use context::{Tokens, Turn, TurnId};
use history::{
    Conversation, ConversationId, Engine, HistoryError, Mark, MarkId, Pinned, Purged, Spent, Store,
    Tenant, Totals,
};
use jiff::Timestamp;
use serde_json::Value;

use super::local::Local;
use super::reading::Reading;
use super::running::{Running, Shared};
use super::writer::{StoreFailure, Writer};
use super::{Clock, Conversations, spending};
use crate::config::{Config, Mode, Setting};
use crate::report::{
    Detail, Expanded, Line, Lost, Order, Original, Overview, PinReport, Recalled, Replaced, Report,
    ReportError, Reports, Turns, TurnsWanted, Viewer, WindowAt,
};

mod client_summary;
mod figures;
mod originals;
mod removal;
mod resting;
mod rewording;
mod turns;
mod window;

pub(super) use client_summary::Receipts;
pub(super) use resting::Sizes;

use figures::{
    all, classes, covered, entries, line_of, mark_report, money, pin_report, requests, sample,
};
use originals::is_gap;

/// The number of conversations outside memory that are reported.
const STORED: usize = 2_000;

impl From<StoreFailure> for ReportError {
    fn from(failure: StoreFailure) -> Self {
        match failure {
            StoreFailure::Store(error) => Self::Store(error),
            StoreFailure::Crowded => Self::Store(HistoryError::Busy),
            StoreFailure::Late => Self::Late,
            StoreFailure::Closed => Self::NoConversation,
        }
    }
}

impl Reports for Conversations {
    fn overview(&self, asker: Viewer) -> Report<'_, Overview> {
        Box::pin(async move {
            let mut overview = self.reporter.list(asker).await?;
            overview.days = spending::report(self.reporter.spent(asker).await);
            Ok(overview)
        })
    }

    fn list(&self, asker: Viewer) -> Report<'_, Overview> {
        Box::pin(async move { self.reporter.list(asker).await })
    }

    fn detail(&self, asker: Viewer, id: ConversationId) -> Report<'_, Detail> {
        Box::pin(async move { self.reporter.detail(asker, id).await })
    }

    fn replaced(
        &self,
        asker: Viewer,
        id: ConversationId,
        mark: MarkId,
        turns: Range<usize>,
    ) -> Report<'_, Replaced> {
        Box::pin(async move { self.reporter.replaced(asker, id, mark, turns).await })
    }

    fn turns(&self, asker: Viewer, id: ConversationId, wanted: TurnsWanted) -> Report<'_, Turns> {
        Box::pin(async move { self.reporter.turns(asker, id, wanted).await })
    }

    fn window(&self, asker: Viewer, id: ConversationId, at: Option<usize>) -> Report<'_, WindowAt> {
        Box::pin(async move { self.reporter.window(asker, id, at).await })
    }

    fn lost(&self, asker: Viewer, id: ConversationId, mark: Option<MarkId>) -> Report<'_, Lost> {
        Box::pin(async move { self.reporter.lost(asker, id, mark).await })
    }

    fn session(&self, asker: Viewer, session: String) -> Report<'_, Line> {
        Box::pin(async move { self.reporter.session(asker, session).await })
    }

    fn compacted(&self, asker: Viewer, id: ConversationId, summary: String) -> Report<'_, Lost> {
        Box::pin(async move { self.reporter.compacted(asker, id, summary).await })
    }

    fn expand(
        &self,
        asker: Viewer,
        id: ConversationId,
        what: (Handle, Option<Section>),
        room: usize,
    ) -> Report<'_, Expanded> {
        Box::pin(async move { self.reporter.expand(asker, id, what, room).await })
    }

    fn recall(
        &self,
        asker: Viewer,
        id: ConversationId,
        query: String,
        most: usize,
    ) -> Report<'_, Recalled> {
        Box::pin(async move { self.reporter.recall(asker, id, query, most).await })
    }

    fn claim(&self, asker: Viewer, tool: &str, arguments: &Value) -> Vec<ConversationId> {
        let now = (self.parts.clock)();
        self.calls.claim(asker, (tool, arguments), now)
    }

    fn pin(
        &self,
        asker: Viewer,
        id: ConversationId,
        what: (Subject, Origin),
    ) -> Report<'_, PinReport> {
        Box::pin(async move { self.reporter.pin(asker, id, what).await })
    }

    fn unpin(&self, asker: Viewer, id: ConversationId, pin: PinId) -> Report<'_, bool> {
        Box::pin(async move { self.reporter.unpin(asker, id, pin).await })
    }

    fn order(&self, asker: Viewer, id: ConversationId, order: Order) -> Report<'_, ()> {
        Box::pin(async move { self.reporter.order(asker, id, order).await })
    }

    fn reword(&self, asker: Viewer, id: ConversationId, what: (MarkId, String)) -> Report<'_, ()> {
        Box::pin(async move { self.reporter.reword(asker, id, what).await })
    }

    fn remove(&self, asker: Viewer, id: ConversationId) -> Report<'_, Purged> {
        Box::pin(async move { self.reporter.remove(asker, id).await })
    }
}

/// A conversation, in memory or not.
struct Found {
    tenant: Tenant,
    shared: Option<Arc<Shared>>,
    line: Line,
    /// The turns; of a conversation that is not in memory the last alone, which leads to them.
    path: Vec<TurnId>,
    standing: Option<MarkId>,
    ready: Option<MarkId>,
    /// The last turn that is not shown.
    hidden: TurnId,
    /// The last turn whose results are not shown.
    cleared: TurnId,
    /// The conversation that its client compacted and that it goes on from.
    before: Option<ConversationId>,
}

impl Found {
    /// The conversation as its client's model sees it: in mode observe, all of it.
    fn observed(self) -> Self {
        match self.line.observed {
            false => self,
            true => Self {
                standing: None,
                ready: None,
                hidden: TurnId::ROOT,
                cleared: TurnId::ROOT,
                ..self
            },
        }
    }
}

/// The turns that the store has of a path. Of a conversation in memory, the newest ones are kept once they are
/// answered.
fn kept(store: &dyn Store, path: &[TurnId], is_live: bool) -> Result<Vec<Turn>, HistoryError> {
    for &last in path.iter().rev() {
        if !is_live || store.node(last)?.is_some() {
            return store.path(last);
        }
    }
    Ok(Vec::new())
}

/// The past of a conversation, from the store.
struct Past {
    path: Vec<Turn>,
    marks: Vec<Mark>,
    pins: Vec<Pinned>,
    /// The journal of a conversation that is not in memory.
    journal: Journal,
}

/// Answers what is asked about conversations, and takes orders about them.
pub(super) struct Reporter {
    pub(super) config: Arc<Config>,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) clock: Clock,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    pub(super) local: Arc<Local>,
    pub(super) reading: Arc<Reading>,
    /// The receipts of the clients' own summaries.
    pub(super) receipts: Receipts,
    /// The sizes of conversations that are not in memory.
    pub(super) sizes: Sizes,
}

impl Reporter {
    async fn list(&self, asker: Viewer) -> Result<Overview, ReportError> {
        let now = (self.clock)();
        let tenant = match asker {
            Viewer::Tenant(tenant) => Some(tenant),
            Viewer::All => None,
        };
        let mut lines: Vec<(Timestamp, Line, Totals)> = Vec::new();
        let mut told = HashSet::new();
        let in_memory = self.directory.registry.all(tenant).into_iter();
        for shared in in_memory.filter(|shared| shared.is_answered()) {
            let live = shared.lock();
            told.insert(shared.id);
            let record = live.record();
            lines.push((record.seen, line_of(&live, now), record.totals));
        }
        let mut resting: HashMap<Tenant, Vec<Conversation>> = HashMap::new();
        for (tenant, record) in self.stored(tenant).await? {
            if told.insert(record.id) {
                resting.entry(tenant).or_default().push(record);
            }
        }
        for (tenant, records) in resting {
            for (record, line) in self.resting(tenant, records).await? {
                lines.push((record.seen, line, record.totals));
            }
        }
        lines.sort_by_key(|&(seen, ..)| std::cmp::Reverse(seen));
        let config = &self.config;
        let setting = |key| {
            Setting::named(key)
                .and_then(|it| it.text(config))
                .unwrap_or_default()
        };
        Ok(Overview {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mode: match config.mode {
                Mode::On => "on",
                Mode::Observe => "observe",
            },
            strategy: config.policy.strategy.program().name().to_string(),
            window: setting("policy.window"),
            route: setting("policy.route"),
            days: Vec::new(),
            totals: money(&all(lines.iter().map(|(.., totals)| totals))),
            conversations: lines.into_iter().map(|(_, line, _)| line).collect(),
        })
    }

    /// The accounts that the asker may see.
    async fn spent(&self, asker: Viewer) -> Vec<Spent> {
        let tenants = match asker {
            Viewer::Tenant(tenant) => vec![tenant],
            Viewer::All => self.writer.tenants().await.unwrap_or_default(),
        };
        let mut found = Vec::new();
        for tenant in tenants {
            match self.writer.read(tenant, |store| store.spent()).await {
                Ok(spent) => found.extend(spent),
                // Everything else can still be shown.
                Err(failure) => tracing::warn!(%failure, "the costs by day cannot be read"),
            }
        }
        found
    }

    /// The conversations of the store, those last seen first.
    async fn stored(
        &self,
        tenant: Option<Tenant>,
    ) -> Result<Vec<(Tenant, Conversation)>, ReportError> {
        let tenants = match tenant {
            Some(tenant) => vec![tenant],
            None => self.writer.tenants().await?,
        };
        let mut found = Vec::new();
        for tenant in tenants {
            let read = self
                .writer
                .read(tenant, |store| store.conversations(Timestamp::MAX, STORED));
            found.extend(read.await?.into_iter().map(|record| (tenant, record)));
        }
        found.sort_by_key(|(_, record)| std::cmp::Reverse(record.seen));
        found.truncate(STORED);
        Ok(found)
    }

    /// A conversation that the asker may see.
    async fn find(&self, asker: Viewer, id: ConversationId) -> Result<Found, ReportError> {
        let now = (self.clock)();
        let in_memory = match asker {
            Viewer::Tenant(tenant) => self.directory.registry.get(tenant, id),
            Viewer::All => {
                let mut all = self.directory.registry.all(None).into_iter();
                all.find(|shared| shared.id == id)
            }
        };
        if let Some(shared) = in_memory.filter(|shared| shared.is_answered()) {
            let live = shared.lock();
            return Ok(Found {
                tenant: shared.tenant,
                shared: Some(Arc::clone(&shared)),
                line: line_of(&live, now),
                path: live.turn_ids().to_vec(),
                standing: live.record().standing.mark,
                ready: live.ready_mark(),
                hidden: live.record().standing.from,
                cleared: live.record().standing.cleared,
                before: live.goes_on_from(),
            }
            .observed());
        }
        let tenants = match asker {
            Viewer::Tenant(tenant) => vec![tenant],
            Viewer::All => self.writer.tenants().await?,
        };
        for tenant in tenants {
            let read = self
                .writer
                .read(tenant, move |store| store.conversation(id));
            let Some(record) = read.await? else {
                continue;
            };
            let lines = self.resting(tenant, vec![record]).await?;
            if let Some((record, line)) = lines.into_iter().next() {
                return Ok(Found {
                    tenant,
                    shared: None,
                    line,
                    path: vec![record.head],
                    standing: record.standing.mark,
                    ready: None,
                    hidden: record.standing.from,
                    cleared: record.standing.cleared,
                    before: None,
                }
                .observed());
            }
        }
        Err(ReportError::NoConversation)
    }

    /// Reads the past of a conversation from the store.
    async fn past(&self, found: &Found, id: ConversationId) -> Result<Past, ReportError> {
        let (said, is_live) = (found.path.clone(), found.shared.is_some());
        let read = self.writer.read(found.tenant, move |store: &dyn Store| {
            let path = kept(store, &said, is_live)?;
            let mut marks = Vec::new();
            for turn in &path {
                marks.extend(store.marks_at(turn.id())?);
            }
            let pins = store.pins(id)?;
            let journal = match is_live {
                true => None,
                false => store.journal(id)?,
            };
            let journal = journal.map(|text| Journal::read(&text));
            Ok(Past {
                path,
                marks,
                pins,
                journal: journal.unwrap_or_default(),
            })
        });
        let past = read.await?;
        self.mend(found, &past.path);
        Ok(past)
    }

    /// Lets the next request of a conversation write all of it again if the store has lost a part of it.
    fn mend(&self, found: &Found, path: &[Turn]) {
        if let Some(shared) = found
            .shared
            .as_ref()
            .filter(|_| path.iter().any(Turn::is_gap))
        {
            shared.lock().on(Input::Damaged, (self.clock)());
        }
    }

    /// Reads the turns of a conversation from the store. The newest answer is among them once the next request
    /// brings it.
    async fn said(&self, found: &Found) -> Result<Vec<Turn>, ReportError> {
        let (said, is_live) = (found.path.clone(), found.shared.is_some());
        let work = move |store: &dyn Store| kept(store, &said, is_live);
        let path = self.writer.read(found.tenant, work).await?;
        self.mend(found, &path);
        Ok(path)
    }

    async fn detail(&self, asker: Viewer, id: ConversationId) -> Result<Detail, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let marks = past
            .marks
            .iter()
            .map(|mark| mark_report(mark, &past, &found))
            .collect();
        let dropped = originals::dropped(&found, &past);
        let Some(shared) = &found.shared else {
            let model = self
                .directory
                .commons
                .model(&found.line.model.as_str().into());
            let limits = self.directory.terms.pin_limits(&model);
            let book = PinBook::of(&past.pins, &past.path, (limits, &model.counter()));
            let pins = book.iter();
            return Ok(Detail {
                pins: pins
                    .map(|pin| pin_report(pin, book.is_removable(pin.id)))
                    .collect(),
                marks,
                dropped,
                pressure: past.journal.samples().map(sample).collect(),
                requests: requests(&past.journal, &found.line),
                journal: entries(&past.journal),
                line: found.line,
                at_rest: true,
                ..Detail::default()
            });
        };
        let live = shared.lock();
        let pins = live.pins().iter();
        Ok(Detail {
            requests: requests(live.journal(), &found.line),
            line: found.line,
            pressure: live.journal().samples().map(sample).collect(),
            marks,
            dropped,
            classes: classes(&live, &past),
            pins: pins
                .map(|pin| pin_report(pin, live.pins().is_removable(pin.id)))
                .collect(),
            journal: entries(live.journal()),
            may_redo: live.may_redo(),
            at_rest: false,
        })
    }

    async fn replaced(
        &self,
        asker: Viewer,
        id: ConversationId,
        mark: MarkId,
        turns: Range<usize>,
    ) -> Result<Replaced, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let mark = past.marks.iter().find(|other| other.id() == mark);
        let mark = mark.ok_or(ReportError::NoMark)?;
        let covered = covered(mark, &past.path);
        let turns = turns.start.min(covered)..turns.end.min(covered);
        let said = past.path.get(turns.clone()).unwrap_or_default();
        Ok(Replaced {
            mark: mark_report(mark, &past, &found),
            originals: said
                .iter()
                .zip(turns)
                .map(|(turn, index)| Original {
                    index,
                    role: turn.role().as_str(),
                    tokens: turn.tokens().get(),
                    text: turn.readable(),
                })
                .collect(),
            line: found.line,
        })
    }

    async fn window(
        &self,
        asker: Viewer,
        id: ConversationId,
        at: Option<usize>,
    ) -> Result<WindowAt, ReportError> {
        let found = self.find(asker, id).await?;
        let past = self.past(&found, id).await?;
        let limit = Tokens::new(found.line.gauge.window);
        let whole = ::conversation::window::of(limit, past.path, &past.pins);
        let here = whole.seek(at.unwrap_or(whole.len()));
        Ok(WindowAt {
            at: here.position(),
            turns: here.len(),
            around: window::around(&here),
            line: found.line,
        })
    }

    async fn pin(
        &self,
        asker: Viewer,
        id: ConversationId,
        (subject, origin): (Subject, Origin),
    ) -> Result<PinReport, ReportError> {
        let found = self.find(asker, id).await?;
        let refused = |error: context::pin::PinError| ReportError::refused(&error);
        let text = match subject {
            Subject::Text(text) => text,
            subject => {
                let path = self.past(&found, id).await?.path;
                let text = subject.text(&path).map_err(refused)?;
                // A gap's words would stay in the model's context after its turn has come back.
                let named = match subject {
                    Subject::Turns(last, count) => last.saturating_sub(count) + 1..last + 1,
                    Subject::Text(_) | Subject::File(_) => 0..0,
                };
                if let Some(turn) = named.into_iter().find(|turn| is_gap(&path, *turn)) {
                    return Err(ReportError::Damaged { turn });
                }
                text
            }
        };
        let now = (self.clock)();
        let pinned = match &found.shared {
            Some(shared) => {
                let effects = shared.lock().on(Input::Pin(&text, origin), now);
                let mut effects = self.local.settle(shared, 0, effects).into_iter();
                let released = Vec::new();
                match effects.next() {
                    Some(Effect::Pinned(pin)) => Ok(Accepted { pin, released }),
                    Some(Effect::NotPinned(why)) => Err((why, shared.lock().pins().clone())),
                    _ => return Err(ReportError::NotKept),
                }
            }
            None => self.pin_at_rest(found.tenant, id, (&text, origin)).await?,
        };
        let Accepted { pin, released } = match pinned {
            Ok(accepted) => accepted,
            Err((NotPinned::Already(pin), book)) => {
                return Ok(pin_report(&pin, book.is_removable(pin.id)));
            }
            Err((NotPinned::Refused(error), _)) => return Err(refused(error)),
            Err((NotPinned::Unwanted, _)) => return Err(ReportError::NotKept),
        };
        let kept = pin.clone();
        let work = Box::new(move |store: &mut dyn Store| {
            for &id_of_pin in &released {
                store.remove_pin(id, id_of_pin)?;
            }
            let pinned = Pinned {
                pin: kept.clone(),
                said_in: None,
            };
            store.set_pin(id, &pinned).map(drop)
        });
        let kept = self.writer.write_or_take_back(found.tenant, work).await;
        let is_unkept = matches!(&kept, Err(failure) if !matches!(failure, StoreFailure::Late));
        if let (true, Some(shared)) = (is_unkept, &found.shared) {
            // A pin that is not stored must not be shown as set.
            shared.lock().on(Input::Unpin(pin.id), now);
        }
        kept?;
        Ok(pin_report(&pin, true))
    }

    /// A pin of a conversation that is not in memory; a refusal comes with the pins in force.
    async fn pin_at_rest(
        &self,
        tenant: Tenant,
        id: ConversationId,
        (text, origin): (&str, Origin),
    ) -> Result<Result<Accepted, (NotPinned, PinBook)>, ReportError> {
        let load = move |store: &dyn Store| Resting::load(store, id);
        let resting = self.writer.read(tenant, load).await?;
        let resting = resting.ok_or(ReportError::NoConversation)?;
        let terms = &self.directory.terms;
        let model = self.directory.commons.model(resting.model());
        let accepted = resting.pin(terms, &model, (text, origin), (self.clock)());
        Ok(accepted.map_err(|why| (why, resting.book(terms, &model))))
    }

    async fn unpin(
        &self,
        asker: Viewer,
        id: ConversationId,
        pin: PinId,
    ) -> Result<bool, ReportError> {
        let found = self.find(asker, id).await?;
        let load = move |store: &dyn Store| Resting::load(store, id);
        let resting = self.writer.read(found.tenant, load).await?;
        let work = Box::new(move |store: &mut dyn Store| store.remove_pin(id, pin).map(drop));
        // In memory only afterwards: it stays in force if the client hears that nothing was removed.
        self.writer.write_or_take_back(found.tenant, work).await?;
        let unpins = resting.is_some_and(|resting| {
            let model = self.directory.commons.model(resting.model());
            resting.unpins(&self.directory.terms, &model, pin)
        });
        let Some(shared) = &found.shared else {
            return Ok(unpins);
        };
        let mut live = shared.lock();
        let effects = live.on(Input::Unpin(pin), (self.clock)());
        let is_removed = |effect: &Effect| matches!(effect, Effect::Unpinned(true));
        Ok(effects.iter().any(is_removed) || (unpins && !live.pins().has(pin)))
    }

    async fn order(
        &self,
        asker: Viewer,
        id: ConversationId,
        order: Order,
    ) -> Result<(), ReportError> {
        let found = self.find(asker, id).await?;
        let shared = found.shared.ok_or(ReportError::AtRest)?;
        let now = (self.clock)();
        let effects = shared.lock().on(Input::Order(order), now);
        for effect in effects {
            if let Effect::Refuse(refusal) = effect {
                return Err(ReportError::refused(&refusal));
            }
        }
        Ok(())
    }
}
