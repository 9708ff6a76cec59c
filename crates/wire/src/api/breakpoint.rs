//! Cache breakpoints: finding, setting and removing them.

use std::borrow::Cow;

use super::Dialect;
use super::canonical::MARKERS;
use super::json::scan::{Kind, Span};
use super::json::tree::{Tree, Value};
use super::json::write::quoted;
use super::message::Message;
use super::message_edit::{cut, splice};
use super::request::Request;

/// Kinds of blocks that are known to carry breakpoints.
const CARRIERS: [&str; 6] = [
    "text",
    "image",
    "document",
    "search_result",
    "tool_use",
    "tool_result",
];

/// The place of a cache breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakpointPosition {
    /// At the top level: the provider sets the breakpoint itself, and it uses one of the slots.
    Automatic,
    /// At this definition of a tool.
    Tool(usize),
    /// At this block of the system prompt.
    System(usize),
    /// At this block of this message (0 where the message itself or a bare string carries it).
    Message {
        /// The message.
        message: usize,
        /// The block in it. Blocks inside a tool result count as the result.
        block: usize,
    },
}

/// A cache breakpoint: Anthropic's `cache_control`, OpenAI's `prompt_cache_breakpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// The block that carries it.
    pub place: BreakpointPosition,
    /// The `ttl`, where the breakpoint names one.
    pub ttl: Option<String>,
}

