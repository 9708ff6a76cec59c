//! The client's own compaction: answered from a summary that is ready, else sent on.

use std::sync::Arc;

use bytes::Bytes;
use context::extract::extract;
use context::{Part, Tokens};
use conversation::homunculus::Command;
use history::Route;
use tokio::task::spawn_blocking;
use wire::api::{Dialect, Request};

use super::Inner;
use super::call::Call;
use super::decide::Decided;
use super::exchange::{Direct, Verdict};
use super::identity::placed;
use super::journal::Happened;
use super::keep::Keep;
use super::ticket::{Flight, Ticket};
use crate::config::Mode;
use crate::rewrite::{ClientCompaction, Wants, answer, answer_sealed};
use crate::words::Did;

/// What the turns behind a prepared summary may take in the answer, at most.
const BEHIND: Tokens = Tokens::new(4_000);

impl Inner {
    /// A request in which the client compacts. Ours stands back in any case: both never run at once.
    pub(super) async fn own_compaction(
        self: &Arc<Self>,
        call: &Call<'_>,
        mut flight: Flight,
        own: &ClientCompaction,
        body: Bytes,
    ) -> Verdict {
        let answered = match self.may_answer() {
            true => self.answered(call, &flight, own).await,
            false => None,
        };
        let shared = Arc::clone(&flight.joined.shared);
        if let Some((mut direct, parts)) = answered {
            let of = (shared.id, true);
            shared.was_answered();
            self.hand_over(&mut flight.joined);
            self.remember(call.tenant, of, &parts, call.now).await;
            let happened = Happened::OwnCompaction(own.client, true);
            shared.lock().journal.note(call.now, happened);
            direct.conversation = Some(shared.id);
            return Verdict::Answer(direct);
        }
        flight.joined.compacts = Some(shared.id);
        let decided = {
            let mut live = shared.lock();
            let happened = Happened::OwnCompaction(own.client, false);
            live.journal.note(call.now, happened);
            live.command(Command::Abandon, call.now);
            let shown = live.supervisor.machine.shown();
            let len = flight.joined.len;
            let (unchanged, view) = live.sizes(shown, len);
            flight.shown = shown;
            flight.unchanged = unchanged;
            Decided {
                look: live.look(shown, len),
                tokens: view,
                did: vec![Did::Yielded],
                keep: Keep::default(),
                prepare: None,
            }
        };
        match self.outgoing(call, &mut flight, decided, &body).await {
            Ok(outgoing) => Verdict::Send(outgoing, Ticket::of(flight)),
            Err(fault) => self.failed(body, &fault),
        }
    }

    fn may_answer(&self) -> bool {
        let config = &self.parts.config;
        config.mode == Mode::On && config.policy.answer_compaction
    }

    /// The answer from what is ready, where that is enough, and what it says.
    async fn answered(
        &self,
        call: &Call<'_>,
        flight: &Flight,
        own: &ClientCompaction,
    ) -> Option<(Direct, Vec<Part>)> {
        let (mark, cut, pins) = {
            let live = flight.joined.shared.lock();
            let ready = live.dress.as_ref()?.ready.clone()?;
            let cut = live.place_of(ready.node);
            (ready, cut, live.pins.in_full())
        };
        if cut == 0 || cut > own.covers {
            return None;
        }
        match own.wants {
            Wants::Sealed if mark.route == Route::Native && cut == own.covers => {
                let message: serde_json::Value = serde_json::from_str(&mark.summary).ok()?;
                let block = message.get("content")?.get(0)?.to_string();
                // Only the very bytes are signed.
                let is_whole = mark.summary.contains(&block);
                let direct = answer_sealed(call.request, own, &block, call.now);
                Some((direct.filter(|_| is_whole)?, said(&mark.summary)?))
            }
            Wants::Text(_) if mark.route != Route::Native => {
                let parent = mark.node;
                let counter = call.model.counter();
                let mut turns = placed(call.request, cut, parent, &counter);
                turns.truncate(own.covers - cut);
                let mut text = mark.summary.to_string();
                if !pins.is_empty() {
                    text = format!("{pins}\n\n{text}");
                }
                if !turns.is_empty() {
                    // What was said since the summary was made goes into it without a model.
                    let behind =
                        spawn_blocking(move || extract(&turns, &[], BEHIND, &counter).render());
                    text.push_str("\n\n");
                    text.push_str(&behind.await.ok()?);
                }
                let direct = answer(call.request, own, &text, call.now)?;
                Some((direct, vec![Part::Text(text.into())]))
            }
            Wants::Sealed | Wants::Later(_) | Wants::Text(_) | Wants::Foreign => None,
        }
    }
}

/// What a message of Anthropic's says.
fn said(message: &str) -> Option<Vec<Part>> {
    let body = format!(r#"{{"messages":[{message}]}}"#);
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).ok()?;
    Some(request.message(0)?.draft().parts)
}
