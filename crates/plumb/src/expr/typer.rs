//! Types one expression against one message.

use std::sync::Arc;

use crate::check::codes;
use crate::diagnostic::Diagnostic;
use crate::graph::{Op, Selector};
use crate::nearest::nearest;
use crate::span::Span;
use crate::syntax::ast::{self, Binary, Expr, ExprKind, Function, Name, Unary};
use crate::types::{self, Fit, Presence, Shown, Type, fits, join, overlap};
use crate::value::Value;

use super::Resolve;
use super::facts::{Fact, Facts};
use super::place::{Found, Step, place, spelt, step};

/// Types one expression against one message.
pub(super) struct Typer<'a> {
    /// The type of the message.
    pub message: &'a Type,
    /// True if a message that lacks a field is dropped.
    selector: Selector,
    /// True if the expression read a field that may be missing, or `json` in place of a narrower type.
    pub partial: bool,
    /// The facts at this point of the expression, newest last.
    pub known: Vec<Fact>,
    /// Resolves the types that the program writes.
    pub resolve: Resolve<'a>,
    /// The type of each part of the message that is read, for editors.
    pub places: Vec<(Span, Type)>,
    out: &'a mut Vec<Diagnostic>,
}

impl<'a> Typer<'a> {
    pub(super) fn new(
        message: &'a Type,
        selector: Selector,
        resolve: Resolve<'a>,
        out: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Self {
            message,
            selector,
            partial: false,
            known: Vec::new(),
            resolve,
            places: Vec::new(),
            out,
        }
    }

    /// True if a message that lacks a field is dropped.
    pub(super) fn lenient(&self) -> bool {
        self.selector == Selector::Partial
    }

    /// Reports a mistake. The type of the expression is then unknown.
    pub(super) fn wrong(&mut self, diagnostic: Diagnostic) -> Type {
        self.out.push(diagnostic);
        Type::Unknown
    }

