//! The fences of a page.

/// A fence of Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// The words behind its opening.
    pub info: &'a str,
    /// The content, as whole lines.
    pub body: &'a str,
    /// The byte at which that begins.
    pub start: usize,
    /// The line of its opening, from 1.
    pub line: usize,
}

/// The fences of a page that begin at the start of a line, in its order, and the one that is left open at
/// its end, without what it holds.
pub(super) fn blocks(text: &str) -> (Vec<Block<'_>>, Option<Block<'_>>) {
    let mut found = Vec::new();
    let mut open: Option<(Block<'_>, usize)> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        let behind = line.get(ticks..).unwrap_or_default().trim();
        match &mut open {
            Some((block, opened)) if ticks >= *opened && behind.is_empty() => {
                block.body = text.get(block.start..at).unwrap_or_default();
                found.push(*block);
                open = None;
            }
            None if ticks >= 3 && !behind.contains('`') => {
                let block = Block {
                    info: behind,
                    body: "",
                    start: at + line.len(),
                    line: number + 1,
                };
                open = Some((block, ticks));
            }
            _ => {}
        }
        at += line.len();
    }
    (found, open.map(|(block, _)| block))
}
