//! Events since the strategy was last asked. Each is told as one record before the next report.

use std::sync::Arc;

use context::Tokens;
use context::regret::{LastSeen, Regret};
use plumb::graph::Op;
use plumb::value::Value;

use super::reads;
use crate::homunculus::event::Telemetry;

/// The number of events that are kept; the oldest are left out.
const MOST: usize = 8;

/// The kind of the records of what the agent missed. A program that does not name it is not told of them.
const REGRET: &str = "regret";

/// Returns true if an expression names the records of what the agent missed.
pub(super) fn is_read_by(op: &Op) -> bool {
    matches!(op, Op::Constant(value) if reads::says(value, REGRET))
}

/// Events that a strategy has not been told yet.
#[derive(Clone, Debug, Default)]
pub(super) struct News(Option<Box<Items>>);

/// Apart, since most conversations never have any.
#[derive(Clone, Debug, Default)]
struct Items(Vec<Item>);

#[derive(Clone, Copy, Debug)]
enum Item {
    /// A summary was swapped in: the tokens of the view before and after.
    Swap(Tokens, Tokens),
    /// A preparation failed, the n-th in a row.
    Failed(u32),
    /// The provider refused the view as too long.
    Overflowed,
    /// The agent missed something.
    Regretted(Regret),
}

impl News {
    /// Takes up what happened, where a strategy is told of it.
    pub(super) fn hear(&mut self, telemetry: &Telemetry) {
        let item = match *telemetry {
            Telemetry::Swapped { before, after, .. } => Item::Swap(before, after),
            Telemetry::PreparationFailed(attempt) => Item::Failed(attempt),
            Telemetry::Overflowed => Item::Overflowed,
            Telemetry::Sent(_)
            | Telemetry::LateResult(_)
            | Telemetry::Branched
            | Telemetry::TakenBack { .. }
            | Telemetry::NotShown(_)
            | Telemetry::Commanded(..)
            | Telemetry::CameToNothing(_)
            | Telemetry::NotPinned(_)
            | Telemetry::StrategyFailed(_) => return,
        };
        self.add(item);
    }

    /// Takes up what the agent missed.
    pub(super) fn regretted(&mut self, regret: Regret) {
        self.add(Item::Regretted(regret));
    }

    fn add(&mut self, item: Item) {
        let Items(items) = &mut **self.0.get_or_insert_default();
        if items.len() == MOST {
            items.remove(0);
        }
        items.push(item);
    }

    /// The records, in order; there are none then.
    pub(super) fn told(&mut self, compactions: u32) -> impl Iterator<Item = Option<Value>> + use<> {
        let items = self.0.take().into_iter().flat_map(|items| items.0);
        items.map(move |item| item.to_value(compactions))
    }

    /// The bytes that it holds besides its own.
    pub(super) fn bytes(&self) -> usize {
        let items = self.0.as_ref();
        items.map_or(0, |items| {
            size_of::<Items>() + items.0.capacity() * size_of::<Item>()
        })
    }
}

impl Item {
    fn to_value(self, compactions: u32) -> Option<Value> {
        let tokens = |tokens: Tokens| Value::Int(i64::try_from(tokens.get()).unwrap_or(i64::MAX));
        let error = |error: &str, attempt: u32| {
            record([
                ("kind", Value::from("error")),
                ("error", Value::from(error)),
                ("attempt", Value::Int(attempt.into())),
            ])
        };
        match self {
            Self::Swap(before, after) => record([
                ("kind", Value::from("swap")),
                ("tokens_before", tokens(before)),
                ("tokens_after", tokens(after)),
                ("compactions", Value::Int(compactions.into())),
            ]),
            Self::Failed(attempt) => error("preparation_failed", attempt),
            Self::Overflowed => error("overflowed", 0),
            Self::Regretted(Regret { kind, place }) => {
                let turn = match place {
                    LastSeen::Turn(turn) => i64::try_from(turn).unwrap_or(i64::MAX),
                    LastSeen::Hidden | LastSeen::Before => 0,
                };
                record([
                    ("kind", Value::from(REGRET)),
                    ("what", Value::from(kind.as_str())),
                    ("turn", Value::Int(turn)),
                    ("compactions", Value::Int(compactions.into())),
                ])
            }
        }
    }
}

fn record<const N: usize>(fields: [(&str, Value); N]) -> Option<Value> {
    Value::record(fields.map(|(name, value)| (Arc::from(name), value))).ok()
}
