//! Lists in text as people and models write them.

/// The mark of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Bullet(char),
    Number,
}

/// The mark of a line of a list, and the line without it: `- "go on"`, `3. "go on"`.
pub(crate) fn item(line: &str) -> Option<(Mark, &str)> {
    let line = line.trim();
    let bullet = ['-', '*', '•'].into_iter().find_map(|mark| {
        let said = line.strip_prefix(mark)?.strip_prefix(' ')?;
        Some((Mark::Bullet(mark), said.trim()))
    });
    let behind = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let numbered = || {
        let said = behind.strip_prefix(". ")?;
        (behind.len() < line.len()).then_some((Mark::Number, said.trim()))
    };
    bullet.or_else(numbered)
}

/// The white space in front of a line, in bytes.
pub(crate) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
