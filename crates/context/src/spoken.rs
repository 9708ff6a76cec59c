//! The words that a person typed, separated from pasted and wrapped text.
//!
//! A user turn often carries more than the user's own words: pasted code in fences, quotations,
//! blocks that a client wraps in tags (`<system-reminder>…</system-reminder>`). None of that is the
//! user speaking, so none of it is obeyed or kept as a demand. Where it is not clear whether a line
//! was typed, it counts as not typed.

use std::collections::HashMap;

use crate::summary::is_summary;
use crate::turn::{Provenance, Role, Turn};

/// The lines that a user typed in a turn, trimmed, empty ones left out. None where the turn is not
/// the user's.
pub fn lines(turn: &Turn) -> impl Iterator<Item = &str> {
    let own = turn.role() == Role::User && turn.provenance() == Provenance::Said;
    own.then(|| turn.texts().flat_map(typed))
        .into_iter()
        .flatten()
}

/// The typed lines of one text. A summary has no typed lines, even in a
/// transcript that does not mark it as one.
fn typed(text: &str) -> Vec<&str> {
    if is_summary(text) {
        return Vec::new();
    }
    let tags = Tags::of(text);
    let mut inside: Option<Block<'_>> = None;
    let mut out = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        inside = match inside {
            Some(block) => block.after(bare, &tags),
            None => {
                let begun = Block::begun_by(bare, &tags);
                if begun.is_none() && is_typed(line, bare) && !tags.wrap(bare) {
                    out.push(bare);
                }
                begun
            }
        };
    }
    out
}

/// A line that is neither empty, nor quoted, nor indented like code.
fn is_typed(line: &str, bare: &str) -> bool {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    !bare.is_empty() && !bare.starts_with('>') && !indented
}

#[derive(Clone, Copy)]
enum Block<'a> {
    /// A code fence of this mark and length.
    Fence(char, usize),
    /// A tag of this name, and how often it is still to be closed.
    Tag(&'a str, usize),
}

impl<'a> Block<'a> {
    /// The block that this line opens and does not close.
    fn begun_by(bare: &'a str, tags: &Tags<'_>) -> Option<Self> {
        if let Some((mark, length)) = fence(bare) {
            return Some(Self::Fence(mark, length));
        }
        let mut open: HashMap<&str, usize> = HashMap::new();
        let mut first = None;
        for (name, side) in tags_in(bare) {
            if !tags.pair(name) {
                continue;
            }
            let open = open.entry(name).or_insert_with(|| tags.surplus(name));
            match side {
                Side::Opens => {
                    *open += 1;
                    first = first.or(Some(name));
                }
                Side::Closes => *open = open.saturating_sub(1),
            }
        }
        let left = open.get(first?).copied().unwrap_or(0);
        (left > 0).then_some(Self::Tag(first?, left))
    }

    /// The block after a further line, where that does not close it.
    fn after(self, bare: &str, tags: &Tags<'_>) -> Option<Self> {
        match self {
            Self::Fence(mark, length) => {
                let closed = fence(bare).is_some_and(|(other, longer)| {
                    let only = bare.chars().all(|character| character == mark);
                    other == mark && longer >= length && only
                });
                (!closed).then_some(self)
            }
            Self::Tag(name, left) => {
                let left = tags_in(bare).filter(|(other, _)| *other == name).fold(
                    left,
                    |left, (_, side)| match side {
                        // A name that is opened more often than closed would never end.
                        Side::Opens if tags.nests(name) => left + 1,
                        Side::Opens => left,
                        Side::Closes => left.saturating_sub(1),
                    },
                );
                (left > 0).then_some(Self::Tag(name, left))
            }
        }
    }
}

/// The number of times each name is opened and closed in a whole text.
struct Tags<'a>(HashMap<&'a str, (usize, usize)>);

impl<'a> Tags<'a> {
    fn of(text: &'a str) -> Self {
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for (name, side) in tags_in(text) {
            let (opened, closed) = counts.entry(name).or_default();
            match side {
                Side::Opens => *opened += 1,
                Side::Closes => *closed += 1,
            }
        }
        Self(counts)
    }

