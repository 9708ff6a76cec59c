//! The words that a person typed, separated from pasted and wrapped text.
//!
//! A user turn often carries more than the user's own words: pasted code in fences, quotations,
//! blocks that a client wraps in tags (`<system-reminder>…</system-reminder>`). None of that is the
//! user speaking, so none of it is kept as a demand. Lines that are obeyed, such as `#pin`, are held to a
//! stricter rule: see [`certain_lines`].

use std::collections::HashMap;

use crate::client_summary::is_client_summary;
use crate::summary::is_summary;
use crate::turn::{Part, Provenance, Role, Turn};

/// The lines that a user typed in a turn, trimmed, empty ones left out. None where the turn is not
/// the user's.
pub fn lines(turn: &Turn) -> impl Iterator<Item = &str> {
    lines_of_parts(turn, |_| true)
}

/// Like [`lines`], of those parts only whose index `is_own` accepts.
pub(crate) fn lines_of_parts(
    turn: &Turn,
    is_own: impl Fn(usize) -> bool,
) -> impl Iterator<Item = &str> {
    let own = turn.role() == Role::User && turn.provenance() == Provenance::Said;
    let parts = own.then(|| turn.parts().iter().enumerate());
    let texts = parts.into_iter().flatten();
    let texts = texts.filter_map(move |(part, it)| match it {
        Part::Text(text) if is_own(part) => Some(text.as_str()),
        _ => None,
    });
    texts.flat_map(typed)
}

/// The lines that a user certainly typed, trimmed: the only ones in which a directive is obeyed.
///
/// A line is certain where it is typed and no tag stands open above it. A tag stands open from the line in
/// which its name is first opened to the last line that closes that name, whatever stands between; to the
/// end of the text where the name is never closed. So wrapped text cannot free itself, however it opens and
/// closes tags, and where it is not clear who wrote a line, it counts as not typed. A comment (`<!--`) is as a tag. Tags
/// inside a code fence do not count, unless the fence itself stands inside a tag.
pub fn certain_lines(turn: &Turn) -> impl Iterator<Item = &str> {
    let own = turn.role() == Role::User && turn.provenance() == Provenance::Said;
    own.then(|| turn.texts().flat_map(certain))
        .into_iter()
        .flatten()
}

fn certain(text: &str) -> Vec<&str> {
    if is_summary(text) || is_client_summary(text) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    let (mut at, mut hidden) = (0, 0);
    while let Some(&line) = lines.get(at) {
        let bare = line.trim();
        let below = lines.get(at + 1..).unwrap_or_default();
        at += 1;
        if let Some((mark, length)) = fence(bare) {
            let fence = Block::Fence(mark, length);
            let tags = Tags::default();
            let inside = below
                .iter()
                .take_while(|line| fence.after(line.trim(), &tags).is_some());
            at += inside.count() + 1;
            continue;
        }
        // In a comment tags may be opened that stand open behind it.
        if opens_comment(bare) {
            hidden = hidden.max(at + comment_below(below));
        }
        let open = opened_in(bare)
            .map(|name| stands_open(bare, below, name))
            .max();
        match open {
            Some(lines_inside) => at += lines_inside,
            None if at <= hidden => {}
            None if is_typed(line, bare) && !begins_with_tag(bare) => out.push(bare),
            None => {}
        }
    }
    out
}

/// Returns true if a comment such as `<!-- … -->` is open behind a line.
fn opens_comment(bare: &str) -> bool {
    let last = bare.rsplit_once("<!--");
    last.is_some_and(|(_, inside)| !inside.contains("-->"))
}

/// The number of lines below in which a comment stands open: up to the last one that ends one, else all.
fn comment_below(below: &[&str]) -> usize {
    let last = below.iter().rposition(|line| line.contains("-->"));
    last.map_or(below.len(), |last| last + 1)
}

fn begins_with_tag(bare: &str) -> bool {
    let inside = bare.strip_prefix('<');
    let inside = inside.map(|inside| inside.strip_prefix('/').unwrap_or(inside));
    inside.and_then(tag_name).is_some()
}

/// The names that a line opens.
fn opened_in(bare: &str) -> impl Iterator<Item = &str> {
    let opened = tags_in(bare).filter(|(_, side)| *side == Side::Opens);
    opened.map(|(name, _)| name)
}

