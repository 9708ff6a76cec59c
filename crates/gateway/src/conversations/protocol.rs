//! Compaction as a protocol: the dialects in which clients ask for it and bring it back.
//!
//! A sealed summary that a client brings is opened before anything else is done with its request, so the rest of
//! the gateway and the provider see readable text. Parts about compaction that the provider does not know are
//! taken out of the request, and the gateway does the work instead (`compacting`).

use std::sync::Arc;

use ::conversation::Input;
use ::conversation::directory::Directory;
use ::conversation::rewrite::{Wants, own_compaction, pauses, unseal};
use ::conversation::seal::{SealRefusal, Seals};
use ::conversation::words::Did;
use bytes::Bytes;
use context::Tokens;
use context::coded::Coded;
use history::Tenant;
use http::{HeaderMap, HeaderName, StatusCode};
use jiff::Timestamp;
use wire::api::{Dialect, Failure, Request};

use super::providers::Providers;
use super::running::Running;
use super::{Arrival, Reading, Verdict};

/// The size from which a provider compacts where the client names none.
const DUE: Tokens = Tokens::new(150_000);
/// The header in which Anthropic's clients name betas.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// The client's wish that the provider compact from some size on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The size.
    pub(super) from: Tokens,
    /// True if the client wants the summary alone, and asks again for the answer.
    pub(super) pauses: bool,
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

    /// Puts what was done about compaction into a verdict. Returns the compaction that the client wants if the request
    /// has reached the size for it.
    pub(super) fn tell(self, verdict: &mut Verdict, now: Timestamp) -> Option<Due> {
        for refusal in &self.refused {
            tracing::warn!(code = %refusal.code(), "a sealed summary was left out: {refusal}");
        }
        verdict.tell(&self.did);
        let Verdict::Send(outgoing, ticket) = verdict else {
            return None;
        };
        ticket.told = self.did;
        outgoing.drops = self.drops;
        if let Some(passage) = ticket.passage() {
            let mut conversation = passage.shared.lock();
            for refusal in self.refused {
                conversation.on(Input::SealRefused(refusal), now);
            }
        }
        let is_due = |due: &Due| outgoing.tokens.is_some_and(|size| size >= due.from);
        self.due.filter(is_due)
    }
}

/// Speaks the dialects of compaction.
pub(super) struct Speaking {
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) reading: Arc<Reading>,
    pub(super) providers: Providers,
}

impl Speaking {
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
        let knows = self.providers.knows_compaction(to, (dialect, &model), now);
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

    /// Learns from a refusal that a provider does not know compaction. Returns true if that is news and the gateway may
    /// answer in its place.
    pub(super) fn learn_refusal(
        &self,
        (arrival, dialect): (&Arrival, Dialect),
        model: &str,
        (status, failure): (StatusCode, Option<&Failure>),
        now: Timestamp,
    ) -> bool {
        let to = (arrival.tenant, &*arrival.url);
        self.answers()
            && is_about_compaction(status, failure, (arrival, dialect))
            && self.providers.refused_compaction(to, (dialect, model), now)
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
