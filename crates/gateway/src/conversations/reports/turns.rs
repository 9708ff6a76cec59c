//! The turns of a conversation, as they were said: a page of them, or those that contain a text.

use std::ops::Range;

use context::{Role, Tokens, Turn};
use history::ConversationId;

use super::{Found, Reporter};
use crate::report::{Matches, Needle, ReportError, Said, Turns, TurnsWanted, Viewer};

/// The bytes that one search reads; the next one goes on behind them.
const SEARCHED: usize = 32 << 20;

impl Reporter {
    pub(super) async fn turns(
        &self,
        asker: Viewer,
        id: ConversationId,
        wanted: TurnsWanted,
    ) -> Result<Turns, ReportError> {
        let found = self.find(asker, id).await?;
        let path = self.said(&found).await?;
        let bytes = path.iter().map(Turn::readable_length).sum();
        let sight = Sight::of(&found, &path);
        let work = || Chosen::of(&path, &wanted);
        let chosen = self.reading.of(bytes, work).await;
        let turn = |&index: &usize| Some((index, path.get(index)?));
        let turns = chosen.turns.iter().filter_map(turn);
        Ok(Turns {
            all: path.len(),
            turns: turns
                .map(|(index, turn)| Said {
                    index,
                    role: turn.role().as_str(),
                    at: turn.at().map(|at| at.to_string()),
                    tokens: Tokens::get(turn.tokens()),
                    seen: sight.of_turn(index, turn.role()),
                    text: turn.readable(),
                })
                .collect(),
            found: chosen.found,
            earlier: chosen.earlier,
            later: chosen.later,
            line: found.line,
        })
    }
}

/// The turns that the model sees.
struct Sight {
    /// The turns in front that are not shown.
    hidden: usize,
    /// The turns in front whose results are not shown.
    cleared: usize,
    /// The word for a turn that is not shown.
    gone: &'static str,
}

impl Sight {
    fn of(found: &Found, path: &[Turn]) -> Self {
        let up_to = |id| {
            let last = path.iter().rposition(|turn| turn.id() == id);
            last.map_or(0, |last| last + 1)
        };
        Self {
            hidden: up_to(found.hidden),
            cleared: up_to(found.cleared),
            gone: match found.standing {
                Some(_) => "summarized",
                None => "left out",
            },
        }
    }

    fn of_turn(&self, index: usize, role: Role) -> &'static str {
        match role {
            Role::System => "shown",
            _ if index < self.hidden => self.gone,
            Role::Tool if index < self.cleared => "cleared",
            _ => "shown",
        }
    }
}

/// The turns to report, by index.
#[derive(Debug, Default, PartialEq, Eq)]
struct Chosen {
    turns: Vec<usize>,
    found: Option<Matches>,
    earlier: Option<usize>,
    later: Option<usize>,
}

impl Chosen {
    fn of(path: &[Turn], wanted: &TurnsWanted) -> Self {
        match Needle::of(&wanted.find) {
            Some(needle) => Self::with(&needle, path, (wanted, SEARCHED)),
            None => Self::all(path.len(), wanted),
        }
    }

    fn all(len: usize, wanted: &TurnsWanted) -> Self {
        // Behind the end: the last ones.
        let from = wanted.from.min(len.saturating_sub(1));
        let to = from.saturating_add(wanted.most).min(len);
        Self {
            turns: (from..to).collect(),
            found: None,
            earlier: (from > 0).then(|| from.saturating_sub(wanted.most)),
            later: (to < len).then_some(to),
        }
    }

    /// Searches from the first turn on, or, where that would read too much, from the first wanted one on.
    fn with(needle: &Needle, path: &[Turn], (wanted, most): (&TurnsWanted, usize)) -> Self {
        let length = |turns: Range<usize>| -> usize {
            let turns = path.get(turns).unwrap_or_default().iter();
            turns.map(Turn::readable_length).sum()
        };
        let from = wanted.from.min(path.len());
        let start = if length(0..from) < most { 0 } else { from };
        let (mut read, mut found) = (0, Matches::default());
        let mut hits = Vec::new();
        found.searched = start..path.len();
        for (index, turn) in path.iter().enumerate().skip(start) {
            if read >= most {
                found.searched.end = index;
                break;
            }
            read = read.saturating_add(turn.readable_length());
            let places = needle.count(&turn.readable());
            if places > 0 {
                found.places += places;
                found.turns += 1;
                hits.push(index);
            }
        }
        let first = hits.partition_point(|&index| index < from);
        let last = first.saturating_add(wanted.most).min(hits.len());
        let unsearched = (found.searched.end < path.len()).then_some(found.searched.end);
        Self {
            turns: hits.get(first..last).unwrap_or_default().to_vec(),
            earlier: (first > 0)
                .then(|| hits.get(first.saturating_sub(wanted.most)).copied())
                .flatten()
                .or((start > 0).then_some(0)),
            later: hits.get(last).copied().or(unsearched),
            found: Some(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use context::{Heuristic, Role, Turn, TurnDraft, TurnId};

    use super::{Chosen, SEARCHED};
    use crate::report::{Matches, Needle, TurnsWanted};

    /// Thirty turns; every third one says `Parser` twice.
    fn path() -> Vec<Turn> {
        let mut parent = TurnId::ROOT;
        let turn = |n: usize| {
            let text = match n % 3 {
                0 => format!("turn {n}: the Parser, a PARSER"),
                _ => format!("turn {n}"),
            };
            let turn = TurnDraft::text(Role::User, text).after(parent, &Heuristic);
            parent = turn.id();
            turn
        };
        (0..30).map(turn).collect()
    }

    fn wanted(find: &str, from: usize) -> TurnsWanted {
        TurnsWanted {
            find: find.to_owned(),
            from,
            most: 4,
        }
    }

    #[track_caller]
    fn check(find: &str, from: usize, turns: &[usize], around: (Option<usize>, Option<usize>)) {
        let chosen = Chosen::of(&path(), &wanted(find, from));
        assert_eq!((chosen.earlier, chosen.later), around);
        assert_eq!(chosen.turns, turns);
    }

    #[test]
    fn pages_lead_to_each_other() {
        check("", 0, &[0, 1, 2, 3], (None, Some(4)));
        check("", 10, &[10, 11, 12, 13], (Some(6), Some(14)));
        check("", 99, &[29], (Some(25), None));
        check("parser", 0, &[0, 3, 6, 9], (None, Some(12)));
        check("parser", 12, &[12, 15, 18, 21], (Some(0), Some(24)));
        check("parser", 25, &[27], (Some(15), None));
        check("nowhere", 0, &[], (None, None));
        assert_eq!(Chosen::of(&[], &wanted("", 0)), Chosen::default());
    }

    #[test]
    fn a_search_counts_and_reads_only_so_much() {
        let (path, needle) = (path(), Needle::of("parser").expect("a text"));
        let found = |from, most| {
            let chosen = Chosen::with(&needle, &path, (&wanted("", from), most));
            (chosen.found.expect("a search"), chosen.later)
        };
        let all = Matches {
            places: 20,
            turns: 10,
            searched: 0..30,
        };
        assert_eq!(found(0, SEARCHED), (all, Some(12)));
        let (part, later) = found(0, 40);
        assert_eq!((part.searched, later), (0..3, Some(3)));
        let (next, _) = found(3, 40);
        assert_eq!((next.searched.start, next.turns), (3, 1));
    }
}
