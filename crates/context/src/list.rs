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
    let bullet = ['-', '*', '•', '+'].into_iter().find_map(|mark| {
        let said = line.strip_prefix(mark)?.strip_prefix(' ')?;
        Some((Mark::Bullet(mark), said.trim()))
    });
    let behind = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let numbered = || {
        let said = behind
            .strip_prefix(". ")
            .or_else(|| behind.strip_prefix(") "))?;
        (behind.len() < line.len()).then_some((Mark::Number, said.trim()))
    };
    bullet.or_else(numbered)
}

/// The white space in front of a line, in columns.
pub(crate) fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|it| it.is_whitespace());
    blank.map(|it| if it == '\t' { 4 } else { 1 }).sum()
}

/// The beginning of the line that holds a place of a text.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).and_then(|it| it.rfind('\n'));
    before.map_or(0, |it| it + 1)
}

/// The most lines of a list above an item.
const FAR: usize = 200;

/// The line that introduces the line at `at`, without the white space around it. For an item of a list this is the line
/// above the list (`Rejected:`, a heading, a line in bold) or the item that it is part of; for a quotation (`> …`) the
/// line above it; for an indented line the item that it belongs to.
pub(crate) fn lead(text: &str, at: usize) -> Option<(usize, &str)> {
    let start = line_start(text, at);
    let own = text.get(start..)?.lines().next()?;
    let is_quoted = |line: &str| line.trim_start().starts_with('>');
    let (quotes, is_listed) = (is_quoted(own), item(own).is_some());
    let own = indent(own);
    if !quotes && !is_listed && own < 2 {
        return None;
    }
    let mut end = start;
    for _ in 0..FAR {
        if end == 0 {
            break;
        }
        let start = line_start(text, end - 1);
        let line = text.get(start..end)?.trim_end();
        let (indent, is_item) = (indent(line), item(line).is_some());
        end = start;
        let is_beside = match quotes {
            true => is_quoted(line),
            false => indent > own || indent == own && (is_item || !is_listed),
        };
        if line.is_empty() || is_beside {
            continue;
        }
        let leads = is_item || if is_listed { introduces(line) } else { quotes };
        // A sentence may go over two lines.
        let from = match !is_item && goes_on(text, start, line) {
            true => line_start(text, start - 1),
            false => start,
        };
        let said = text.get(from..start + line.len())?;
        let blank = said.len() - said.trim_start().len();
        return leads.then_some((from + blank, said.trim_start()));
    }
    None
}

/// Returns true if a line goes on with the sentence of the line above it.
fn goes_on(text: &str, start: usize, line: &str) -> bool {
    let is_lower = line.trim_start().starts_with(char::is_lowercase);
    let above = text.get(..start).and_then(|it| it.lines().next_back());
    is_lower && above.is_some_and(|it| !it.trim().is_empty())
}

/// Returns true if a line introduces what stands below it.
fn introduces(line: &str) -> bool {
    let bare = line.trim().trim_end_matches(['*', '_']);
    let is_bold = || bare.starts_with("**") && line.trim().ends_with("**");
    bare.starts_with('#') || bare.ends_with([':', '：']) || is_bold()
}

#[cfg(test)]
mod tests {
    use super::lead;

    #[track_caller]
    fn check(text: &str, item: &str, expected: Option<&str>) {
        let at = text.find(item).expect("the item");
        assert_eq!(lead(text, at).map(|(_, line)| line), expected, "{text}");
    }

    #[test]
    fn an_item_is_introduced_by_the_line_above_its_list() {
        let text = "Two ways.\n\n**Rejected:**\n\n- sort the rows\n  (slow)\n- lock the reader\n\nI took neither.\n- a third\n";
        check(text, "sort", Some("**Rejected:**"));
        check(text, "lock", Some("**Rejected:**"));
        check(text, "a third", None);
        check(text, "I took", None);
        let nested = "Done:\n1. Reader - mended\n   - holds the lock\n2. Writer\n";
        check(nested, "holds", Some("1. Reader - mended"));
        check(nested, "Writer", Some("Done:"));
        check("## Left\n- the writer", "the writer", Some("## Left"));
        check("```\nx:\n```\n- the writer", "the writer", None);
        check("- alone", "alone", None);
        check(
            "1. `rows.rs`\n> It is slow.\n>\n> It waits.",
            "> It waits",
            Some("1. `rows.rs`"),
        );
        check(
            "I read it.\n\n> It waits.",
            "> It waits",
            Some("I read it."),
        );
    }
}
