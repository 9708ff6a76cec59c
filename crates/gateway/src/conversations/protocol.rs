//! Compaction as a protocol: the dialects in which clients ask for it and bring it back.
//!
//! A sealed summary that a client brings is opened before anything else is done with its request, so the rest of
//! the gateway and the provider see readable text. Parts about compaction that the provider does not know are
//! taken out of the request, and the gateway does the work instead.

use std::sync::Arc;

use ::conversation::client_compaction::Answered;
use ::conversation::identity::Key;
use ::conversation::rewrite::{ClientCompaction, Wants, own_compaction, pauses, unseal};
use ::conversation::seal::{SealRefusal, Seals};
use ::conversation::words::Did;
use ::conversation::{Incoming, Input};
use bytes::Bytes;
use context::coded::Coded;
use context::{Text, Tokens};
use history::Tenant;
use http::{HeaderMap, HeaderName, StatusCode};
use jiff::Timestamp;
use tokens::Capability;
use wire::api::{Dialect, Failure, Request};

use super::request::origin;
use super::ticket::Passage;
use super::{Arrival, Inner, Outgoing, Ticket, Verdict};

/// The size from which a provider compacts where the client names none.
const DUE: Tokens = Tokens::new(150_000);
/// The header in which Anthropic's clients name betas.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// The client's wish that the provider compact from some size on.
#[derive(Clone, Copy, Debug)]
struct Due {
    from: Tokens,
    pauses: bool,
}

/// The work on compaction before a request was decided.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    did: Vec<Did>,
    refused: Vec<SealRefusal>,
    /// Betas that the provider does not know.
    drops: &'static [&'static str],
    due: Option<Due>,
}

impl Spoken {
    /// For a request that is only counted.
    pub(super) fn counted(mut self) -> Self {
        self.due = None;
        self
    }
}

impl Inner {
    /// Returns true if the provider itself compacts for this model when a client asks.
    pub(super) fn knows_compaction(
        &self,
        (tenant, url): (Tenant, &str),
        (dialect, model): (Dialect, &str),
        now: Timestamp,
    ) -> bool {
        if self.bridges(dialect) {
            return false;
        }
        if let Some(knows) = self.parts.config.policy.native_compaction {
            return knows;
        }
        let known = self.directory.commons.model(&Text::from(model));
        known.can(Capability::NativeCompaction)
            && dialect.facts().compaction.native
            && !self
                .unknowing
                .has(self.knowing_key((tenant, url), (dialect, model)), now)
    }

    /// Returns true if requests of this dialect reach their provider in another one.
    pub(super) fn bridges(&self, dialect: Dialect) -> bool {
        self.parts.config.openai_over_chat && dialect.facts().server.bridged.is_some()
    }

    /// The key of a model at a server, whichever path of the dialect is asked.
    fn knowing_key(&self, (tenant, url): (Tenant, &str), (dialect, model): (Dialect, &str)) -> Key {
        let path = url
            .split('?')
            .next()
            .unwrap_or_default()
            .trim_end_matches('/');
        let server = &dialect.facts().server;
        let ends = server.generate.0.iter().chain(server.count.0);
        let longest = ends
            .filter(|end| path.ends_with(**end))
            .max_by_key(|end| end.len());
        let base = longest
            .and_then(|end| path.strip_suffix(end))
            .unwrap_or(path);
        self.directory.commons.model_key(tenant, base, model)
    }

    /// The seals of a tenant.
    pub(super) fn seals(&self, tenant: Tenant) -> Seals {
        Seals::of(self.directory.commons.secret(), tenant)
    }

