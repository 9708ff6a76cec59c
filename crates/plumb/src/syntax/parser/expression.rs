//! Expressions.

use std::sync::Arc;

use super::{Parsed, Parser, Tall, Told};
use crate::nearest::nearest;
use crate::span::Span;
use crate::syntax::ast::{Binary, Expr, ExprKind, Function, Name, Unary};
use crate::syntax::codes;
use crate::syntax::strength::{self, RESERVED, Strength};
use crate::syntax::token::{Keyword, Symbol, TokenKind};

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        Ok(self.tall_expression()?.node)
    }

    fn tall_expression(&mut self) -> Parsed<Tall<Expr>> {
        self.nested(|p| p.operators(Strength::OR))
    }

    /// Operands joined by operators that bind at least so strongly.
    fn operators(&mut self, floor: Strength) -> Parsed<Tall<Expr>> {
        let mut left = self.operand(floor)?;
        while let Some((operator, strength)) = self.binary_operator() {
            if strength < floor {
                break;
            }
            self.refuse_foreign_sign();
            let sign = self.bump().span;
            let right = self.operators(strength.above())?;
            let height = left.height.max(right.height);
            let span = left.node.span.to(right.node.span);
            let told =
                strength == Strength::COMPARISON && matches!(left.node.kind, ExprKind::Broken);
            let kind = ExprKind::Binary(operator, Box::new(left.node), Box::new(right.node));
            left = self.taller(Expr::new(span, kind), height)?;
            if told || self.refuse_chain(strength, sign) {
                left.node.kind = ExprKind::Broken;
            }
        }
        Ok(left)
    }

    /// Tells of an operator as other languages write it. It is read as what it means there.
    fn refuse_foreign_sign(&mut self) {
        let token = self.token();
        let (sign, hint) = match self.text_of(token) {
            sign @ "==" => (sign, "Equality is written `=`."),
            sign @ "and" => (sign, "It is written `&&`."),
            sign @ "or" => (sign, "It is written `||`."),
            _ => return,
        };
        self.tell(codes::foreign_operator(token.span, &sign, &hint));
    }

    fn binary_operator(&self) -> Option<(Binary, Strength)> {
        let symbol = match self.kind() {
            TokenKind::Symbol(symbol) => symbol,
            // Behind an operand no name can stand.
            TokenKind::Lower if self.at_word("and") => Symbol::And,
            TokenKind::Lower if self.at_word("or") => Symbol::Or,
            _ => return None,
        };
        let operator = match symbol {
            Symbol::Or => Binary::Or,
            Symbol::And => Binary::And,
            Symbol::Equal | Symbol::DoubleEqual => Binary::Equal,
            Symbol::Unequal => Binary::Unequal,
            Symbol::Less => Binary::Less,
            Symbol::AtMost => Binary::AtMost,
            Symbol::Greater => Binary::Greater,
            Symbol::AtLeast => Binary::AtLeast,
            Symbol::Plus => Binary::Plus,
            Symbol::Minus => Binary::Minus,
            Symbol::Star => Binary::Times,
            Symbol::Slash => Binary::Over,
            _ => return None,
        };
        Some((operator, strength::of_binary(operator)))
    }

    /// Reports a chained comparison. Returns true if there is one.
    fn refuse_chain(&mut self, strength: Strength, first: Span) -> bool {
        let next = self.binary_operator().map(|(_, strength)| strength);
        if strength != Strength::COMPARISON || next != Some(strength) {
            return false;
        }
        let told = codes::chained(self.token().span).label(first, "the comparison before");
        self.tell(told);
        true
    }

    /// An operand with what stands before and behind it.
    fn operand(&mut self, floor: Strength) -> Parsed<Tall<Expr>> {
        let start = self.token().span;
        let (operator, inner) = if self.eat(Symbol::Minus).is_some() {
            let inner = self.nested(|p| p.operand(Strength::SIGN))?;
            (Unary::Minus, inner)
        } else if self.at_word("not") || self.at_symbol(Symbol::Bang) {
            if self.at_symbol(Symbol::Bang) {
                self.tell(codes::foreign_operator(
                    start,
                    &"!",
                    &"Negation is written `not`.",
                ));
            }
            self.refuse_weaker(Strength::NOT, floor);
            self.bump();
            let inner = self.nested(|p| p.operators(Strength::NOT))?;
            (Unary::Not, inner)
        } else {
            if self.at_word("if") {
                self.refuse_weaker(Strength::OR, floor);
            }
            return self.fields();
        };
        let span = start.to(inner.node.span);
        let kind = ExprKind::Unary(operator, Box::new(inner.node));
        self.taller(Expr::new(span, kind), inner.height)
    }

    /// Tells that `not` or `if` is an operand of what binds more strongly, so that it is not plain where
    /// it ends.
    fn refuse_weaker(&mut self, strength: Strength, floor: Strength) {
        if strength >= floor {
            return;
        }
        let token = self.token();
        self.tell(codes::weak_operand(token.span, &self.text_of(token)));
    }

    /// `e.f.0`.
    fn fields(&mut self) -> Parsed<Tall<Expr>> {
        let mut read = self.primary()?;
        while self.eat(Symbol::Dot).is_some() {
            if self.kind() == TokenKind::Number {
                let part = self.small_number("the number of a part, from 0")?;
                let span = read.node.span.to(self.last_span());
                let kind = ExprKind::Part(Box::new(read.node), part);
                read = self.taller(Expr::new(span, kind), read.height)?;
                continue;
            }
            let name = self.field_name()?;
            let span = read.node.span.to(name.span);
            let kind = ExprKind::Field(Box::new(read.node), name);
            read = self.taller(Expr::new(span, kind), read.height)?;
        }
        Ok(read)
    }

    fn primary(&mut self) -> Parsed<Tall<Expr>> {
        let token = self.token();
        let text = self.text_of(token);
        let (kind, height) = match token.kind {
            TokenKind::Keyword(Keyword::Null) => (ExprKind::Null, 0),
            TokenKind::Keyword(Keyword::True) => (ExprKind::Bool(true), 0),
            TokenKind::Keyword(Keyword::False) => (ExprKind::Bool(false), 0),
            TokenKind::Number => (ExprKind::Number(text.into()), 0),
            TokenKind::Text => (ExprKind::Text(self.string(token).into()), 0),
            TokenKind::Symbol(Symbol::OpenBrace) => return self.record(),
            TokenKind::Symbol(Symbol::OpenBracket) => return self.list_expression(),
            TokenKind::Symbol(Symbol::Open) => return self.parentheses(),
            TokenKind::Lower if text == "if" => return self.conditional(),
            TokenKind::Lower | TokenKind::Upper | TokenKind::Keyword(_)
                if !RESERVED.contains(&text) =>
            {
                if token.kind == TokenKind::Lower
                    && self.peek(1).kind == TokenKind::Symbol(Symbol::Open)
                {
                    return self.call();
                }
                (ExprKind::Name(text.into()), 0)
            }
            _ => return Err(self.expected("an expression")),
        };
        self.bump();
        let node = Expr::new(token.span, kind);
        Ok(Tall { node, height })
    }

    fn parentheses(&mut self) -> Parsed<Tall<Expr>> {
        let broken = |span| Tall::leaf(Expr::broken(span));
        let (span, inner) = self.argument(Self::tall_expression, broken)?;
        // A later mistake points at the parentheses as well; the tree does not have them.
        let node = Expr { span, ..inner.node };
        Ok(Tall { node, ..inner })
    }

    fn record(&mut self) -> Parsed<Tall<Expr>> {
        let mut height = 0;
        let (span, fields) = self.list(Symbol::OpenBrace, |p| {
            let (name, inner) = p.record_field()?;
            height = height.max(inner.height);
            Ok((name, inner.node))
        })?;
        let kind = ExprKind::Record(fields);
        self.taller(Expr::new(span, kind), height)
    }

    fn record_field(&mut self) -> Parsed<(Name, Tall<Expr>)> {
        let token = self.token();
        let name = self.field_name()?;
        if self.eat(Symbol::Colon).is_some() {
            return Ok((name, self.tall_expression()?));
        }
        let literal = matches!(
            token.kind,
            TokenKind::Text | TokenKind::Keyword(Keyword::True | Keyword::False | Keyword::Null)
        );
        let ends = self.at_symbol(Symbol::Comma) || self.at_symbol(Symbol::CloseBrace);
        if !ends || literal || RESERVED.contains(&self.text_of(token)) {
            let told = self.unexpected("`:` and the value of the field");
            return Err(self.tell(told));
        }
        let node = Expr::new(name.span, ExprKind::Name(Arc::clone(&name.text)));
        Ok((name, Tall::leaf(node)))
    }

    fn list_expression(&mut self) -> Parsed<Tall<Expr>> {
        let mut height = 0;
        let (span, items) = self.list(Symbol::OpenBracket, |p| {
            let inner = p.tall_expression()?;
            height = height.max(inner.height);
            Ok(inner.node)
        })?;
        let kind = ExprKind::List(items);
        self.taller(Expr::new(span, kind), height)
    }

    fn conditional(&mut self) -> Parsed<Tall<Expr>> {
        let start = self.bump().span;
        let condition = self.tall_expression()?;
        self.expect_word("then")?;
        let then = self.tall_expression()?;
        self.expect_word("else")?;
        let otherwise = self.tall_expression()?;
        let height = condition.height.max(then.height).max(otherwise.height);
        let span = start.to(otherwise.node.span);
        let kind = ExprKind::If(
            Box::new(condition.node),
            Box::new(then.node),
            Box::new(otherwise.node),
        );
        self.taller(Expr::new(span, kind), height)
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if !self.at_word(word) {
            return Err(self.expected(&format!("`{word}`")));
        }
        self.bump();
        Ok(())
    }

    /// `is(e, T)`.
    fn is_of_type(&mut self) -> Parsed<Tall<Expr>> {
        let word = self.bump().span;
        let read = |p: &mut Self| {
            let inner = p.tall_expression()?;
            p.expect(Symbol::Comma)?;
            Ok(Some((inner, p.message_type()?)))
        };
        let (span, read) = self.argument(read, |_| None)?;
        let (inner, of) = read.ok_or(Told)?;
        let kind = ExprKind::Is(Box::new(inner.node), of);
        let span = word.to(span);
        self.taller(Expr::new(span, kind), inner.height)
    }

    fn call(&mut self) -> Parsed<Tall<Expr>> {
        if self.at_word("is") {
            return self.is_of_type();
        }
        let token = self.bump();
        let name = self.text_of(token);
        let function = Function::ALL
            .iter()
            .find(|function| function.text() == name);
        if function.is_none() {
            let near = nearest(name, Function::ALL.iter().map(|function| function.text()));
            self.tell(codes::unknown_function(token.span, &name).meant(near));
        }
        let mut height = 0;
        let before = self.diagnostics.len();
        let (span, arguments) = self.list(Symbol::Open, |p| {
            let inner = p.tall_expression()?;
            height = height.max(inner.height);
            Ok(inner.node)
        })?;
        let span = token.span.to(span);
        let Some(function) = function else {
            return Ok(Tall::leaf(Expr::broken(span)));
        };
        let (count, form) = (function.count(), function.form());
        if arguments.len() != count && self.diagnostics.len() == before {
            let given = arguments_are(arguments.len());
            self.tell(codes::wrong_count(span, &name, &given, &form));
        }
        if arguments.len() != count {
            return Ok(Tall::leaf(Expr::broken(span)));
        }
        let kind = ExprKind::Call(*function, arguments);
        self.taller(Expr::new(span, kind), height)
    }
}

fn arguments_are(count: usize) -> String {
    match count {
        0 => "no argument".to_owned(),
        1 => "one argument".to_owned(),
        _ => format!("{count} arguments"),
    }
}