/// The number of lines below `line` in which `name` stands open: up to the last one that closes it, all where it
/// is opened more often than closed.
fn stands_open(line: &str, below: &[&str], name: &str) -> usize {
    let count = |line: &str, side: Side| tags_in(line).filter(|tag| *tag == (name, side)).count();
    let all = || std::iter::once(line).chain(below.iter().copied());
    let sum = |side: Side| all().map(|line| count(line, side)).sum::<usize>();
    if sum(Side::Opens) > sum(Side::Closes) {
        return below.len();
    }
    let closes = |line: &&str| count(line, Side::Closes) > 0;
    below.iter().rposition(closes).map_or(0, |last| last + 1)
}

/// The sort of a line in a user's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Typed, or empty.
    Typed,
    /// In a code fence, quoted, or indented like code.
    Pasted,
    /// Wrapped in a tag.
    Wrapped,
}

/// The typed lines of one text. A summary has no typed lines, even in a
/// transcript that does not mark it as one; nor has a client's.
fn typed(text: &str) -> Vec<&str> {
    let typed = sorted(text).into_iter();
    typed
        .filter(|(line, sort)| *sort == Sort::Typed && !line.trim().is_empty())
        .map(|(line, _)| line.trim())
        .collect()
}

/// The lines of one text, each with its sort. None of a summary.
pub(crate) fn sorted(text: &str) -> Vec<(&str, Sort)> {
    if is_summary(text) || is_client_summary(text) {
        return Vec::new();
    }
    let tags = Tags::of(text);
    let mut inside: Option<Block<'_>> = None;
    let mut out = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        let sort = |block: &Block<'_>| match block {
            Block::Fence(..) => Sort::Pasted,
            Block::Tag(..) => Sort::Wrapped,
        };
        let (now, next) = match inside {
            Some(block) => (sort(&block), block.after(bare, &tags)),
            None => match Block::begun_by(bare, &tags) {
                Some(block) => (sort(&block), Some(block)),
                None if tags.wrap(bare) => (Sort::Wrapped, None),
                None if bare.is_empty() || is_typed(line, bare) => (Sort::Typed, None),
                None => (Sort::Pasted, None),
            },
        };
        out.push((line, now));
        inside = next;
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
        let mut open: Vec<(&str, usize, bool)> = Vec::new();
        for (name, side) in tags_in(bare).filter(|(name, _)| tags.pair(name)) {
            if !open.iter().any(|(other, ..)| *other == name) {
                open.push((name, tags.surplus(name), false));
            }
            for (_, left, opened) in open.iter_mut().filter(|(other, ..)| *other == name) {
                match side {
                    Side::Opens => {
                        *left += 1;
                        *opened = true;
                    }
                    Side::Closes => *left = left.saturating_sub(1),
                }
            }
        }
        let still = |(name, left, opened)| (opened && left > 0).then_some(Self::Tag(name, left));
        open.into_iter().find_map(still)
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
#[derive(Default)]
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

/// The tags in a text, in order; those that close themselves are left out. `Vec<String>` holds none: what opens
/// a tag does not follow a letter or a digit.
fn tags_in(text: &str) -> impl Iterator<Item = (&str, Side)> {
    text.match_indices('<').filter_map(|(at, _)| {
        let inside = text.get(at + 1..)?;
        if let Some(closing) = inside.strip_prefix('/') {
            return Some((tag_name(closing)?, Side::Closes));
        }
        let before = text.get(..at)?.chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            return None;
        }
        let name = tag_name(inside)?;
        let end = inside.find(['<', '>', '\n']).unwrap_or(inside.len());
        let whole = inside.get(..end)?;
        (!closes_itself(whole) && !is_address(whole)).then_some((name, Side::Opens))
    })
}

/// Returns true if the inside of a tag ends in a slash that is no part of a value: in `a href=http://b/` it is.
fn closes_itself(inside: &str) -> bool {
    let Some(before) = inside.strip_suffix('/') else {
        return false;
    };
    let last = before.rsplit(char::is_whitespace).next();
    let Some((_, value)) = last.and_then(|last| last.split_once('=')) else {
        return true;
    };
    let quoted = |mark: char| value.len() > 1 && value.starts_with(mark) && value.ends_with(mark);
    quoted('"') || quoted('\'')
}

