//! The places of cells from left to right.

use super::order::{Neighbours, median, neighbours};
use super::{Cell, Grid, MARGIN};

/// The number of sweeps down and up.
const SWEEPS: usize = 16;
/// Between two boxes, and between two lines.
const GAP: (f64, f64) = (26.0, 14.0);

/// The middle of each cell.
pub(super) fn places(grid: &Grid, rows: &[Vec<usize>]) -> Vec<f64> {
    let (above, below) = neighbours(grid);
    let mut xs = vec![0.0; grid.cells.len()];
    for row in rows {
        settle(grid, row, &mut xs, |_, _| Some(0.0));
    }
    for sweep in 0..SWEEPS {
        let last = sweep + 2 >= SWEEPS;
        let near = |list: &Neighbours, cell: usize, xs: &[f64]| wish(list.get(cell)?, xs);
        let both = |cell: usize, xs: &[f64]| {
            let (up, down) = (near(&above, cell, xs), near(&below, cell, xs));
            match (up, down) {
                (Some(up), Some(down)) => Some(f64::midpoint(up, down)),
                (one, other) => one.or(other),
            }
        };
        let down = sweep % 2 == 0;
        let mut order: Vec<&Vec<usize>> = rows.iter().collect();
        if !down {
            order.reverse();
        }
        for row in order {
            settle(grid, row, &mut xs, |cell, xs| match (last, down) {
                (true, _) => both(cell, xs),
                (false, true) => near(&above, cell, xs),
                (false, false) => near(&below, cell, xs),
            });
        }
    }
    let lefts = grid
        .cells
        .iter()
        .zip(&xs)
        .map(|(cell, x)| x - cell.width / 2.0);
    let left = lefts.fold(f64::INFINITY, f64::min);
    xs.iter().map(|x| x - left + MARGIN).collect()
}

/// The best position of a cell for these neighbors.
fn wish(neighbours: &[(usize, f64)], xs: &[f64]) -> Option<f64> {
    let place = |(cell, offset): &(usize, f64)| Some(xs.get(*cell)? + offset);
    median(neighbours.iter().filter_map(place).collect())
}

/// The places of one row that are nearest to what its cells wish, in the sum of squares, with their order
/// and distances kept: cells that would come too near move as one (pool adjacent violators).
fn settle(grid: &Grid, row: &[usize], xs: &mut [f64], wish: impl Fn(usize, &[f64]) -> Option<f64>) {
    struct Pool {
        first: usize,
        weight: f64,
        sum: f64,
    }
    let mut offsets = Vec::with_capacity(row.len());
    let mut pools: Vec<Pool> = Vec::new();
    let mut before: Option<(f64, Cell)> = None;
    for (at, cell) in row.iter().enumerate() {
        let Some(own) = grid.cells.get(*cell) else {
            continue;
        };
        let offset = before.map_or(0.0, |(offset, left)| offset + distance(left, *own));
        before = Some((offset, *own));
        offsets.push(offset);
        let here = xs.get(*cell).copied().unwrap_or_default();
        let (wished, weight) = match wish(*cell, xs) {
            Some(wished) => (wished, if own.piece { 4.0 } else { 1.0 }),
            None => (here, 0.1),
        };
        let mut pool = Pool {
            first: at,
            weight,
            sum: weight * (wished - offset),
        };
        while let Some(last) = pools.pop_if(|last| last.sum / last.weight > pool.sum / pool.weight)
        {
            pool.first = last.first;
            pool.weight += last.weight;
            pool.sum += last.sum;
        }
        pools.push(pool);
    }
    let mut pools = pools.iter().peekable();
    let mut base = 0.0;
    for (at, (cell, offset)) in row.iter().zip(offsets).enumerate() {
        if let Some(pool) = pools.next_if(|pool| pool.first == at) {
            base = pool.sum / pool.weight;
        }
        if let Some(x) = xs.get_mut(*cell) {
            *x = base + offset;
        }
    }
}

/// Between the middles of two cells side by side.
fn distance(left: Cell, right: Cell) -> f64 {
    let gap = if left.piece && right.piece {
        GAP.1
    } else {
        GAP.0
    };
    f64::midpoint(left.width, right.width) + gap
}
