//! The answers to an editor's requests, and the diagnostics of its documents.

use plumb::check::CompletionKind;
use plumb::diagnostic::{Diagnostic, Lines, Severity};
use plumb::source::Sources;
use plumb::span::{SourceId, Span};
use plumb::syntax::{format, parse};
use serde_json::{Value, json};

use super::protocol::{DocumentPosition, Location, Position, Range};
use super::workspace::{Open, Workspace, used};

/// The diagnostics of a document; none if it is closed.
pub fn diagnostics(workspace: &Workspace, uri: &str) -> Vec<Value> {
    let Some(open) = workspace.get(uri) else {
        return Vec::new();
    };
    let found = open.checked.diagnostics.iter();
    found
        .map(|one| diagnostic(workspace, uri, open, one))
        .collect()
}

fn diagnostic(workspace: &Workspace, uri: &str, open: &Open, found: &Diagnostic) -> Value {
    let sources = &open.checked.sources;
    let (span, mut message) = match found.span.source {
        SourceId(0) => (found.span, found.message.clone()),
        // A diagnostic in a module is shown at the `use` of the module.
        other => {
            let name = sources.get(other).map_or("", |source| &*source.name);
            let span = used(&open.checked.program, name).unwrap_or_default();
            (span, format!("in {name}.plumb: {}", found.message))
        }
    };
    if let Some(hint) = &found.hint {
        message.push('\n');
        message.push_str(hint);
    }
    let related = found.labels.iter().filter_map(|label| {
        let location = location(workspace, uri, sources, label.span)?;
        Some(json!({ "location": location, "message": label.text }))
    });
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    json!({
        "range": range(&open.text, span),
        "severity": severity,
        "code": found.code.0,
        "source": "plumb",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    })
}

/// Converts a span to a location; `None` if its source is no file.
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

pub fn range(text: &str, span: Span) -> Range {
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

/// Converts a position to an open document and a byte offset in it.
pub fn byte<'a>(workspace: &'a Workspace, at: &DocumentPosition) -> Option<(&'a Open, u32)> {
    let open = workspace.get(&at.text_document.uri)?;
    let position = plumb::diagnostic::Position {
        line: at.position.line,
        character: at.position.character,
    };
    let byte = Lines::new(&open.text).byte(position);
    Some((open, u32::try_from(byte).ok()?))
}

/// The type or signature of the item at a position.
pub fn hover(workspace: &Workspace, at: &DocumentPosition) -> Option<Value> {
    let (open, byte) = byte(workspace, at)?;
    let item = open.checked.at(byte)?;
    let mut value = format!("```plumb\n{}\n```", item.text);
    if let Some(comment) = &item.comment {
        value.push_str("\n\n");
        value.push_str(comment);
    }
    Some(json!({
        "contents": { "kind": "markdown", "value": value },
        "range": range(&open.text, item.span),
    }))
}

/// The location of the definition of the item at a position.
pub fn definition(workspace: &Workspace, at: &DocumentPosition) -> Option<Value> {
    let (open, byte) = byte(workspace, at)?;
    let span = open.checked.at(byte)?.definition?;
    let uri = &at.text_document.uri;
    Some(json!(location(
        workspace,
        uri,
        &open.checked.sources,
        span
    )?))
}

/// The completions at a position.
pub fn completion(workspace: &Workspace, at: &DocumentPosition) -> Option<Value> {
    let (open, byte) = byte(workspace, at)?;
    let found = open.checked.completions(byte).into_iter();
    let items = found.map(|one| {
        // The protocol's kind, and the rank. Keywords are the most numerous, so they come last.
        let (kind, rank) = match one.kind {
            CompletionKind::Field => (5, 0),
            CompletionKind::Port => (10, 0),
            CompletionKind::Channel => (6, 1),
            CompletionKind::Process => (3, 2),
            CompletionKind::Type => (22, 3),
            CompletionKind::Word => (14, 4),
        };
        let sort_text = format!("{rank}{}", one.label);
        json!({ "label": one.label, "kind": kind, "detail": one.detail, "sortText": sort_text })
    });
    Some(items.collect())
}

/// The edits that format a document; `None` if it does not parse.
pub fn formatting(workspace: &Workspace, uri: &str) -> Option<Value> {
    let open = workspace.get(uri)?;
    let (program, errors) = parse(SourceId(0), &open.text);
    if !errors.is_empty() {
        return None;
    }
    let new_text = format(&program, &open.text);
    if new_text == open.text {
        return Some(json!([]));
    }
    let end = u32::try_from(open.text.len()).ok()?;
    let whole = range(&open.text, Span::new(SourceId(0), 0, end));
    Some(json!([{ "range": whole, "newText": new_text }]))
}
