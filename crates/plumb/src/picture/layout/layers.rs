//! The layer of each box.

use std::collections::{HashSet, VecDeque};

use super::Line;
use crate::graph::walk::{left, successors};

/// The layer of each box: every line leads down but those that lead back on a cycle.
pub(super) fn layers(boxes: usize, lines: &[Line]) -> Vec<usize> {
    let arcs = downward(boxes, lines);
    let mut layer = vec![0_usize; boxes];
    let order = topological(boxes, &arcs);
    for from in &order {
        let next = layer.get(*from).map_or(0, |layer| layer + 1);
        for to in arcs.iter().filter(|arc| arc.0 == *from).map(|arc| arc.1) {
            if let Some(place) = layer.get_mut(to) {
                *place = next.max(*place);
            }
        }
    }
    // A source moves down to just above what it leads to.
    for free in sources(boxes, &arcs) {
        let targets = arcs.iter().filter(|arc| arc.0 == free);
        let nearest = targets.filter_map(|arc| layer.get(arc.1).copied()).min();
        if let (Some(nearest), Some(place)) = (nearest, layer.get_mut(free)) {
            *place = nearest.saturating_sub(1);
        }
    }
    layer
}

/// The lines as pairs of boxes, those that lead back turned round, loops at one box left out.
///
/// Which of the lines of a cycle leads back is said by how far boxes are from where everything begins: what
/// leads away from there leads down. Of the others those that go back least are taken first, and lead down
/// where they close no cycle. So what is fed alike stands side by side, and the line that is turned is the
/// one that a reader would call feedback.
fn downward(boxes: usize, lines: &[Line]) -> Vec<(usize, usize)> {
    let known = |line: &&Line| line.from != line.to && line.from < boxes && line.to < boxes;
    let pairs: Vec<(usize, usize)> = lines
        .iter()
        .filter(known)
        .map(|it| (it.from, it.to))
        .collect();
    let away = distances(boxes, &pairs);
    let back = |(from, to): (usize, usize)| {
        let at = |it: usize| away.get(it).copied().unwrap_or_default();
        (at(to) <= at(from)).then(|| at(from) - at(to))
    };
    let onward = pairs.iter().filter(|pair| back(**pair).is_none());
    let mut down = successors(boxes, onward.copied());
    let mut turned = vec![false; pairs.len()];
    let numbered = pairs.iter().enumerate();
    let mut others: Vec<(usize, usize)> = numbered
        .filter_map(|(number, pair)| Some((back(*pair)?, number)))
        .collect();
    others.sort_unstable();
    for (_, number) in others {
        let (Some((from, to)), Some(turned)) = (pairs.get(number), turned.get_mut(number)) else {
            continue;
        };
        *turned = leads(&down, *to, *from);
        if let Some(ahead) = down.get_mut(*from).filter(|_| !*turned) {
            ahead.push(*to);
        }
    }
    let directed = pairs.into_iter().zip(turned);
    let directed =
        directed.map(|((from, to), turned)| if turned { (to, from) } else { (from, to) });
    directed.collect()
}

/// Returns true if there is a way from one box to another.
fn leads(next: &[Vec<usize>], from: usize, to: usize) -> bool {
    left(next, [from], &mut vec![false; next.len()]).contains(&to)
}

/// The distance of each box, in lines, from a source or, on a cycle that nothing enters, from its first box.
fn distances(boxes: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let next = successors(boxes, pairs.iter().copied());
    let mut away: Vec<Option<usize>> = vec![None; boxes];
    for starts in std::iter::once(sources(boxes, pairs)).chain((0..boxes).map(|it| vec![it])) {
        let mut open: VecDeque<(usize, usize)> = starts.into_iter().map(|it| (it, 0)).collect();
        while let Some((it, far)) = open.pop_front() {
            if let Some(place @ None) = away.get_mut(it) {
                *place = Some(far);
                let ahead = next.get(it).into_iter().flatten();
                open.extend(ahead.map(|next| (*next, far + 1)));
            }
        }
    }
    away.into_iter().map(Option::unwrap_or_default).collect()
}

/// The boxes that no line enters.
fn sources(boxes: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let entered: HashSet<usize> = pairs.iter().map(|(_, to)| *to).collect();
    (0..boxes).filter(|it| !entered.contains(it)).collect()
}

/// An order in which every arc leads from an earlier box to a later one.
fn topological(boxes: usize, arcs: &[(usize, usize)]) -> Vec<usize> {
    let next = successors(boxes, arcs.iter().copied());
    let starts = sources(boxes, arcs).into_iter().chain(0..boxes);
    let mut order = left(&next, starts, &mut vec![false; boxes]);
    order.reverse();
    order
}
