//! Makes a conversation in memory: new, branched off, or from the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context::{Text, Tokens, Turn, TurnId};
use conversation::homunculus::{Homunculus, Path, Restored, Shown, When};
use history::{
    Conversation, ConversationId, HistoryError, Labels, Mark, MarkId, Pinned, Route, Standing,
    Store, Totals,
};

use super::Inner;
use super::call::Call;
use super::continuation::Before;
use super::dress::{self, Dress, Wanted};
use super::join::take_known;
use super::journal::{Happened, Journal};
use super::keep::Keep;
use super::ledger;
use super::live::{Flights, Live, Said, Shared, Supervisor};
use super::pins::PinBook;

impl Inner {
    /// A conversation that begins with this request, branches off from another one, or goes on with one
    /// that its client compacted.
    pub(super) fn begun(
        &self,
        call: &Call<'_>,
        turns: &[Turn],
        nearest: Option<(Arc<Shared>, usize)>,
        before: Option<Before>,
    ) -> (Live, Keep) {
        let labels = call.labels();
        let id = self.new_id(call, turns.last().map_or(TurnId::ROOT, Turn::id));
        // One shared turn is how conversations begin; an answer in common makes a branch.
        let branch = nearest.filter(|&(_, common)| common > 1);
        let parent = match (&before, &branch) {
            (Some(before), _) => Some(before.id),
            (None, Some((shared, _))) => Some(shared.id),
            (None, None) => self.started_by(call, &labels),
        };
        let record = Conversation {
            id,
            parent,
            head: TurnId::ROOT,
            turns: 0,
            labels,
            model: call.name.clone(),
            standing: Standing::WHOLE,
            strategy: None,
            totals: Totals::default(),
            began: call.now,
            seen: call.now,
        };
        let (mut inherited, old) = match &branch {
            Some((shared, common)) => (Inherited::of(&shared.lock(), *common), *common),
            None => (Inherited::default(), 0),
        };
        let old = turns.get(..old).unwrap_or_default();
        let happened = match (&before, branch) {
            (Some(_), _) => Happened::GoesOn,
            (None, Some((_, common))) => Happened::Branched(common),
            (None, None) => Happened::Began,
        };
        // A pin of both is set once.
        inherited
            .pins
            .extend(before.into_iter().flat_map(|before| before.pins));
        let mut live = self.revived(call, record, old, inherited);
        live.journal.note(call.now, happened);
        let pins = live.pins.outside().into_iter();
        let mut keep = Keep {
            pins: pins.map(|pin| Pinned { pin, said_in: None }).collect(),
            ..Keep::default()
        };
        let pins = live.dress.as_ref().map(|dress| dress.front.pins.clone());
        if let Some(pins) = pins.filter(|pins| !pins.is_empty()) {
            let key = dress::pins_key(id, live.record.standing.compactions);
            keep.texts.push((key, pins));
        }
        keep.conversation = Some(Conversation {
            head: turns.last().map_or(TurnId::ROOT, Turn::id),
            turns: turns.len() as u64,
            ..live.record.clone()
        });
        (live, keep)
    }

    /// The conversation of the agent that started this one.
    fn started_by(&self, call: &Call<'_>, labels: &Labels) -> Option<ConversationId> {
        let session = labels.session.as_ref()?;
        labels.agent.as_ref()?;
        let parent = labels
            .parent_agent
            .clone()
            .unwrap_or_else(|| Text::from(""));
        self.registry.of_agent(call.tenant, session, &parent)
    }

    fn new_id(&self, call: &Call<'_>, head: TurnId) -> ConversationId {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(call.tenant.as_bytes());
        hasher.update(head.as_bytes());
        hasher.update(&number.to_le_bytes());
        hasher.update(&call.now.as_nanosecond().to_le_bytes());
        let mut id = [0; 16];
        hasher.finalize_xof().fill(&mut id);
        ConversationId::from_bytes(id)
    }