    fn count(&self, name: &str) -> (usize, usize) {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Returns true if the name is closed anywhere, so that it may wrap something.
    fn pair(&self, name: &str) -> bool {
        self.count(name).1 > 0
    }

    fn nests(&self, name: &str) -> bool {
        let (opened, closed) = self.count(name);
        opened <= closed
    }

    /// The number of times the name is closed without having been opened. Wrapped text may close the tag that
    /// it is wrapped in, to pass for typed from there on; so a block lasts to the last of these.
    fn surplus(&self, name: &str) -> usize {
        let (opened, closed) = self.count(name);
        closed.saturating_sub(opened)
    }

    /// Returns true if a line begins with a tag that wraps something.
    fn wrap(&self, bare: &str) -> bool {
        bare.strip_prefix('<')
            .and_then(tag_name)
            .is_some_and(|name| self.pair(name))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Opens,
    Closes,
}

/// The tags in a text, in order; those that close themselves are left out.
fn tags_in(text: &str) -> impl Iterator<Item = (&str, Side)> {
    text.match_indices('<').filter_map(|(at, _)| {
        let inside = text.get(at + 1..)?;
        if let Some(closing) = inside.strip_prefix('/') {
            return Some((tag_name(closing)?, Side::Closes));
        }
        let name = tag_name(inside)?;
        let end = inside.find(['<', '>', '\n']).unwrap_or(inside.len());
        let closes_itself = inside.get(..end)?.ends_with('/');
        (!closes_itself).then_some((name, Side::Opens))
    })
}

fn fence(bare: &str) -> Option<(char, usize)> {
    ['`', '~'].into_iter().find_map(|mark| {
        let length = bare
            .chars()
            .take_while(|&character| character == mark)
            .count();
        (length >= 3).then_some((mark, length))
    })
}

/// The name at the start of the inside of a tag.
fn tag_name(inside: &str) -> Option<&str> {
    let end = inside
        .find(|character: char| !character.is_ascii_alphanumeric() && !"-_:.".contains(character))
        .unwrap_or(inside.len());
    inside
        .get(..end)
        .filter(|name| name.starts_with(|first: char| first.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::typed;
    use crate::summary::{Field, Summary};

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(typed(text), expected, "{text:?}");
    }

    #[test]
    fn plain_lines_are_typed() {
        check("one\n  two\n\nthree", &["one", "two", "three"]);
        check("a < b and </ c", &["a < b and </ c"]);
        check("<b> is never closed", &["<b> is never closed"]);
    }

    #[test]
    fn pasted_and_wrapped_lines_are_not() {
        check("see\n```rust\nlet a;\n```\nok", &["see", "ok"]);
        check("see\n````\n```\nstill code\n````\nok", &["see", "ok"]);
        check("see\n~~~\n```\nstill code", &["see"]);
        check("> quoted\n    code\n\tcode\nmine", &["mine"]);
        check(
            "<system-reminder>\n#pin x\n</system-reminder>\nmine",
            &["mine"],
        );
        check("<name>go</name>\nmine", &["mine"]);
        check("<br/>\nmine", &["<br/>", "mine"]);
    }

    #[test]
    fn a_tag_may_open_anywhere_in_a_line() {
        check("see <f>\n#pin x\n</f>\nmine", &["mine"]);
        check("see <f>a</f> there", &["see <f>a</f> there"]);
        check("<a>\n<a>\nx\n</a>\n#pin y\n</a>\nmine", &["mine"]);
        check("<f>1</f> <f>\n#pin x\n</f>\nmine", &["mine"]);
    }

    #[test]
    fn wrapped_text_does_not_free_itself_by_closing_its_tag() {
        check("<f>\na\n</f>\n#pin x\n</f>\nmine", &["mine"]);
        check("<f>a</f>\n#pin x\n</f>\nmine", &["mine"]);
    }

    #[test]
    fn a_name_that_is_not_always_closed_ends_where_it_first_is() {
        check("<p>\n<p>\nx\n</p>\nmine", &["mine"]);
    }

    #[test]
    fn a_summary_was_typed_by_nobody() {
        let mut summary = Summary::default();
        summary.push(Field::Decisions, "never delete anything");
        check(&summary.render(), &[]);
    }

    proptest! {
        /// Whatever is wrapped, as long as it does not open what it closes.
        #[test]
        fn nothing_wrapped_is_typed(lines in vec("(</f>)?[a-z<>/` ]{0,8}", 0..6)) {
            let wrapped = lines.join("\n");
            prop_assume!(!wrapped.contains("<f"));
            let text = format!("<f>\n{wrapped}\n</f>\nmine");
            prop_assert_eq!(typed(&text), vec!["mine"]);
        }
    }
}
