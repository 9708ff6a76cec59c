//! Removes diagnostics that only follow from another mistake.

use super::codes;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::session::codes as sessions;
use crate::span::Span;
use crate::syntax::ast::Program;
use crate::syntax::codes as syntax;

/// Codes about a declaration as a whole. If a part of it could not be parsed, that part may be what is
/// missing.
const OF_THE_WHOLE: [Code; 8] = [
    codes::NEVER_FED,
    codes::NEVER_FILLS,
    codes::PORTS,
    codes::NEVER_STOPS,
    codes::UNREACHABLE,
    codes::UNUSED,
    sessions::MISSING_STEP,
    sessions::UNKNOWN_SESSION,
];

/// Leaves out, of diagnostics in the order of the text,
///
/// - diagnostics about a statement or another part that could not be parsed, which was reported;
/// - missing parts of a declaration that could not be parsed in full;
/// - errors of the parser right after another error;
/// - mistakes in an expression that contains another mistake.
///
/// Of each group an error is left, so that nothing that is wrong becomes sound.
pub(super) fn once(all: Vec<Diagnostic>, program: &Program) -> Vec<Diagnostic> {
    let unread: Vec<Span> = errors(&all, is_syntax).collect();
    let expressions: Vec<Span> = errors(&all, is_of_expression).collect();
    let is_read = |span: &Span| !unread.iter().any(|unread| touch(*unread, *span));
    let declarations = program.declarations.iter();
    let broken: Vec<Span> = declarations
        .map(|declaration| declaration.span)
        .filter(|span| !is_read(span))
        .collect();
    let statements = program.bodies().flat_map(|plumb| &plumb.statements);
    let statements = statements.map(|statement| statement.span);
    let unread_places: Vec<Span> = statements
        .filter(|span| !is_read(span))
        .chain(unread.iter().copied())
        .collect();
    let follows = |diagnostic: &Diagnostic| {
        let span = diagnostic.span;
        let is_in = |places: &[Span]| places.iter().any(|place| touch(*place, span));
        is_in(&unread_places)
            || (OF_THE_WHOLE.contains(&diagnostic.code) && is_in(&broken))
            || (is_of_expression(diagnostic)
                && expressions.iter().any(|inner| is_within(*inner, span)))
    };
    let mut stumbled: Option<Span> = None;
    let mut told = all;
    told.retain(|diagnostic| {
        if !is_stumbling(diagnostic) {
            return is_syntax(diagnostic) || !follows(diagnostic);
        }
        let before = stumbled.replace(diagnostic.span);
        !before.is_some_and(|before| touch(before, diagnostic.span))
    });
    told
}

/// The spans of the errors of a kind. A warning explains no error.
fn errors(all: &[Diagnostic], which: fn(&Diagnostic) -> bool) -> impl Iterator<Item = Span> {
    let errors = all.iter().filter(|it| it.severity == Severity::Error);
    errors.filter(move |it| which(it)).map(|it| it.span)
}

fn is_syntax(diagnostic: &Diagnostic) -> bool {
    diagnostic.code.0.starts_with("P01")
}

fn is_of_expression(diagnostic: &Diagnostic) -> bool {
    diagnostic.code.0.starts_with("P04")
}

/// Returns true for an error of the parser about an unexpected token.
fn is_stumbling(diagnostic: &Diagnostic) -> bool {
    [syntax::UNEXPECTED, syntax::UNCLOSED, syntax::UNOPENED].contains(&diagnostic.code)
}

/// Returns true if two places overlap or stand side by side.
fn touch(one: Span, other: Span) -> bool {
    one.source == other.source && one.start <= other.end && other.start <= one.end
}

/// Returns true if a place is a part of another one.
fn is_within(inner: Span, outer: Span) -> bool {
    inner != outer
        && inner.source == outer.source
        && outer.start <= inner.start
        && inner.end <= outer.end
}
