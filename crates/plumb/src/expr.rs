//! Expressions: their types, and their compilation for the machine.
//!
//! An expression is typed against the type of the message that comes in. A test (`defined(x) && …`,
//! `if is(value, T) then …`) leaves a list of [facts](facts), each of which gives the type of a place in
//! the message.
//!
//! If an expression of type `json` is used as a narrower type, the value decides at run time: a filter drops the
//! message, a map sends it to the error stream.

mod facts;
mod operators;
mod place;
mod typer;

use std::sync::Arc;

use crate::check::codes;
use crate::diagnostic::Diagnostic;
use crate::graph::{Op, Selector};
use crate::span::Span;
use crate::syntax::ast::{self, Expr};
use crate::types::{Fit, Shown, Type, fits};

use typer::Typer;
pub(crate) use typer::fields_of;

/// Resolves types that an expression names.
pub(crate) type Resolve<'a> = &'a dyn Fn(&ast::Type) -> Type;

/// A checked expression.
#[derive(Debug)]
pub(crate) struct Typed {
    pub op: Op,
    /// The output type: the value of a map's expression, or the messages that a filter passes.
    pub kind: Type,
    /// The behavior of a filter if a field is missing.
    pub selector: Selector,
    /// The type of each part of the message that is read, for editors.
    pub places: Vec<(Span, Type)>,
}

/// The expression of a `map`.
pub(crate) fn map(
    expr: &Expr,
    message: &Type,
    resolve: Resolve<'_>,
    out: &mut Vec<Diagnostic>,
) -> Typed {
    let mut typer = Typer::new(message, Selector::Total, resolve, out);
    let (op, kind) = typer.typed(expr);
    Typed {
        op,
        kind,
        selector: Selector::Total,
        places: typer.places,
    }
}

/// The expression of a `filter`: on a sum or on `json` it is a selector too.
pub(crate) fn filter(
    expr: &Expr,
    message: &Type,
    resolve: Resolve<'_>,
    out: &mut Vec<Diagnostic>,
) -> Typed {
    let selector = match message {
        Type::Json | Type::Sum(_) => Selector::Partial,
        _ => Selector::Total,
    };
    let before = out.len();
    let mut typer = Typer::new(message, selector, resolve, out);
    let (op, kind, facts) = typer.learnt(expr);
    let partial = typer.partial;
    let kept = typer.kept(facts.yes);
    let places = std::mem::take(&mut typer.places);
    if fits(&kind, &Type::Bool) == Fit::Never {
        out.push(codes::not_bool(expr.span, &Shown(&kind)));
    }
    let checked = fits(&kind, &Type::Bool) == Fit::Checked;
    let failed = out.len() > before;
    if kept.is_never() && !message.is_never() && !failed {
        out.push(codes::never_passes(expr.span, &Shown(message)));
    }
    Typed {
        op,
        kind: if failed { Type::Unknown } else { kept },
        selector: if partial || checked {
            Selector::Partial
        } else {
            Selector::Total
        },
        places,
    }
}

/// Evaluates the expression of a `once`, which reads no message; `None` if it has no value.
pub(crate) fn constant(
    expr: &Expr,
    resolve: Resolve<'_>,
    out: &mut Vec<Diagnostic>,
) -> (Option<crate::value::Value>, Type) {
    let before = out.len();
    let nothing = Type::Unit;
    let mut typer = Typer::new(&nothing, Selector::Total, resolve, out);
    let (op, kind) = typer.typed(expr);
    match op {
        Op::Constant(value) if out.len() == before => (Some(value), kind),
        _ if out.len() > before => (None, Type::Unknown),
        _ => {
            out.push(codes::not_constant(expr.span));
            (None, Type::Unknown)
        }
    }
}

/// `w.f`: the field of every message.
pub(crate) fn field(
    name: &ast::Name,
    message: &Type,
    resolve: Resolve<'_>,
    out: &mut Vec<Diagnostic>,
) -> Typed {
    let whole = Expr::new(name.span, ast::ExprKind::Name(Arc::from("value")));
    let expr = Expr::new(
        name.span,
        ast::ExprKind::Field(Box::new(whole), name.clone()),
    );
    map(&expr, message, resolve, out)
}
