//! The layer of each box.

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
fn downward(boxes: usize, lines: &[Line]) -> Vec<(usize, usize)> {
    let known = |line: &&Line| line.from != line.to && line.from < boxes && line.to < boxes;
    let pairs: Vec<(usize, usize)> = lines
        .iter()
        .filter(known)
        .map(|it| (it.from, it.to))
        .collect();
    let rank = depth_first(boxes, &pairs);
    let rank = |it: usize| rank.get(it).copied().unwrap_or_default();
    // In the order in which a depth-first walk leaves boxes, last first, only lines back lead up.
    let turned = |(from, to): (usize, usize)| {
        if rank(from) > rank(to) {
            (from, to)
        } else {
            (to, from)
        }
    };
    pairs.into_iter().map(turned).collect()
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
