//! A layered drawing of a directed graph, from top to bottom, after Sugiyama, Tagawa and Toda (1981).
//!
//! ```text
//!  layers   cycles are opened at the edges that lead back; each box gets the layer of its longest way
//!  chains   an edge gets a cell in every layer that it crosses; one of them holds its label
//!  order    cells are ordered within their layers by medians of their neighbours, fewest crossings kept
//!  place    each layer takes the places nearest to its neighbours that keep order and distance
//! ```
//!
//! The crates that do this (ports of dagre, `layout-rs`) were looked at: they panic on input they do not
//! expect, read a clock, or know no labels of edges, and each is longer than this whole crate.

mod layers;
mod order;
mod place;
#[cfg(test)]
mod tests;

/// The drawing to lay out: boxes and lines between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    pub(super) boxes: Vec<Size>,
    pub(super) lines: Vec<Line>,
}

/// The size of a box, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A line from a box to a box, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The start on the lower side of `from`, from 0 (left) to 1 (right).
    pub(super) leaves: f64,
    /// The end on the upper side of `to`.
    pub(super) enters: f64,
    /// The width that its label takes, in pixels.
    pub(super) label: f64,
}

/// A point, in pixels from the upper left corner.
pub(super) type Point = (f64, f64);

/// The positions of boxes and lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The middle of each box.
    pub(super) boxes: Vec<Point>,
    pub(super) lines: Vec<Route>,
}

/// The way of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Route {
    /// The points from its first box to its last.
    pub(super) points: Vec<Point>,
    /// The middle of its label.
    pub(super) label: Point,
    /// True if it leads back up.
    pub(super) back: bool,
}

/// Space around the whole.
const MARGIN: f64 = 16.0;
/// Beyond so many cells, further long lines go straight and may cross boxes.
const CELLS: usize = 20_000;

/// A box, or a piece of a line in a layer that it crosses.
#[derive(Clone, Copy, Debug)]
struct Cell {
    layer: usize,
    width: f64,
    height: f64,
    /// True if it is a piece of a line.
    piece: bool,
}

/// A line between cells of neighbouring layers, from the upper to the lower.
#[derive(Clone, Copy, Debug)]
struct Link {
    upper: usize,
    lower: usize,
    /// The offset from the middle of the upper cell, in pixels.
    leaves: f64,
    /// The offset from the middle of the lower cell, in pixels.
    enters: f64,
}

/// Cells and links of a drawing.
#[derive(Clone, Debug, Default)]
struct Grid {
    cells: Vec<Cell>,
    links: Vec<Link>,
    /// Per line: its cells from top to bottom, both boxes included.
    chains: Vec<Vec<usize>>,
}

impl Grid {
    /// The number of layers.
    fn layers(&self) -> usize {
        let below = self.cells.iter().map(|cell| cell.layer + 1);
        below.max().unwrap_or_default()
    }
}

/// Lays a drawing out. Lines that name boxes that there are not are left without a way.
pub(super) fn layout(drawing: &Drawing) -> Layout {
    let boxes = drawing.boxes.len();
    let layers = layers::layers(boxes, &drawing.lines);
    let grid = chains(drawing, &layers);
    let rows = order::order(&grid);
    let xs = place::places(&grid, &rows);
    let ys = heights(&grid);
    let point = |cell: usize| match (xs.get(cell), ys.get(cell)) {
        (Some(x), Some(y)) => (*x, *y),
        _ => (0.0, 0.0),
    };
    let cells = || grid.cells.iter();
    let rights = cells().zip(&xs).map(|(cell, x)| x + cell.width / 2.0);
    let bottoms = cells().zip(&ys).map(|(cell, y)| y + cell.height / 2.0);
    Layout {
        width: rights.fold(0.0, f64::max) + MARGIN,
        height: bottoms.fold(0.0, f64::max) + MARGIN,
        boxes: (0..boxes).map(point).collect(),
        lines: routes(drawing, &grid, &point),
    }
}

/// Boxes stand in even layers, so that each line has a layer for its label.
fn chains(drawing: &Drawing, layers: &[usize]) -> Grid {
    let mut grid = Grid::default();
    for (size, layer) in drawing.boxes.iter().zip(layers) {
        grid.cells.push(Cell {
            layer: 2 * layer,
            width: size.width,
            height: size.height,
            piece: false,
        });
    }
    for line in &drawing.lines {
        let chain = chain(&mut grid, line).unwrap_or_default();
        grid.chains.push(chain);
    }
    grid
}

