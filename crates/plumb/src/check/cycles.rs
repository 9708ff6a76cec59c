//! Cycles in the wiring.

/// Returns the strongly connected component of each node (Tarjan, without recursion). An edge lies on a cycle
/// if and only if both its ends are in one component.
pub(super) fn components(next: &[Vec<usize>]) -> Vec<usize> {
    let count = next.len();
    let mut search = Search {
        next,
        index: vec![NONE; count],
        low: vec![NONE; count],
        component: vec![NONE; count],
        open: Vec::new(),
        seen: 0,
        components: 0,
    };
    for node in 0..count {
        if search.index.get(node) == Some(&NONE) {
            search.from(node);
        }
    }
    search.component
}

const NONE: usize = usize::MAX;

struct Search<'a> {
    next: &'a [Vec<usize>],
    /// The order in which each node was first seen.
    index: Vec<usize>,
    /// The earliest node that can be reached from it and is open.
    low: Vec<usize>,
    component: Vec<usize>,
    /// The nodes whose component is not yet known.
    open: Vec<usize>,
    seen: usize,
    components: usize,
}

fn get(list: &[usize], at: usize) -> usize {
    list.get(at).copied().unwrap_or(NONE)
}

fn set(list: &mut [usize], at: usize, to: usize) {
    if let Some(slot) = list.get_mut(at) {
        *slot = to;
    }
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        set(&mut self.index, node, self.seen);
        set(&mut self.low, node, self.seen);
        self.seen += 1;
        self.open.push(node);
    }

    fn lower(&mut self, node: usize, to: usize) {
        let low = get(&self.low, node).min(to);
        set(&mut self.low, node, low);
    }

    fn from(&mut self, start: usize) {
        let mut stack = vec![(start, 0)];
        self.enter(start);
        while let Some((node, at)) = stack.pop() {
            let Some(to) = self.next.get(node).and_then(|next| next.get(at)).copied() else {
                self.leave(node);
                if let Some((parent, _)) = stack.last() {
                    self.lower(*parent, get(&self.low, node));
                }
                continue;
            };
            stack.push((node, at + 1));
            if get(&self.index, to) == NONE {
                self.enter(to);
                stack.push((to, 0));
            } else if get(&self.component, to) == NONE {
                self.lower(node, get(&self.index, to));
            }
        }
    }

    /// All that can be reached from a node is known.
    fn leave(&mut self, node: usize) {
        if get(&self.low, node) != get(&self.index, node) {
            return;
        }
        while let Some(member) = self.open.pop() {
            set(&mut self.component, member, self.components);
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
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
