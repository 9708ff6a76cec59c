//! Finds the definitions in source text, for the scripted model to talk about.
//!
//! Matching keywords at the beginning of lines is enough for common languages.

/// A definition in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    pub name: &'a str,
    /// Counted from 1.
    pub line: usize,
    /// Lines to the next definition or the end.
    pub lines: usize,
    /// True if the line above is a comment.
    pub commented: bool,
}

/// Keywords that a defined name follows.
const DEFINING: &str = "fn def func function class struct enum trait interface type impl module";
/// Modifiers that may precede those.
const LEADING: &str = "pub pub(crate) pub(super) async const export static public";

/// Finds the definitions in a text, in order.
pub fn definitions(text: &str) -> Vec<Definition<'_>> {
    let mut found: Vec<Definition<'_>> = Vec::new();
    let mut above = "";
    let mut count = 0;
    for (index, line) in text.lines().enumerate() {
        count = index + 1;
        let trimmed = line.trim();
        if let Some(name) = defined(trimmed) {
            let comment = ["//", "#", "/*", "*", "\"\"\"", "--", ";"]
                .iter()
                .any(|start| above.starts_with(start));
            found.push(Definition {
                name,
                line: count,
                lines: 0,
                commented: comment,
            });
        }
        above = trimmed;
    }
    let ends: Vec<usize> = found
        .iter()
        .skip(1)
        .map(|next| next.line)
        .chain([count + 1])
        .collect();
    for (definition, end) in found.iter_mut().zip(ends) {
        definition.lines = end - definition.line;
    }
    found
}

pub fn longest<'a>(definitions: &[Definition<'a>]) -> Option<Definition<'a>> {
    // `max_by_key` returns the last of equals; a reader would name the first.
    definitions
        .iter()
        .rev()
        .max_by_key(|found| found.lines)
        .cloned()
}

fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    let is_in = |list: &str, word| list.split(' ').any(|known| known == word);
    while is_in(LEADING, word) {
        word = words.next()?;
    }
    if !is_in(DEFINING, word) {
        return None;
    }
    let name = words.next()?;
    let end = name
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    name.get(..end).filter(|name| name.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::{definitions, longest};

    #[test]
    fn names_lines_and_comments() {
        let text =
            "/// Reads.\npub fn read(x: u8) {\n  a\n}\n\nclass Wide:\n  pass\nlet fn_x = 1;\n";
        let found = definitions(text);
        let seen: Vec<_> = found
            .iter()
            .map(|one| (one.name, one.line, one.lines, one.commented))
            .collect();
        assert_eq!(seen, [("read", 2, 4, true), ("Wide", 6, 3, false)]);
        assert_eq!(longest(&found).map(|one| one.name), Some("read"));
    }
}