    /// The conversation of the store that this request goes on with. A store that fails is as one that
    /// knows nothing: the request begins a conversation.
    pub(super) async fn stored_live(&self, call: &Call<'_>, turns: &[Turn]) -> Option<Live> {
        let ids: Arc<[TurnId]> = turns.iter().map(Turn::id).collect();
        let path = Arc::clone(&ids);
        let headed = self
            .writer
            .read(call.tenant, move |store| store.headed(&path));
        let depth = |head: TurnId| ids.iter().rposition(|&id| id == head);
        let mut record = headed
            .await
            .ok()?
            .into_iter()
            // One that is in memory was looked at there.
            .filter(|found| self.registry.get(call.tenant, found.id).is_none())
            .filter(|found| !call.is_of_another_agent(&found.labels))
            .max_by_key(|found| (depth(found.head), found.seen))?;
        let known = depth(record.head)? + 1;
        let standing = record.standing;
        let from = depth(standing.from).map_or(0, |last| last + 1);
        let wanted = Wanted {
            of: (record.id, standing.compactions),
            mark: standing.mark,
            ready: None,
            path: ids.to_vec(),
        };
        let id = record.id;
        let behind: Vec<TurnId> = ids.get(from..known).unwrap_or_default().to_vec();
        let path = Arc::clone(&ids);
        let texts = self.writer.read(call.tenant, move |store| {
            let made = newest_mark(store, (&behind, &path), wanted.mark)?;
            Ok((dress::load(store, &wanted)?, store.pins(id)?, made))
        });
        let (dress, pins, made) = texts.await.ok()?;
        if record.labels == Labels::default() {
            record.labels = call.labels();
        }
        let inherited = Inherited {
            standing,
            dress,
            pins: pins.into_iter().map(|pinned| pinned.pin).collect(),
        };
        let old = turns.get(..known).unwrap_or_default();
        let mut live = self.revived(call, record, old, inherited);
        live.journal.note(call.now, Happened::CameBack);
        if live.record.model == call.name {
            self.note_overhead(&mut live, call);
            live.was_accepted();
        }
        if let Some((made, ledger)) = made {
            live.restore(made, ledger);
        }
        Some(live)
    }

    /// A conversation in memory, of the turns that were said so far. The request's own are taken like
    /// those of any request.
    fn revived(
        &self,
        call: &Call<'_>,
        record: Conversation,
        turns: &[Turn],
        inherited: Inherited,
    ) -> Live {
        let chosen = self.choice(self.route(call), &call.model);
        let counter = call.model.counter();
        let mut pins = PinBook::default();
        for pin in &inherited.pins {
            // They were within the limits when they were set.
            let _ = pins.set(&pin.text, pin.origin, &counter);
        }
        let machine = Homunculus::new(chosen.strategy, chosen.limits);
        let mut live = Live {
            record,
            dialect: call.dialect(),
            said: Said::default(),
            supervisor: Supervisor {
                machine,
                model: Arc::clone(&call.model),
                route: self.route(call),
                soft: self.soft,
                overhead: 0,
                overhead_tokens: Tokens::ZERO,
                job: None,
            },
            pins,
            dress: Some(inherited.dress),
            is_dress_unkept: false,
            flights: Flights::default(),
            journal: Journal::default(),
        };
        // Where nothing was said before, the request brings all of it.
        if turns.is_empty() {
            return live;
        }
        take_known(&mut live, turns);
        live.said.keys = call
            .keys
            .as_slice()
            .get(..turns.len())
            .unwrap_or_default()
            .to_vec();
        live.said.previous = turns.len();
        self.resume(call, &mut live, inherited.standing);
        live.hear(When::Before, turns, call.now);
        live
    }

