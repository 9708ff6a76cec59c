//! Finds the conversation of a request, or begins one, and takes its turns.

use std::sync::Arc;

use context::shrink::Limits as ShrinkLimits;
use context::{Role, TokenCounter, Tokens, Turn, TurnId};
use conversation::homunculus::{Command, Event, Shown, When};
use history::{Change, ConversationId, Edition, Route};
use jiff::Timestamp;

use super::Inner;
use super::call::Call;
use super::choice::route;
use super::dress::Wanted;
use super::identity::{Known, compare, compare_read};
use super::journal::Happened;
use super::keep::Keep;
use super::live::{Live, Shared};
use tokens::Capability;

use super::writer::{Receipt, StoreFailure};
use crate::config::Mode;
use crate::rewrite;

/// A request in its conversation.
pub(super) struct Joined {
    /// The conversation.
    pub shared: Arc<Shared>,
    /// How many turns the request has.
    pub len: usize,
    /// The last of them.
    pub head: TurnId,
    /// The request's number in the conversation.
    pub number: u64,
    /// How many turns were not sent before in this conversation.
    pub new: usize,
    /// The last of those.
    pub newest: Option<Turn>,
    /// What it brings, until it is answered: what is refused is not kept.
    pub pending: Option<Keep>,
    /// What it brings is on its way to the store.
    pub receipt: Option<Receipt>,
    /// Where the client compacts with it: the conversation whose summary it wants.
    pub compacts: Option<ConversationId>,
}

impl Drop for Joined {
    /// The request has landed, or its client went away.
    fn drop(&mut self) {
        let mut live = self.shared.lock();
        live.flights.open = live.flights.open.saturating_sub(1);
        // The next request that is answered brings it again.
        live.said.is_unkept |= self.pending.is_some();
    }
}

/// How a request stands to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// It goes on from its newest turn, or is the same again.
    GoesOn,
    /// It goes on from an earlier turn, but behind the request before the newest.
    GoesBack,
    /// It does not go on with it, though they may begin alike.
    Apart,
}

/// What came of trying a conversation.
enum Tried {
    Joined(Box<(Joined, Keep)>),
    /// Its texts have to be read first.
    Wants(Wanted),
    /// What was changed about these turns, when they were sent before, has to be read first.
    WantsEditions(Vec<TurnId>),
    /// The request does not go on with it like that.
    Other,
}

/// The turns that a conversation does not know and that were answered all the same: on a path that was
/// left, or not through here.
fn sent_before(new: &[Turn]) -> Vec<TurnId> {
    let answered = |turn: &Turn| turn.role() == Role::Assistant;
    let last = new.iter().rposition(answered).unwrap_or(0);
    let before = new.iter().take(last).filter(|turn| !answered(turn));
    before.map(Turn::id).collect()
}

fn relation(live: &Live, common: usize, call: &Call<'_>) -> Relation {
    let flying = live.flights.open > 0;
    if common == live.len() {
        let first_new = call.request.message(common).map(|message| message.role());
        // What goes on before the answer is there is a question on the side.
        let aside = flying && first_new.is_some_and(|role| role != Role::Assistant);
        return if aside {
            Relation::Apart
        } else {
            Relation::GoesOn
        };
    }
    if common > 0 && common >= live.said.previous && !flying {
        return Relation::GoesBack;
    }
    Relation::Apart
}

impl Inner {
    /// Finds or begins the conversation of a request. Its turns are on their way to the store when this
    /// returns.
    ///
    /// # Errors
    /// Where the texts of a conversation can not be read.
    pub(super) async fn join(&self, call: &Call<'_>) -> Result<Joined, StoreFailure> {
        let linked = self.registry.linked(call.tenant, call.keys.links());
        if let Some((joined, keep)) = self.continued(call, &linked).await? {
            return Ok(self.linked(call, joined, keep));
        }
        // Nothing is known by its bytes: read all of it.
        let turns = self
            .reading
            .of(call.request.body().len(), || call.turns())
            .await;
        let first = turns.first().map_or(TurnId::ROOT, Turn::id);
        let alike = self.registry.beginning(call.tenant, call.dialect(), first);
        if let Some((joined, keep)) = self.continued(call, &alike).await? {
            return Ok(self.linked(call, joined, keep));
        }
        if let Some(live) = self.stored_live(call, turns).await
            && let Some((joined, keep)) = self.entered(call, live, first).await?
        {
            joined.shared.was_answered();
            return Ok(self.linked(call, joined, keep));
        }
        let nearest = nearest(&alike, turns);
        if let Some((shared, _)) = &nearest {
            self.dressed(call.tenant, shared).await?;
        }
        let before = self.compacted_before(call, turns).await;
        let (live, begun) = self.begun(call, turns, nearest, before);
        // A conversation that is new goes on with any request.
        let entered = self.entered(call, live, first).await?;
        let (joined, keep) = entered.ok_or(StoreFailure::Closed)?;
        let keep = Keep {
            turns: keep.turns,
            parent: keep.parent,
            originals: keep.originals,
            editions: keep.editions,
            ..begun
        };
        Ok(self.linked(call, joined, keep))
    }

