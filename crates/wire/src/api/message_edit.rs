//! One message with parts of it changed and every other byte kept.

use std::borrow::Cow;

use context::Role;

use super::Dialect;
use super::json::scan::{Kind, Span};
use super::json::tree::{Tree, Value};
use super::json::write::quoted;
use super::message::Message;
use super::render::text_block;

/// Changes to one message, applied by [`Self::render`].
#[derive(Clone, Debug)]
pub struct MessageEdit<'r> {
    message: Message<'r>,
    thinking: Thinking,
    cleared: Option<&'r str>,
    results: Vec<(usize, &'r str)>,
    blocks: Vec<&'r str>,
    breakpoint: Option<&'r str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking {
    Stays,
    Goes,
}

type Patch = (Span, String);

impl<'r> Message<'r> {
    /// Starts a change of this message.
    #[must_use]
    pub const fn edit(&self) -> MessageEdit<'r> {
        MessageEdit {
            message: *self,
            thinking: Thinking::Stays,
            cleared: None,
            results: Vec::new(),
            blocks: Vec::new(),
            breakpoint: None,
        }
    }
}

impl<'r> MessageEdit<'r> {
    /// Removes all thinking that is bound to the messages before it (Anthropic's). Thinking of other
    /// dialects stays.
    #[must_use]
    pub const fn without_thinking(mut self) -> Self {
        self.thinking = Thinking::Goes;
        self
    }

    /// Replaces every tool result that is longer than `text` by `text`.
    #[must_use]
    pub const fn with_results_cleared(mut self, text: &'r str) -> Self {
        self.cleared = Some(text);
        self
    }

    /// Makes `text` the readable text of the tool result `index`, counted from 0 in this message. Parts
    /// that are not text stay. Of several texts for one result, the last one counts.
    #[must_use]
    pub fn with_result_text(mut self, index: usize, text: &'r str) -> Self {
        self.results.retain(|(other, _)| *other != index);
        self.results.push((index, text));
        self
    }

    /// Adds `block` (JSON) at the end of the content. A content that is a string becomes one text block
    /// first.
    #[must_use]
    pub fn with_block(mut self, block: &'r str) -> Self {
        self.blocks.push(block);
        self
    }

    /// Marks the last block as a cache breakpoint, behind all other changes; `marker` as in
    /// [`Message::with_breakpoint`]. A message without such a block stays unmarked.
    #[must_use]
    pub const fn with_breakpoint(mut self, marker: &'r str) -> Self {
        self.breakpoint = Some(marker);
        self
    }