impl Request<'_> {
    /// All cache breakpoints, in the order in which the provider sees them: tools, system, messages,
    /// then the automatic one.
    #[must_use]
    pub fn breakpoints(&self) -> Vec<Breakpoint> {
        self.breakpoints_from(0)
    }

    /// [`Self::breakpoints`] without those of the messages before `first`.
    #[must_use]
    pub fn breakpoints_from(&self, first: usize) -> Vec<Breakpoint> {
        let mut out = self.breakpoints_of_instructions();
        for index in self.maybe_marked(first) {
            out.extend(self.message(index).iter().flat_map(Message::breakpoints));
        }
        if let Some(field) = self.field("cache_control")
            && let Ok(tree) = Tree::parse(field.value, self.depth)
            && !tree.root().is_null()
        {
            out.push(Breakpoint {
                place: BreakpointPosition::Automatic,
                ttl: ttl(tree.root()),
            });
        }
        out
    }

    /// The breakpoints at tools and system prompt.
    #[must_use]
    pub fn breakpoints_of_instructions(&self) -> Vec<Breakpoint> {
        let mut out = Vec::new();
        for (key, place) in [
            (
                "tools",
                BreakpointPosition::Tool as fn(usize) -> BreakpointPosition,
            ),
            ("system", BreakpointPosition::System),
        ] {
            let Some(field) = self.field(key).filter(|field| may_mark(field.value)) else {
                continue;
            };
            if let Ok(tree) = Tree::parse(field.value, self.depth) {
                for (index, block) in tree.root().elements().enumerate() {
                    out.extend(marker(block).map(|ttl| Breakpoint {
                        place: place(index),
                        ttl,
                    }));
                }
            }
        }
        let lead = self.elements.iter().take(self.lead).enumerate();
        for (index, element) in lead.filter(|(_, it)| may_mark(it.span.of(self.body))) {
            if let Ok(tree) = Tree::parse(element.span.of(self.body), self.depth) {
                let blocks = tree
                    .root()
                    .get("content")
                    .into_iter()
                    .flat_map(Value::elements);
                let found = std::iter::once(tree.root())
                    .chain(blocks)
                    .filter_map(marker);
                out.extend(found.map(|ttl| Breakpoint {
                    place: BreakpointPosition::System(index),
                    ttl,
                }));
            }
        }
        out
    }

    /// Returns `true` if a message from `first` on carries a breakpoint.
    #[must_use]
    pub fn marks_messages_from(&self, first: usize) -> bool {
        let mut maybe = self.maybe_marked(first).into_iter();
        maybe.any(|index| {
            let message = self.message(index);
            message.is_some_and(|message| !message.breakpoints().is_empty())
        })
    }

    /// The field of the system prompt, or of the tools where there is no system prompt, with its last
    /// block marked as a cache breakpoint: its key and its new value. `None` where no block can be
    /// marked.
    #[must_use]
    pub fn instructions_with_breakpoint(&self, marker: &str) -> Option<(&'static str, String)> {
        let key = self.dialect.facts().keys.instructions?;
        let mark = member(self.dialect, marker);
        let Some(system) = self.field(key).filter(|field| field.value != "null") else {
            let tools = self.tools()?;
            let tree = Tree::parse(tools.value, self.depth).ok()?;
            let last = tree.root().elements().last()?;
            // The provider refuses a breakpoint at a tool that is loaded later.
            let patch = last
                .get("defer_loading")
                .is_none()
                .then(|| at_end(last, mark))?;
            return Some(("tools", splice(tools.value, vec![patch?])));
        };
        if system.value.starts_with('"') {
            let block = format!(r#"[{{"type":"text","text":{}{mark}}}]"#, system.value);
            return (system.value != r#""""#).then_some((key, block));
        }
        let tree = Tree::parse(system.value, self.depth).ok()?;
        let last = tree.root().elements().last()?;
        let is_empty = last.get("text").is_none_or(|text| text.is(""));
        let patch = (!is_empty).then(|| at_end(last, mark))?;
        Some((key, splice(system.value, vec![patch?])))
    }
}

impl Request<'_> {
    /// The messages from `first` on that may hold a marker, by a quick look at their bytes.
    fn maybe_marked(&self, first: usize) -> Vec<usize> {
        let start = self.message(first).map(|message| message.span().start);
        let end = self.elements.last().map(|element| element.span.end);
        let Some((start, end)) = start.zip(end) else {
            return Vec::new();
        };
        let bytes = Span { start, end }.of(self.body).as_bytes();
        let mut found: Vec<usize> = signs()
            .flat_map(|sign| memchr::memmem::find_iter(bytes, sign))
            .map(|at| self.message_at(start + at))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The message that holds the byte `at` of the body or ends right before it.
    fn message_at(&self, at: usize) -> usize {
        let until = self.elements.partition_point(|it| it.span.start <= at);
        self.ends.partition_point(|end| *end < until)
    }
}

impl<'r> Message<'r> {
    /// The cache breakpoints in this message.
    #[must_use]
    pub fn breakpoints(&self) -> Vec<Breakpoint> {
        if !may_mark(self.raw()) {
            return Vec::new();
        }
        let at = |block| BreakpointPosition::Message {
            message: self.index(),
            block,
        };
        let mut out = Vec::new();
        for tree in self.trees() {
            let root = tree.root();
            out.extend(marker(root).map(|ttl| Breakpoint { place: at(0), ttl }));
            let content = root.get("content").into_iter().flat_map(Value::elements);
            for (block, value) in content.enumerate() {
                let nested = value.get("content").into_iter().flat_map(Value::elements);
                for found in std::iter::once(value).chain(nested).filter_map(marker) {
                    let place = at(block);
                    out.push(Breakpoint { place, ttl: found });
                }
            }
        }
        out
    }

    /// This message with its last block marked as a cache breakpoint: `marker` is the value of
    /// `cache_control` (or, on OpenAI, of `prompt_cache_breakpoint`). A content that is a string
    /// becomes one text block. `None` where no block can be marked: no content, an empty text or
    /// thinking last, or the block is marked already.
    #[must_use]
    pub fn with_breakpoint(&self, marker: &str) -> Option<String> {
        let tree = self.trees().into_iter().next_back()?;
        let root = tree.root();
        let patch = self.breakpoint_patch(root, marker)?;
        Some(self.patched(root.raw(), vec![patch]))
    }

    /// `text`, which is this message as it is to be shown, with its last block marked. `None` also where
    /// that block is of a kind that may not carry a breakpoint, for all that is known: a provider
    /// refuses the request for it.
    pub(super) fn marked(&self, text: &str, marker: &str) -> Option<String> {
        let tree = Tree::parse(text, self.depth()).ok()?;
        let last = tree.root().get("content")?.elements().last();
        let kind = last.and_then(|block| block.get_text("type"));
        if kind.is_some_and(|kind| !CARRIERS.contains(&&*kind)) {
            return None;
        }
        let patch = self.breakpoint_patch(tree.root(), marker)?;
        Some(splice(text, vec![patch]))
    }

    /// The patch that marks the last block of an element.
    fn breakpoint_patch(&self, root: Value<'_>, marker: &str) -> Option<(Span, String)> {
        let content = root.get("content")?;
        let mark = member(self.dialect, marker);
        match content.kind() {
            Kind::Plain | Kind::Escaped if content.raw() == r#""""# => None,
            Kind::Plain | Kind::Escaped => {
                let kind = self.text_type();
                let block = format!(r#"[{{"type":"{kind}","text":{}{mark}}}]"#, content.raw());
                Some((content.span(), block))
            }
            _ => {
                let block = content.elements().last()?;
                let kind = block.get_text("type")?;
                let is_empty = block.get("text").is_some_and(|text| text.is(""));
                if kind.contains("thinking") || is_empty {
                    return None;
                }
                at_end(block, mark)
            }
        }
    }

    /// This message without cache breakpoints; its own bytes if it has none.
    #[must_use]
    pub fn without_breakpoints(&self) -> Cow<'r, str> {
        if !may_mark(self.raw()) {
            return Cow::Borrowed(self.raw());
        }
        let mut out = String::new();
        for tree in self.trees() {
            let root = tree.root();
            let mut cuts = Vec::new();
            cut_markers(root, &mut cuts);
            for block in root.get("content").into_iter().flat_map(Value::elements) {
                cut_markers(block, &mut cuts);
                for inner in block.get("content").into_iter().flat_map(Value::elements) {
                    cut_markers(inner, &mut cuts);
                }
            }
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str(&splice(root.raw(), cuts));
        }
        Cow::Owned(out)
    }

    /// The type of a text block in this message.
    pub(super) fn text_type(&self) -> &'static str {
        (self.dialect.table().messages.text_type)(self.role())
    }

    /// The message with its last element, `last`, changed by `patches`.
    fn patched(&self, last: &str, patches: Vec<(Span, String)>) -> String {
        let raw = self.raw();
        let before = raw.strip_suffix(last).unwrap_or_default();
        format!("{before}{}", splice(last, patches))
    }
}

