//! The symbols of a document, and the colors of its words.

use plumb::check::NameKind;
use plumb::diagnostic::Lines;
use plumb::span::{SourceId, Span};
use plumb::syntax::ast::{Body, Declaration, DeclarationKind, Plumb, StatementKind};
use plumb::syntax::token::TokenKind;
use plumb::syntax::{tokens, type_text};
use serde_json::{Value, json};

use super::answers::range;
use super::workspace::{Open, Workspace};

/// The kinds of tokens, in the order of their numbers.
pub const TOKEN_KINDS: [&str; 11] = [
    "namespace",
    "type",
    "interface",
    "function",
    "parameter",
    "variable",
    "property",
    "enumMember",
    "keyword",
    "string",
    "number",
];

/// The number of comments, behind the other kinds.
pub const COMMENT: u32 = TOKEN_KINDS.len() as u32;

/// Words of the language that are not reserved.
const WORDS: &[&str] = &[
    "once", "keep", "value", "len", "contains", "defined", "is", "if", "then", "else", "not",
    "dual", "within",
];

/// The symbols of a document: its declarations, and within them ports, channels and sessions.
pub fn symbols(workspace: &Workspace, uri: &str) -> Option<Value> {
    let open = workspace.get(uri)?;
    let declarations = open.checked.program.declarations.iter();
    let symbols = declarations.map(|declaration| {
        let (kind, inner) = match &declaration.kind {
            DeclarationKind::Use(_) => (2, Vec::new()),
            DeclarationKind::Type(..) => (23, Vec::new()),
            DeclarationKind::Protocol(..) => (11, Vec::new()),
            DeclarationKind::Let(declared) => match &declared.body {
                Body::Plumb(plumb) => (12, within(open, plumb)),
                _ => (12, Vec::new()),
            },
        };
        let name = declaration.name();
        json!({
            "name": name.text,
            "detail": detail(open, declaration),
            "kind": kind,
            "range": range(&open.text, declaration.span.to(name.span)),
            "selectionRange": range(&open.text, name.span),
            "children": inner,
        })
    });
    Some(symbols.collect())
}

fn detail(open: &Open, declaration: &Declaration) -> String {
    let DeclarationKind::Let(declared) = &declaration.kind else {
        return String::new();
    };
    let text = open.text.get(declared.signature.span.range());
    let words = text.unwrap_or_default().split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// The symbols in a body.
fn within(open: &Open, plumb: &Plumb) -> Vec<Value> {
    let symbol = |name: &str, detail: String, kind: u8, whole: Span, own: Span| {
        json!({
            "name": name,
            "detail": detail,
            "kind": kind,
            "range": range(&open.text, whole.to(own)),
            "selectionRange": range(&open.text, own),
        })
    };
    let ports = plumb.ports.iter();
    let mut all: Vec<Value> = ports
        .map(|port| symbol(&port.text, "port".to_owned(), 8, port.span, port.span))
        .collect();
    for statement in &plumb.statements {
        match &statement.kind {
            StatementKind::Channel(name, kind) => {
                let kind = type_text(kind);
                all.push(symbol(&name.text, kind, 13, statement.span, name.span));
            }
            StatementKind::Bind(bind) => {
                let (name, protocol) = (&bind.session, bind.protocol.name.text.to_string());
                all.push(symbol(&name.text, protocol, 24, statement.span, name.span));
            }
            _ => {}
        }
    }
    all
}

/// The symbols of all open documents whose names contain a text.
pub fn found(workspace: &Workspace, query: &str) -> Value {
    let query = query.to_lowercase();
    let mut all = Vec::new();
    for (uri, open) in workspace.all() {
        for declaration in &open.checked.program.declarations {
            let name = declaration.name();
            let kind = match &declaration.kind {
                DeclarationKind::Use(_) => continue,
                DeclarationKind::Type(..) => 23,
                DeclarationKind::Protocol(..) => 11,
                DeclarationKind::Let(_) => 12,
            };
            if name.text.to_lowercase().contains(&query) {
                let location = json!({ "uri": uri, "range": range(&open.text, name.span) });
                all.push(json!({ "name": name.text, "kind": kind, "location": location }));
            }
        }
    }
    Value::Array(all)
}

/// The words of a document with their kinds, as the protocol encodes them: five numbers a word.
pub fn semantic_tokens(workspace: &Workspace, uri: &str) -> Option<Value> {
    let open = workspace.get(uri)?;
    let text = &open.text;
    let names = open.checked.name_uses();
    let mut all: Vec<(Span, u32, u32)> = Vec::new();
    for token in tokens(SourceId(0), text) {
        let name = names.binary_search_by_key(&token.span, |name| name.span);
        let name = name.ok().and_then(|at| names.get(at));
        let word = text.get(token.span.range()).unwrap_or_default();
        let kind = match (name, token.kind) {
            (Some(name), _) => of_name(name.kind),
            (None, TokenKind::Keyword(_)) => 8,
            (None, TokenKind::Lower) if WORDS.contains(&word) => 8,
            (None, TokenKind::Text) => 9,
            (None, TokenKind::Number) => 10,
            _ => continue,
        };
        let declares = name.is_some_and(|name| name.definition == Some(name.span));
        all.push((token.span, kind, u32::from(declares)));
    }
    let comments = open.checked.program.comments.iter();
    all.extend(comments.map(|comment| (comment.span, COMMENT, 0)));
    all.sort_unstable();
    Some(json!({ "data": encoded(text, &all) }))
}

const fn of_name(kind: NameKind) -> u32 {
    match kind {
        NameKind::Module => 0,
        NameKind::Type | NameKind::BuiltIn => 1,
        NameKind::Protocol | NameKind::Target => 2,
        NameKind::Process => 3,
        NameKind::Port => 4,
        NameKind::Channel | NameKind::Session => 5,
        NameKind::Field => 6,
        NameKind::Label => 7,
        NameKind::Endpoint => 8,
    }
}

/// Each word by its distance from the one before. A comment of several lines is a word on each.
fn encoded(text: &str, all: &[(Span, u32, u32)]) -> Vec<u32> {
    let lines = Lines::new(text);
    let mut data = Vec::with_capacity(all.len() * 5);
    let (mut line, mut character) = (0, 0);
    for (span, kind, modifiers) in all {
        let mut at = span.range().start;
        for part in text.get(span.range()).unwrap_or_default().split('\n') {
            let place = lines.position(at);
            let length = part.trim_end_matches('\r').encode_utf16().count();
            at += part.len() + 1;
            let Ok(length @ 1..) = u32::try_from(length) else {
                continue;
            };
            let start = match place.line == line {
                true => place.character - character,
                false => place.character,
            };
            data.extend([place.line - line, start, length, *kind, *modifiers]);
            (line, character) = (place.line, place.character);
        }
    }
    data
}
