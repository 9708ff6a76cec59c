//! Making syntax: everything that a session becomes has the span of what it comes from.

use crate::span::Span;
use crate::syntax::ast::{
    Binary, Expr, ExprKind, Field, Name, Path, Presence, Statement, StatementKind, Type, TypeKind,
    Unary, Wire,
};

/// Makes syntax at one place.
#[derive(Clone, Copy)]
pub(super) struct Make {
    pub(super) span: Span,
}

impl Make {
    pub(super) fn name(self, text: &str) -> Name {
        Name {
            text: text.into(),
            span: self.span,
        }
    }

    fn path(self, text: &str) -> Path {
        Path::bare(self.name(text))
    }

    fn expr(self, kind: ExprKind) -> Expr {
        Expr::new(self.span, kind)
    }

    /// `value.0.step`: a name, then fields and parts.
    pub(super) fn read(self, path: &str) -> Expr {
        let mut words = path.split('.');
        let root = words.next().unwrap_or_default();
        let start = self.expr(ExprKind::Name(root.into()));
        words.fold(start, |inner, word| {
            let inner = Box::new(inner);
            self.expr(match word.parse() {
                Ok(part) => ExprKind::Part(inner, part),
                Err(_) => ExprKind::Field(inner, self.name(word)),
            })
        })
    }

    pub(super) fn int(self, number: u64) -> Expr {
        self.expr(ExprKind::Number(number.to_string().into()))
    }

    pub(super) fn minus(self, number: u64) -> Expr {
        self.expr(ExprKind::Unary(Unary::Minus, Box::new(self.int(number))))
    }

    pub(super) fn text(self, text: &str) -> Expr {
        self.expr(ExprKind::Text(text.into()))
    }

    pub(super) fn bool(self, value: bool) -> Expr {
        self.expr(ExprKind::Bool(value))
    }

    pub(super) fn null(self) -> Expr {
        self.expr(ExprKind::Null)
    }

    pub(super) fn record<'n>(self, fields: impl IntoIterator<Item = (&'n str, Expr)>) -> Expr {
        let fields = fields.into_iter();
        let fields = fields.map(|(name, value)| (self.name(name), value));
        self.expr(ExprKind::Record(fields.collect()))
    }

    pub(super) fn binary(self, operator: Binary, left: Expr, right: Expr) -> Expr {
        self.expr(ExprKind::Binary(operator, Box::new(left), Box::new(right)))
    }

    pub(super) fn and(self, left: Expr, right: Expr) -> Expr {
        self.binary(Binary::And, left, right)
    }

    pub(super) fn or(self, left: Expr, right: Expr) -> Expr {
        self.binary(Binary::Or, left, right)
    }

    pub(super) fn not(self, inner: Expr) -> Expr {
        self.expr(ExprKind::Unary(Unary::Not, Box::new(inner)))
    }

    /// `path = "text"`.
    pub(super) fn says(self, path: &str, text: &str) -> Expr {
        self.binary(Binary::Equal, self.read(path), self.text(text))
    }

    /// `path = number`.
    pub(super) fn counts(self, path: &str, number: u64) -> Expr {
        self.binary(Binary::Equal, self.read(path), self.int(number))
    }

    /// `path + 1`.
    pub(super) fn after(self, path: &str) -> Expr {
        self.binary(Binary::Plus, self.read(path), self.int(1))
    }

    pub(super) fn choose(self, condition: Expr, yes: Expr, no: Expr) -> Expr {
        let parts = (Box::new(condition), Box::new(yes), Box::new(no));
        self.expr(ExprKind::If(parts.0, parts.1, parts.2))
    }

    /// The first of these cases that holds, or the last expression.
    pub(super) fn first<const N: usize>(self, cases: [(Expr, Expr); N], otherwise: Expr) -> Expr {
        let cases = cases.into_iter().rev();
        cases.fold(otherwise, |no, (case, yes)| self.choose(case, yes, no))
    }

    /// `is(path, T)`.
    pub(super) fn is(self, path: &str, kind: Type) -> Expr {
        self.expr(ExprKind::Is(Box::new(self.read(path)), kind))
    }

    /// The leaf whose number `path` holds, from `low` on, by halving: nested to the logarithm of their
    /// number. Neighbours that are equal share a leaf.
    pub(super) fn by_number(self, path: &str, low: u64, leaves: &[Expr]) -> Expr {
        match leaves {
            [] => self.null(),
            [first, rest @ ..] if rest.iter().all(|leaf| leaf == first) => first.clone(),
            _ => {
                let (left, right) = leaves.split_at(leaves.len() / 2);
                let middle = low.saturating_add(left.len() as u64);
                self.choose(
                    self.binary(Binary::Less, self.read(path), self.int(middle)),
                    self.by_number(path, low, left),
                    self.by_number(path, middle, right),
                )
            }
        }
    }

    pub(super) fn kind(self, name: &str) -> Type {
        self.typed(TypeKind::Named(self.path(name)))
    }

    pub(super) fn typed(self, kind: TypeKind) -> Type {
        Type::new(self.span, kind)
    }

    pub(super) fn fields<'n>(self, fields: impl IntoIterator<Item = (&'n str, Type)>) -> Type {
        let field = |(name, kind): (&str, Type)| Field {
            name: self.name(name),
            presence: Presence::Required,
            kind,
        };
        self.typed(TypeKind::Record(fields.into_iter().map(field).collect()))
    }

    /// `{ tag: "l", value: json }`, or with a sum of labels.
    pub(super) fn tagged(self, labels: &[&str]) -> Type {
        let literal = |label: &&str| self.typed(TypeKind::Literal((*label).into()));
        let tag = match labels {
            [only] => literal(only),
            several => self.typed(TypeKind::Sum(several.iter().map(literal).collect())),
        };
        self.fields([("tag", tag), ("value", self.kind("json"))])
    }

    pub(super) fn at(self, channel: &str) -> Wire {
        Wire::Named(self.path(channel))
    }

    /// A wire with a name and span of the program.
    pub(super) fn named(self, name: &Name) -> Wire {
        let name = name.clone();
        Wire::Named(Path::bare(name))
    }

    pub(super) fn map(self, expression: Expr) -> Wire {
        Wire::Map(self.span, expression)
    }

    /// Makes an event of a message. It is packed and unpacked once, larger than the gate ever makes it, so
    /// that a message which is too deep or too large is refused before the gate: there it would take the
    /// state with it.
    pub(super) fn admit(self, event: Expr) -> Wire {
        const ROOM: usize = 24;
        let list = |items| self.expr(ExprKind::List(items));
        let first = |inner| self.expr(ExprKind::Part(Box::new(inner), 0));
        let room = list(vec![self.int(0); ROOM]);
        let packed = list(vec![list(vec![event]), room]);
        self.map(first(first(packed)))
    }

    pub(super) fn filter(self, expression: Expr) -> Wire {
        Wire::Filter(self.span, expression)
    }

    pub(super) fn statement(self, kind: StatementKind) -> Statement {
        Statement {
            span: self.span,
            kind,
        }
    }

    /// `a ; b ; c`.
    pub(super) fn flow<const N: usize>(self, wires: [Wire; N]) -> Statement {
        self.statement(StatementKind::Wire(Wire::Sequence(wires.into())))
    }

    /// `let name : !kind = channel`.
    pub(super) fn channel(self, name: &str, kind: Type) -> Statement {
        let stream = self.typed(TypeKind::Stream(Box::new(kind)));
        self.statement(StatementKind::Channel(self.name(name), stream))
    }
}
