//! Diagnostics for editors and other programs.

use serde_json::{Value, json};

use super::{Diagnostic, Label, Lines, Severity};
use crate::source::Sources;
use crate::span::{SourceId, Span};

/// The diagnostics as a JSON array of objects
///
/// ```json
/// { "source": "main.plumb", "code": "P0101", "severity": "error", "message": "expected …",
///   "range": { "start": { "line": 0, "character": 4, "byte": 4 }, "end": { … } },
///   "labels": [{ "source": …, "message": …, "range": … }], "hint": "…" }
/// ```
///
/// `severity` is `error` or `warning`; lines and characters count from 0, characters in UTF-16 units, as the
/// language server protocol does; bytes count from the start of the source; `hint` may be missing.
#[must_use]
pub fn to_json(diagnostics: &[Diagnostic], sources: &Sources) -> Value {
    let lines: Vec<(SourceId, Lines<'_>)> = sources
        .iter()
        .map(|(id, source)| (id, Lines::new(&source.text)))
        .collect();
    let source = |span: Span| sources.get(span.source).map_or("", |source| &source.place);
    let range = |span: Span| {
        let lines = lines.iter().find(|(id, _)| *id == span.source);
        let place = |byte: u32| {
            let at = lines.map(|(_, lines)| lines.position(byte as usize));
            let at = at.unwrap_or_default();
            json!({ "line": at.line, "character": at.character, "byte": byte })
        };
        json!({ "start": place(span.start), "end": place(span.end) })
    };
    let diagnostic = |one: &Diagnostic| {
        let label = |label: &Label| {
            let (at, range) = (source(label.span), range(label.span));
            json!({ "source": at, "message": label.text, "range": range })
        };
        let mut told = json!({
            "source": source(one.span),
            "code": one.code.0,
            "severity": match one.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "message": one.message,
            "range": range(one.span),
            "labels": one.labels.iter().map(label).collect::<Value>(),
        });
        if let (Some(fields), Some(hint)) = (told.as_object_mut(), &one.hint) {
            fields.insert("hint".to_owned(), json!(hint));
        }
        told
    };
    diagnostics.iter().map(diagnostic).collect()
}
