//! Layouts: nothing overlaps, lines go down.

use proptest::prelude::*;

use super::*;

fn drawing(boxes: usize, lines: &[(usize, usize)]) -> Drawing {
    let size = Size {
        width: 60.0,
        height: 20.0,
    };
    let line = |(from, to): &(usize, usize)| Line {
        from: *from,
        to: *to,
        leaves: 0.5,
        enters: 0.5,
        label: 30.0,
    };
    Drawing {
        boxes: vec![size; boxes],
        lines: lines.iter().map(line).collect(),
    }
}

#[test]
fn a_chain_is_a_straight_line_down() {
    let layout = layout(&drawing(3, &[(0, 1), (1, 2)]));
    let xs: Vec<f64> = layout.boxes.iter().map(|point| point.0).collect();
    assert!(xs.iter().all(|x| (x - xs[0]).abs() < 0.01), "{xs:?}");
    assert!(layout.boxes[0].1 < layout.boxes[1].1 && layout.boxes[1].1 < layout.boxes[2].1);
    assert!(layout.lines.iter().all(|line| !line.back));
}

#[test]
fn a_cycle_has_one_line_back() {
    let layout = layout(&drawing(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]));
    let back: Vec<bool> = layout.lines.iter().map(|line| line.back).collect();
    assert_eq!(back, [false, false, true, false]);
}

#[test]
fn what_is_fed_alike_stands_side_by_side() {
    // Two agents (1, 2) before a barrier (3), whose verdict (4) goes back to both.
    let lines = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 1), (4, 2)];
    let layout = layout(&drawing(5, &lines));
    assert!((layout.boxes[1].1 - layout.boxes[2].1).abs() < 0.01);
    let back: Vec<bool> = layout.lines.iter().map(|line| line.back).collect();
    assert_eq!(back, [false, false, false, false, false, true, true]);
}

#[test]
fn crossings_that_need_not_be_are_not() {
    // Two chains whose lower boxes are numbered the other way round.
    let layout = layout(&drawing(4, &[(0, 3), (1, 2)]));
    let left = |one: usize, two: usize| layout.boxes[one].0 < layout.boxes[two].0;
    assert_eq!(left(0, 1), left(3, 2));
}

proptest! {
    /// Boxes of one layer do not touch, lines begin and end at their boxes, lines back lead up.
    #[test]
    fn any_graph_is_laid_out(boxes in 1_usize..24, pairs in prop::collection::vec((0_usize..24, 0_usize..24), 0..48)) {
        let pairs: Vec<_> = pairs.into_iter().map(|(from, to)| (from % boxes, to % boxes)).collect();
        let layout = layout(&drawing(boxes, &pairs));
        for (at, one) in layout.boxes.iter().enumerate() {
            prop_assert!(one.0.is_finite() && one.1.is_finite());
            prop_assert!(one.0 - 30.0 >= 0.0 && one.0 + 30.0 <= layout.width);
            prop_assert!(one.1 - 10.0 >= 0.0 && one.1 + 10.0 <= layout.height);
            for two in layout.boxes.iter().skip(at + 1) {
                prop_assert!((one.0 - two.0).abs() >= 60.0 || (one.1 - two.1).abs() >= 20.0);
            }
        }
        for ((from, to), route) in pairs.iter().zip(&layout.lines) {
            let (first, last) = (route.points[0], route.points[route.points.len() - 1]);
            if from == to {
                continue;
            }
            let side = if route.back { -10.0 } else { 10.0 };
            prop_assert!((first.0 - layout.boxes[*from].0).abs() < 0.01);
            prop_assert!((first.1 - layout.boxes[*from].1 - side).abs() < 0.01);
            prop_assert!((last.1 - layout.boxes[*to].1 + side).abs() < 0.01);
            prop_assert_eq!(route.back, layout.boxes[*from].1 > layout.boxes[*to].1);
        }
    }
}
