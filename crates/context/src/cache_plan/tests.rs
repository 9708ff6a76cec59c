//! The section's numbers.

use super::price::{Cache, Compaction, Rates, edit_pays_after};
use crate::units::Tokens;

fn rates(write: f64, read: f64) -> Rates {
    Rates {
        write,
        read,
        output: 5.0,
    }
}

#[test]
fn an_edit_pays_back_after_the_documented_turns() {
    for (write, read, factor) in [
        (1.25, 0.1, 11.5),
        (1.25, 0.05, 24.0),
        (1.25, 0.025, 49.0),
        (2.0, 0.1, 19.0),
        (2.0, 0.05, 39.0),
        (2.0, 0.025, 79.0),
    ] {
        let turns = edit_pays_after(Tokens::new(1_000), Tokens::new(3_000), rates(write, read));
        assert!((turns - factor * 3.0).abs() < 1e-9, "{turns}");
    }
    assert!(edit_pays_after(Tokens::ZERO, Tokens::new(1), rates(1.25, 0.1)).is_infinite());
}

#[test]
fn the_worked_compaction() {
    let compaction = Compaction {
        context: Tokens::new(150_000),
        summary: Tokens::new(5_000),
        tail: Tokens::ZERO,
    };
    let rates = rates(1.25, 0.05);
    assert!((compaction.cost(Cache::Warm, rates) - 38_750.0).abs() < 1e-6);
    assert!((compaction.saved_per_turn(rates) - 7_250.0).abs() < 1e-6);
    assert!((compaction.pays_after(Cache::Warm, rates) - 5.34).abs() < 0.01);
    assert!((compaction.cost(Cache::Cold, rates) - 181_250.0).abs() < 1e-6);
    assert!((compaction.pays_after(Cache::Cold, rates) - 25.0).abs() < 1e-9);
    assert!(compaction.worth_while_idle(0.675, rates));
    assert!(!compaction.worth_while_idle(0.2, rates));
    assert!(!compaction.worth_while_idle(f64::NAN, rates));
}
