//! The values of one JSON text as a flat list of nodes in the order of the text.

use std::borrow::Cow;

use super::scan::{Fault, Kind, Scanner, Sink, Span};
use super::unescape::unescape;

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    start: u32,
    end: u32,
    /// The number of nodes of the value, itself included.
    size: u32,
}

/// The nodes of one JSON text, in the order of the text.
#[derive(Debug)]
pub(crate) struct Tree<'b> {
    text: &'b str,
    nodes: Vec<Node>,
}

impl<'b> Tree<'b> {
    /// Reads `text`, which is one value.
    pub(crate) fn parse(text: &'b str, depth: usize) -> Result<Self, Fault> {
        let mut builder = Builder::default();
        let mut scanner = Scanner::new(text.as_bytes(), depth);
        scanner.value(&mut builder)?;
        scanner.finish()?;
        Ok(Self {
            text,
            nodes: builder.nodes,
        })
    }

    /// The outermost value.
    pub(crate) fn root(&self) -> Value<'_> {
        Value {
            text: self.text,
            nodes: &self.nodes,
        }
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    open: Vec<usize>,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "bodies are shorter than 4 GiB, see Limits::bytes_in_force; a node takes a byte at least"
)]
impl Sink for Builder {
    fn open(&mut self, kind: Kind, start: usize) {
        self.open.push(self.nodes.len());
        self.nodes.push(Node {
            kind,
            start: start as u32,
            end: 0,
            size: 0,
        });
    }

    fn leaf(&mut self, kind: Kind, span: Span) {
        self.nodes.push(Node {
            kind,
            start: span.start as u32,
            end: span.end as u32,
            size: 1,
        });
    }

    fn close(&mut self, end: usize) {
        let count = self.nodes.len();
        let Some(at) = self.open.pop() else { return };
        if let Some(node) = self.nodes.get_mut(at) {
            node.end = end as u32;
            node.size = (count - at) as u32;
        }
    }
}

/// One value of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Value<'t> {
    text: &'t str,
    /// The value's own node, then those of everything inside it.
    nodes: &'t [Node],
}

impl<'t> Value<'t> {
    fn node(self) -> Node {
        const NULL: Node = Node {
            kind: Kind::Null,
            start: 0,
            end: 0,
            size: 1,
        };
        self.nodes.first().copied().unwrap_or(NULL)
    }

    pub(crate) fn kind(self) -> Kind {
        self.node().kind
    }

    /// The range in the text that was parsed.
    pub(crate) fn span(self) -> Span {
        let node = self.node();
        Span {
            start: node.start as usize,
            end: node.end as usize,
        }
    }

    /// The raw bytes.
    pub(crate) fn raw(self) -> &'t str {
        self.span().of(self.text)
    }

    /// The unescaped text of a string.
    pub(crate) fn text(self) -> Option<Cow<'t, str>> {
        let raw = self.raw();
        let inner = raw.get(1..raw.len().saturating_sub(1));
        match self.kind() {
            Kind::Plain => inner.map(Cow::Borrowed),
            Kind::Escaped => inner.map(unescape),
            _ => None,
        }
    }

    /// Returns `true` for the string `text`.
    pub(crate) fn is(self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text)
    }

    pub(crate) fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    pub(crate) fn is_true(self) -> bool {
        self.kind() == Kind::True
    }

    /// The value of a whole number of zero or more.
    pub(crate) fn whole(self) -> Option<u64> {
        (self.kind() == Kind::Number)
            .then(|| self.raw().parse().ok())
            .flatten()
    }

    /// The elements, where it is a list.
    pub(crate) fn elements(self) -> Children<'t> {
        self.children(Kind::List)
    }

    /// The members, where it is an object, in the order of the text, repeated keys included.
    pub(crate) fn members(self) -> impl Iterator<Item = (Value<'t>, Value<'t>)> {
        let mut children = self.children(Kind::Object);
        std::iter::from_fn(move || children.next().zip(children.next()))
    }

    /// The value under `key`; the last one where the key is repeated, as most readers have it.
    pub(crate) fn get(self, key: &str) -> Option<Value<'t>> {
        self.members()
            .filter(|(name, _)| name.is(key))
            .map(|(_, value)| value)
            .last()
    }

    /// The text under `key`, where there is a string.
    pub(crate) fn get_text(self, key: &str) -> Option<Cow<'t, str>> {
        self.get(key)?.text()
    }

    fn children(self, kind: Kind) -> Children<'t> {
        let inside = self.nodes.get(1..).filter(|_| self.kind() == kind);
        Children {
            text: self.text,
            nodes: inside.unwrap_or_default(),
        }
    }
}

/// The children of a list or an object.
pub(crate) struct Children<'t> {
    text: &'t str,
    nodes: &'t [Node],
}

impl<'t> Iterator for Children<'t> {
    type Item = Value<'t>;

    fn next(&mut self) -> Option<Value<'t>> {
        let size = self.nodes.first()?.size as usize;
        let (nodes, rest) = self.nodes.split_at_checked(size)?;
        self.nodes = rest;
        Some(Value {
            text: self.text,
            nodes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn values_are_found_and_keep_their_bytes() {
        let text = r#" {"a":[1,{"b":"x\ny"},[]], "a" : 1.50,"c":{}} "#;
        let tree = Tree::parse(text, 8).unwrap();
        let root = tree.root();
        assert_eq!(root.raw(), text.trim());
        assert_eq!(root.members().count(), 3);
        assert_eq!(root.get("a").unwrap().raw(), "1.50");
        let (_, first) = root.members().next().unwrap();
        let elements: Vec<_> = first.elements().map(|value| value.raw()).collect();
        assert_eq!(elements, ["1", r#"{"b":"x\ny"}"#, "[]"]);
        let inner = first.elements().nth(1).unwrap();
        assert_eq!(inner.get_text("b").unwrap(), "x\ny");
        assert_eq!(root.get("c").unwrap().members().count(), 0);
        assert_eq!(inner.elements().count(), 0);
    }
}
