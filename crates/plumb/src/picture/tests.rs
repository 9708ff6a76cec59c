//! Pictures of small graphs.

use crate::graph::{Builder, Code, Graph, Kind, Op, Selector};
use crate::span::Span;
use crate::types::Type;

/// A loop with names and expressions that need escaping.
fn graph() -> Graph {
    let mut builder = Builder::new("a <loop>");
    let code = |text: &str| {
        std::sync::Arc::new(Code {
            op: Op::Message,
            text: text.into(),
            span: Span::default(),
        })
    };
    let mut node = |kind, name: &str| builder.node(kind, name, Span::default());
    let input = node(Kind::Input, "input");
    let merge = node(Kind::Merge, "merge");
    let check = node(Kind::Narrow(Type::Text), "check");
    let copy = node(Kind::Copy, "copy");
    let again = node(
        Kind::Filter(
            code("value != \"a & b\" && len(value) < 100000"),
            Selector::Total,
        ),
        "filter",
    );
    let out = node(Kind::Output, "output");
    for (from, to, kind) in [
        ((input, 0), (merge, 0), Type::Json),
        ((merge, 0), (check, 0), Type::Json),
        ((check, 0), (copy, 0), Type::Text),
        ((copy, 0), (out, 0), Type::Text),
        ((copy, 1), (again, 0), Type::Text),
        ((again, 0), (merge, 1), Type::Literal("a & b".into())),
    ] {
        builder.edge(from, to, kind);
    }
    builder.finish()
}

#[test]
fn dot() {
    insta::assert_snapshot!(super::dot(&graph()), @r##"
    digraph "a <loop>" {
      node [fontname="monospace", fontsize=11];
      edge [fontname="monospace", fontsize=9];
      n0 [label="in\ninput", tooltip="in input", shape=box, style=rounded];
      n1 [label="merge", tooltip="merge", shape=ellipse, height=0.2];
      n2 [label="narrow\nstring", tooltip="check: narrow string", shape=box, style=dashed];
      n3 [label="copy", tooltip="copy", shape=ellipse, height=0.2];
      n4 [label="filter\nvalue != \"a & b\" && len(value) < …", tooltip="filter value != \"a & b\" && len(value) < 100000", shape=box];
      n5 [label="out\noutput", tooltip="out output", shape=box, style=rounded];
      n0 -> n1 [label="json", tooltip="json"];
      n1 -> n2 [label="json", tooltip="json", color="#b45309"];
      n2 -> n3 [label="string", tooltip="string", color="#b45309"];
      n3 -> n5 [label="string", tooltip="string"];
      n3 -> n4 [label="string", tooltip="string", color="#b45309"];
      n4 -> n1 [label="\"a & b\"", tooltip="\"a & b\"", color="#b45309"];
    }
    "##);
}

#[test]
fn svg_is_well_formed_and_says_everything() {
    let svg = super::svg(&graph());
    for said in [
        "<title>a &lt;loop&gt;</title>",
        "value != &quot;a &amp; b&quot; &amp;&amp; len(value) &lt; …</text>",
        "filter value != &quot;a &amp; b&quot; &amp;&amp; len(value) &lt; 100000</title>",
        "prefers-color-scheme: dark",
        "class=\"check\"",
        "class=\"edge back\"",
    ] {
        assert!(svg.contains(said), "{said}\n{svg}");
    }
    let count = |what: &str| svg.matches(what).count();
    assert_eq!(count("<g "), count("</g>"));
    assert_eq!(count("class=\"edge"), 6);
    assert_eq!(count("<text"), count("</text>"));
}

/// Both sides of a protocol, and the one of them in two instances.
const SESSIONS: &str = "protocol Ask = send int . recv string . end
let ask : (!string, !int) -> (!int, !string) = plumb(heard, go, said, out) {
  (heard, said) <-> Ask as s
  go ; s@trigger
  go ; s@send(int)
  s@recv(string) ; out
}
let main : !int -> !string = plumb(input, output) {
  let asked : !int = channel
  let answered : !string = channel
  let second : !string = channel
  let other : !int = channel
  spawn ask(answered, input, asked, output)
  spawn ask(second, input, other, output)
  (asked, answered) <-> dual Ask as shelf
  asked_too ; shelf@trigger
  let asked_too : !int = channel
  input ; asked_too
  shelf@recv(int) ; map(\"seven\") ; shelf@send(string)
  other ; map(\"eight\") ; second
}";

#[test]
fn a_session_is_one_node_for_each_instance() {
    let checked = crate::check::check("test.plumb", SESSIONS, &crate::modules::BuiltIn);
    assert_eq!(checked.diagnostics, Vec::new());
    let graph = checked.graph("main").unwrap();
    let folded = super::dot_of(&graph, checked.sessions());
    let count = |text: &str, what: &str| text.matches(what).count();
    assert_eq!(count(&folded, "Ask as s\", tooltip"), 2, "{folded}");
    assert_eq!(
        count(&folded, "dual Ask as shelf\", tooltip"),
        1,
        "{folded}"
    );
    assert!(folded.lines().count() < 60, "{folded}");
    assert!(super::dot(&graph).lines().count() > 200);
    let svg = super::svg_of(&graph, checked.sessions());
    assert_eq!(count(&svg, "class=\"session\""), 3, "{svg}");
}

/// Only browsers know variables: elsewhere a picture that uses them is black.
#[test]
fn colors_are_written_out() {
    let drawn = super::svg(&graph());
    assert!(!drawn.contains("var("), "{drawn}");
    assert!(drawn.contains(".paper { fill: #ffffff; }"), "{drawn}");
    assert!(drawn.contains("<rect class=\"paper\""), "{drawn}");
}
