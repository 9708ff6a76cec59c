//! Conversations, summaries and pins as the reports put them.

use ::conversation::Conversation as Live;
use ::conversation::homunculus::Extent;
use ::conversation::journal::{Ending, Journal, Sent, Served};
use ::conversation::words::Did;
use context::pin::Pin;
use context::regret::Kind;
use context::{Role, Tokens, Turn};
use history::{Conversation, Mark, Route, Totals};
use jiff::{SignedDuration, Timestamp};

use super::{Found, Past};
use crate::error;
use crate::report::{
    Entry, Gauge, Line, MarkReport, Money, PinReport, Regrets, RequestReport, Sample, Share,
};

pub(super) fn line_of(live: &Live, now: Timestamp) -> Line {
    let limits = live.limits();
    let last = live.last_request().map_or(0, |sent| u64::from(sent.tokens));
    Line {
        state: live.state(now),
        gauge: Gauge {
            tokens: last,
            window: limits.window.get(),
            soft: limits.window.scaled(live.soft()).get(),
            hard: limits.hard_tokens().get(),
        },
        observed: live.observes(),
        regrets: regrets(live),
        ..described(live.record())
    }
}

fn regrets(live: &Live) -> Regrets {
    let mut out = Regrets::default();
    for (kind, count) in live.regrets() {
        *match kind {
            Kind::ReadAgain => &mut out.read_again,
            Kind::SearchedAgain => &mut out.searched_again,
            Kind::FailedAgain => &mut out.failed_again,
            Kind::Corrected => &mut out.corrected,
            Kind::Reopened => &mut out.reopened,
        } = count;
    }
    out
}

pub(super) fn described(record: &Conversation) -> Line {
    let (labels, standing) = (&record.labels, &record.standing);
    let name = [&labels.session, &labels.agent]
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" · ");
    Line {
        id: record.id.to_string(),
        title: record.title.as_deref().unwrap_or_default().to_owned(),
        name,
        parent: record.parent.map(|parent| parent.to_string()),
        model: record.model.to_string(),
        turns: record.turns,
        compactions: standing
            .compactions
            .saturating_sub(standing.noted + standing.inherited),
        would_have_swapped: standing.noted,
        began: record.began.to_string(),
        seen: record.seen.to_string(),
        money: money(&record.totals),
        ..Line::default()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a cost stays far below 2^52 millionths"
)]
pub(super) fn money(totals: &Totals) -> Money {
    Money {
        requests: totals.requests,
        fresh: totals.fresh.get(),
        cache_read: totals.cache_read.get(),
        cache_write: totals.cache_write.get(),
        output: totals.output.get(),
        cost: totals.micros as f64 / 1e6,
        cost_without: totals.micros_without as f64 / 1e6,
        stalls_avoided: totals.stalls_avoided,
    }
}

pub(super) fn all<'t>(totals: impl Iterator<Item = &'t Totals>) -> Totals {
    totals.fold(Totals::default(), |sum, one| Totals {
        requests: sum.requests + one.requests,
        fresh: sum.fresh + one.fresh,
        cache_read: sum.cache_read + one.cache_read,
        cache_write: sum.cache_write + one.cache_write,
        output: sum.output + one.output,
        micros: sum.micros + one.micros,
        micros_without: sum.micros_without + one.micros_without,
        stalls_avoided: sum.stalls_avoided + one.stalls_avoided,
    })
}

/// The entries of a journal, newest first.
pub(super) fn entries(journal: &Journal) -> Vec<Entry> {
    let entries = journal.entries().map(|(at, happened)| Entry {
        at: at.to_string(),
        text: happened.to_string(),
    });
    entries.collect()
}

pub(super) fn sample(sent: &Sent) -> Sample {
    Sample {
        at: f64::from(sent.at) / 10.0,
        tokens: u64::from(sent.tokens),
        unchanged: u64::from(sent.unchanged),
        swapped: sent.swapped,
    }
}

/// The newest requests, newest first.
pub(super) fn requests(journal: &Journal, line: &Line) -> Vec<RequestReport> {
    let began: Timestamp = line.began.parse().unwrap_or_default();
    let seconds = |milliseconds: u32| f64::from(milliseconds) / 1e3;
    let report = |served: &Served| {
        let since = SignedDuration::from_millis(i64::from(served.at) * 100);
        let at = began.checked_add(since).unwrap_or(began);
        RequestReport {
            at: at.to_string(),
            tokens: served.tokens.map(u64::from),
            did: served.did.iter().map(Did::as_str).collect(),
            status: served.status,
            began: served.began.map(seconds),
            ended: seconds(served.ended),
            error: trouble(served),
        }
    };
    journal.outcomes().rev().map(report).collect()
}

