//! The report to a strategy's program: one telemetry record for each question.

use std::sync::{Arc, LazyLock};

use context::{Pressure, Tokens};
use history::Route;
use plumb::value::Value;

use super::HostSettings;
use crate::homunculus::event::{Reported, Wish};
use crate::homunculus::price::CacheState;
use crate::homunculus::strategy::{Moment, Situation, Stage};

/// The fields, in order. Those that every strategy looks at first stand first.
static NAMES: LazyLock<[Arc<str>; 18]> = LazyLock::new(|| {
    [
        "kind",
        "pressure",
        "hard",
        "stage",
        "swap",
        "after",
        "standby",
        "cache",
        "held_ms",
        "patience_ms",
        "input_tokens",
        "window",
        "compactions",
        "output_tokens",
        "cache_read",
        "cache_write",
        "ahead",
        "soft",
    ]
    .map(Arc::from)
});

/// The latest that a moved soft threshold lies behind the pressure from which on a summary is expected to
/// be late, as a share of the window: as the shipped strategies begin.
const LATEST: f64 = 0.05;

/// A telemetry record, as plain values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Report {
    /// `usage`, `held` or `idle`.
    pub kind: &'static str,
    /// The view as a share of the window.
    pub pressure: f64,
    /// The sizes of views that things are decided by.
    pub thresholds: Thresholds,
    /// `none`, `preparing` or `ready`.
    pub stage: &'static str,
    /// The outcome of a swap at this moment: `ok`, `none` if no summary is ready, or the reason for
    /// a refusal.
    pub swap: &'static str,
    /// The view after a swap as a share of the window; as it is where none can be made.
    pub after: f64,
    /// True if an older summary can be swapped in while a new one is made.
    pub standby: bool,
    /// `warm` or `cold`.
    pub cache: &'static str,
    /// The time that the request has been held, and the longest time that it may be.
    pub held: (i64, i64),
    /// Counts since the machine began.
    pub counts: Counts,
}

/// The counts of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Tokens of the view, and of the window.
    pub tokens: (u64, u64),
    /// Swaps so far.
    pub compactions: u32,
    /// Figures that the provider reported of the last answer.
    pub reported: Reported,
}

/// Sizes of views, as shares of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thresholds {
    /// From here on a view has to be made smaller.
    pub hard: f64,
    /// From here on a summary that a model writes is not expected to be ready at the hard threshold.
    pub ahead: f64,
    /// The soft threshold that the operator wants.
    pub soft: Option<f64>,
}

impl Report {
    /// Of a situation, under these settings.
    pub fn of(situation: &Situation<'_>, settings: HostSettings) -> Self {
        let limits = situation.limits;
        let share = |tokens: Tokens| Pressure::of(tokens, limits.window).get();
        let pressure = situation.pressure().get();
        let swap = match (situation.stage, situation.standby) {
            (Stage::Ready { swap, .. }, _) | (_, Some(swap)) => Some(swap),
            (Stage::None | Stage::Preparing { .. }, None) => None,
        };
        let after = swap.and_then(Result::ok);
        let ahead = match settings.route {
            // It is there at once.
            Route::Extractive => limits.hard,
            Route::Native | Route::Readable => share(situation.ahead()).min(limits.hard),
        };
        // A threshold that moved up does not make a summary late.
        let latest = match settings.is_moved {
            true => (ahead + LATEST).min(limits.hard),
            false => f64::INFINITY,
        };
        Self {
            kind: match situation.moment {
                Moment::Request => "usage",
                Moment::Held(_) => "held",
                Moment::Idle => "idle",
            },
            pressure,
            thresholds: Thresholds {
                hard: limits.hard,
                ahead,
                soft: settings.soft.map(|soft| soft.min(latest)),
            },
            stage: match situation.stage {
                Stage::None => "none",
                Stage::Preparing { .. } => "preparing",
                Stage::Ready { .. } => "ready",
            },
            swap: match swap {
                None => "none",
                Some(Ok(_)) => "ok",
                Some(Err(refusal)) => refusal.word(),
            },
            after: after.map_or(pressure, share),
            standby: matches!(situation.standby, Some(Ok(_))),
            cache: match situation.cache {
                CacheState::Warm => "warm",
                CacheState::Cold => "cold",
            },
            held: (
                match situation.moment {
                    Moment::Held(held) => milliseconds(held),
                    Moment::Request | Moment::Idle => 0,
                },
                milliseconds(limits.patience),
            ),
            counts: Counts {
                tokens: (situation.view.get(), limits.window.get()),
                compactions: situation.compactions,
                reported: situation.reported,
            },
        }
    }

    /// Encodes the report as a message. `None` if a share is not a number.
    pub fn to_value(self) -> Option<Value> {
        let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let Counts {
            tokens,
            compactions,
            reported,
        } = self.counts;
        let values = [
            Some(Value::from(self.kind)),
            share(self.pressure),
            share(self.thresholds.hard),
            Some(Value::from(self.stage)),
            Some(Value::from(self.swap)),
            share(self.after),
            Some(Value::Bool(self.standby)),
            Some(Value::from(self.cache)),
            Some(Value::Int(self.held.0)),
            Some(Value::Int(self.held.1)),
            Some(count(tokens.0)),
            Some(count(tokens.1)),
            Some(Value::Int(i64::from(compactions))),
            Some(count(reported.output.get())),
            Some(count(reported.cache_read.get())),
            Some(count(reported.cache_write.get())),
            share(self.thresholds.ahead),
            self.thresholds.soft.and_then(share),
        ];
        let named = NAMES.iter().zip(values);
        let fields: Vec<_> = named
            .filter_map(|(name, value)| Some((Arc::clone(name), value?)))
            .collect();
        Value::record(fields).ok()
    }
}

/// The record of a wish: `pin`, by whom, its share of the window and that of all pins, its own included.
pub(super) fn wish(wish: &Wish<'_>, situation: &Situation<'_>) -> Option<Value> {
    let window = situation.limits.window;
    let of_window = |tokens: Tokens| share(Pressure::of(tokens, window).get());
    let fields = [
        ("kind", Value::from("pin")),
        ("pin", Value::from(wish.id)),
        ("by", Value::from(wish.by)),
        ("share", of_window(wish.tokens)?),
        ("pinned", of_window(situation.path.pinned())?),
        ("window", Value::Int(i64::try_from(window.get()).ok()?)),
    ];
    Value::record(fields.map(|(name, value)| (Arc::from(name), value))).ok()
}

fn share(number: f64) -> Option<Value> {
    number.is_finite().then_some(Value::Number(number))
}

fn milliseconds(time: jiff::SignedDuration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