    /// Puts a conversation among the others and takes the request's turns into it.
    async fn entered(
        &self,
        call: &Call<'_>,
        live: Live,
        first: TurnId,
    ) -> Result<Option<(Joined, Keep)>, StoreFailure> {
        let labels = live.record.labels.clone();
        let shared = Arc::new(Shared::new(call.tenant, live));
        // One that comes back is not the one that was not seen for longest.
        shared.see(call.now);
        let shared = self.registry.add(shared, (call.dialect(), first), &labels);
        let limits = &self.parts.config.limits;
        if self.registry.len() > limits.conversations {
            self.registry
                .sweep(call.now, limits.idle, limits.conversations);
        }
        self.continued(call, &[shared]).await
    }

    /// Lets the links of a request lead to its conversation. What it brings goes to the store when it is
    /// answered.
    fn linked(&self, call: &Call<'_>, mut joined: Joined, keep: Keep) -> Joined {
        let old = {
            let mut live = joined.shared.lock();
            std::mem::replace(&mut live.said.hints, call.keys.hints().to_vec())
        };
        if old != call.keys.hints() {
            self.registry
                .relink(&joined.shared, &old, call.keys.hints());
        }
        joined.shared.see(call.now);
        joined.pending = (!keep.is_empty()).then_some(keep);
        joined
    }