/// The error of a request; empty without one.
fn trouble(served: &Served) -> String {
    let number = format!("E{:04}", served.fault);
    let ours = error::CODES.iter().find(|it| it.code.as_str() == number);
    match (ours, served.ending, served.status) {
        (Some(ours), ..) => format!("{number}: {}", ours.meaning),
        (None, Ending::Left, _) => "the client disconnected".to_owned(),
        (None, Ending::BrokenOff, _) => "the provider broke its answer off".to_owned(),
        (None, Ending::Whole, 400..) => "the provider refused it".to_owned(),
        (None, Ending::Whole, _) => String::new(),
    }
}

/// The number of turns of the path that a mark replaces.
pub(super) fn covered(mark: &Mark, path: &[Turn]) -> usize {
    path.iter()
        .rposition(|turn| turn.id() == mark.node)
        .map_or(0, |last| last + 1)
}

pub(super) fn mark_report(mark: &Mark, past: &Past, found: &Found) -> MarkReport {
    let covered = covered(mark, &past.path);
    let was_shown = match &found.shared {
        Some(shared) => shared.lock().journal().was_shown(mark.id()),
        None => past.journal.was_shown(mark.id()),
    };
    let old = past.path.get(..covered).unwrap_or_default();
    let id = mark.id();
    let observes = found.line.observed;
    let state = match (Some(id), was_shown) {
        (_, Some(true)) if observes => "replaced",
        // It was made to show what would have been swapped in.
        (_, _) if observes => "would-replace",
        (ready, _) if ready == found.ready => "ready",
        (_, Some(false)) => "would-replace",
        (standing, _) if standing == found.standing => "standing",
        (_, Some(true) | None) => "replaced",
    };
    MarkReport {
        id: id.to_string(),
        route: mark.route.as_str(),
        at: mark.at.to_string(),
        state,
        replaced_turns: covered,
        replaced_tokens: old.iter().map(Turn::tokens).sum::<Tokens>().get(),
        tokens: mark.tokens.get(),
        text: readable(mark),
    }
}

/// The readable part of a summary; of the provider's own, the part in plain text.
pub(super) fn readable(mark: &Mark) -> String {
    if mark.route != Route::Native {
        return mark.summary.to_string();
    }
    let message: serde_json::Value = serde_json::from_str(&mark.summary).unwrap_or_default();
    let block = message.get("content").and_then(|content| content.get(0));
    let text = block.and_then(|block| block.get("content")?.as_str());
    text.unwrap_or("(sealed by the provider)").to_owned()
}

/// The shares of the window by class of content.
pub(super) fn classes(live: &Live, past: &Past) -> Vec<Share> {
    // In mode observe, the request goes out as it came.
    let shown = match live.observes() {
        true => Extent::default(),
        false => live.shown(),
    };
    let path = live.whole_path();
    let tail = past.path.get(shown.from..).unwrap_or_default();
    let of = |wanted: &[Role]| -> Tokens {
        let turns = tail.iter().filter(|turn| wanted.contains(&turn.role()));
        turns.map(Turn::tokens).sum()
    };
    let pins = match live.observes() {
        true => Tokens::ZERO,
        false => path.front(shown.from),
    };
    let instructions = of(&[Role::System]) + live.overhead();
    let shares = [
        ("summary", shown.summary),
        ("pins", pins),
        ("user", of(&[Role::User, Role::Other])),
        ("assistant", of(&[Role::Assistant])),
        ("tool results", of(&[Role::Tool])),
        ("system and tools", instructions),
    ];
    shares
        .into_iter()
        .filter(|&(_, tokens)| tokens > Tokens::ZERO)
        .map(|(class, tokens)| Share {
            class,
            tokens: tokens.get(),
        })
        .collect()
}

pub(super) fn pin_report(pin: &Pin, removable: bool) -> PinReport {
    PinReport {
        id: pin.id.to_string(),
        text: pin.text.to_string(),
        origin: pin.origin.as_str(),
        tokens: pin.tokens.get(),
        removable,
    }
}

#[cfg(test)]
mod tests {
    use ::conversation::journal::{Deeds, Ending, Served};

    use super::trouble;

    #[test]
    fn what_went_wrong_is_said_in_words() {
        let check = |status, ending, fault, expected: &str| {
            let served = Served {
                at: 0,
                tokens: None,
                did: Deeds::default(),
                status,
                began: None,
                ended: 5,
                ending,
                fault,
            };
            assert_eq!(trouble(&served), expected);
        };
        check(200, Ending::Whole, 0, "");
        check(429, Ending::Whole, 0, "the provider refused it");
        check(
            200,
            Ending::BrokenOff,
            0,
            "the provider broke its answer off",
        );
        check(499, Ending::Left, 0, "the client disconnected");
        check(
            504,
            Ending::Whole,
            804,
            "E0804: the provider sent nothing for too long",
        );
        check(200, Ending::Whole, 1, "");
    }
}
