//! What a person typed, told apart from what came with it.
//!
//! A user turn often carries more than the user's own words: pasted code in fences, quotations,
//! blocks that a client wraps in tags (`<system-reminder>…</system-reminder>`). None of that is the
//! user speaking, so none of it is obeyed or kept as a demand. Where it is not clear whether a line
//! was typed, it counts as not typed.

use std::collections::HashSet;

use crate::turn::{Provenance, Role, Turn};

/// The lines that a user typed in a turn, trimmed, empty ones left out. None where the turn is not
/// the user's.
pub fn lines(turn: &Turn) -> impl Iterator<Item = &str> {
    let own = turn.role() == Role::User && turn.provenance() == Provenance::Said;
    own.then(|| turn.texts().flat_map(typed))
        .into_iter()
        .flatten()
}

/// The typed lines of one text.
fn typed(text: &str) -> Vec<&str> {
    let closers = closing_tags(text);
    let mut inside: Option<Block<'_>> = None;
    let mut out = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        match inside {
            Some(block) if block.ends_with(bare) => inside = None,
            Some(_) => {}
            None => {
                inside = Block::begun_by(bare, &closers);
                if inside.is_some_and(|block| block.ends_on_the_line(bare)) {
                    inside = None;
                } else if inside.is_none() && is_typed(line, bare) {
                    out.push(bare);
                }
            }
        }
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
    /// A tag of this name.
    Tag(&'a str),
}

impl<'a> Block<'a> {
    fn begun_by(bare: &'a str, closers: &HashSet<&str>) -> Option<Self> {
        if let Some((mark, length)) = fence(bare) {
            return Some(Self::Fence(mark, length));
        }
        tag_name(bare.strip_prefix('<')?)
            .filter(|name| closers.contains(name))
            .map(Self::Tag)
    }

    /// Whether a later line closes the block.
    fn ends_with(self, bare: &str) -> bool {
        match self {
            Self::Fence(mark, length) => fence(bare).is_some_and(|(other, longer)| {
                other == mark && longer >= length && bare.chars().all(|character| character == mark)
            }),
            Self::Tag(name) => closes(bare, name),
        }
    }

    /// Whether the line that opens the block closes it too.
    fn ends_on_the_line(self, bare: &str) -> bool {
        matches!(self, Self::Tag(name) if closes(bare, name))
    }
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

fn closes(bare: &str, name: &str) -> bool {
    bare.match_indices("</").any(|(at, _)| {
        bare.get(at + 2..)
            .and_then(tag_name)
            .is_some_and(|closed| closed == name)
    })
}

fn closing_tags(text: &str) -> HashSet<&str> {
    text.match_indices("</")
        .filter_map(|(at, _)| text.get(at + 2..).and_then(tag_name))
        .collect()
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
    use super::typed;

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
    }
}
