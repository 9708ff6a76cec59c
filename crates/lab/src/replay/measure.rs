//! Needed-later recall at a compaction of the replay.

use context::{Role, Tokens, Turn};

use super::Scene;
use crate::compare::RecallFigures;
use crate::options::RecallMeasure;
use crate::recall::{Cut, Reading, Rules, needed_in, score};

/// A compaction as recall sees it.
pub(super) struct RecallCut<'a> {
    /// The turns before this index are compacted.
    pub cut: usize,
    /// The request has so many turns.
    pub len: usize,
    /// The text that the model would have seen in their place.
    pub seen: &'a str,
    /// The size of that.
    pub size: Tokens,
}

/// The figures of one compaction; `None` where they are not asked for or nothing is needed later.
pub(super) fn recall(scene: &Scene<'_>, place: &RecallCut<'_>) -> Option<RecallFigures> {
    if scene.options.recall == RecallMeasure::Skipped {
        return None;
    }
    let turns = &scene.session.turns;
    let (old, rest) = turns.split_at_checked(place.cut)?;
    let (tail, future) = rest.split_at_checked(place.len.checked_sub(place.cut)?)?;
    let rules = Rules::default();
    let reading = scene.reading.get_or_init(|| Reading::of(turns));
    let needed = needed_in(reading, &Cut { old, tail, future }, rules);
    let ours = score(&needed, place.seen, rules);
    let newest = score(&needed, &newest(old, place.size), rules);
    Some(RecallFigures {
        needed: ours.needed,
        named: ours.named_share()?,
        in_context: ours.context_share()?,
        newest_named: newest.named_share()?,
        newest_in_context: newest.context_share()?,
    })
}

/// The end of the compacted part, of about so many tokens: whole turns, and of the oldest that does
/// not fit whole, the end in proportion.
fn newest(old: &[Turn], size: Tokens) -> String {
    let mut left = size;
    let mut texts = Vec::new();
    for turn in old.iter().rev() {
        let text = turn.readable();
        if turn.tokens() <= left {
            left = left.saturating_sub(turn.tokens());
            texts.push(text);
            continue;
        }
        let share = Tokens::new(text.len() as u64).scaled(left.share_of(turn.tokens()));
        let keep = usize::try_from(share.get()).unwrap_or(usize::MAX);
        let start = text.floor_char_boundary(text.len().saturating_sub(keep));
        texts.push(text.get(start..).unwrap_or_default().to_owned());
        break;
    }
    texts.reverse();
    texts.join("\n")
}

/// The text of turns without their tool results.
pub(super) fn without_results(turns: &[Turn]) -> String {
    let mut out = String::new();
    for turn in turns.iter().filter(|turn| turn.role() != Role::Tool) {
        out.push_str(&turn.readable());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};

    use super::newest;

    #[test]
    fn the_newest_text_has_the_size_it_is_given() {
        let said: Vec<Turn> = ["a", "b", "c"]
            .map(|letter| {
                TurnDraft::text(Role::User, letter.repeat(384)).after(TurnId::ROOT, &Heuristic)
            })
            .to_vec();
        assert_eq!(said[0].tokens(), Tokens::new(100));
        let text = newest(&said, Tokens::new(150));
        assert_eq!(text, format!("{}\n{}", "b".repeat(192), "c".repeat(384)));
        assert_eq!(newest(&said, Tokens::ZERO), "");
        assert_eq!(newest(&[], Tokens::new(9)), "");
    }
}