    fn resume(&self, call: &Call<'_>, live: &mut Live, standing: Standing) {
        let dress = live.dress.get_or_insert_default();
        let summary = dress
            .front
            .mark
            .as_ref()
            .map_or(Tokens::ZERO, |mark| mark.tokens);
        let whole = standing.mark.is_some() && dress.front.mark.is_none();
        let shown = Shown {
            from: live.place_of(standing.from),
            cleared: live.place_of(standing.cleared),
            mark: standing.mark,
            summary,
        };
        let lost = shown.from == 0 && standing.from != TurnId::ROOT;
        if whole || lost {
            // Its summary is gone: everything is shown again.
            live.record.standing = Standing {
                compactions: standing.compactions,
                ..Standing::WHOLE
            };
            return;
        }
        live.record.standing = standing;
        let stored = live.record.strategy.take();
        let chosen = self.choice_from(stored.as_deref(), self.route(call), &call.model);
        let path = Path::new(
            &live.said.outline,
            live.said.outline.len(),
            live.pins.places(),
        );
        live.supervisor.machine = Homunculus::resume(chosen.strategy, chosen.limits, shown, &path);
        live.note_restated();
    }
}

/// The newest summary on the turns `behind` that does not stand already, and the identifiers beside it. One
/// that was made with turns in view that are not on this path tells of another branch.
fn newest_mark(
    store: &dyn Store,
    (behind, path): (&[TurnId], &[TurnId]),
    standing: Option<MarkId>,
) -> Result<Option<(Mark, Text)>, HistoryError> {
    for &node in behind.iter().rev() {
        let mut marks = store.marks_at(node)?.into_iter().rev();
        let own = |mark: &Mark| Some(mark.id()) != standing && path.contains(&mark.made_from);
        if let Some(mark) = marks.find(own) {
            let ledger = store.chunk(ledger::key(mark.id()))?;
            return Ok(Some((mark, ledger.unwrap_or_default())));
        }
    }
    Ok(None)
}

impl Live {
    /// The provider took what was sent before a restart; what it counted is not known any more.
    fn was_accepted(&mut self) {
        let outline = &self.said.outline;
        let path = Path::new(outline, outline.len(), self.pins.places());
        self.supervisor.machine.accepted(&path);
    }

    /// A summary that was ready before a restart is ready again, if it can be shown here.
    fn restore(&mut self, mark: Mark, ledger: Text) {
        let is_native = mark.route == Route::Native;
        if is_native && self.supervisor.route != Route::Native {
            return;
        }
        let made = Restored {
            cut: self.place_of(mark.node),
            mark: mark.id(),
            tokens: mark.tokens,
            since: mark.at,
        };
        let path = Path::new(
            &self.said.outline,
            self.said.outline.len(),
            self.pins.places(),
        );
        self.supervisor.machine.restore(&made, &path);
        if self.supervisor.machine.ready() == Some(made.mark) {
            let dress = self.dress.get_or_insert_default();
            dress.ready = Some(Arc::new(mark));
            dress.ledger = ledger;
        }
    }
}

/// What a conversation takes over: from the store, or from the one it branched off from.
struct Inherited {
    standing: Standing,
    dress: Dress,
    pins: Vec<context::pin::Pin>,
}

impl Default for Inherited {
    fn default() -> Self {
        Self {
            standing: Standing::WHOLE,
            dress: Dress::default(),
            pins: Vec::new(),
        }
    }
}

impl Inherited {
    /// What holds on the first `common` turns of a conversation.
    fn of(live: &Live, common: usize) -> Self {
        let standing = live.record.standing;
        let from = live.place_of(standing.from);
        let pins = live.pins.outside();
        let is_inherited = from < common && !live.tells_of_others(common);
        let mut dress = live.dress.clone().unwrap_or_default();
        dress.ready = None;
        dress.cut(common);
        if !is_inherited {
            // Everything is shown again, as it was.
            let editions = dress.editions;
            return Self {
                pins,
                dress: Dress {
                    editions,
                    ..Dress::default()
                },
                ..Self::default()
            };
        }
        let within = |id: TurnId| match live.place_of(id) <= common {
            true => id,
            false => live.id_before(common),
        };
        let mut dress = dress.clone();
        dress.ready = None;
        dress.ledger = Text::default();
        dress.cut(common);
        Self {
            standing: Standing {
                cleared: within(standing.cleared),
                stripped: within(standing.stripped),
                ..standing
            },
            dress,
            pins,
        }
    }
}
