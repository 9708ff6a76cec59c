//! Graphs in SVG, without any other program.

use std::fmt::Write as _;

use super::layout::{Drawing, Line, Point, Route, Size, layout};
use super::look::{Appearance, Form};
use super::view::{Joint, Seen, View};

/// The width of a character in the middle of a box, beside an edge, and above; pixels of the fonts of the
/// style sheet.
const WIDE: (f64, f64, f64) = (7.3, 6.1, 6.1);

/// The fonts and the shapes of the style sheet. Colors are written out, since only browsers know variables.
const SHAPES: &str = "
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, \"DejaVu Sans Mono\", monospace;
  text-anchor: middle; dominant-baseline: central; }
.word, .type, .dot text, .bar text { font-size: 10px; }
.type { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }
.check rect { stroke-dasharray: 4 3; }
.outside rect, .session rect, .bar rect { stroke-width: 1.5; }
.edge path { fill: none; stroke-width: 1.3; marker-end: url(#tip); }
.back path { marker-end: url(#back); }
#tip path, #back path { stroke: none; }
";

/// The colors of a picture.
struct Palette {
    paper: &'static str,
    ink: &'static str,
    soft: &'static str,
    line: &'static str,
    plain: &'static str,
    port: &'static str,
    outside: &'static str,
    session: &'static str,
    check: &'static str,
    back: &'static str,
}

const LIGHT: Palette = Palette {
    paper: "#ffffff",
    ink: "#1f2328",
    soft: "#656d76",
    line: "#8c959f",
    plain: "#f6f8fa",
    port: "#ddf4ff",
    outside: "#fff8c5",
    session: "#fbefff",
    check: "#ffebe9",
    back: "#bc4c00",
};

const DARK: Palette = Palette {
    paper: "#0d1117",
    ink: "#e6edf3",
    soft: "#8b949e",
    line: "#6e7681",
    plain: "#161b22",
    port: "#0c2d4a",
    outside: "#3a2d05",
    session: "#2d1a40",
    check: "#431a18",
    back: "#f0883e",
};

impl Palette {
    /// The rules that color a picture.
    fn rules(&self) -> String {
        let Self {
            paper,
            ink,
            soft,
            line,
            plain,
            port,
            outside,
            session,
            check,
            back,
        } = self;
        format!(
            ".paper {{ fill: {paper}; }} text {{ fill: {ink}; }}\n\
             .word, .type, .dot text, .bar text {{ fill: {soft}; }} .type {{ stroke: {paper}; }}\n\
             .box rect {{ fill: {plain}; stroke: {line}; }} .check rect {{ fill: {check}; stroke: {line}; }}\n\
             .port rect {{ fill: {port}; stroke: {line}; }} .dot rect {{ fill: {paper}; stroke: {line}; }}\n\
             .outside rect {{ fill: {outside}; stroke: {ink}; }}\n\
             .session rect {{ fill: {session}; stroke: {ink}; }}\n\
             .bar rect {{ fill: {plain}; stroke: {ink}; }}\n\
             .edge path {{ stroke: {line}; }} .back path {{ stroke: {back}; }}\n\
             #tip path {{ fill: {line}; }} #back path {{ fill: {back}; }}\n"
        )
    }
}

/// The style sheet. A program that does not know the query for dark screens draws a light picture.
fn style() -> String {
    let (light, dark) = (LIGHT.rules(), DARK.rules());
    format!("{SHAPES}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

/// A graph in SVG.
pub(super) fn svg(name: &str, view: &View) -> String {
    let sizes: Vec<Size> = view.nodes.iter().map(size).collect();
    let drawing = Drawing {
        lines: view.edges.iter().map(|edge| line(view, edge)).collect(),
        boxes: sizes.clone(),
    };
    let placed = layout(&drawing);
    let (width, height) = (placed.width.ceil(), placed.height.ceil());
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>",
        escaped(name),
        style()
    );
    for id in ["tip", "back"] {
        let _ = writeln!(
            out,
            "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\"/></marker>"
        );
    }
    for (route, joint) in placed.lines.iter().zip(&view.edges) {
        let (label, whole) = &joint.label;
        edge(&mut out, route, label, whole);
    }
    for ((seen, size), middle) in view.nodes.iter().zip(&sizes).zip(&placed.boxes) {
        node(&mut out, &seen.look, *size, *middle);
    }
    out.push_str("</svg>\n");
    out
}

/// The width of so many characters; those of East Asian scripts count twice.
fn wide(text: &str, each: f64) -> f64 {
    let characters = text.chars().map(|it| {
        if it >= '\u{1100}' && it != '…' {
            2.0
        } else {
            1.0
        }
    });
    characters.sum::<f64>() * each
}

fn size(seen: &Seen) -> Size {
    let look = &seen.look;
    let text = wide(&look.text, WIDE.0);
    let word = look.word.as_ref().map_or(0.0, |word| wide(word, WIDE.2));
    // Between two ports beside each other; what is around a session comes from it and goes back to it.
    let between = match look.form {
        Form::Session => 54.0,
        _ => 18.0,
    };
    let apart = f64::from(seen.ports.0.max(seen.ports.1)) * between;
    let (width, height) = match look.form {
        Form::Dot => (wide(&look.text, WIDE.2) + 14.0, 18.0),
        Form::Bar => (wide(&look.text, WIDE.2) + 20.0, 18.0),
        Form::Port => (text.max(word) + 36.0, 38.0),
        _ if look.word.is_some() => (text.max(word) + 20.0, 38.0),
        _ => (text + 20.0, 26.0),
    };
    Size {
        width: width.max(apart),
        height,
    }
}

fn line(view: &View, joint: &Joint) -> Line {
    let ports = |node: usize| view.nodes.get(node).map_or((1, 1), |seen| seen.ports);
    let share = |port: u32, ports: u32| (f64::from(port) + 1.0) / (f64::from(ports) + 1.0);
    Line {
        from: joint.from.0,
        to: joint.to.0,
        leaves: share(joint.from.1, ports(joint.from.0).1),
        enters: share(joint.to.1, ports(joint.to.0).0),
        label: wide(&joint.label.0, WIDE.1) + 6.0,
    }
}

fn node(out: &mut String, look: &Appearance, size: Size, middle: Point) {
    let (x, y) = middle;
    let round = match look.form {
        Form::Port | Form::Dot => size.height / 2.0,
        Form::Bar => 0.0,
        _ => 4.0,
    };
    let _ = write!(
        out,
        "<g class=\"{}\"><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
         rx=\"{round:.1}\"/>",
        look.form.name(),
        escaped(&look.whole),
        x - size.width / 2.0,
        y - size.height / 2.0,
        size.width,
        size.height
    );
    let below = if let Some(word) = &look.word {
        let _ = write!(
            out,
            "<text class=\"word\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            y - 9.0,
            escaped(word)
        );
        7.0
    } else {
        0.0
    };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>",
        y + below,
        escaped(&look.text)
    );
}

fn edge(out: &mut String, route: &Route, label: &str, whole: &str) {
    let Some((start, rest)) = route.points.split_first() else {
        return;
    };
    let class = if route.back { "edge back" } else { "edge" };
    let mut path = format!("M{:.1} {:.1}", start.0, start.1);
    let mut from = *start;
    for to in rest {
        // Upright at both ends, so that the pieces join smoothly.
        let half = f64::midpoint(from.1, to.1);
        let _ = write!(
            path,
            "C{:.1} {half:.1} {:.1} {half:.1} {:.1} {:.1}",
            from.0, to.0, to.0, to.1
        );
        from = *to;
    }
    let (x, y) = route.label;
    let _ = writeln!(
        out,
        "<g class=\"{class}\"><title>{}</title><path d=\"{path}\"/>\
         <text class=\"type\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text></g>",
        escaped(whole),
        escaped(label)
    );
}

/// Escapes text for XML and drops characters that XML does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
