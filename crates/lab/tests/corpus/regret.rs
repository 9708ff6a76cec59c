//! Regret of the recorded agents after the product's own compactions.

use lab::regret::{Row, Way, measure};
use tokens::{ModelCounter, Tokenizer};

use crate::receipt::coding_sessions;

#[test]
fn the_products_compactions_are_told_from_ours_and_from_habit() {
    let Some(sessions) = coding_sessions() else {
        return;
    };
    let rows = measure(&sessions, &ModelCounter::new(Tokenizer::Cl100k));
    for (way, row) in &rows {
        println!("{way:?}: {row:?}");
    }
    let missed = |row: &Row| row.regret.per_hundred(row.regret.total()).unwrap();
    let product = missed(&rows[&Way::Product]);
    assert!(product > missed(&rows[&Way::Habit]));
    assert!(product > missed(&rows[&Way::Prepared]));
}