/// Returns true if the inside of angle brackets is an address: `https://example.org/a`, `mara@example.org`.
fn is_address(inside: &str) -> bool {
    let is_one_word = !inside.contains(char::is_whitespace) && !inside.contains('=');
    let host = inside.split_once('@').map(|(_, host)| host);
    let is_mail = host.is_some_and(|it| it.contains('.') && !it.ends_with('.'));
    is_one_word && (is_mail || inside.starts_with("https://") || inside.starts_with("http://"))
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
        .find(|character: char| !character.is_alphanumeric() && !"-_:.".contains(character))
        .unwrap_or(inside.len());
    inside.get(..end).filter(|name| {
        name.starts_with(|first: char| first.is_alphabetic() || "_:".contains(first))
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{certain, typed};
    use crate::summary::{Field, Summary};

    #[track_caller]
    fn check_certain(text: &str, expected: &[&str]) {
        assert_eq!(certain(text), expected, "{text:?}");
    }

    #[test]
    fn a_line_below_an_open_tag_is_not_certain() {
        check_certain("#pin a\n\n#pin b", &["#pin a", "#pin b"]);
        let output = "<bash-stdout></bash-stdout><bash-stderr>warning\n#pin x";
        check_certain(output, &[]);
        let closed = format!("{output}\n</bash-stderr>\n#pin mine");
        check_certain(&closed, &["#pin mine"]);
        check_certain("<a>\n<a>\nx\n</a>\n#pin y", &[]);
        check_certain("<a>\n<a>\nx\n</a>\n#pin y\n</a>\n#pin z", &["#pin z"]);
        check_certain("<_x>\n#pin x\n</_x>", &[]);
        check_certain("<:x>\n#pin x\n</:x>", &[]);
        check_certain("<έξοδος>\n#pin x\n</έξοδος>\n#pin y", &["#pin y"]);
        check_certain("<!-- a\n#pin x\n-->\n#pin y", &["#pin y"]);
        check_certain("<!-- a -->\n#pin y", &["<!-- a -->", "#pin y"]);
        check_certain("<!-- a\n#pin x\n-->\n#pin y\n-->\n#pin z", &["#pin z"]);
        check_certain("<!--\n<b>\n-->\n#pin x\n</b>\n#pin y", &["#pin y"]);
        check_certain("<note@v1>\n#pin x\n</note@v1>", &[]);
        let address = "see <https://example.org/x> or <mara.k@example.org>";
        check_certain(&format!("{address}\n#pin x"), &[address, "#pin x"]);
        check_certain("<document url=http://a.b/>\n#pin x\n</document>", &[]);
        check_certain("<br/>\n<img src=\"a\"/>\n#pin x", &["#pin x"]);
        check_certain(
            "a Vec<String>, please\n#pin x",
            &["a Vec<String>, please", "#pin x"],
        );
        check_certain("```html\n<div>\n```\n#pin x", &["#pin x"]);
        check_certain("<f>\n```\n</f>\n#pin x\n```\n</f>", &[]);
    }

    #[test]
    fn the_second_tag_of_a_line_may_stay_open() {
        check("<out></out><err>warning\n#pin x\n</err>\nmine", &["mine"]);
    }

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
        /// Whatever a client wraps: tags of the same name and of others, fences, half tags, directives.
        #[test]
        fn nothing_wrapped_is_obeyed(
            name in "[a-zé_:][a-zé-]{0,3}",
            head in "( [a-z]{1,3}=[a-z/:.]{0,6}){0,2}",
            lines in vec("(#pin x|<[a-z_/]{1,4}>|</?f>|<f|```|~~~|>|[a-z<>/=\"` ]{0,8}){1,3}", 0..8),
        ) {
            let text = format!("<{name}{head}>\n{}\n</{name}>", lines.join("\n"));
            prop_assert_eq!(certain(&text), Vec::<&str>::new(), "{}", text);
        }

        /// Lines before the first tag and the first fence are certain.
        #[test]
        fn plain_lines_are_certain(lines in vec("#pin [a-z]{1,4}|[a-z][a-z .,]{0,8}", 1..6), rest in "(<f>|```)?") {
            let text = format!("{}\n{rest}", lines.join("\n"));
            let expected: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            prop_assert_eq!(certain(&text), expected);
        }
    }
}
