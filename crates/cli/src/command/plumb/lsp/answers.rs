//! What the editor is told.

use plumb::check::CompletionKind;
use plumb::diagnostic::{Diagnostic, Lines, Severity};
use plumb::source::Sources;
use plumb::span::{SourceId, Span};
use plumb::syntax::ast::{DeclarationKind, Program};
use plumb::syntax::{format, parse};

use super::protocol::{At, Edit, Hover, Item, Location, Markup, Position, Range, Related, Told};
use super::workspace::{Open, Workspace};

/// What is wrong with a text; nothing with one that is closed.
pub fn diagnostics(workspace: &Workspace, uri: &str) -> Vec<Told> {
    let Some(open) = workspace.get(uri) else {
        return Vec::new();
    };
    let told = open.checked.diagnostics.iter();
    told.map(|one| diagnostic(workspace, uri, open, one))
        .collect()
}

fn diagnostic(workspace: &Workspace, uri: &str, open: &Open, told: &Diagnostic) -> Told {
    let sources = &open.checked.sources;
    let (span, mut message) = match told.span.source {
        SourceId(0) => (told.span, told.message.clone()),
        // What is wrong with a module is told where it is used.
        other => {
            let name = sources.get(other).map_or("", |source| &*source.name);
            let span = used(&open.checked.program, name).unwrap_or_default();
            (span, format!("in {name}.plumb: {}", told.message))
        }
    };
    if let Some(hint) = &told.hint {
        message.push('\n');
        message.push_str(hint);
    }
    let labels = told.labels.iter().filter_map(|label| {
        Some(Related {
            location: location(workspace, uri, sources, label.span)?,
            message: label.text.clone(),
        })
    });
    Told {
        range: range(&open.text, span),
        severity: match told.severity {
            Severity::Error => 1,
            Severity::Warning => 2,
        },
        code: told.code.0,
        source: "plumb",
        message,
        related_information: labels.collect(),
    }
}

/// Where a module is named in a `use`.
fn used(program: &Program, module: &str) -> Option<Span> {
    let mut declarations = program.declarations.iter();
    declarations.find_map(|declaration| match &declaration.kind {
        DeclarationKind::Use(name) if *name.text == *module => Some(name.span),
        _ => None,
    })
}

/// A span as a place in a file; nothing where its source is no file.
fn location(workspace: &Workspace, uri: &str, sources: &Sources, span: Span) -> Option<Location> {
    let source = sources.get(span.source)?;
    let uri = match span.source {
        SourceId(0) => uri.to_owned(),
        _ => workspace.module(uri, &source.name)?,
    };
    Some(Location {
        uri,
        range: range(&source.text, span),
    })
}

fn range(text: &str, span: Span) -> Range {
    let lines = Lines::new(text);
    let at = |byte: u32| {
        let position = lines.position(byte as usize);
        Position {
            line: position.line,
            character: position.character,
        }
    };
    Range {
        start: at(span.start),
        end: at(span.end),
    }
}

/// The text that a place is in, and the byte.
fn byte<'a>(workspace: &'a Workspace, at: &At) -> Option<(&'a Open, u32)> {
    let open = workspace.get(&at.text_document.uri)?;
    let position = plumb::diagnostic::Position {
        line: at.position.line,
        character: at.position.character,
    };
    let byte = Lines::new(&open.text).byte(position);
    Some((open, u32::try_from(byte).ok()?))
}

/// What stands at a place.
pub fn hover(workspace: &Workspace, at: &At) -> Option<Hover> {
    let (open, byte) = byte(workspace, at)?;
    let place = open.checked.at(byte)?;
    Some(Hover {
        contents: Markup {
            kind: "markdown",
            value: format!("```plumb\n{}\n```", place.text),
        },
        range: range(&open.text, place.span),
    })
}

/// Where what stands at a place is defined.
pub fn definition(workspace: &Workspace, at: &At) -> Option<Location> {
    let (open, byte) = byte(workspace, at)?;
    let span = open.checked.at(byte)?.definition?;
    location(
        workspace,
        &at.text_document.uri,
        &open.checked.sources,
        span,
    )
}

/// What could stand at a place.
pub fn completion(workspace: &Workspace, at: &At) -> Option<Vec<Item>> {
    let (open, byte) = byte(workspace, at)?;
    let found = open.checked.completions(byte).into_iter();
    let items = found.map(|one| {
        // Words of the language, of which there are most, come last.
        let (kind, rank) = match one.kind {
            CompletionKind::Field => (5, 0),
            CompletionKind::Port => (10, 0),
            CompletionKind::Channel => (6, 1),
            CompletionKind::Process => (3, 2),
            CompletionKind::Type => (22, 3),
            CompletionKind::Word => (14, 4),
        };
        Item {
            kind,
            detail: one.detail,
            sort_text: format!("{rank}{}", one.label),
            label: one.label,
        }
    });
    Some(items.collect())
}

/// The changes that bring a text into canonical form; nothing where it cannot be read.
pub fn formatting(workspace: &Workspace, uri: &str) -> Option<Vec<Edit>> {
    let open = workspace.get(uri)?;
    let (program, told) = parse(SourceId(0), &open.text);
    if !told.is_empty() {
        return None;
    }
    let new_text = format(&program, &open.text);
    if new_text == open.text {
        return Some(Vec::new());
    }
    let end = u32::try_from(open.text.len()).ok()?;
    Some(vec![Edit {
        range: range(&open.text, Span::new(SourceId(0), 0, end)),
        new_text,
    }])
}
