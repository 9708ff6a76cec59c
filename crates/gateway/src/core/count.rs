//! The size of a conversation: of its view, so that a client that watches it does not compact by itself.

use bytes::Bytes;
use context::TurnId;
use conversation::homunculus::Shown;
use jiff::Timestamp;
use wire::api::Dialect;

use super::Inner;
use super::call::Call;
use super::decide::{as_it_came, is_held_elsewhere};
use super::dress::Look;
use super::exchange::{Arrival, Outgoing, Verdict};
use super::identity::{Known, compare};
use super::live::Shared;
use super::ticket::Ticket;
use crate::config::Mode;
use crate::rewrite::{self, betas, render};
use crate::words::Did;

impl Inner {
    /// What is sent to have a request counted. It changes nothing in its conversation.
    pub(super) async fn count(
        &self,
        arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let body = arrival.body.clone();
        let read = self.read(&arrival, dialect, &body);
        let parsed = read.as_ref().map(|(request, _)| request);
        if let Some(direct) = parsed.and_then(rewrite::refuse_thread) {
            return Verdict::Answer(direct);
        }
        let viewed = match read {
            Some((request, elements))
                if self.parts.config.mode == Mode::On && !is_held_elsewhere(&request) =>
            {
                let call = self.call(&arrival, &request, elements, now);
                self.viewed(&call).await
            }
            Some(_) | None => None,
        };
        let outgoing = viewed.unwrap_or_else(|| as_it_came(arrival.body, Did::Passed));
        Verdict::Send(outgoing, Ticket::default())
    }

    async fn viewed(&self, call: &Call<'_>) -> Option<Outgoing> {
        for shared in self.registry.linked(call.tenant, call.keys.links()) {
            self.dressed(call.tenant, &shared).await.ok()?;
            let Some(look) = look(call, &shared).filter(|look| !look.is_plain()) else {
                continue;
            };
            let recipe = look.recipe();
            // A request that can not be shown so is counted as it is.
            let sent = render(call.request, &recipe).ok()?;
            return Some(Outgoing {
                body: Bytes::from(sent),
                betas: betas(call.dialect(), &recipe),
                did: vec![Did::Compacted],
                conversation: Some(shared.id),
                tokens: None,
            });
        }
        None
    }
}

/// How a request would be shown as part of this conversation, as that is shown now.
fn look(call: &Call<'_>, shared: &Shared) -> Option<Look> {
    let live = shared.lock();
    let known = Known {
        keys: &live.said.keys,
        ids: live.said.outline.ids(),
    };
    let common = compare(call.request, &call.keys, known, &super::identity::Uncounted).common;
    let shown: Shown = live.supervisor.machine.shown();
    let reaches = |id: TurnId| live.place_of(id) <= common;
    let standing = live.record.standing;
    let holds = shown.from < common && reaches(standing.cleared) && reaches(standing.stripped);
    (live.dialect == call.dialect() && holds).then(|| live.look(shown, common))
}