    /// Compiles an expression: its operation, its type and the facts that it gives.
    pub(super) fn learnt(&mut self, expr: &Expr) -> (Op, Type, Facts) {
        match &expr.kind {
            ExprKind::Unary(Unary::Not, inner) => {
                let (op, kind, facts) = self.learnt(inner);
                self.wants(&kind, &Type::Bool, inner.span);
                let op = Op::Unary(Unary::Not, Box::new(op));
                (op, Type::Bool, facts.negated())
            }
            ExprKind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                let (left_op, of_left, first) = self.learnt(left);
                let known = self.known.len();
                let so_far = if *op == Binary::And {
                    &first.yes
                } else {
                    &first.no
                };
                self.known.extend(so_far.iter().cloned());
                let (right_op, of_right, second) = self.learnt(right);
                self.known.truncate(known);
                let kind = self.operator(*op, (left, &of_left), (right, &of_right));
                let facts = match op {
                    Binary::And => first.and(second),
                    _ => first.or(second),
                };
                let op = Op::Binary(*op, Box::new(left_op), Box::new(right_op));
                (op, kind, facts)
            }
            _ => {
                let (op, kind) = self.typed(expr);
                let facts = self.facts(expr);
                (op, kind, facts)
            }
        }
    }

    /// Compiles an expression: its operation and its type.
    pub(super) fn typed(&mut self, expr: &Expr) -> (Op, Type) {
        match &expr.kind {
            ExprKind::Unary(Unary::Not, _) | ExprKind::Binary(Binary::And | Binary::Or, ..) => {
                let (op, kind, _) = self.learnt(expr);
                (op, kind)
            }
            ExprKind::Null => (Op::Constant(Value::Null), Type::Unit),
            ExprKind::Bool(value) => (Op::Constant(Value::Bool(*value)), Type::Bool),
            ExprKind::Number(text) => number(text),
            ExprKind::Text(text) => (
                Op::Constant(Value::Text(text.clone())),
                Type::Literal(text.clone()),
            ),
            ExprKind::Name(name) if &**name == "value" => {
                let kind = self.at(&[]).unwrap_or(Type::Unknown);
                (Op::Message, kind)
            }
            ExprKind::Name(name) => {
                let whole = self.at(&[]).unwrap_or(Type::Unknown);
                let kind = self.part(&whole, expr, &Step::Field(name.clone()), expr.span);
                (Op::Field(Box::new(Op::Message), name.clone()), kind)
            }
            ExprKind::Field(base, name) => {
                let (op, whole) = self.typed(base);
                let kind = self.part(&whole, expr, &Step::Field(name.text.clone()), name.span);
                (Op::Field(Box::new(op), name.text.clone()), kind)
            }
            ExprKind::Part(base, index) => {
                let (op, whole) = self.typed(base);
                let kind = self.part(&whole, expr, &Step::Part(*index), expr.span);
                (Op::Part(Box::new(op), *index), kind)
            }
            ExprKind::Is(inner, kind) => self.is(inner, kind),
            ExprKind::Record(fields) => self.record(fields, expr.span),
            ExprKind::List(items) => self.list(items, expr.span),
            ExprKind::Unary(_, inner) => self.minus(inner),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::If(condition, then, otherwise) => {
                self.choice(condition, then, otherwise, expr.span)
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            ExprKind::Broken => (Op::Constant(Value::Null), Type::Unknown),
        }
    }

    /// Types an expression where these facts are known.
    pub(super) fn knowing(&mut self, facts: Vec<Fact>, expr: &Expr) -> (Op, Type) {
        let known = self.known.len();
        self.known.extend(facts);
        let typed = self.typed(expr);
        self.known.truncate(known);
        typed
    }

    /// The part of a value to which a step leads.
    fn part(&mut self, whole: &Type, expr: &Expr, one: &Step, span: Span) -> Type {
        let kind = self.step(whole, expr, one, span);
        self.places.push((span, kind.clone()));
        kind
    }

    /// The type of a step, with a diagnostic if the part is missing or may be missing.
    fn step(&mut self, whole: &Type, expr: &Expr, one: &Step, span: Span) -> Type {
        let place = place(expr);
        if let Some(kind) = place
            .as_ref()
            .and_then(|place| super::facts::latest(&self.known, place))
        {
            return kind;
        }
        match step(whole, one) {
            Found::There(Presence::Required, kind) => kind,
            Found::There(Presence::Optional, kind) => {
                self.partial = true;
                if self.lenient() {
                    return kind;
                }
                self.wrong(unguarded(whole, one, place.as_deref(), span))
            }
            Found::Dynamic => {
                self.partial = true;
                Type::Json
            }
            Found::Nowhere => self.wrong(absent(whole, one, span)),
        }
    }

    fn is(&mut self, inner: &Expr, kind: &ast::Type) -> (Op, Type) {
        let (op, given) = self.typed(inner);
        let wanted = (self.resolve)(kind);
        let unknown = [&given, &wanted]
            .iter()
            .any(|kind| matches!(kind, Type::Unknown));
        if !unknown && !given.is_never() && overlap(&given, &wanted).is_none() {
            self.wrong(codes::never_is(kind.span, &Shown(&given), &Shown(&wanted)));
        }
        (Op::Is(Box::new(op), wanted), Type::Bool)
    }

    fn record(&mut self, fields: &[(Name, Expr)], span: Span) -> (Op, Type) {
        let mut ops: Vec<(Arc<str>, Op)> = Vec::with_capacity(fields.len());
        let mut kinds: Vec<types::Field> = Vec::with_capacity(fields.len());
        for (name, inner) in fields {
            let (op, kind) = self.typed(inner);
            if kinds.iter().any(|field| field.name == name.text) {
                self.wrong(codes::field_twice(name.span, &name.text));
                continue;
            }
            ops.push((name.text.clone(), op));
            kinds.push(types::Field::required(&name.text, kind));
        }
        let kind = Type::record(kinds);
        let constants: Option<Vec<(Arc<str>, Value)>> = ops
            .iter()
            .map(|(name, op)| Some((name.clone(), constant(op)?)))
            .collect();
        match constants.map(Value::record) {
            Some(Ok(value)) => (Op::Constant(value), kind),
            Some(Err(oversize)) => self.oversize(&oversize, span),
            None => (Op::Record(ops), kind),
        }
    }

    fn list(&mut self, items: &[Expr], span: Span) -> (Op, Type) {
        let (ops, kinds): (Vec<Op>, Vec<Type>) = items.iter().map(|item| self.typed(item)).unzip();
        let kind = Type::Product(kinds.into());
        let constants: Option<Vec<Value>> = ops.iter().map(constant).collect();
        match constants.map(Value::list) {
            Some(Ok(value)) => (Op::Constant(value), kind),
            Some(Err(oversize)) => self.oversize(&oversize, span),
            None => (Op::List(ops), kind),
        }
    }

    fn oversize(&mut self, oversize: &crate::value::Oversize, span: Span) -> (Op, Type) {
        let kind = self.wrong(codes::large_literal(span, oversize));
        (Op::Constant(Value::Null), kind)
    }

    fn choice(&mut self, test: &Expr, then: &Expr, other: &Expr, span: Span) -> (Op, Type) {
        let (condition, kind, facts) = self.learnt(test);
        self.wants(&kind, &Type::Bool, test.span);
        let (yes, of_yes) = self.knowing(facts.yes, then);
        let (no, of_no) = self.knowing(facts.no, other);
        let kind = join(&of_yes, &of_no).unwrap_or_else(|joint| {
            let (yes, no) = (Shown(&of_yes), Shown(&of_no));
            self.wrong(codes::branches(span, &yes, &no, &joint.value))
        });
        let op = Op::If(Box::new(condition), Box::new(yes), Box::new(no));
        (op, kind)
    }

    /// Checks that a value of one type fits where another is expected.
    pub(super) fn wants(&mut self, given: &Type, wanted: &Type, span: Span) {
        match fits(given, wanted) {
            Fit::Always => {}
            Fit::Checked => self.partial = true,
            Fit::Never => {
                self.wrong(codes::operand(span, wanted, &Shown(given)));
            }
        }
    }

    fn minus(&mut self, inner: &Expr) -> (Op, Type) {
        let (op, kind) = self.typed(inner);
        self.wants(&kind, &Type::Number, inner.span);
        (
            super::operators::negative(op),
            super::operators::numeric(&[&kind]),
        )
    }

    fn binary(&mut self, op: Binary, left: &Expr, right: &Expr) -> (Op, Type) {
        let (left_op, of_left) = self.typed(left);
        let (right_op, of_right) = self.typed(right);
        let kind = self.operator(op, (left, &of_left), (right, &of_right));
        (Op::Binary(op, Box::new(left_op), Box::new(right_op)), kind)
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) -> (Op, Type) {
        match (function, arguments) {
            (Function::Len, [one]) => {
                let (op, kind) = self.typed(one);
                self.wants_length(&kind, one.span);
                (Op::Len(Box::new(op)), Type::Int)
            }
            (Function::Contains, [whole, part]) => {
                let (in_op, of_whole) = self.typed(whole);
                let (of_op, of_part) = self.typed(part);
                self.contained((whole, &of_whole), (part, &of_part));
                (Op::Contains(Box::new(in_op), Box::new(of_op)), Type::Bool)
            }
            (Function::Defined, [one]) => self.defined_call(one),
            // The parser has told of any other number of them.
            _ => (Op::Constant(Value::Null), Type::Unknown),
        }
    }

    /// `defined(e)`: what is missing on the way to the field is missing too.
    fn defined_call(&mut self, one: &Expr) -> (Op, Type) {
        if !matches!(&one.kind, ExprKind::Field(..))
            && !matches!(&one.kind, ExprKind::Name(name) if &**name != "value")
        {
            if !matches!(one.kind, ExprKind::Broken) {
                self.wrong(codes::not_a_field(one.span));
            }
            return (Op::Constant(Value::Bool(true)), Type::Bool);
        }
        let (selector, partial) = (self.selector, self.partial);
        self.selector = Selector::Partial;
        let (op, _) = self.typed(one);
        (self.selector, self.partial) = (selector, partial);
        (Op::Defined(Box::new(op)), Type::Bool)
    }
}

