//! The window at a turn: what the conversation was when it had so many turns.

use context::window::ContextWindow;
use context::{Tokens, Turn};

use crate::report::Placed;

/// Turns shown before and behind the focus.
const AROUND: usize = 10;

/// The turns around the focus.
pub(super) fn around(window: &ContextWindow) -> Vec<Placed> {
    let first = window.seeks(|at| at.saturating_sub(AROUND).max(1));
    let last = window.seeks(|at| at.saturating_add(AROUND));
    // Lazy: only the places that are shown are computed.
    let places = window.duplicate();
    let filled = window.extend(|here| {
        let turns = here.turns_up_to(here.position());
        turns.map(Turn::tokens).sum::<Tokens>()
    });
    let shown = first.position()..=last.position();
    let placed = shown.filter_map(|at| {
        let here = places.peek(at);
        let turn = here.extract()?;
        let tag = here.linearity().get(turn.id())?;
        let was = tag.first_class();
        let why = tag.rationale().last().map(ToString::to_string);
        Some(Placed {
            at,
            role: turn.role().as_str(),
            class: tag.class().as_str(),
            was: (was != tag.class()).then(|| was.as_str()),
            why: why.unwrap_or_default(),
            tokens: turn.tokens().get(),
            filled: filled.peek(at).get(),
            text: turn.readable(),
        })
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use context::{Heuristic, Role, Tokens, TurnDraft, TurnId};

    use conversation::window::of;

    use super::around;

    #[test]
    fn the_window_moves_along_the_turns() {
        let mut parent = TurnId::ROOT;
        let turns = (1..=30).map(|n| {
            let role = if n % 2 == 1 {
                Role::User
            } else {
                Role::Assistant
            };
            let turn = TurnDraft::text(role, format!("turn {n}")).after(parent, &Heuristic);
            parent = turn.id();
            turn
        });
        let window = of(Tokens::new(10_000), turns, &[]);
        let check = |at: usize, expected: std::ops::RangeInclusive<usize>| {
            let placed = around(&window.seek(at));
            let places: Vec<usize> = placed.iter().map(|placed| placed.at).collect();
            assert_eq!(places, expected.collect::<Vec<_>>(), "{at}");
            for placed in &placed {
                assert_eq!(placed.text, format!("turn {}", placed.at));
            }
            let filled = placed.windows(2);
            assert!(
                filled
                    .clone()
                    .all(|pair| pair[1].filled == pair[0].filled + pair[1].tokens)
            );
        };
        check(15, 5..=25);
        check(0, 1..=10);
        check(99, 20..=30);
        assert!(around(&of(Tokens::new(10), Vec::new(), &[])).is_empty());
    }
}
