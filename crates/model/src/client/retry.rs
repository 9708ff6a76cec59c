//! Repeated requests: which ones, and when.

use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::error::{Begun, ModelError, Refused, Wait};
use crate::settings::Retries;

/// Statuses that pass: timeouts, conflicts, rate limits, faults and overload of the server.
const PASSING: [u16; 8] = [408, 409, 429, 500, 502, 503, 504, 529];

/// Kinds of errors that pass, as streams report them.
const PASSING_KINDS: [&str; 6] = [
    "overloaded_error",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "server_error",
    "rate_limit_exceeded",
];

/// The treatment of an answer that fails after it has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// No repetition: the reader has seen a part of the answer.
    Never,
    /// A repetition from the start. Only for answers of which no reader has seen a part, such as
    /// summaries.
    FromTheStart,
}

/// The pause before a failed request is repeated; `None` for no repetition. `attempt` counts the
/// failures from 1; `salt` spreads requests that fail together.
pub(super) fn pause(
    error: &ModelError,
    attempt: u32,
    salt: u64,
    restart: Restart,
    retries: &Retries,
) -> Option<Duration> {
    let may = attempt <= retries.most && passes(error, restart);
    let asked = match error {
        ModelError::Refused(refused) | ModelError::Unavailable(refused) => refused.retry_after,
        _ => None,
    };
    match asked {
        Some(asked) if asked > retries.longest_asked => None,
        Some(asked) => may.then_some(asked),
        None => may.then(|| back_off(attempt, salt, retries)),
    }
}

/// Returns `true` if the same request may succeed later.
fn passes(error: &ModelError, restart: Restart) -> bool {
    let again = |begun: Begun| begun == Begun::No || restart == Restart::FromTheStart;
    match error {
        ModelError::Unreachable { .. } => true,
        ModelError::Broken { when } => again(*when),
        ModelError::Timeout { what, when, .. } => *what != Wait::Whole && again(*when),
        ModelError::Refused(refused) | ModelError::Unavailable(refused) => is_passing(refused),
        ModelError::Failed(failure) => {
            restart == Restart::FromTheStart && PASSING_KINDS.contains(&failure.kind.as_str())
        }
        _ => false,
    }
}

/// Returns `true` for a refusal that is temporary.
pub(super) fn is_passing(refused: &Refused) -> bool {
    let kind = refused.failure.as_ref().map(|failure| &*failure.kind);
    let in_stream = refused.status == 200 && kind.is_some_and(|kind| PASSING_KINDS.contains(&kind));
    refused
        .should_retry
        .unwrap_or(in_stream || PASSING.contains(&refused.status))
}

/// `first · 2^(attempt − 1)`, at most `longest`, less up to a quarter: which part of the quarter is a
/// hash of the attempt and the salt.
fn back_off(attempt: u32, salt: u64, retries: &Retries) -> Duration {
    let doublings = attempt.saturating_sub(1).min(31);
    let full = retries
        .first
        .saturating_mul(1 << doublings)
        .min(retries.longest);
    // 10 bits are more than enough to spread by.
    let share = spread(u64::from(attempt) ^ salt) >> 54;
    full - full.mul_f64(0.25) * u32::try_from(share).unwrap_or(0) / 1_024
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input moves every bit of
/// the output.
const fn spread(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The pause that the headers of an answer ask for: `retry-after-ms`, else `retry-after` in seconds or
/// as a date, which is compared with the answer's own `date`.
pub(super) fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(milliseconds / 1_000.0).ok();
    }
    let after = text("retry-after")?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment = |text: &str| -> Option<Timestamp> {
        let zoned = rfc2822::DateTimeParser::new().parse_zoned(text).ok()?;
        Some(zoned.timestamp())
    };
    let until = moment(after)?;
    let now = moment(text("date")?)?;
    Duration::try_from(until.duration_since(now)).ok()
}

/// The value of `x-should-retry`.
pub(super) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderMap, HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::{Restart, asked_pause, pause};
    use crate::error::{Begun, ModelError, Refused, Wait};
    use crate::settings::Retries;

    fn refused(status: u16, retry_after: Option<u64>) -> ModelError {
        ModelError::Refused(Box::new(Refused {
            status,
            failure: None,
            retry_after: retry_after.map(Duration::from_secs),
            should_retry: None,
        }))
    }

    #[track_caller]
    fn check(error: &ModelError, restart: Restart, again: bool) {
        let retries = Retries::default();
        let pause = pause(error, 1, 7, restart, &retries);
        assert_eq!(pause.is_some(), again, "{error:?}");
    }

    #[test]
    fn what_passes_is_tried_again() {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            check(&refused(status, None), Restart::Never, true);
        }
        for status in [400, 401, 403, 404, 413, 422, 501] {
            check(&refused(status, None), Restart::FromTheStart, false);
        }
        let host = "h".to_owned();
        let why = "refused".to_owned();
        check(&ModelError::Unreachable { host, why }, Restart::Never, true);
    }

    #[test]
    fn an_answer_that_had_begun_is_asked_for_again_only_where_nobody_saw_it() {
        let cut = ModelError::Broken { when: Begun::Yes };
        check(&cut, Restart::Never, false);
        check(&cut, Restart::FromTheStart, true);
        let reset = ModelError::Broken { when: Begun::No };
        check(&reset, Restart::Never, true);
        let whole = ModelError::Timeout {
            what: Wait::Whole,
            waited: Duration::ZERO,
            when: Begun::No,
        };
        check(&whole, Restart::FromTheStart, false);
    }

    #[test]
    fn a_provider_may_ask_for_a_pause_up_to_the_cap() {
        let retries = Retries::default();
        let pause = |after| pause(&refused(429, Some(after)), 1, 0, Restart::Never, &retries);
        assert_eq!(pause(0), Some(Duration::ZERO));
        assert_eq!(pause(60), Some(Duration::from_secs(60)));
        assert_eq!(pause(61), None);
    }

    #[track_caller]
    fn check_asked(headers: &[(&'static str, &'static str)], expected: Option<u64>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|&(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .collect();
        let expected = expected.map(Duration::from_millis);
        assert_eq!(asked_pause(&headers), expected, "{headers:?}");
    }

    #[test]
    fn the_forms_in_which_a_pause_is_asked_for() {
        check_asked(&[], None);
        check_asked(&[("retry-after", "7")], Some(7_000));
        check_asked(&[("retry-after", "0.25")], Some(250));
        check_asked(&[("retry-after", "7"), ("retry-after-ms", "40")], Some(40));
        check_asked(&[("retry-after", "-1")], None);
        check_asked(&[("retry-after", "soon")], None);
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let until = ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT");
        check_asked(&[date, until], Some(30_000));
        check_asked(&[until], None);
    }

    proptest! {
        #[test]
        fn pauses_grow_to_their_limit_and_stay_below_it(attempt in 1_u32..5, salt: u64) {
            let retries = Retries::default();
            let error = refused(503, None);
            let pause = pause(&error, attempt, salt, Restart::Never, &retries).unwrap();
            let full = Duration::from_millis(500 << (attempt - 1)).min(retries.longest);
            prop_assert!(pause <= full && pause > full.mul_f64(0.74));
            prop_assert_eq!(Some(pause), super::pause(&error, attempt, salt, Restart::Never, &retries));
        }

        #[test]
        fn after_the_last_attempt_nothing_is_tried(attempt in 5_u32..40) {
            let error = refused(503, None);
            let retries = Retries::default();
            prop_assert_eq!(pause(&error, attempt, 0, Restart::Never, &retries), None);
        }
    }
}