    /// Opens what is sealed in a request, and takes out of it what its provider does not know.
    pub(super) async fn speak(
        &self,
        arrival: &mut Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Spoken {
        let mut spoken = Spoken::default();
        if !Request::may_be_sealed(&arrival.body) && !names_compaction(&arrival.headers, dialect) {
            return spoken;
        }
        let body = arrival.body.clone();
        let bytes = body.len();
        let changed = self
            .reading
            .of(bytes, || self.spoken(arrival, dialect, &mut spoken, now));
        if let Some(changed) = changed.await {
            arrival.body = changed;
        }
        if !spoken.drops.is_empty() {
            drop_betas(&mut arrival.headers, spoken.drops);
        }
        spoken
    }

    fn spoken(
        &self,
        arrival: &Arrival,
        dialect: Dialect,
        spoken: &mut Spoken,
        now: Timestamp,
    ) -> Option<Bytes> {
        let request = Request::parse(dialect, &arrival.body).ok()?;
        let model = request.model().unwrap_or_default();
        let to = (arrival.tenant, &*arrival.url);
        let knows = self.knows_compaction(to, (dialect, &model), now);
        let unsealed = unseal(&request, &self.seals(arrival.tenant), knows);
        spoken
            .did
            .extend((unsealed.opened > 0).then_some(Did::Opened));
        if !unsealed.refused.is_empty() {
            spoken.did.push(Did::SealRefused);
        }
        spoken.refused = unsealed.refused;
        if !knows && self.answers() {
            spoken.drops = dialect.facts().betas.all_compaction;
            spoken.due = due(&arrival.target, &request);
        }
        let body = unsealed.body.map(Bytes::from);
        if spoken.due.is_none() {
            return body;
        }
        let whole = body.clone().unwrap_or_else(|| arrival.body.clone());
        let request = Request::parse(dialect, &whole).ok()?;
        request.without_threshold().map(Bytes::from).or(body)
    }

    /// The body with its seals opened, where a provider's earlier answer brought them.
    pub(super) fn unsealed(&self, tenant: Tenant, (dialect, body): (Dialect, Bytes)) -> Bytes {
        if !Request::may_be_sealed(&body) {
            return body;
        }
        let opened = Request::parse(dialect, &body)
            .ok()
            .and_then(|request| unseal(&request, &self.seals(tenant), true).body);
        opened.map_or(body, Bytes::from)
    }

    /// Returns true if the gateway may answer clients that compact.
    fn answers(&self) -> bool {
        let terms = &self.directory.terms;
        terms.is_on() && terms.answer_compaction
    }

    /// The answer to a client that compacts in a dialect that its provider does not know.
    pub(super) async fn at_once(
        &self,
        incoming: &Incoming<'_>,
        (passage, own): (&Passage, &ClientCompaction),
    ) -> Option<Answered> {
        let asks_for_seal = matches!(own.wants, Wants::Sealed | Wants::Listed);
        let to = (incoming.tenant, &*passage.arrival.url);
        let model = (
            incoming.dialect(),
            &*passage.flight.model_name().to_string(),
        );
        if !asks_for_seal || self.knows_compaction(to, model, incoming.now) {
            return None;
        }
        let at_once = passage.shared.lock().at_once()?;
        let at_once = self.with_originals(at_once, incoming, own).await;
        let (bytes, seals) = (incoming.request.body().len(), self.seals(incoming.tenant));
        let answer = || at_once.answer(incoming, (own, &seals), incoming.now);
        self.reading.of(bytes, answer).await
    }

    /// Puts what was done about compaction into a verdict.
    pub(super) async fn spoke(
        self: &Arc<Self>,
        (spoken, verdict): (Spoken, Verdict),
        now: Timestamp,
    ) -> Verdict {
        for refusal in &spoken.refused {
            tracing::warn!(code = %refusal.code(), "a sealed summary was left out: {refusal}");
        }
        match verdict {
            Verdict::Answer(mut direct) => {
                tell(&mut direct.did, &spoken.did);
                Verdict::Answer(direct)
            }
            Verdict::Send(mut outgoing, mut ticket) => {
                tell(&mut outgoing.did, &spoken.did);
                ticket.told = spoken.did;
                outgoing.drops = spoken.drops;
                if let Some(passage) = ticket.passage() {
                    let mut conversation = passage.shared.lock();
                    for refusal in spoken.refused {
                        conversation.on(Input::SealRefused(refusal), now);
                    }
                }
                let is_due = |due: &Due| outgoing.tokens.is_some_and(|size| size >= due.from);
                match spoken.due.filter(is_due) {
                    Some(due) => self.compacts(due, (outgoing, ticket), now).await,
                    None => Verdict::Send(outgoing, ticket),
                }
            }
        }
    }

    /// The client wants a compaction from some size on, and that is reached.
    async fn compacts(
        self: &Arc<Self>,
        due: Due,
        (mut outgoing, mut ticket): (Outgoing, Ticket),
        now: Timestamp,
    ) -> Verdict {
        let Some(passage) = ticket.passage() else {
            return Verdict::Send(outgoing, ticket);
        };
        let (arrival, dialect) = (passage.arrival.clone(), passage.flight.dialect());
        let commons = &self.directory.commons;
        let Some((request, elements)) = commons.read(arrival.tenant, dialect, &arrival.body) else {
            return Verdict::Send(outgoing, ticket);
        };
        let incoming = commons.incoming(&request, elements, origin(&arrival), now);
        let own = ClientCompaction {
            client: dialect.facts().compaction.client,
            covers: request.len(),
            wants: Wants::Later(Some(due.from)),
        };
        let at_hand = {
            let conversation = passage.shared.lock();
            conversation
                .at_hand(&own)
                .or_else(|| conversation.at_once())
        };
        let at_hand = match at_hand {
            Some(at_hand) => Some(self.with_originals(at_hand, &incoming, &own).await),
            None => None,
        };
        let (seals, bytes) = (self.seals(arrival.tenant), arrival.body.len());
        if due.pauses {
            let answer = || at_hand?.answer(&incoming, (&own, &seals), now);
            let answered = self.reading.of(bytes, answer).await;
            return match (answered, ticket.take_passage()) {
                (Some(answered), Some(passage)) => {
                    let mut verdict = self.answered(&incoming, (*passage, answered), &own).await;
                    if let Verdict::Answer(direct) = &mut verdict {
                        tell(&mut direct.did, &ticket.told);
                    }
                    verdict
                }
                (_, passage) => Verdict::Send(outgoing, Ticket::again(passage)),
            };
        }
        let piece = || at_hand?.piece(&incoming, (&own, &seals), now);
        let made = self.reading.of(bytes, piece).await;
        if let Some((piece, sealed)) = made {
            let shared = Arc::clone(&passage.shared);
            let (inner, tenant, of) = (Arc::clone(self), arrival.tenant, (shared.id, true));
            let parts = sealed.parts();
            self.in_time(async move { inner.remember(tenant, of, (&parts, now)).await })
                .await;
            shared.lock().on(Input::ClientCompacted(&own), now);
            outgoing.prefix = Some(piece);
            tell(&mut outgoing.did, &[Did::Answered]);
        }
        Verdict::Send(outgoing, ticket)
    }
}

impl Ticket {
    /// Decides the request again where the provider refused it because it does not know compaction.
    pub(super) async fn decided_anew(
        &mut self,
        status: StatusCode,
        failure: Option<&Failure>,
        now: Timestamp,
    ) -> Option<Verdict> {
        let passage = self.passage()?;
        let inner = Arc::clone(passage.inner());
        let arrival = passage.arrival.clone();
        let (dialect, name) = (
            passage.flight.dialect(),
            passage.flight.model_name().to_string(),
        );
        if !inner.answers() || !is_about_compaction(status, failure, (&arrival, dialect)) {
            return None;
        }
        let to = (arrival.tenant, &*arrival.url);
        if !inner.knows_compaction(to, (dialect, &name), now)
            || inner.parts.config.policy.native_compaction.is_some()
            || !inner
                .unknowing
                .learn(inner.knowing_key(to, (dialect, &name)), now)
        {
            return None;
        }
        tracing::info!(
            model = name,
            "the provider knows no compaction; the gateway answers"
        );
        // It has landed before it is decided again.
        drop(self.take_passage());
        let mut verdict = inner.generate(arrival, dialect, now).await;
        match &mut verdict {
            Verdict::Answer(direct) => tell(&mut direct.did, &self.told),
            Verdict::Send(outgoing, _) => tell(&mut outgoing.did, &self.told),
        }
        Some(verdict)
    }
}

/// Returns true if a provider refused what it does not know of compaction.
fn is_about_compaction(
    status: StatusCode,
    failure: Option<&Failure>,
    (arrival, dialect): (&Arrival, Dialect),
) -> bool {
    let path = arrival.target.split('?').next().unwrap_or_default();
    let own = dialect.facts().compaction.path;
    if own.is_some_and(|own| path.trim_end_matches('/').ends_with(own)) {
        return matches!(status.as_u16(), 404 | 405 | 501);
    }
    let Some(failure) = failure.filter(|_| matches!(status.as_u16(), 400 | 422)) else {
        return false;
    };
    let code = failure.code.as_deref().unwrap_or_default();
    // These come from a provider that knows it.
    if code.starts_with("compaction_") || code == "invalid_encrypted_content" {
        return false;
    }
    let asks = Request::may_be_sealed(&arrival.body) || names_compaction(&arrival.headers, dialect);
    let says = |word| failure.message.contains(word);
    asks && (says("compact") || says("context_management"))
}

/// Returns true if a request names a beta of compaction.
fn names_compaction(headers: &HeaderMap, dialect: Dialect) -> bool {
    let betas = dialect.facts().betas.all_compaction;
    let lines = headers.get_all(BETA).into_iter();
    let mut lines = lines.filter_map(|line| line.to_str().ok());
    !betas.is_empty() && lines.any(|line| betas.iter().any(|beta| line.contains(beta)))
}

/// Takes betas out of the headers of a request.
pub(crate) fn drop_betas(headers: &mut HeaderMap, betas: &[&str]) {
    let lines = headers.get_all(BETA).into_iter();
    let names = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    let left: Vec<String> = names
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty() && !betas.contains(&name.as_str()))
        .collect();
    headers.remove(BETA);
    if let Ok(left) = left.join(",").parse::<http::HeaderValue>()
        && !left.is_empty()
    {
        headers.insert(BETA, left);
    }
}

fn due(target: &str, request: &Request<'_>) -> Option<Due> {
    match own_compaction(target, request, None)?.wants {
        Wants::Later(from) => Some(Due {
            from: from.unwrap_or(DUE),
            pauses: pauses(request),
        }),
        _ => None,
    }
}

/// Adds words to those that say what was done.
fn tell(did: &mut Vec<Did>, more: &[Did]) {
    if more.is_empty() {
        return;
    }
    did.extend_from_slice(more);
    did.retain(|word| *word != Did::Kept);
    did.sort_unstable();
    did.dedup();
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::drop_betas;

    #[test]
    fn betas_are_dropped_and_others_stay() {
        let check = |lines: &[&'static str], left: &str| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("anthropic-beta", line.parse().unwrap());
            }
            drop_betas(&mut headers, &["a", "b"]);
            let found = headers.get("anthropic-beta");
            assert_eq!(found.map_or("", |it| it.to_str().unwrap()), left);
        };
        check(&["a"], "");
        check(&["a, c", "b,d"], "c,d");
        check(&[], "");
    }
}
