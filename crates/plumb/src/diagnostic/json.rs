//! Diagnostics for editors and other programs.

use serde::Serialize;

use super::{Diagnostic, Lines, Severity};
use crate::source::Sources;
use crate::span::{SourceId, Span};

#[derive(Serialize)]
struct DiagnosticJson<'a> {
    source: &'a str,
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    range: Range,
    labels: Vec<Labelled<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct Labelled<'a> {
    source: &'a str,
    message: &'a str,
    range: Range,
}

#[derive(Serialize)]
struct Range {
    start: RangeJson,
    end: RangeJson,
}

#[derive(Serialize)]
struct RangeJson {
    line: u32,
    character: u32,
    byte: u32,
}

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
pub fn to_json(diagnostics: &[Diagnostic], sources: &Sources) -> serde_json::Value {
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
            RangeJson {
                line: at.line,
                character: at.character,
                byte,
            }
        };
        Range {
            start: place(span.start),
            end: place(span.end),
        }
    };
    let told = diagnostics.iter().map(|one| {
        let labels = one.labels.iter().map(|label| Labelled {
            source: source(label.span),
            message: &label.text,
            range: range(label.span),
        });
        let told = DiagnosticJson {
            source: source(one.span),
            code: one.code.0,
            severity: match one.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: &one.message,
            range: range(one.span),
            labels: labels.collect(),
            hint: one.hint.as_deref(),
        };
        // Maps with text keys and numbers always have a form in JSON.
        serde_json::to_value(told).unwrap_or_default()
    });
    told.collect()
}
