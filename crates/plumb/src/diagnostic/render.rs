//! Diagnostics for people: with the lines of the source they are about.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Severity};
use crate::source::Sources;
use crate::span::{SourceId, Span};

/// The use of colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// ANSI escapes.
    Ansi,
    /// No colors.
    Plain,
}

/// The diagnostics one below the other, each with excerpts of the sources it is about, in lines of about
/// `width` columns: long source lines are cut, messages and hints wrapped.
#[must_use]
pub fn render(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    colour: Colour,
    width: usize,
) -> String {
    let renderer = match colour {
        Colour::Ansi => Renderer::styled(),
        Colour::Plain => Renderer::plain(),
    };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(width);
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&renderer.render(&[group(diagnostic, sources, width)]));
        out.push_str("\n\n");
    }
    // One empty line between them, none behind the last.
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn group<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources, width: usize) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let prefix = "warning[P0000]: ".len();
    let message = wrap(&diagnostic.message, width.saturating_sub(prefix));
    let mut group = level
        .primary_title(message)
        .id(diagnostic.code.0)
        .elements(excerpts(diagnostic, sources));
    if let Some(hint) = &diagnostic.hint {
        let margin = "      = help: ".len();
        group = group.element(Level::HELP.message(wrap(hint, width.saturating_sub(margin))));
    }
    group
}

/// One excerpt for each source that the diagnostic is about, its own first.
fn excerpts<'a>(
    diagnostic: &'a Diagnostic,
    sources: &'a Sources,
) -> Vec<Snippet<'a, Annotation<'a>>> {
    let primary = (AnnotationKind::Primary, diagnostic.span, None);
    let labels = diagnostic.labels.iter().map(|label| {
        let text = Some(label.text.as_str());
        (AnnotationKind::Context, label.span, text)
    });
    let marks: Vec<Mark<'a>> = std::iter::once(primary).chain(labels).collect();
    let mut ids: Vec<SourceId> = Vec::new();
    for (_, span, _) in &marks {
        if !ids.contains(&span.source) {
            ids.push(span.source);
        }
    }
    let excerpt = |id| {
        let of_source = marks.iter().filter(|(_, span, _)| span.source == id);
        excerpt(sources, id, of_source)
    };
    ids.into_iter().filter_map(excerpt).collect()
}

type Mark<'a> = (AnnotationKind, Span, Option<&'a str>);

fn excerpt<'a, 'm>(
    sources: &'a Sources,
    id: SourceId,
    marks: impl Iterator<Item = &'m Mark<'a>> + Clone,
) -> Option<Snippet<'a, Annotation<'a>>>
where
    'a: 'm,
{
    let source = sources.get(id)?;
    let text: &str = &source.text;
    let ranges = marks.clone().map(|(_, span, _)| inside(text, *span));
    let first = ranges.clone().map(|range| range.start).min()?;
    let last = ranges.map(|range| range.end).max()?;
    // Only the lines that are marked are given on, so that a long text costs nothing.
    let from = text.get(..first)?.rfind('\n').map_or(0, |at| at + 1);
    let to = text
        .get(last..)?
        .find('\n')
        .map_or(text.len(), |at| last + at);
    let line = text.get(..from)?.matches('\n').count() + 1;
    let annotations = marks.map(|(kind, span, label)| {
        let range = inside(text, *span);
        let range = range.start - from..range.end - from;
        kind.span(range).label(label.map(str::to_owned))
    });
    let snippet = Snippet::source(text.get(from..to)?)
        .line_start(line)
        .path(&*source.place)
        .fold(true)
        .annotations(annotations);
    Some(snippet)
}

/// The bytes of a span, within the text and between characters.
fn inside(text: &str, span: Span) -> Range<usize> {
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.ceil_char_boundary(span.end as usize);
    start..end.max(start)
}

/// The text in lines of at most so many columns, where its words allow it.
fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}
