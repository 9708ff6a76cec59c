//! The order of cells within their layers: few crossings.

use super::Grid;

/// The number of sweeps down and up.
const SWEEPS: usize = 12;

/// The neighbors of a cell in the layer above or below, with where the link meets them, in pixels from their
/// middle.
pub(super) type Neighbours = Vec<Vec<(usize, f64)>>;

/// The cells of each layer, from left to right.
pub(super) fn order(grid: &Grid) -> Vec<Vec<usize>> {
    let (above, below) = neighbours(grid);
    let mut rows = first(grid, &below);
    let mut best = rows.clone();
    let mut fewest = crossings(&rows, &below, grid.cells.len());
    for sweep in 0..SWEEPS {
        let mut places = places(&rows, grid.cells.len());
        if sweep % 2 == 0 {
            for row in &mut rows {
                by_median(row, &above, &mut places, grid);
            }
        } else {
            for row in rows.iter_mut().rev() {
                by_median(row, &below, &mut places, grid);
            }
        }
        let now = crossings(&rows, &below, grid.cells.len());
        if now < fewest {
            fewest = now;
            best.clone_from(&rows);
        }
    }
    best
}

/// Per cell: its neighbors above and below.
pub(super) fn neighbours(grid: &Grid) -> (Neighbours, Neighbours) {
    let mut above = vec![Vec::new(); grid.cells.len()];
    let mut below = above.clone();
    for link in &grid.links {
        if let Some(list) = above.get_mut(link.lower) {
            list.push((link.upper, link.leaves));
        }
        if let Some(list) = below.get_mut(link.upper) {
            list.push((link.lower, link.enters));
        }
    }
    (above, below)
}

/// Layer by layer, in the order of a depth-first walk from the top.
fn first(grid: &Grid, below: &Neighbours) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); grid.layers()];
    let mut seen = vec![false; grid.cells.len()];
    let mut starts: Vec<usize> = (0..grid.cells.len()).collect();
    starts.sort_by_key(|cell| grid.cells.get(*cell).map(|cell| cell.layer));
    for start in starts {
        let mut open = vec![start];
        while let Some(cell) = open.pop() {
            let Some(seen) = seen.get_mut(cell).filter(|seen| !**seen) else {
                continue;
            };
            *seen = true;
            let layer = grid.cells.get(cell).map_or(0, |cell| cell.layer);
            if let Some(row) = rows.get_mut(layer) {
                row.push(cell);
            }
            let next = below.get(cell).into_iter().flatten().rev();
            open.extend(next.map(|(cell, _)| *cell));
        }
    }
    rows
}

/// The place of each cell in its row.
fn places(rows: &[Vec<usize>], cells: usize) -> Vec<f64> {
    let mut places = vec![0.0; cells];
    for row in rows {
        number(row, &mut places);
    }
    places
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a row has fewer cells than a double has integers"
)]
fn number(row: &[usize], places: &mut [f64]) {
    for (at, cell) in row.iter().enumerate() {
        if let Some(place) = places.get_mut(*cell) {
            *place = at as f64;
        }
    }
}

/// Orders a row by the medians of its neighbors' places; who has none keeps its place.
fn by_median(row: &mut [usize], neighbours: &Neighbours, places: &mut [f64], grid: &Grid) {
    let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(row.len());
    for cell in row.iter() {
        let near = neighbours.get(*cell).into_iter().flatten();
        let place = |(cell, offset): &(usize, f64)| {
            // Where on a box a link meets it decides between links to the same box.
            let width = grid
                .cells
                .get(*cell)
                .map_or(0.0, |cell| cell.width)
                .max(1.0);
            places.get(*cell).copied().unwrap_or_default() + 0.9 * offset / width
        };
        let own = places.get(*cell).copied().unwrap_or_default();
        keyed.push((median(near.map(place).collect()).unwrap_or(own), *cell));
    }
    keyed.sort_by(|one, two| one.0.total_cmp(&two.0));
    for (slot, (_, cell)) in row.iter_mut().zip(keyed) {
        *slot = cell;
    }
    number(row, places);
}

/// The middle one, or the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(upper, *values.get(half.checked_sub(1)?)?))
}

/// The number of pairs of links that cross.
fn crossings(rows: &[Vec<usize>], below: &Neighbours, cells: usize) -> usize {
    let places = places(rows, cells);
    let mut total = 0;
    for row in rows {
        // The lower ends in the order of the upper ones: each inversion is a crossing.
        let mut ends = Vec::new();
        for cell in row {
            let near = below.get(*cell).into_iter().flatten();
            let mut of: Vec<(f64, f64)> = near
                .filter_map(|(cell, offset)| Some((*places.get(*cell)?, *offset)))
                .collect();
            of.sort_by(|one, two| one.0.total_cmp(&two.0).then(one.1.total_cmp(&two.1)));
            ends.extend(of.into_iter().map(|(place, _)| place));
        }
        total += inversions(&mut ends);
    }
    total
}

/// Counts inversions by merge sort.
fn inversions(values: &mut Vec<f64>) -> usize {
    if values.len() < 2 {
        return 0;
    }
    let mut upper = values.split_off(values.len() / 2);
    let mut count = inversions(values) + inversions(&mut upper);
    let mut merged = Vec::with_capacity(values.len() + upper.len());
    let mut lower = std::mem::take(values).into_iter().peekable();
    for value in upper {
        while let Some(smaller) = lower.next_if(|it| *it <= value) {
            merged.push(smaller);
        }
        count += lower.len();
        merged.push(value);
    }
    merged.extend(lower);
    *values = merged;
    count
}