/// The member that marks a block, behind a comma.
fn member(dialect: Dialect, marker: &str) -> String {
    format!(
        ",{}:{marker}",
        quoted(dialect.facts().keys.cache_breakpoint)
    )
}

/// The patch that adds a member at the end of `object`. `None` where it has a marker, `null` included.
fn at_end(object: Value<'_>, member: String) -> Option<(Span, String)> {
    if MARKERS.iter().any(|key| object.get(key).is_some()) {
        return None;
    }
    object.members().next()?;
    let end = object.span().end.checked_sub(1)?;
    Some((Span { start: end, end }, member))
}

/// Cuts the marker members of `object`.
fn cut_markers(object: Value<'_>, cuts: &mut Vec<(Span, String)>) {
    let is_marker = |key: Value<'_>| key.text().is_some_and(|key| MARKERS.contains(&&*key));
    cuts.extend(cut(object.members().map(|(key, value)| {
        let (start, end) = (key.span().start, value.span().end);
        (Span { start, end }, is_marker(key))
    })));
}

/// Byte sequences of which every marker holds one: the key in plain letters, or escapes of `_` and of
/// lower-case letters (`\u005f`, `\u0061` to `\u007a`).
fn signs() -> impl Iterator<Item = &'static [u8]> {
    let keys = MARKERS.iter().map(|key| key.as_bytes());
    keys.chain([b"\\u005".as_slice(), b"\\u006", b"\\u007"])
}

/// A quick look: `false` means that `json` holds no marker.
fn may_mark(json: &str) -> bool {
    signs().any(|sign| memchr::memmem::find(json.as_bytes(), sign).is_some())
}

/// The `ttl` of the marker that `block` carries, where it carries one.
fn marker(block: Value<'_>) -> Option<Option<String>> {
    MARKERS
        .iter()
        .filter_map(|key| block.get(key))
        .find(|value| !value.is_null())
        .map(ttl)
}

fn ttl(marker: Value<'_>) -> Option<String> {
    marker.get_text("ttl").map(Cow::into_owned)
}
