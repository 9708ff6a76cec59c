//! The layer of each box.

use std::collections::VecDeque;

use super::Line;

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
    // What nothing leads into moves down to what it leads to.
    let mut entered = vec![false; boxes];
    for (_, to) in &arcs {
        if let Some(entered) = entered.get_mut(*to) {
            *entered = true;
        }
    }
    for free in (0..boxes).filter(|it| !entered.get(*it).copied().unwrap_or_default()) {
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
    let mut down = Ways::new(boxes);
    for (from, to) in pairs.iter().filter(|pair| back(**pair).is_none()) {
        down.lead(*from, *to);
    }
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
        *turned = down.leads(*to, *from);
        if !*turned {
            down.lead(*from, *to);
        }
    }
    let directed = pairs.into_iter().zip(turned);
    let directed =
        directed.map(|((from, to), turned)| if turned { (to, from) } else { (from, to) });
    directed.collect()
}

/// The boxes that each box leads to.
struct Ways(Vec<Vec<usize>>);

impl Ways {
    fn new(boxes: usize) -> Self {
        Self(vec![Vec::new(); boxes])
    }

    fn lead(&mut self, from: usize, to: usize) {
        if let Some(list) = self.0.get_mut(from) {
            list.push(to);
        }
    }

    fn from(&self, it: usize) -> &[usize] {
        self.0.get(it).map_or(&[], Vec::as_slice)
    }

    /// Returns true if there is a way from one box to another.
    fn leads(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.0.len()];
        let mut open = vec![from];
        while let Some(it) = open.pop() {
            if it == to {
                return true;
            }
            if let Some(seen) = seen.get_mut(it).filter(|seen| !**seen) {
                *seen = true;
                open.extend(self.from(it));
            }
        }
        false
    }
}

/// The distance of each box, in lines, from a source or, on a cycle that nothing enters, from its first box.
fn distances(boxes: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut ways = Ways::new(boxes);
    let mut entered = vec![false; boxes];
    for (from, to) in pairs {
        ways.lead(*from, *to);
        if let Some(entered) = entered.get_mut(*to) {
            *entered = true;
        }
    }
    let is_free = |it: &usize| !entered.get(*it).copied().unwrap_or_default();
    let mut away: Vec<Option<usize>> = vec![None; boxes];
    let free: Vec<usize> = (0..boxes).filter(is_free).collect();
    for starts in std::iter::once(free).chain((0..boxes).map(|it| vec![it])) {
        let mut open: VecDeque<(usize, usize)> = starts.into_iter().map(|it| (it, 0)).collect();
        while let Some((it, far)) = open.pop_front() {
            if let Some(place @ None) = away.get_mut(it) {
                *place = Some(far);
                open.extend(ways.from(it).iter().map(|next| (*next, far + 1)));
            }
        }
    }
    away.into_iter().map(Option::unwrap_or_default).collect()
}

/// The time at which a depth-first walk leaves each box; the walk begins where nothing leads into, and
/// takes boxes in order.
fn depth_first(boxes: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut next = vec![Vec::new(); boxes];
    let mut entered = vec![false; boxes];
    for (from, to) in pairs {
        if let Some(list) = next.get_mut(*from) {
            list.push(*to);
        }
        if let Some(entered) = entered.get_mut(*to) {
            *entered = true;
        }
    }
    let is_entered = |it: &usize| entered.get(*it).copied().unwrap_or_default();
    let (inner, free): (Vec<usize>, Vec<usize>) = (0..boxes).partition(is_entered);
    let mut left = vec![0; boxes];
    let mut seen = vec![false; boxes];
    let mut clock = 0;
    for start in free.into_iter().chain(inner) {
        let mut open = vec![(start, false)];
        while let Some((it, leaving)) = open.pop() {
            if leaving {
                clock += 1;
                if let Some(left) = left.get_mut(it) {
                    *left = clock;
                }
                continue;
            }
            let Some(seen) = seen.get_mut(it).filter(|seen| !**seen) else {
                continue;
            };
            *seen = true;
            open.push((it, true));
            // The first line is followed first, so it is put on top.
            let next = next.get(it).into_iter().flatten().rev();
            open.extend(next.map(|it| (*it, false)));
        }
    }
    left
}

/// An order in which every arc leads from an earlier box to a later one.
fn topological(boxes: usize, arcs: &[(usize, usize)]) -> Vec<usize> {
    let rank = depth_first(boxes, arcs);
    let mut order: Vec<usize> = (0..boxes).collect();
    order.sort_by_key(|it| std::cmp::Reverse(rank.get(*it).copied()));
    order
}
