//! The comments in front of declarations.

use crate::span::Span;
use crate::syntax::comments;

use super::super::Checked;

impl Checked {
    /// The comment right in front of the declaration or the channel whose name stands at a span: text without
    /// its signs and its indentation. `None` if there is none, or a blank line is between.
    pub(super) fn comment_on(&self, name: Span) -> Option<String> {
        let text = &self.sources.get(name.source)?.text;
        let before = text.get(..name.start as usize)?;
        // Only the word of the declaration stands between the comment and the name.
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let head = before.get(line..)?.trim_start();
        let word = head.split_whitespace().next()?;
        if !matches!(word, "let" | "type" | "protocol") {
            return None;
        }
        let start = u32::try_from(before.len() - head.len()).ok()?;
        let comments = comments(name.source, text);
        let comment = comments.iter().rev().find(|one| one.span.end <= start)?;
        let gap = text.get(comment.span.end as usize..start as usize)?;
        let near = gap.trim().is_empty() && gap.matches('\n').count() <= 1;
        near.then(|| inside(&comment.text))
    }
}

/// The text of a comment.
fn inside(comment: &str) -> String {
    let text = comment.strip_prefix("(*").unwrap_or(comment);
    let text = text.strip_suffix("*)").unwrap_or(text);
    let lines = text.lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
