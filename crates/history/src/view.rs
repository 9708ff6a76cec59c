//! What the model is shown: a pure function of one path and a mark on it.

use context::pin::{Pin, Pins};
use context::{Provenance, Role, Text, TokenCounter, Turn, TurnDraft, TurnId};

use crate::error::HistoryError;
use crate::mark::Mark;

/// A pin and the place where its text was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The pin.
    pub pin: Pin,
    /// The turn that says it. While that turn is shown, the pin is not restated. `None`: no turn
    /// says it, so it is restated in every view.
    pub said_in: Option<TurnId>,
}

/// What the model is shown.
///
/// Without a mark that is the path itself, behind its leading system turns the pins that no turn says.
/// With one it is, in this order: the system turns that the mark covers, unchanged; the pins that
/// nothing behind the mark says, in one turn; the summary; and the turns behind the mark, the same
/// objects as in the path.
///
/// # Errors
/// [`HistoryError::NotOnPath`] where the mark's node is not on the path.
pub fn view(
    path: &[Turn],
    mark: Option<&Mark>,
    pins: &[Pinned],
    counter: &dyn TokenCounter,
) -> Result<Vec<Turn>, HistoryError> {
    let covered = match mark {
        Some(mark) => path
            .iter()
            .rposition(|turn| turn.id() == mark.node)
            .map(|last| last + 1)
            .ok_or_else(|| HistoryError::NotOnPath(mark.id()))?,
        None => path
            .iter()
            .take_while(|turn| turn.role() == Role::System)
            .count(),
    };
    let (covered, tail) = path.split_at(covered);
    let mut shown: Vec<Turn> = covered
        .iter()
        .filter(|turn| turn.role() == Role::System)
        .cloned()
        .collect();
    let shows = |id: TurnId| tail.iter().chain(&shown).any(|turn| turn.id() == id);
    let lost: Pins = pins
        .iter()
        .filter(|pinned| !pinned.said_in.is_some_and(shows))
        .map(|pinned| pinned.pin.clone())
        .collect();
    if let Some(draft) = lost.turn() {
        shown.push(draft.after(head_of(&shown), counter));
    }
    if let Some(mark) = mark.filter(|mark| !mark.summary.is_empty()) {
        shown.push(summary_turn(&mark.summary, head_of(&shown), counter));
    }
    shown.extend_from_slice(tail);
    Ok(shown)
}

/// The turn that shows a summary. A user turn: a summary must not stand as the model's own words,
/// and must not have the authority of the system.
#[must_use]
pub fn summary_turn(summary: &Text, after: TurnId, counter: &dyn TokenCounter) -> Turn {
    TurnDraft::text(Role::User, summary.clone())
        .from_provenance(Provenance::Summary)
        .after(after, counter)
}

fn head_of(shown: &[Turn]) -> TurnId {
    shown.last().map_or(TurnId::ROOT, Turn::id)
}

#[cfg(test)]
mod tests {
    use context::pin::{Origin, Pins};
    use context::{Heuristic, Provenance, Role, Text, Tokens, Turn, TurnDraft, TurnId};
    use jiff::Timestamp;

    use super::{Pinned, view};
    use crate::error::HistoryError;
    use crate::mark::{Mark, Route};

    fn path(said: &[(Role, &str)]) -> Vec<Turn> {
        let mut parent = TurnId::ROOT;
        said.iter()
            .map(|&(role, text)| {
                let turn = TurnDraft::text(role, text).after(parent, &Heuristic);
                parent = turn.id();
                turn
            })
            .collect()
    }

    fn mark(node: TurnId, summary: &str) -> Mark {
        Mark {
            node,
            made_from: node,
            summary: Text::from(summary),
            tokens: Tokens::new(3),
            route: Route::Extractive,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn pinned(text: &str, said_in: Option<TurnId>) -> Pinned {
        let mut pins = Pins::default();
        pins.add(text, Origin::Api, None, &Heuristic).unwrap();
        Pinned {
            pin: pins.iter().next().unwrap().clone(),
            said_in,
        }
    }

    fn check(mark_at: usize, summary: &str, pins: &[Pinned], expected: &[&str]) {
        let said = path(&[
            (Role::System, "rules"),
            (Role::User, "never delete"),
            (Role::Assistant, "understood"),
            (Role::System, "new rule"),
            (Role::User, "go on"),
            (Role::Assistant, "done"),
        ]);
        let mark = mark(said[mark_at].id(), summary);
        let shown = view(&said, Some(&mark), pins, &Heuristic).unwrap();
        let texts: Vec<String> = shown
            .iter()
            .map(|turn| format!("{} {}", turn.role(), turn.readable()))
            .collect();
        assert_eq!(texts, expected);
        let tail = &said[mark_at + 1..];
        assert_eq!(&shown[shown.len() - tail.len()..], tail, "the same turns");
    }

    #[test]
    fn system_turns_stay_and_the_summary_speaks_as_the_user() {
        check(
            3,
            "they agreed",
            &[],
            &[
                "system rules",
                "system new rule",
                "user they agreed",
                "user go on",
                "assistant done",
            ],
        );
    }

    #[test]
    fn pins_are_restated_only_where_nothing_shown_says_them() {
        let said = path(&[(Role::System, "rules"), (Role::User, "never delete")]);
        let pins = [
            pinned("never delete", Some(said[1].id())),
            pinned("rules", Some(said[0].id())),
        ];
        check(
            4,
            "",
            &pins,
            &[
                "system rules",
                "system new rule",
                "user [Pinned, in full:]\n- never delete",
                "assistant done",
            ],
        );
        check(
            0,
            "nothing yet",
            &pins,
            &[
                "system rules",
                "user nothing yet",
                "user never delete",
                "assistant understood",
                "system new rule",
                "user go on",
                "assistant done",
            ],
        );
    }

    #[test]
    fn no_mark_is_the_path_and_a_foreign_mark_is_refused() {
        let said = path(&[(Role::User, "a"), (Role::Assistant, "b")]);
        assert_eq!(view(&said, None, &[], &Heuristic).unwrap(), said);
        let unsaid = [pinned("no turn says this", None)];
        let shown = view(&said, None, &unsaid, &Heuristic).unwrap();
        assert_eq!(shown[0].provenance(), Provenance::Pins);
        assert_eq!(shown[1..], said);
        let foreign = mark(TurnId::from_bytes([7; 16]), "s");
        assert_eq!(
            view(&said, Some(&foreign), &[], &Heuristic),
            Err(HistoryError::NotOnPath(foreign.id()))
        );
        let marked = view(&said, Some(&mark(said[0].id(), "s")), &[], &Heuristic).unwrap();
        assert_eq!(marked[0].provenance(), Provenance::Summary);
    }
}
