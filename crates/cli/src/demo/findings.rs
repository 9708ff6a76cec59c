//! What the scripted agent finds in a file: definitions, the longest of them, and what lacks a
//! comment. It looks at words at the beginning of lines, which is enough for the usual languages.

/// Something that a line defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Its name.
    pub name: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// Lines to the next definition or the end.
    pub lines: usize,
    /// Whether a comment stands above it.
    pub commented: Commented,
}

/// Whether a comment stands above a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commented {
    /// One does.
    Yes,
    /// None does.
    No,
}

/// Words before a name that is defined.
const DEFINING: [&str; 12] = [
    "fn",
    "def",
    "func",
    "function",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "impl",
    "module",
];
/// Words that may stand before those.
const LEADING: [&str; 8] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "async",
    "const",
    "export",
    "static",
    "public",
];

/// The definitions of a text in their order; for Markdown its headings.
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
                commented: if comment {
                    Commented::Yes
                } else {
                    Commented::No
                },
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

/// The longest definition.
pub fn longest<'a>(definitions: &[Definition<'a>]) -> Option<Definition<'a>> {
    // `max_by_key` takes the last of equals; the first is what a reader would name.
    definitions
        .iter()
        .rev()
        .max_by_key(|found| found.lines)
        .cloned()
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mut word = words.next()?;
    while LEADING.contains(&word) {
        word = words.next()?;
    }
    if !DEFINING.contains(&word) {
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
    use super::{Commented, definitions, longest};

    #[test]
    fn names_lines_and_comments() {
        let text =
            "/// Reads.\npub fn read(x: u8) {\n  a\n}\n\nclass Wide:\n  pass\nlet fn_x = 1;\n";
        let found = definitions(text);
        let seen: Vec<_> = found
            .iter()
            .map(|one| (one.name, one.line, one.lines, one.commented))
            .collect();
        assert_eq!(
            seen,
            [
                ("read", 2, 4, Commented::Yes),
                ("Wide", 6, 3, Commented::No)
            ]
        );
        assert_eq!(longest(&found).map(|one| one.name), Some("read"));
    }
}
