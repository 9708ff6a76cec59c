//! Expressions, with the parentheses they need and no others.

use super::Writer;
use super::layout::Doc;
use super::lists::Delimiters;
use crate::syntax::ast::{Binary, Expr, ExprKind, Name, Unary};
use crate::syntax::field_text;
use crate::syntax::strength::{self, Strength};
use crate::syntax::token::Keyword;
use crate::value::quoted;

impl Writer<'_> {
    pub(super) fn expression(&mut self, expression: &Expr) -> Doc {
        self.operand(expression, Strength::CONDITIONAL)
    }

    /// An expression where one that binds less strongly than `floor` needs parentheses.
    fn operand(&mut self, expression: &Expr, floor: Strength) -> Doc {
        let before = self.inline(expression.span.start);
        let doc = self.bare(expression);
        let weak = strength::of(expression) < floor;
        let doc = if weak { doc.within("(", ")") } else { doc };
        Doc::All(vec![before, doc])
    }

    fn bare(&mut self, expression: &Expr) -> Doc {
        let span = expression.span;
        match &expression.kind {
            ExprKind::Null => Doc::text("null"),
            ExprKind::Bool(true) => Doc::text("true"),
            ExprKind::Bool(false) => Doc::text("false"),
            ExprKind::Number(text) | ExprKind::Name(text) => Doc::text(&**text),
            ExprKind::Text(text) => Doc::text(quoted(text)),
            ExprKind::Record(fields) => {
                self.list(Delimiters::Braces, span.end, fields, Self::record_field)
            }
            ExprKind::List(items) => {
                self.list(Delimiters::Brackets, span.end, items, Self::expression)
            }
            ExprKind::Field(inner, name) => {
                let inner = self.operand(inner, Strength::WHOLE);
                Doc::All(vec![
                    inner,
                    Doc::text(format!(".{}", field_text(&name.text))),
                ])
            }
            ExprKind::Part(inner, number) => {
                // `12.0` is a number.
                let digits = matches!(inner.kind, ExprKind::Number(_));
                let space = if digits { " " } else { "" };
                let inner = self.operand(inner, Strength::WHOLE);
                Doc::All(vec![inner, Doc::text(format!("{space}.{number}"))])
            }
            ExprKind::Is(inner, of) => {
                let inner = self.expression(inner);
                let of = self.type_of(of);
                Doc::All(vec![inner, Doc::text(", "), of]).within("is(", ")")
            }
            ExprKind::Unary(operator, inner) => self.unary(*operator, inner),
            ExprKind::Binary(operator, ..) => self.binary(expression, *operator),
            ExprKind::If(condition, then, otherwise) => {
                self.conditional([condition, then, otherwise])
            }
            ExprKind::Call(function, arguments) => {
                let arguments = self.list(
                    Delimiters::Parentheses,
                    span.end,
                    arguments,
                    Self::expression,
                );
                Doc::All(vec![Doc::text(function.text()), arguments])
            }
            ExprKind::Broken => self.source(span),
        }
    }

    fn record_field(&mut self, (name, value): &(Name, Expr)) -> Doc {
        let short = matches!(&value.kind, ExprKind::Name(text) if *text == name.text);
        if short && is_short(&name.text) {
            return Doc::text(&*name.text);
        }
        let value = self.expression(value);
        Doc::All(vec![
            Doc::text(format!("{}: ", field_text(&name.text))),
            value,
        ])
    }

    fn unary(&mut self, operator: Unary, inner: &Expr) -> Doc {
        let (sign, floor) = match operator {
            // Two of them would look like a comment of other languages, and are kept apart.
            Unary::Minus if matches!(inner.kind, ExprKind::Unary(Unary::Minus, _)) => {
                ("- ", Strength::SIGN)
            }
            Unary::Minus => ("-", Strength::SIGN),
            Unary::Not => ("not ", Strength::NOT),
        };
        let inner = self.operand(inner, floor);
        Doc::All(vec![Doc::text(sign), inner])
    }

    /// A chain of operators that bind alike, each part on a line of its own if it does not fit.
    fn binary(&mut self, expression: &Expr, operator: Binary) -> Doc {
        let strength = strength::of_binary(operator);
        let mut parts = Vec::new();
        let mut at = expression;
        while let ExprKind::Binary(operator, left, right) = &at.kind
            && strength::of_binary(*operator) == strength
            && (parts.is_empty() || strength != Strength::COMPARISON)
        {
            parts.push((*operator, &**right));
            at = left;
        }
        let mut docs = vec![self.operand(at, strength.on_the_left())];
        for (operator, right) in parts.into_iter().rev() {
            docs.push(Doc::text(format!(" {}", sign(operator))));
            docs.push(Doc::Line);
            docs.push(self.operand(right, strength.above()));
        }
        Doc::All(docs).nest().group()
    }

    /// `if … then … else …`; where the last part is another one, both are rungs of one ladder.
    fn conditional(&mut self, [condition, then, otherwise]: [&Expr; 3]) -> Doc {
        if !matches!(otherwise.kind, ExprKind::If(..)) {
            let rung = self.rung("if ", condition, then);
            let parts = vec![rung, Doc::Line, self.last(otherwise)];
            return Doc::All(parts).nest().group();
        }
        let mut rungs = vec![self.rung("if ", condition, then).group(), Doc::Line];
        let mut rest = otherwise;
        while let ExprKind::If(condition, then, otherwise) = &rest.kind {
            let rung = self.rung("else if ", condition, then);
            rungs.extend([rung.nest().group(), Doc::Line]);
            rest = otherwise;
        }
        rungs.push(self.last(rest));
        Doc::All(rungs).nest().group()
    }

    fn rung(&mut self, word: &'static str, condition: &Expr, then: &Expr) -> Doc {
        Doc::All(vec![
            Doc::text(word),
            self.expression(condition),
            Doc::Line,
            Doc::text("then "),
            self.expression(then),
        ])
    }

    fn last(&mut self, otherwise: &Expr) -> Doc {
        Doc::All(vec![Doc::text("else "), self.expression(otherwise)])
    }
}

/// Returns true if `{ k }` means `{ k: k }` with this name.
fn is_short(name: &str) -> bool {
    let literal = matches!(
        Keyword::of(name),
        Some(Keyword::True | Keyword::False | Keyword::Null)
    );
    !literal && !strength::RESERVED.contains(&name)
}

fn sign(operator: Binary) -> &'static str {
    match operator {
        Binary::Or => "||",
        Binary::And => "&&",
        Binary::Equal => "=",
        Binary::Unequal => "!=",
        Binary::Less => "<",
        Binary::AtMost => "<=",
        Binary::Greater => ">",
        Binary::AtLeast => ">=",
        Binary::Plus => "+",
        Binary::Minus => "-",
        Binary::Times => "*",
        Binary::Over => "/",
    }
}
