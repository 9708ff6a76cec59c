//! Labels of nodes and edges in a picture.

use crate::graph::{Edge, ExternalKind, Graph, Kind, Node};

/// The maximum length of an expression or a type in a picture, in characters.
const SHOWN: usize = 34;
/// The maximum length of a type beside an edge, in characters.
const BESIDE: usize = 22;

/// The appearance of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Appearance {
    pub(super) form: Form,
    /// The word in small letters above: the operation.
    pub(super) word: Option<String>,
    /// The text in the middle.
    pub(super) text: String,
    /// All of it, for a closer look.
    pub(super) whole: String,
}

/// The form of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A boundary port.
    Port,
    /// An agent or a tool.
    Outside,
    /// A session, with all that it became.
    Session,
    /// A morphism.
    Box,
    /// A test that the compiler put in, or the program asked for.
    Check,
    /// A barrier: a bar.
    Bar,
    /// A fan-out or fan-in, an end, an empty stream.
    Dot,
}

impl Form {
    /// The name of the form, for style sheets.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Port => "port",
            Self::Outside => "outside",
            Self::Session => "session",
            Self::Box => "box",
            Self::Check => "check",
            Self::Bar => "bar",
            Self::Dot => "dot",
        }
    }
}

/// The appearance of a node of a graph.
pub(super) fn look(graph: &Graph, node: &Node) -> Appearance {
    let name = node.name.to_string();
    let (form, word, text) = match &node.kind {
        Kind::Input => (Form::Port, Some("in"), name),
        Kind::Output => (Form::Port, Some("out"), name),
        Kind::Id => (Form::Box, None, name),
        Kind::Copy => (Form::Dot, None, "copy".to_owned()),
        Kind::Merge => (Form::Dot, None, "merge".to_owned()),
        Kind::Discard => (Form::Dot, None, "discard".to_owned()),
        Kind::Empty => (Form::Dot, None, "empty".to_owned()),
        Kind::Once(value) => (Form::Box, Some("once"), value.to_string()),
        Kind::Barrier => (Form::Bar, None, "barrier".to_owned()),
        Kind::Map(code) => (Form::Box, Some("map"), code.text.to_string()),
        Kind::Filter(code, _) => (Form::Box, Some("filter"), code.text.to_string()),
        Kind::Project(part) => (Form::Box, Some("project"), part.to_string()),
        Kind::Tag(label) => (Form::Box, Some("tag"), label.to_string()),
        Kind::Narrow(kind) => (Form::Check, Some("narrow"), kind.to_string()),
        Kind::Failures => (Form::Box, Some("errors of"), name),
        Kind::Timer => (Form::Outside, Some("timer"), name),
        Kind::External(id) => {
            let external = graph.externals.get(id.0 as usize);
            let word = match external.map(|it| it.kind) {
                Some(ExternalKind::Tool) => "tool",
                _ => "agent",
            };
            (Form::Outside, Some(word), name)
        }
    };
    let said = word.map_or_else(|| text.clone(), |word| format!("{word} {text}"));
    let whole = if said.contains(&*node.name) {
        said
    } else {
        format!("{}: {said}", node.name)
    };
    Appearance {
        form,
        word: word.map(str::to_owned),
        text: short(&text, SHOWN),
        whole,
    }
}

/// The type of an edge's messages, as it stands beside the edge, and in full.
pub(super) fn beside(edge: &Edge) -> (String, String) {
    let whole = edge.kind.to_string();
    (short(&whole, BESIDE), whole)
}

/// At most so many characters, on one line.
fn short(text: &str, most: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
