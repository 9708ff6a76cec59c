//! The cycle on which a network used up its fuel.

use std::collections::VecDeque;

use super::program::Program;

/// The nodes of a shortest cycle through this node or, if it is on none, through the target of one of these
/// edges. The first in graph order comes first; empty if there is no cycle.
pub(super) fn through(program: &Program, node: u32, waiting: &[u32]) -> Vec<u32> {
    let others = waiting
        .iter()
        .filter_map(|edge| program.pipe(*edge))
        .map(|pipe| pipe.to);
    let found = std::iter::once(node)
        .chain(others)
        .find_map(|start| back_to(program, start));
    let mut cycle = found.unwrap_or_default();
    let first = cycle.iter().enumerate().min_by_key(|(_, node)| **node);
    let first = first.map_or(0, |(at, _)| at);
    cycle.rotate_left(first);
    cycle
}

/// Breadth first from a node until it is met again.
fn back_to(program: &Program, start: u32) -> Option<Vec<u32>> {
    let mut before: Vec<Option<u32>> = vec![None; program.units.len()];
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for edge in &program.unit(node)?.outputs {
            let next = program.pipe(*edge)?.to;
            if next == start {
                return Some(way(&before, start, node));
            }
            if let Some(place @ None) = before.get_mut(next as usize) {
                *place = Some(node);
                open.push_back(next);
            }
        }
    }
    None
}

fn way(before: &[Option<u32>], start: u32, end: u32) -> Vec<u32> {
    let step = |node: &u32| {
        let earlier = before.get(*node as usize).copied().flatten();
        earlier.filter(|_| *node != start)
    };
    let mut way: Vec<u32> = std::iter::successors(Some(end), step).collect();
    way.reverse();
    way
}
