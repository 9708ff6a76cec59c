//! Types and signatures.

use super::{Parsed, Parser, Told};
use crate::span::Span;
use crate::syntax::ast::{Field, Path, Presence, Signature, Type, TypeKind};
use crate::syntax::codes;
use crate::syntax::literal::unescape;
use crate::syntax::token::{Symbol, Token, TokenKind};

/// The position of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypePosition {
    /// A message: no streams.
    Message,
    /// A port of a signature or a channel: a stream may stand here.
    Port,
    /// Behind `send` and `recv`, where a `.` leads on to the next step.
    Payload,
}

impl Parser<'_> {
    /// The type of a message.
    pub(super) fn message_type(&mut self) -> Parsed<Type> {
        self.sum(TypePosition::Message)
    }

    /// The type of a step of a protocol.
    pub(super) fn payload_type(&mut self) -> Parsed<Type> {
        self.sum(TypePosition::Payload)
    }

    /// The type of a channel: a stream.
    pub(super) fn channel_type(&mut self) -> Parsed<Type> {
        let read = self.sum(TypePosition::Port)?;
        if !matches!(read.kind, TypeKind::Stream(_) | TypeKind::Broken) {
            self.tell(codes::plain_channel(read.span));
        }
        Ok(read)
    }

    /// `inputs -> outputs`.
    pub(super) fn signature(&mut self) -> Parsed<Signature> {
        let start = self.token().span;
        let inputs = self.side()?;
        if !self.at_symbol(Symbol::Arrow) {
            let mut told = self.unexpected("`->` and the outputs");
            if self.at_symbol(Symbol::Equal) {
                told = told.hint("A channel is declared in the body of a `plumb`.");
            }
            let found = self.at_symbol(Symbol::FatArrow);
            let told = self.tell(told);
            if !found {
                return Err(told);
            }
        }
        self.bump();
        let outputs = self.side()?;
        Ok(Signature {
            span: start.to(self.last_span()),
            inputs,
            outputs,
        })
    }

    /// Parses one side of a signature: `!T`, `(!T, !U)`, `T` or `()`.
    fn side(&mut self) -> Parsed<Vec<Type>> {
        if !self.at_symbol(Symbol::Open) {
            return Ok(vec![self.sum(TypePosition::Port)?]);
        }
        let nothing = self.peek(1).kind == TokenKind::Symbol(Symbol::Close);
        let (span, parts) = self.list(Symbol::Open, |p| p.sum(TypePosition::Port))?;
        if parts.is_empty() && !nothing {
            return Err(Told);
        }
        let streams = parts.iter().filter(|part| is_stream(part)).count();
        if streams == parts.len() {
            return Ok(parts);
        }
        if let (Some(odd), 1..) = (parts.iter().find(|part| !is_stream(part)), streams) {
            self.tell(codes::message_beside_streams(odd.span));
            return Ok(parts);
        }
        let first = group(span, parts);
        Ok(vec![self.variants(first, TypePosition::Message)?])
    }

    fn sum(&mut self, place: TypePosition) -> Parsed<Type> {
        let first = self.nested(|p| p.single(place))?;
        self.variants(first, place)
    }

    /// The other variants of a sum, if it is one.
    fn variants(&mut self, first: Type, place: TypePosition) -> Parsed<Type> {
        if !self.at_symbol(Symbol::Bar) {
            return Ok(first);
        }
        let mut variants = vec![first];
        while self.eat(Symbol::Bar).is_some() {
            variants.push(self.nested(|p| p.single(place))?);
        }
        if let Some(stream) = variants.iter().find(|variant| is_stream(variant)) {
            self.tell(codes::stream_in_sum(stream.span));
        }
        let span = match variants.as_slice() {
            [first, .., last] => first.span.to(last.span),
            _ => self.last_span(),
        };
        let variants = variants.into_iter().flat_map(|variant| match variant.kind {
            TypeKind::Sum(inner) => inner,
            _ => vec![variant],
        });
        Ok(Type::new(span, TypeKind::Sum(variants.collect())))
    }

    fn single(&mut self, place: TypePosition) -> Parsed<Type> {
        let token = self.token();
        let kind = match token.kind {
            TokenKind::Upper | TokenKind::Lower => {
                let path = self.type_path(place)?;
                return Ok(Type::new(path.span(), TypeKind::Named(path)));
            }
            TokenKind::Text => {
                self.bump();
                TypeKind::Literal(self.string(token).into())
            }
            TokenKind::Symbol(Symbol::Bang) => return self.stream(place),
            TokenKind::Symbol(Symbol::OpenBrace) => {
                TypeKind::Record(self.list(Symbol::OpenBrace, Self::type_field)?.1)
            }
            TokenKind::Symbol(Symbol::OpenBracket) => return self.list_type(token.span),
            TokenKind::Symbol(Symbol::Open) => return self.type_group(),
            _ => return Err(self.expected("a type")),
        };
        Ok(Type::new(token.span.to(self.last_span()), kind))
    }

    /// `(A, B)`, or parentheses around one type.
    fn type_group(&mut self) -> Parsed<Type> {
        let nothing = self.peek(1).kind == TokenKind::Symbol(Symbol::Close);
        let (span, parts) = self.list(Symbol::Open, Self::message_type)?;
        if nothing {
            return Err(self.tell(codes::empty_type(span)));
        }
        Ok(group(span, parts))
    }

    fn type_path(&mut self, place: TypePosition) -> Parsed<Path> {
        // `send A . X` leads on to `X`, `send M.T . X` names a type of a module: a type is always
        // followed by a dot there, what is led on to never.
        let dot = |at| matches!(self.peek(at).kind, TokenKind::Symbol(Symbol::Dot));
        let more = |at| dot(at) || self.peek(at).kind == TokenKind::Symbol(Symbol::Bar);
        let named = matches!(self.peek(2).kind, TokenKind::Upper | TokenKind::Lower);
        let qualified = self.kind() == TokenKind::Upper
            && dot(1)
            && (place != TypePosition::Payload || named && more(3));
        let first = self.take_name();
        if !qualified {
            return Ok(Path::bare(first));
        }
        self.bump();
        Ok(Path {
            module: Some(first),
            name: self.upper("the name of a type")?,
        })
    }

    fn stream(&mut self, place: TypePosition) -> Parsed<Type> {
        let bang = self.bump().span;
        let inner = self.nested(|p| p.single(TypePosition::Message))?;
        if place == TypePosition::Port {
            return Ok(Type::new(
                bang.to(inner.span),
                TypeKind::Stream(Box::new(inner)),
            ));
        }
        self.tell(codes::stream_in_message(bang));
        Ok(inner)
    }

    fn list_type(&mut self, start: Span) -> Parsed<Type> {
        self.bump();
        let inner = self.message_type();
        let whole = inner.is_ok();
        if !self.at_symbol(Symbol::CloseBracket) {
            if whole {
                self.unclosed(start, Symbol::CloseBracket);
            }
            self.skip_until(|_, _| false);
        }
        let span = start.to(self.close_after(start, Symbol::CloseBracket, false));
        let inner = inner.unwrap_or(Type::broken(span));
        Ok(Type::new(span, TypeKind::List(Box::new(inner))))
    }

    fn type_field(&mut self) -> Parsed<Field> {
        let quoted = self.kind() == TokenKind::Text;
        let name = self.field_name()?;
        if !quoted && name.text.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.tell(codes::capital_field(name.span, &name.text));
        }
        let presence = match self.eat(Symbol::Question) {
            Some(_) => Presence::Optional,
            None => Presence::Required,
        };
        self.expect(Symbol::Colon)?;
        let kind = match self.message_type() {
            // The field is there nevertheless: what reads it is not to be told that it is not.
            Err(Told) if self.at_symbol(Symbol::Comma) || self.at_symbol(Symbol::CloseBrace) => {
                Type::broken(name.span)
            }
            read => read?,
        };
        Ok(Field {
            name,
            presence,
            kind,
        })
    }

    /// Decodes a string. The lexer has reported its mistakes.
    pub(super) fn string(&self, token: Token) -> String {
        let text = self.text_of(token);
        let Some(inside) = text.strip_prefix('"') else {
            return String::new();
        };
        let inside = inside.strip_suffix('"').unwrap_or(inside);
        unescape(inside).unwrap_or_else(|_| inside.to_owned())
    }
}

fn is_stream(read: &Type) -> bool {
    matches!(read.kind, TypeKind::Stream(_))
}

/// Builds the type of a parenthesized list: a product, or the type itself if there is only one.
fn group(span: Span, mut parts: Vec<Type>) -> Type {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => Type { span, ..only },
        (None, _) => Type::new(span, TypeKind::Broken),
        (last, _) => {
            parts.extend(last);
            Type::new(span, TypeKind::Product(parts))
        }
    }
}
