//! Finds a conversation by the beginning of its ID, which is easier to type than all 32 digits.

use std::fmt::Write as _;

use context::figures;
use history::ConversationId;
use jiff::Timestamp;

use super::{Line, ReportError};
use crate::dashboard::one_line;

/// The number of candidates that are listed.
const CANDIDATES: usize = 8;

/// Returns the conversation with this ID, or the only one of these whose ID begins so.
///
/// # Errors
/// [`ReportError::NoConversation`] and [`ReportError::Which`].
pub(crate) fn named(name: &str, known: &[Line]) -> Result<ConversationId, ReportError> {
    if let Some(id) = ConversationId::parse(name) {
        return Ok(id);
    }
    // A whole ID may be in capitals, too.
    let start = name.to_ascii_lowercase();
    let fits = |line: &&Line| !start.is_empty() && line.id.starts_with(&start);
    let fitting: Vec<&Line> = known.iter().filter(fits).collect();
    match fitting.as_slice() {
        [] => Err(ReportError::NoConversation),
        [one] => ConversationId::parse(&one.id).ok_or(ReportError::NoConversation),
        _ => Err(ReportError::which(fitting)),
    }
}

impl ReportError {
    /// A request may be about any of these conversations.
    pub(crate) fn which<'a>(candidates: impl IntoIterator<Item = &'a Line>) -> Self {
        let mut list = String::new();
        let mut candidates = candidates.into_iter();
        for line in candidates.by_ref().take(CANDIDATES) {
            let turns = figures::plural(usize::try_from(line.turns).unwrap_or(usize::MAX), "turn");
            let _ = write!(
                list,
                "\n{}  {turns}, last seen {}  {}",
                line.id,
                minute(&line.seen),
                one_line(&line.name, 80)
            );
        }
        let more = candidates.count();
        if more > 0 {
            let _ = write!(list, "\nand {more} more");
        }
        Self::Which { list }
    }
}

/// A time without the seconds and their fractions, which tell no two conversations apart.
fn minute(time: &str) -> String {
    let parsed: Result<Timestamp, _> = time.parse();
    parsed.map_or_else(
        |_| time.to_owned(),
        |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::{Line, named};

    fn line(start: &str, turns: u64) -> Line {
        Line {
            id: format!("{start:0<32}"),
            name: "s".to_owned(),
            turns,
            seen: "2026-01-02T03:04:05.678901234Z".to_owned(),
            ..Line::default()
        }
    }

    #[test]
    fn the_only_id_that_begins_so_is_meant() {
        let known = [line("3058d555", 3), line("3058aaaa", 1)];
        let found = |name: &str| match named(name, &known) {
            Ok(id) => id.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found("3058d"), known[0].id);
        assert_eq!(found("3058D"), known[0].id);
        assert_eq!(found(&"f".repeat(32)), "f".repeat(32), "a whole ID");
        for name in ["", "4", "s"] {
            assert_eq!(found(name), "no such conversation", "{name}");
        }
        insta::assert_snapshot!(found("3058"), @r"
        several conversations may be meant
        3058d555000000000000000000000000  3 turns, last seen 2026-01-02 03:04 UTC  s
        3058aaaa000000000000000000000000  1 turn, last seen 2026-01-02 03:04 UTC  s
        ");
    }

    #[test]
    fn a_long_list_says_how_many_it_leaves_out() {
        for (known, end) in [(8, "  s"), (9, "\nand 1 more"), (30, "\nand 22 more")] {
            let known: Vec<Line> = (0..known).map(|n| line(&format!("a{n:02}"), 1)).collect();
            let error = named("a", &known).unwrap_err().to_string();
            assert!(error.ends_with(end), "{error}");
        }
    }
}
