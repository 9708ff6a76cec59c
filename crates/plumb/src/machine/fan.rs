//! A copy to many filters of which each asks the same thing: which step, which label. Looking once is enough
//! to know those that drop the message.

use super::expression::{Expression, Hop};
use super::program::{Act, Pipe, Unit};
use super::state::NodeSet;
use crate::value::Value;

/// Fewer filters are not worth it.
const FEWEST: usize = 3;

/// An index of the filters behind a copy. It only saves time and changes no result.
#[derive(Debug)]
pub(super) struct Fan {
    /// The place in the message that they examine.
    hops: Box<[Hop]>,
    /// The outputs that may take the message, by the value at that place.
    cases: Box<[(Value, FanRoute)]>,
    /// The outputs that may take it where none of that stands there.
    otherwise: FanRoute,
    pub(super) filters: NodeSet,
}

/// The outputs for a message.
#[derive(Debug)]
pub(super) struct FanRoute {
    /// The edges on which it may go on, in order.
    pub(super) edges: Box<[u32]>,
    /// The number of filters that drop it, at one step each.
    pub(super) dropped: u64,
}

impl Fan {
    /// Builds the index of a copy; `None` if its filters examine different places.
    pub(super) fn new(copy: &Unit, units: &[Unit], pipes: &[Pipe]) -> Option<Self> {
        if !matches!(copy.act, Act::Copy) || copy.outputs.len() < FEWEST {
            return None;
        }
        let asks: Vec<FilterTest<'_>> = copy
            .outputs
            .iter()
            .map(|edge| FilterTest::of(*edge, units, pipes))
            .collect::<Option<_>>()?;
        let mut of_one = asks.iter().filter_map(|ask| ask.guard).map(|guard| guard.0);
        let count = |hops: &[Hop]| asks.iter().filter(|ask| ask.looks_at(hops)).count();
        let hops = of_one.by_ref().max_by_key(|hops| count(hops))?;
        if count(hops) < FEWEST {
            return None;
        }
        let mut filters = NodeSet::none(units.len());
        let mut values: Vec<&Value> = Vec::new();
        for ask in asks.iter().filter(|ask| ask.looks_at(hops)) {
            filters.put(ask.node);
            let value = ask.guard.map(|guard| guard.1);
            values.extend(value.filter(|value| !values.iter().any(|known| known.same(value))));
        }
        let way = |value: Option<&Value>| {
            let takes = |ask: &&FilterTest<'_>| {
                let other = |wanted: &Value| !value.is_some_and(|value| value.same(wanted));
                let guard = ask.guard.filter(|_| ask.looks_at(hops));
                !guard.is_some_and(|(_, wanted)| other(wanted))
            };
            let edges: Box<[u32]> = asks.iter().filter(takes).map(|ask| ask.edge).collect();
            FanRoute {
                dropped: (asks.len() - edges.len()) as u64,
                edges,
            }
        };
        Some(Self {
            hops: hops.iter().map(Hop::again).collect(),
            cases: values
                .iter()
                .map(|value| ((*value).clone(), way(Some(value))))
                .collect(),
            otherwise: way(None),
            filters,
        })
    }

    /// The outputs for a message; `None` if it lacks what the filters examine.
    pub(super) fn way(&self, message: &Value) -> Option<&FanRoute> {
        let value = Hop::walk(&self.hops, message).ok()?;
        let mut cases = self.cases.iter();
        let case = cases.find(|(wanted, _)| wanted.same(value));
        Some(case.map_or(&self.otherwise, |(_, way)| way))
    }
}

/// An output of a copy, with the first test of the filter behind it, if there is one.
struct FilterTest<'a> {
    edge: u32,
    node: u32,
    guard: Option<(&'a [Hop], &'a Value)>,
}

impl<'a> FilterTest<'a> {
    fn of(edge: u32, units: &'a [Unit], pipes: &[Pipe]) -> Option<Self> {
        let node = pipes.get(edge as usize)?.to;
        let guard = match &units.get(node as usize)?.act {
            Act::Filter(expression, _) => expression.guard(),
            _ => None,
        };
        Some(Self { edge, node, guard })
    }

    fn looks_at(&self, hops: &[Hop]) -> bool {
        self.guard.is_some_and(|(own, _)| {
            own.len() == hops.len() && own.iter().zip(hops).all(|(one, two)| one.is_like(two))
        })
    }
}

impl Expression {
    /// The place and the value that this condition tests first.
    fn guard(&self) -> Option<(&[Hop], &Value)> {
        match self {
            Self::Both(one, _) => one.guard(),
            Self::Same(one, two, true) => match (&**one, &**two) {
                (Self::Path(hops), Self::Constant(value))
                | (Self::Constant(value), Self::Path(hops))
                    if value.depth() == 0 && value.weight() < LIGHT =>
                {
                    Some((hops, value))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// To look at less than this takes one step, with the message at the node.
const LIGHT: u32 = 256;