/// The value of an expression that is the same each time.
fn constant(op: &Op) -> Option<Value> {
    match op {
        Op::Constant(value) => Some(value.clone()),
        _ => None,
    }
}

/// The diagnostic for a step to a part that may be missing; `to` is its place, if it has a name.
fn unguarded(whole: &Type, one: &Step, to: Option<&[Step]>, span: Span) -> Diagnostic {
    let name = shown(one);
    let why = match whole {
        Type::Sum(_) => format!("not every variant has {name}"),
        _ => format!("{name} may be missing"),
    };
    match (one, to) {
        (Step::Field(_), Some(to)) => codes::unguarded_field(span, &why, &spelt(to)),
        _ => codes::unguarded(span, &why),
    }
}

fn absent(whole: &Type, one: &Step, span: Span) -> Diagnostic {
    let diagnostic = codes::unknown_field(span, &Shown(whole), &shown(one));
    let Step::Field(field) = one else {
        return diagnostic;
    };
    let fields = fields_of(whole);
    let there = match fields.as_slice() {
        [] => "`value` is the whole message; only records have fields.".to_owned(),
        some => format!("It has {}.", listed(some)),
    };
    let near = nearest(field, fields.iter().map(|name| &**name));
    diagnostic.hint(there).meant(near)
}

/// The fields that some value of this type has.
pub(crate) fn fields_of(whole: &Type) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for variant in whole.variants() {
        if let Type::Record(fields) = variant {
            for field in fields.iter() {
                if !names.contains(&field.name) {
                    names.push(field.name.clone());
                }
            }
        }
    }
    names
}

fn listed(names: &[Arc<str>]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(8)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = if names.len() > 8 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn shown(one: &Step) -> String {
    match one {
        Step::Field(name) => format!("field `{name}`"),
        Step::Part(index) => format!("part {index}"),
    }
}

/// A number as it is written.
fn number(text: &str) -> (Op, Type) {
    let Some(value) = Value::number(text) else {
        // The lexer has told of it.
        return (Op::Constant(Value::Null), Type::Unknown);
    };
    let whole = matches!(value, Value::Int(_));
    let kind = if whole { Type::Int } else { Type::Number };
    (Op::Constant(value), kind)
}