    /// Returns the new message: its own bytes where nothing changes, an empty text where it held only
    /// thinking. `None` where a change does not fit: no such result, or no content to add to.
    #[must_use]
    pub fn render(&self) -> Option<Cow<'r, str>> {
        let text = self.unmarked()?;
        let marker = self.breakpoint;
        let marked = marker.and_then(|marker| self.message.marked(&text, marker));
        Some(marked.map_or(text, Cow::Owned))
    }

    /// The new message without a new breakpoint.
    fn unmarked(&self) -> Option<Cow<'r, str>> {
        let raw = self.message.raw();
        if self.changes_nothing() {
            // Not read, however long it is.
            return Some(Cow::Borrowed(raw));
        }
        if self.message.bare {
            return self.bare();
        }
        let trees = self.message.trees();
        let mut patches = self.result_patches(&trees)?;
        if let Some(tree) = trees.first() {
            let taken = self.thinking_patches(tree.root());
            if taken.left == 0 && !taken.patches.is_empty() && self.blocks.is_empty() {
                return Some(Cow::Borrowed(""));
            }
            patches.extend(taken.patches);
        }
        self.add_blocks(&trees, &mut patches)?;
        if patches.is_empty() {
            return Some(Cow::Borrowed(raw));
        }
        Some(Cow::Owned(splice(raw, patches)))
    }

    const fn changes_nothing(&self) -> bool {
        matches!(self.thinking, Thinking::Stays)
            && self.cleared.is_none()
            && self.results.is_empty()
            && self.blocks.is_empty()
    }

    /// A bare `input` string becomes a message when something is added to it.
    fn bare(&self) -> Option<Cow<'r, str>> {
        let raw = self.message.raw();
        if !self.results.is_empty() {
            return None;
        }
        if self.blocks.is_empty() {
            return Some(Cow::Borrowed(raw));
        }
        let blocks = self.blocks.join(",");
        Some(Cow::Owned(format!(
            r#"{{"role":"user","content":[{{"type":"input_text","text":{raw}}},{blocks}]}}"#
        )))
    }

    fn result_patches(&self, trees: &[Tree<'r>]) -> Option<Vec<Patch>> {
        let mut out = Vec::new();
        if self.results.is_empty() && self.cleared.is_none() {
            return Some(out);
        }
        let values = self.result_values(trees);
        if let Some(text) = self.cleared {
            let new = quoted(text);
            let long = values
                .iter()
                .filter_map(|(base, value)| Some((base, (*value)?)))
                .filter(|(_, value)| value.raw().len() > new.len());
            out.extend(long.map(|(base, value)| (moved(value.span(), *base), new.clone())));
            return Some(out);
        }
        for (index, text) in &self.results {
            let (base, value) = values.get(*index)?;
            for (span, new) in with_text(self.message.dialect, (*value)?, text)? {
                out.push((moved(span, *base), new));
            }
        }
        Some(out)
    }

    /// The value of each tool result, with the offset of its element in the message.
    fn result_values<'t>(&self, trees: &'t [Tree<'r>]) -> Vec<(usize, Option<Value<'t>>)> {
        let mut out = Vec::new();
        for (tree, base) in trees.iter().zip(self.message.starts()) {
            let results = (self.message.dialect.table().messages.results)(tree.root());
            out.extend(results.into_iter().map(|value| (base, value)));
        }
        out
    }

    fn thinking_patches(&self, root: Value<'_>) -> Cuts {
        let bound = self.message.dialect.facts().layout.binds_thinking;
        let goes = bound && self.thinking == Thinking::Goes;
        let Some(content) = root.get("content").filter(|_| goes) else {
            return Cuts::default();
        };
        cut_elements(content, |block| {
            let kind = block.get_text("type");
            kind.is_some_and(|kind| matches!(&*kind, "thinking" | "redacted_thinking"))
        })
    }

    fn add_blocks(&self, trees: &[Tree<'r>], patches: &mut Vec<Patch>) -> Option<()> {
        if self.blocks.is_empty() {
            return Some(());
        }
        let root = trees.last()?.root();
        let base = self.message.starts().last()?;
        let content = root.get("content")?;
        let span = moved(content.span(), base);
        let blocks = self.blocks.join(",");
        let listed = |text: &str| {
            let kind = self.message.text_type();
            format!(r#"[{{"type":"{kind}","text":{text}}},{blocks}]"#)
        };
        // The content of a tool's message is the result, which may be replaced already.
        if let Some((_, replaced)) = patches.iter_mut().find(|patch| patch.0 == span) {
            *replaced = listed(replaced);
            return Some(());
        }
        patches.push(match content.kind() {
            Kind::Plain | Kind::Escaped => (span, listed(content.raw())),
            Kind::List => {
                let left = content.elements().count() - self.thinking_patches(root).patches.len();
                let comma = if left > 0 { "," } else { "" };
                let end = span.end.checked_sub(1)?;
                (Span { start: end, end }, format!("{comma}{blocks}"))
            }
            _ => return None,
        });
        Some(())
    }
}

/// Patches that replace the text of a result, `value`, by `text`. A marked block of text is the one
/// that is kept, so that no cache breakpoint is lost.
fn with_text(dialect: Dialect, value: Value<'_>, text: &str) -> Option<Vec<Patch>> {
    if value.kind() != Kind::List {
        return (!value.is_null()).then(|| vec![(value.span(), quoted(text))]);
    }
    let is_text = |block: &Value<'_>| block.text().is_some() || block.get_text("text").is_some();
    let texts: Vec<_> = value.elements().filter(is_text).collect();
    let marked = texts
        .iter()
        .rfind(|block| block.get("cache_control").is_some());
    let kept = *marked.or(texts.first())?;
    let mut patches = cut_elements(value, |block| {
        is_text(&block) && block.span() != kept.span()
    })
    .patches;
    let (span, new) = match kept.get("text") {
        Some(own) => (own.span(), quoted(text)),
        None => {
            let kind = (dialect.table().messages.text_type)(Role::Tool);
            (kept.span(), text_block(kind, text))
        }
    };
    patches.push((span, new));
    Some(patches)
}

/// Elements that are cut out of a list.
#[derive(Default)]
struct Cuts {
    /// A patch for each of them.
    patches: Vec<Patch>,
    /// The number of elements left.
    left: usize,
}

/// Cuts elements out of `list`.
fn cut_elements(list: Value<'_>, goes: impl Fn(Value<'_>) -> bool) -> Cuts {
    let all = list.elements().count();
    let entries = list.elements().map(|it| (it.span(), goes(it)));
    let patches = cut(entries);
    let left = all - patches.len();
    Cuts { patches, left }
}

/// Cuts the entries of a list or an object that are marked, each with one adjacent comma.
pub(super) fn cut(entries: impl Iterator<Item = (Span, bool)>) -> Vec<Patch> {
    let mut patches = Vec::new();
    let mut before = None;
    let mut entries = entries.peekable();
    while let Some((span, goes)) = entries.next() {
        if !goes {
            before = Some(span.end);
            continue;
        }
        let next = entries.peek().map(|(next, _)| next.start);
        let (start, end) = match before {
            Some(before) => (before, span.end),
            None => (span.start, next.unwrap_or(span.end)),
        };
        before = before.map(|_| span.end);
        patches.push((Span { start, end }, String::new()));
    }
    patches
}

const fn moved(span: Span, by: usize) -> Span {
    Span {
        start: span.start + by,
        end: span.end + by,
    }
}

/// `text` with the spans replaced, which do not overlap.
pub(super) fn splice(text: &str, mut patches: Vec<Patch>) -> String {
    patches.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, new) in patches {
        out.push_str(text.get(at..span.start).unwrap_or_default());
        out.push_str(&new);
        at = span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
