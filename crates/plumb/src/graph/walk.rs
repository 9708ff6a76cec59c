//! Walks over directed graphs, without recursion. A graph is a list of the successors of each node.

/// The nodes that can be reached from `starts`, in the order in which a depth-first walk leaves them. The walk
/// passes over nodes that are `seen`, and marks those that it visits.
pub(crate) fn left(
    next: &[Vec<usize>],
    starts: impl IntoIterator<Item = usize>,
    seen: &mut [bool],
) -> Vec<usize> {
    let mut order = Vec::with_capacity(next.len());
    let mut open = Vec::new();
    for start in starts {
        open.push((start, false));
        while let Some((node, leaving)) = open.pop() {
            if leaving {
                order.push(node);
            } else if let Some(seen) = seen.get_mut(node)
                && !std::mem::replace(seen, true)
            {
                open.push((node, true));
                // The stack is last in, first out: the first successor has to come last.
                let ahead = next.get(node).into_iter().flatten().rev();
                open.extend(ahead.map(|node| (*node, false)));
            }
        }
    }
    order
}

/// The strongly connected component of each node, after Kosaraju and Sharir. An edge lies on a cycle if and only
/// if both its ends are in one component.
pub(crate) fn components(next: &[Vec<usize>]) -> Vec<usize> {
    let count = next.len();
    let edges = next.iter().enumerate();
    let edges = edges.flat_map(|(from, ahead)| ahead.iter().map(move |to| (*to, from)));
    let back = successors(count, edges);
    let order = left(next, 0..count, &mut vec![false; count]);
    let mut component = vec![usize::MAX; count];
    let mut open = Vec::new();
    for (label, start) in order.into_iter().rev().enumerate() {
        open.push(start);
        while let Some(node) = open.pop() {
            if let Some(component) = component.get_mut(node).filter(|it| **it == usize::MAX) {
                *component = label;
                open.extend(back.get(node).into_iter().flatten());
            }
        }
    }
    component
}

/// The successors of each of `count` nodes. Edges of other nodes are left out.
pub(crate) fn successors(
    count: usize,
    edges: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); count];
    for (from, to) in edges {
        if let Some(ahead) = next.get_mut(from) {
            ahead.push(to);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn nodes_on_one_cycle_have_one_number() {
        let next = [vec![1], vec![2], vec![0, 3], vec![4], vec![4], vec![]];
        let component = components(&next);
        assert_eq!(component[0], component[1]);
        assert_eq!(component[1], component[2]);
        assert_ne!(component[2], component[3]);
        assert_ne!(component[3], component[4]);
        assert_ne!(component[4], component[5]);
    }
}