/// The cells of a line, from top to bottom. None for a loop at one box, and if there is no such box.
fn chain(grid: &mut Grid, line: &Line) -> Option<Vec<usize>> {
    let (from, to) = (*grid.cells.get(line.from)?, *grid.cells.get(line.to)?);
    if line.from == line.to {
        return None;
    }
    let down = from.layer < to.layer;
    let ((top, top_at), (bottom, bottom_at)) = if down {
        ((line.from, from), (line.to, to))
    } else {
        ((line.to, to), (line.from, from))
    };
    let offset = |cell: Cell, share: f64| (share - 0.5) * cell.width;
    // A line that leads back leaves and enters in the middle, where nothing else does.
    let (leaves, enters) = if down {
        (offset(from, line.leaves), offset(to, line.enters))
    } else {
        (offset(to, line.enters), offset(from, line.leaves))
    };
    let mut chain = vec![top];
    let middle = usize::midpoint(top_at.layer, bottom_at.layer) | 1;
    if grid.cells.len() < CELLS {
        for layer in top_at.layer + 1..bottom_at.layer {
            let labelled = layer == middle;
            chain.push(grid.cells.len());
            grid.cells.push(Cell {
                layer,
                width: if labelled { line.label } else { 0.0 },
                height: 0.0,
                piece: true,
            });
        }
        chain.push(bottom);
        for pair in chain.windows(2) {
            if let [upper, lower] = pair {
                grid.links.push(Link {
                    upper: *upper,
                    lower: *lower,
                    leaves: if *upper == top { leaves } else { 0.0 },
                    enters: if *lower == bottom { enters } else { 0.0 },
                });
            }
        }
    } else {
        chain.push(bottom);
    }
    Some(chain)
}

/// The height of each cell's middle: layers of boxes are as high as their highest box, layers of labels
/// have room for one line.
fn heights(grid: &Grid) -> Vec<f64> {
    const GAP: f64 = 34.0;
    let layers = grid.layers();
    let mut tallest = vec![0.0_f64; layers];
    for cell in &grid.cells {
        if let Some(height) = tallest.get_mut(cell.layer) {
            *height = height.max(cell.height);
        }
    }
    let mut top = MARGIN;
    let mut middles = Vec::with_capacity(layers);
    for (layer, height) in tallest.into_iter().enumerate() {
        middles.push(top + height / 2.0);
        top += height + if layer % 2 == 0 { GAP / 2.0 } else { GAP };
    }
    let middle = |cell: &Cell| middles.get(cell.layer).copied().unwrap_or_default();
    grid.cells.iter().map(middle).collect()
}

fn routes(drawing: &Drawing, grid: &Grid, point: &impl Fn(usize) -> Point) -> Vec<Route> {
    let of = |(line, chain): (&Line, &Vec<usize>)| {
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
            return at_itself(line, grid, point);
        };
        let back = *first != line.from;
        let end = |number: usize, share: f64, below: bool| {
            let cell = grid.cells.get(number);
            let (x, y) = point(number);
            let (width, height) = cell.map_or((0.0, 0.0), |cell| (cell.width, cell.height));
            let side = if below { height / 2.0 } else { -height / 2.0 };
            (x + (share - 0.5) * width, y + side)
        };
        let (leaves, enters) = if back {
            (line.enters, line.leaves)
        } else {
            (line.leaves, line.enters)
        };
        let inner = chain
            .get(1..chain.len().saturating_sub(1))
            .unwrap_or_default();
        let mut points = vec![end(*first, leaves, true)];
        points.extend(inner.iter().map(|cell| point(*cell)));
        points.push(end(*last, enters, false));
        let label = inner.iter().max_by(|one, two| {
            let width = |cell: usize| grid.cells.get(cell).map_or(0.0, |cell| cell.width);
            width(**one).total_cmp(&width(**two))
        });
        let label = label.map_or_else(
            || points.first().copied().unwrap_or_default(),
            |cell| point(*cell),
        );
        if back {
            points.reverse();
        }
        Route {
            points,
            label,
            back,
        }
    };
    drawing.lines.iter().zip(&grid.chains).map(of).collect()
}

/// A line from a box to itself runs round its right side.
fn at_itself(line: &Line, grid: &Grid, point: &impl Fn(usize) -> Point) -> Route {
    let Some(cell) = grid.cells.get(line.from).filter(|_| line.from == line.to) else {
        return Route::default();
    };
    let (x, y) = point(line.from);
    let (right, half) = (x + cell.width / 2.0, cell.height / 2.0);
    Route {
        points: vec![
            (right - 4.0, y + half),
            (right + 14.0, y),
            (right - 4.0, y - half),
        ],
        label: (right + 14.0, y),
        back: true,
    }
}
