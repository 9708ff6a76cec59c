//! A window as text: what the model would see, one line a turn.

use std::fmt;

use super::ContextWindow;
use crate::turn::{Part, Provenance, Turn};

/// The number of characters of a turn's text on a line.
const SHOWN: usize = 48;

/// A window as text, one line a turn: position (`>` at the focus), role, kind, class, tokens, and
/// the beginning of the text. It shows message text: it is for people and for tests, not for logs.
#[derive(Clone, Copy)]
pub struct Outline<'a> {
    window: &'a ContextWindow,
}

impl<'a> Outline<'a> {
    pub(super) const fn of(window: &'a ContextWindow) -> Self {
        Self { window }
    }
}

impl fmt::Display for Outline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = self.window;
        writeln!(
            f,
            "{} of {} tokens, {}",
            window.tokens(),
            window.limit(),
            window.pressure()
        )?;
        for (position, turn) in (1..).zip(window.turns()) {
            let focus = if position == window.position() {
                '>'
            } else {
                ' '
            };
            let class = window
                .class_of(turn.id())
                .map_or("-", |class| class.as_str());
            writeln!(
                f,
                "{focus}{position:>3} {:<9} {:<8} {class:<9} {:>6}  {}",
                turn.role(),
                kind(turn),
                turn.tokens(),
                Shortened(turn),
            )?;
        }
        Ok(())
    }
}

/// The kind of a turn, in one word.
fn kind(turn: &Turn) -> &'static str {
    match turn.provenance() {
        Provenance::Summary => return "summary",
        Provenance::Pins => return "pins",
        Provenance::Note => return "note",
        Provenance::Shrunk => return "shrunk",
        Provenance::Gap => return "gap",
        Provenance::Said => {}
    }
    let has = |wanted: fn(&Part) -> bool| turn.parts().iter().any(wanted);
    if has(|part| matches!(part, Part::Call(_))) {
        "call"
    } else if has(|part| matches!(part, Part::Result(_))) {
        "result"
    } else if has(|part| matches!(part, Part::Text(_))) {
        "text"
    } else if has(|part| matches!(part, Part::Thinking(_))) {
        "thinking"
    } else if turn.parts().is_empty() {
        "empty"
    } else {
        "binary"
    }
}

/// The beginning of a turn's text, on one line.
struct Shortened<'a>(&'a Turn);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.0.parts().iter().flat_map(Part::readable);
        let words = parts.flat_map(str::split_whitespace);
        let mut shown = 0;
        for word in words {
            let length = word.chars().count() + 1;
            if shown + length > SHOWN + 1 {
                let rest: String = word.chars().take(SHOWN.saturating_sub(shown)).collect();
                let gap = if shown == 0 || rest.is_empty() {
                    ""
                } else {
                    " "
                };
                return write!(f, "{gap}{rest}…");
            }
            let gap = if shown == 0 { "" } else { " " };
            write!(f, "{gap}{word}")?;
            shown += length;
        }
        Ok(())
    }
}
