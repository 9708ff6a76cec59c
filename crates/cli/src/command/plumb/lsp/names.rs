//! Answers about names: references, renames, highlights.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb::check::{NameKind, NameUse};
use plumb::diagnostic::Severity;
use plumb::span::{SourceId, Span};
use plumb::syntax::token::Keyword;
use serde_json::{Value, json};

use super::answers::{byte, range};
use super::protocol::{DocumentPosition, Location, Renamed};
use super::workspace::{Open, Workspace};

/// Something with a name: the document and the byte at which it is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    uri: String,
    start: u32,
}

/// The uses of one name in a document.
struct Uses {
    uri: String,
    open: Arc<Open>,
    spans: Vec<Span>,
}

/// The name at a position, and what it means.
fn named(workspace: &Workspace, at: &DocumentPosition) -> Option<(NameUse, Target)> {
    let (open, byte) = byte(workspace, at)?;
    let name = open.checked.name_at(byte)?;
    let target = target(workspace, &at.text_document.uri, open, name)?;
    Some((name, target))
}

/// The definition of a name; `None` if it is in no file.
fn target(workspace: &Workspace, uri: &str, open: &Open, name: NameUse) -> Option<Target> {
    let definition = name.definition?;
    let uri = match definition.source {
        SourceId(0) => uri.to_owned(),
        other => {
            let source = open.checked.sources.get(other)?;
            workspace.module(uri, &source.name)?
        }
    };
    Some(Target {
        uri,
        start: definition.start,
    })
}

/// All uses of a name, in the documents that are open and the programs beside the one at `uri`.
fn uses(workspace: &Workspace, uri: &str, wanted: &Target) -> Vec<Uses> {
    let documents = workspace.around(&[uri, &wanted.uri]).into_iter();
    let of = documents.filter_map(|(uri, open)| {
        let names = open.checked.name_uses().into_iter();
        let same =
            names.filter(|name| target(workspace, &uri, &open, *name).as_ref() == Some(wanted));
        let spans: Vec<Span> = same.map(|name| name.span).collect();
        (!spans.is_empty()).then_some(Uses { uri, open, spans })
    });
    of.collect()
}

/// The places that name what stands at a position.
pub fn references(workspace: &Workspace, params: Value) -> serde_json::Result<Option<Value>> {
    let declared = params.pointer("/context/includeDeclaration");
    let declared = declared.and_then(Value::as_bool);
    let at: DocumentPosition = serde_json::from_value(params)?;
    let Some((_, target)) = named(workspace, &at) else {
        return Ok(None);
    };
    let all = uses(workspace, &at.text_document.uri, &target);
    let places = all.iter().flat_map(|uses| {
        let kept = uses.spans.iter().filter(|span| {
            let declares = uses.uri == target.uri && span.start == target.start;
            declared.unwrap_or(true) || !declares
        });
        kept.map(|span| Location {
            uri: uses.uri.clone(),
            range: range(&uses.open.text, *span),
        })
    });
    Ok(Some(json!(places.collect::<Vec<_>>())))
}

/// The places in a document that name what stands at a position of it.
pub fn highlights(workspace: &Workspace, at: &DocumentPosition) -> Option<Value> {
    let (open, byte) = byte(workspace, at)?;
    let wanted = open.checked.name_at(byte)?.definition?;
    let names = open.checked.name_uses().into_iter();
    let same = names.filter(|name| name.definition == Some(wanted));
    let places = same.map(|name| json!({ "range": range(&open.text, name.span) }));
    Some(places.collect())
}

/// The name at a position, if it can be renamed.
pub fn prepare_rename(workspace: &Workspace, at: &DocumentPosition) -> Option<Value> {
    let (name, _) = named(workspace, at)?;
    if !is_renamed(name.kind) {
        return None;
    }
    let (open, _) = byte(workspace, at)?;
    let text = open.text.get(name.span.range())?;
    Some(json!({ "range": range(&open.text, name.span), "placeholder": text }))
}

/// The edits that rename what stands at a position.
///
/// # Errors
/// Why it cannot have that name.
pub fn rename(workspace: &Workspace, wanted: &Renamed) -> Result<Value, String> {
    let at = DocumentPosition {
        text_document: wanted.text_document.clone(),
        position: wanted.position,
    };
    let found = named(workspace, &at).filter(|(name, _)| is_renamed(name.kind));
    let (name, target) = found.ok_or("nothing here can be renamed")?;
    fits(name.kind, &wanted.new_name)?;
    let all = uses(workspace, &at.text_document.uri, &target);
    if !all.iter().any(|uses| uses.uri == target.uri) {
        return Err("it is defined in a module that is no file".to_owned());
    }
    let texts = all.iter().map(|uses| {
        let text = replaced(&uses.open.text, &uses.spans, &wanted.new_name);
        (uses.uri.clone(), text)
    });
    let after = workspace.with(&texts.collect::<Vec<_>>());
    for uses in &all {
        let errors = |open: &Open| {
            let all = open.checked.diagnostics.iter();
            all.filter(|one| one.severity == Severity::Error).count()
        };
        let renamed = after.get(&uses.uri).map_or(0, errors);
        if renamed > errors(&uses.open) {
            return Err(format!("`{}` has another meaning here", wanted.new_name));
        }
    }
    let changes: BTreeMap<&str, Vec<Value>> = all
        .iter()
        .map(|uses| {
            let edits = uses.spans.iter().map(|span| {
                json!({ "range": range(&uses.open.text, *span), "newText": wanted.new_name })
            });
            (uses.uri.as_str(), edits.collect())
        })
        .collect();
    Ok(json!({ "changes": changes }))
}

const fn is_renamed(kind: NameKind) -> bool {
    matches!(
        kind,
        NameKind::Type
            | NameKind::Protocol
            | NameKind::Target
            | NameKind::Process
            | NameKind::Port
            | NameKind::Channel
            | NameKind::Session
            | NameKind::Label
    )
}

/// Checks that a name is one of this kind.
fn fits(kind: NameKind, name: &str) -> Result<(), String> {
    let upper = matches!(kind, NameKind::Type | NameKind::Protocol | NameKind::Target);
    let first = |letter: char| match upper {
        true => letter.is_ascii_uppercase(),
        false => letter.is_ascii_lowercase() || letter == '_',
    };
    let rest = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.starts_with(first) || !name.chars().all(rest) {
        let case = if upper { "capital" } else { "small letter" };
        return Err(format!(
            "a name here starts with a {case} and has letters, digits and `_`"
        ));
    }
    if kind != NameKind::Label && Keyword::of(name).is_some() {
        return Err(format!("`{name}` is a keyword"));
    }
    Ok(())
}

/// A text with another name at these places, which are in order.
fn replaced(text: &str, spans: &[Span], name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        let range = span.range();
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(name);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