    /// Goes on with one of these conversations: the one whose newest turn lies deepest.
    async fn continued(
        &self,
        call: &Call<'_>,
        candidates: &[Arc<Shared>],
    ) -> Result<Option<(Joined, Keep)>, StoreFailure> {
        let mut candidates: Vec<&Arc<Shared>> = candidates.iter().collect();
        if candidates.len() > 1 {
            candidates.sort_by_key(|shared| std::cmp::Reverse(shared.lock().len()));
        }
        for goes in [Relation::GoesOn, Relation::GoesBack] {
            for shared in &candidates {
                let mut editions = None;
                loop {
                    let known = shared.lock().len();
                    let attempt = || self.attempt(call, shared, goes, editions.as_deref());
                    match self.reading.of(call.unread(known), attempt).await {
                        Tried::Joined(joined) => return Ok(Some(*joined)),
                        Tried::WantsEditions(of) => {
                            let read = self.writer.read(call.tenant, move |it| it.editions(&of));
                            // A store that fails is as one that knows nothing.
                            editions = Some(read.await.unwrap_or_default());
                        }
                        Tried::Other => break,
                        Tried::Wants(wanted) => {
                            let dress = self.load(call.tenant, wanted).await?;
                            self.dress_up(&mut shared.lock(), dress);
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Takes the turns of a request into a conversation, if it goes on with it like this.
    fn attempt(
        &self,
        call: &Call<'_>,
        shared: &Arc<Shared>,
        goes: Relation,
        editions: Option<&[Edition]>,
    ) -> Tried {
        let mut live = shared.lock();
        if live.dialect != call.dialect() || call.is_of_another_agent(&live.record.labels) {
            return Tried::Other;
        }
        let known = Known {
            keys: &live.said.keys,
            ids: live.said.outline.ids(),
        };
        let compared = match call.read.get() {
            Some(turns) => compare_read(turns, known.ids),
            None => compare(call.request, &call.keys, known, &call.model.counter()),
        };
        let common = compared.common;
        if relation(&live, common, call) != goes {
            return Tried::Other;
        }
        if live.dress.is_none() {
            return Tried::Wants(live.wanted());
        }
        if editions.is_none() {
            let before = sent_before(&compared.new);
            if !before.is_empty() {
                return Tried::WantsEditions(before);
            }
        }
        let parent = live.id_before(common);
        let is_unkept = std::mem::take(&mut live.said.is_unkept);
        let mut keep = Keep::turns(call.request, common, parent, compared.new.clone());
        self.change_model(&mut live, call);
        let key = self.window_key(call.tenant, call.url, &call.name);
        self.take_window(&mut live, key, &call.model, call.now);
        let writing = self.jobs.durations.of(key);
        live.supervisor.machine.set_writing(writing);
        let len = call.len();
        if goes == Relation::GoesBack {
            live.abandon_foreign(common, call.now);
            if live.tells_of_others(common) {
                let chosen = self.choice(self.route(call), &call.model);
                live.show_whole();
                live.supervise(chosen, Shown::default());
            }
            live.go_back(common);
            live.journal.note(call.now, Happened::WentBack);
            let known = call.turns().get(..common).unwrap_or_default();
            take_known(&mut live, known);
            live.hear(When::Before, known, call.now);
            let last = compared
                .new
                .iter()
                .rposition(|turn| turn.role() == Role::Assistant);
            if let Some(last) = last {
                // The request before, on this path.
                live.said.previous = common + last;
            }
        } else if len > live.len() {
            live.said.previous = live.len();
        }
        live.wear(len - compared.new.len(), &compared.new, editions);
        keep.editions = self.take_new(&mut live, call, &compared.new);
        if goes == Relation::GoesBack || editions.is_some() {
            live.note_restated();
        }
        live.said.keys.clear();
        live.said.keys.extend_from_slice(call.keys.as_slice());
        self.heads.remember(self.keyed, call.head(), &call.elements);
        live.said.elements = Arc::clone(&call.elements);
        live.record.head = live.id_before(len);
        live.record.turns = len as u64;
        live.record.seen = call.now;
        live.flights.open += 1;
        live.flights.newest += 1;
        self.note_overhead(&mut live, call);
        if is_unkept {
            keep = Keep::whole(call.request, &live, call.now);
        }
        let joined = Joined {
            shared: Arc::clone(shared),
            len,
            head: live.record.head,
            number: live.flights.newest,
            new: compared.new.len(),
            newest: compared.new.last().cloned(),
            pending: None,
            receipt: None,
            compacts: None,
        };
        Tried::Joined(Box::new((joined, keep)))
    }

    /// Takes turns that were not said before, the oversized results among them shortened.
    fn take_new(&self, live: &mut Live, call: &Call<'_>, new: &[Turn]) -> Vec<Edition> {
        let shrunk = self.shrink(call, new);
        let counter = call.model.counter();
        let first = call.len() - new.len();
        let mut editions = Vec::new();
        for (offset, turn) in new.iter().enumerate() {
            let index = first + offset;
            let mut tokens = live.resized(index, turn, &counter);
            for (_, change) in shrunk.iter().filter(|&&(at, _)| at == index) {
                tokens = resized(turn, tokens, change, &counter);
                editions.push(Edition {
                    turn: turn.id(),
                    change: change.clone(),
                    at: call.now,
                });
                let dress = live.dress.get_or_insert_default();
                dress.add(index, change.clone());
            }
            live.push(turn, tokens);
        }
        live.hear(When::Now, new, call.now);
        editions
    }

    /// What is shortened: results behind the model's last answer. Those before it were sent before, if
    /// not through here.
    fn shrink(&self, call: &Call<'_>, new: &[Turn]) -> Vec<(usize, Change)> {
        let config = &self.parts.config;
        let Some(most) = config.policy.shrink.filter(|_| config.mode == Mode::On) else {
            return Vec::new();
        };
        let behind = new
            .iter()
            .rposition(|turn| turn.role() == Role::Assistant)
            .map_or(0, |last| last + 1);
        let newest = new.get(behind..).unwrap_or_default();
        if newest.iter().all(|turn| turn.tokens() <= most) {
            return Vec::new();
        }
        let ids: Vec<TurnId> = newest.iter().map(Turn::id).collect();
        let limits = ShrinkLimits::new(most);
        rewrite::shrink_new(call.request, &ids, &limits, &call.model.counter())
    }

    /// The client may go on with another model.
    fn change_model(&self, live: &mut Live, call: &Call<'_>) {
        if Arc::ptr_eq(&live.supervisor.model, &call.model) {
            return;
        }
        live.record.model = call.name.clone();
        if live.supervisor.model.name == call.model.name {
            live.supervisor.model = Arc::clone(&call.model);
            return;
        }
        let route = self.route(call);
        let chosen = self.choice(route, &call.model);
        let mut shown = live.supervisor.machine.shown();
        let front = live
            .dress
            .as_ref()
            .and_then(|dress| dress.front.mark.as_ref());
        let is_native = front.is_some_and(|mark| mark.route == Route::Native);
        if is_native && !call.model.can(Capability::NativeCompaction) {
            // Another model can not read it: everything is shown until there is another summary.
            shown = Shown::default();
            live.show_whole();
        }
        live.supervise(chosen, shown);
        live.supervisor.model = Arc::clone(&call.model);
        live.supervisor.route = route;
        live.supervisor.overhead = 0;
        if let Some(job) = live.supervisor.job.take() {
            job.cancel.cancel();
        }
    }

    pub(super) fn note_overhead(&self, live: &mut Live, call: &Call<'_>) {
        let key = call.overhead_key(self.keyed);
        if key == live.supervisor.overhead {
            return;
        }
        live.supervisor.overhead = key;
        let tokens = call.overhead();
        live.supervisor.overhead_tokens = tokens;
        live.supervisor
            .machine
            .on(Event::Overhead { tokens }, call.now);
    }

    /// How summaries are made for this request.
    pub(super) fn route(&self, call: &Call<'_>) -> Route {
        let config = &self.parts.config;
        route(
            config.mode,
            config.policy.route,
            &call.model,
            call.dialect(),
        )
    }
}

/// The conversation that shares most with these turns.
fn nearest(alike: &[Arc<Shared>], turns: &[Turn]) -> Option<(Arc<Shared>, usize)> {
    let shared = |shared: &Arc<Shared>| {
        let live = shared.lock();
        let ids = live.said.outline.ids();
        let pairs = turns.iter().zip(ids);
        let common = pairs.take_while(|&(turn, id)| turn.id() == *id).count();
        (Arc::clone(shared), common)
    };
    alike
        .iter()
        .map(shared)
        .max_by_key(|&(_, common)| common)
        .filter(|&(_, common)| common > 0)
}

/// Takes turns that were sent before, as they were shown.
pub(super) fn take_known(live: &mut Live, turns: &[Turn]) {
    let counter = live.supervisor.model.counter();
    for (index, turn) in turns.iter().enumerate() {
        let tokens = live.resized(index, turn, &counter);
        live.push(turn, tokens);
    }
    // What was not obeyed was told when it was said.
    live.flights.pin_refused = false;
}

/// A turn's tokens with a change.
pub(super) fn resized(
    turn: &Turn,
    tokens: Tokens,
    change: &Change,
    counter: &dyn TokenCounter,
) -> Tokens {
    match change {
        Change::Appended(text) | Change::Followed(text) => tokens + counter.count(text),
        Change::Shrunk { result, text } => {
            let nth = usize::try_from(*result).unwrap_or(usize::MAX);
            let was = turn
                .results()
                .nth(nth)
                .map(|found| counter.count(&found.text));
            tokens.saturating_sub(was.unwrap_or(Tokens::ZERO)) + counter.count(text)
        }
    }
}

impl Live {
    /// A turn's tokens with the changes that are made to it.
    fn resized(&self, index: usize, turn: &Turn, counter: &dyn TokenCounter) -> Tokens {
        let dress = self.dress.iter();
        let changes = dress.flat_map(|dress| dress.editions.iter().filter(|it| it.0 == index));
        changes.fold(turn.tokens(), |tokens, (_, change)| {
            resized(turn, tokens, change, counter)
        })
    }

    /// A summary that is being made, or waits, and that was made with turns in view that are not among
    /// the first `common` is not wanted any more: it tells of them.
    fn abandon_foreign(&mut self, common: usize, now: Timestamp) {
        let job = self.supervisor.job.iter().map(|job| job.order.made_from);
        let ready = self.dress.iter().filter_map(|dress| dress.ready.as_ref());
        let mut made_from = job.chain(ready.map(|mark| mark.made_from));
        if made_from.all(|head| (1..=common).contains(&self.place_of(head))) {
            return;
        }
        self.command(Command::Abandon, now);
        if let Some(dress) = &mut self.dress {
            dress.ready = None;
        }
    }

    /// Turns from `first` on that were sent before are shown as they were then.
    fn wear(&mut self, first: usize, turns: &[Turn], editions: Option<&[Edition]>) {
        let dress = self.dress.get_or_insert_default();
        for edition in editions.unwrap_or_default() {
            let Some(offset) = turns.iter().position(|turn| turn.id() == edition.turn) else {
                continue;
            };
            let worn = (first + offset, edition.change.clone());
            if dress.editions.contains(&worn) {
                continue;
            }
            dress.add(worn.0, worn.1);
        }
    }

    /// The last of the first `len` turns.
    pub(super) fn id_before(&self, len: usize) -> TurnId {
        let last = len.checked_sub(1);
        let id = last.and_then(|last| self.said.outline.ids().get(last));
        id.copied().unwrap_or(TurnId::ROOT)
    }
}
