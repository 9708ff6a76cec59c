//! The messages that wait on edges: first in, first out per edge.
//!
//! A network at rest has messages on few of its edges (before barriers), so only those edges have a head
//! here, and the size of the whole depends on the messages that wait and not on the network.

use crate::value::Value;

/// Messages on edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// In the order of edges; only those with messages.
    heads: Vec<Head>,
    /// The messages, and free places, which hold `null`.
    cells: Vec<Cell>,
    /// The first free place.
    free: Option<u32>,
    /// The number of messages.
    total: usize,
}

#[derive(Clone, Debug)]
struct Head {
    edge: u32,
    first: u32,
    last: u32,
    length: u32,
}

#[derive(Clone, Debug)]
struct Cell {
    value: Value,
    stamp: u64,
    next: Option<u32>,
}

/// Room for so many messages is kept when they are gone.
const KEPT: usize = 64;

impl Queues {
    fn place(&self, edge: u32) -> Result<usize, usize> {
        self.heads.binary_search_by_key(&edge, |head| head.edge)
    }

    fn head(&self, edge: u32) -> Option<&Head> {
        self.heads.get(self.place(edge).ok()?)
    }

    /// The number of messages that wait on this edge.
    pub(super) fn length(&self, edge: u32) -> u32 {
        self.head(edge).map_or(0, |head| head.length)
    }

    /// The number of messages that wait on all edges.
    pub(super) const fn total(&self) -> usize {
        self.total
    }

    /// On how many edges messages wait.
    pub(super) const fn spread(&self) -> usize {
        self.heads.len()
    }

    /// The arrival stamp of the first message of this edge, if there is one.
    pub(super) fn stamp(&self, edge: u32) -> Option<u64> {
        let head = self.head(edge)?;
        self.cells.get(head.first as usize).map(|cell| cell.stamp)
    }

    /// Puts a message at the end of an edge; how many there are now.
    pub(super) fn push(&mut self, edge: u32, value: Value, stamp: u64) -> u32 {
        let cell = Cell {
            value,
            stamp,
            next: None,
        };
        let at = self.store(cell);
        self.total += 1;
        match self.place(edge) {
            Ok(place) => {
                let Some(head) = self.heads.get_mut(place) else {
                    return 0;
                };
                let before = std::mem::replace(&mut head.last, at);
                head.length += 1;
                let length = head.length;
                if let Some(cell) = self.cells.get_mut(before as usize) {
                    cell.next = Some(at);
                }
                length
            }
            Err(place) => {
                let head = Head {
                    edge,
                    first: at,
                    last: at,
                    length: 1,
                };
                self.heads.insert(place, head);
                1
            }
        }
    }

    fn store(&mut self, cell: Cell) -> u32 {
        if let Some(at) = self.free
            && let Some(place) = self.cells.get_mut(at as usize)
        {
            self.free = place.next;
            *place = cell;
            return at;
        }
        let at = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        self.cells.push(cell);
        at
    }

    /// Takes the first message of an edge; how many are left on it.
    pub(super) fn pop(&mut self, edge: u32) -> Option<(Value, u32)> {
        let place = self.place(edge).ok()?;
        let head = self.heads.get_mut(place)?;
        let at = head.first;
        let cell = self.cells.get_mut(at as usize)?;
        let value = std::mem::replace(&mut cell.value, Value::Null);
        let next = std::mem::replace(&mut cell.next, self.free);
        self.free = Some(at);
        self.total -= 1;
        head.length -= 1;
        let length = head.length;
        match next {
            Some(next) => head.first = next,
            None => {
                self.heads.remove(place);
            }
        }
        Some((value, length))
    }

    /// Gives back the room that a burst of messages took.
    pub(super) fn rest(&mut self) {
        if self.total == 0 {
            self.cells.clear();
            self.free = None;
        }
        if self.cells.capacity() > KEPT && self.total < KEPT / 2 {
            self.shrink();
        }
    }

    /// Gives back all room that no message takes.
    pub(super) fn shrink(&mut self) {
        let mut small = Self::default();
        let waiting: Vec<_> = self
            .iter()
            .map(|(edge, stamp, value)| (edge, value.clone(), stamp))
            .collect();
        small.cells.reserve_exact(waiting.len());
        for (edge, value, stamp) in waiting {
            small.push(edge, value, stamp);
        }
        small.heads.shrink_to_fit();
        *self = small;
    }

    /// The edges that have messages.
    pub(super) fn edges(&self) -> impl Iterator<Item = u32> {
        self.heads.iter().map(|head| head.edge)
    }

    /// All messages with their edge and stamp, edge by edge, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64, &Value)> {
        self.heads.iter().flat_map(|head| {
            let first = self.cells.get(head.first as usize);
            std::iter::successors(first, |cell| self.cells.get(cell.next? as usize))
                .map(|cell| (head.edge, cell.stamp, &cell.value))
        })
    }

    /// The bytes it takes, without what strings, lists and records hold.
    pub(super) fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<Head>() + self.cells.capacity() * size_of::<Cell>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map of queues.
        #[test]
        fn each_edge_is_first_in_first_out(steps in prop::collection::vec((0_u32..5, any::<bool>()), 0..200)) {
            let mut queues = Queues::default();
            let mut plain: BTreeMap<u32, VecDeque<u64>> = BTreeMap::new();
            for (stamp, (edge, push)) in (0..).zip(steps) {
                let line = plain.entry(edge).or_default();
                if push {
                    line.push_back(stamp);
                    let length = queues.push(edge, Value::Int(stamp as i64), stamp);
                    prop_assert_eq!(length as usize, line.len());
                } else {
                    let expected = line.pop_front().map(|at| (Value::Int(at as i64), line.len() as u32));
                    prop_assert_eq!(queues.pop(edge), expected);
                }
                match stamp % 3 {
                    0 => queues.rest(),
                    1 => queues.shrink(),
                    _ => {}
                }
                prop_assert_eq!(queues.length(edge) as usize, plain[&edge].len());
                prop_assert_eq!(queues.stamp(edge), plain[&edge].front().copied());
                let all: Vec<_> = queues.iter().map(|(edge, stamp, _)| (edge, stamp)).collect();
                let expected: Vec<_> =
                    plain.iter().flat_map(|(edge, line)| line.iter().map(|at| (*edge, *at))).collect();
                prop_assert_eq!(queues.total(), all.len());
                prop_assert_eq!(all, expected);
            }
        }
    }
}
