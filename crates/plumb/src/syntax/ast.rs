//! The syntax tree: what the parser gives, what `fmt` prints, what the checker reads.
//!
//! Every node that a diagnostic may point at has its span. A node that could not be read is
//! [`Wire::Broken`], [`TypeKind::Broken`], [`ExprKind::Broken`] and so on: it has had its diagnostic, and the
//! checker passes over it silently.

use std::sync::Arc;

use crate::span::Span;

/// A name where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// The place.
    pub span: Span,
}

/// `name` or `Module.name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The module, if one is named.
    pub module: Option<Name>,
    /// The name.
    pub name: Name,
}

impl Path {
    /// A name without a module.
    #[must_use]
    pub const fn bare(name: Name) -> Self {
        Self { module: None, name }
    }

    /// The whole span.
    #[must_use]
    pub fn span(&self) -> Span {
        self.module
            .as_ref()
            .map_or(self.name.span, |module| module.span.to(self.name.span))
    }
}

/// A source, whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The declarations, in order.
    pub declarations: Vec<Declaration>,
    /// Its comments, in order, with their delimiters; for `fmt`.
    pub comments: Vec<Comment>,
}

impl Program {
    /// The processes that are declared, in order.
    pub fn lets(&self) -> impl Iterator<Item = &Let> {
        let declarations = self.declarations.iter();
        declarations.filter_map(|declaration| match &declaration.kind {
            DeclarationKind::Let(declared) => Some(declared),
            _ => None,
        })
    }

    /// The `plumb` bodies, in order.
    pub fn bodies(&self) -> impl Iterator<Item = &Plumb> {
        self.lets().filter_map(|declared| match &declared.body {
            Body::Plumb(plumb) => Some(plumb),
            _ => None,
        })
    }
}

/// `(* … *)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The place.
    pub span: Span,
    /// The text with its delimiters.
    pub text: Arc<str>,
}

/// One declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The whole span.
    pub span: Span,
    /// The kind of declaration.
    pub kind: DeclarationKind,
}

/// The kind of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationKind {
    /// `use mem`: the module's file name without its ending; its members are `Mem.x`.
    Use(Name),
    /// `type Name = T`.
    Type(Name, Type),
    /// `let name : signature = body`.
    Let(Let),
    /// `protocol Name = S`.
    Protocol(Name, Protocol),
}

impl Declaration {
    /// The name that it defines; of a `use`, the module's file.
    #[must_use]
    pub const fn name(&self) -> &Name {
        match &self.kind {
            DeclarationKind::Use(name)
            | DeclarationKind::Type(name, _)
            | DeclarationKind::Protocol(name, _) => name,
            DeclarationKind::Let(process) => &process.name,
        }
    }
}

/// `let name : signature = body`.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// The name that it defines.
    pub name: Name,
    /// Its type.
    pub signature: Signature,
    /// The operation.
    pub body: Body,
}

/// `inputs -> outputs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The whole span.
    pub span: Span,
    /// The inputs: `!T` or `(!T, !U)` are streams; a tool has one plain type; `()` is none.
    pub inputs: Vec<Type>,
    /// The outputs, alike.
    pub outputs: Vec<Type>,
}

/// The right side of a `let`.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// `agent { key: value, … }`.
    Agent(Span, Vec<Setting>),
    /// `tool { key: value, … }`.
    Tool(Span, Vec<Setting>),
    /// `plumb(ports) { statements }`.
    Plumb(Plumb),
    /// A morphism: `map(…) ; filter(…)`.
    Wire(Wire),
    /// A part that could not be parsed.
    Broken(Span),
}

/// `key: value` of an agent or a tool. The value is an expression of literals, lists, records and names.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: Name,
    /// The value.
    pub value: Expr,
}

/// `plumb(ports) { statements }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Plumb {
    /// The whole span.
    pub span: Span,
    /// The boundary ports, inputs first.
    pub ports: Vec<Name>,
    /// The statements. Their order only decides the order of nodes.
    pub statements: Vec<Statement>,
}

impl Plumb {
    /// The channels, in order.
    pub fn channels(&self) -> impl Iterator<Item = (&Name, &Type)> {
        let statements = self.statements.iter();
        statements.filter_map(|statement| match &statement.kind {
            StatementKind::Channel(name, kind) => Some((name, kind)),
            _ => None,
        })
    }

    /// The bindings of sessions, each with the span of its statement, in order.
    pub fn bindings(&self) -> impl Iterator<Item = (&Bind, Span)> {
        let statements = self.statements.iter();
        statements.filter_map(|statement| match &statement.kind {
            StatementKind::Bind(bind) => Some((bind, statement.span)),
            _ => None,
        })
    }
}

/// A statement of a `plumb` body.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The whole span.
    pub span: Span,
    /// The kind of statement.
    pub kind: StatementKind,
}

/// The kind of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `let c : !T = channel`; the type is as it is written, a [`TypeKind::Stream`].
    Channel(Name, Type),
    /// `spawn p(port=channel, …)`.
    Spawn(Spawn),
    /// `a ; b ; c`.
    Wire(Wire),
    /// `(in_stream, out_stream) <-> P as s within 30s`.
    Bind(Bind),
    /// A part that could not be parsed.
    Broken,
}

/// `spawn p(port=channel, …)`, or positional: inputs, then outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// The process.
    pub process: Path,
    /// The streams that its ports are joined to.
    pub arguments: Vec<Argument>,
}

/// `port=channel` or `channel`.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The port, if it is named.
    pub port: Option<Name>,
    /// A channel, or a boundary port of the `plumb`.
    pub channel: Name,
}

/// `(in_stream, out_stream) <-> P as s within 30s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// The stream the protocol receives from.
    pub incoming: Name,
    /// The stream it sends to.
    pub outgoing: Name,
    /// The side of the protocol: `<-> dual P` is the dual.
    pub side: Side,
    /// The protocol.
    pub protocol: Path,
    /// The session's name.
    pub session: Name,
    /// The time limit of a step, in milliseconds.
    pub within: Option<(u64, Span)>,
}

/// A side of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The written form.
    Itself,
    /// The dual: send and recv, select and offer are swapped.
    Dual,
}

/// A morphism, or a place in a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Wire {
    /// `f ; g ; h`: two or more.
    Sequence(Vec<Wire>),
    /// `(f * g * h)`: two or more.
    Parallel(Span, Vec<Wire>),
    /// `w.f`: then the field.
    Field(Box<Wire>, Name),
    /// `id`.
    Id(Span),
    /// `copy`.
    Copy(Span),
    /// `merge`.
    Merge(Span),
    /// `discard`.
    Discard(Span),
    /// `empty`.
    Empty(Span),
    /// `once(e)`: `() -> !A`, the value of `e` as the only message, at the start; `e` reads no message. It is
    /// `empty` with one message, and what a feedback loop begins with: a barrier in a loop can never fire
    /// unless something is in the loop.
    Once(Span, Expr),
    /// `barrier`.
    Barrier(Span),
    /// `map(e)`.
    Map(Span, Expr),
    /// `filter(e)`.
    Filter(Span, Expr),
    /// `project(n)`.
    Project(Span, u32),
    /// `tag(l)`.
    Tag(Span, Name),
    /// `keep(p)`: each message beside the one that `p` makes of it.
    Keep(Span, Box<Wire>),
    /// A process, a channel or a boundary port; in a `plumb` body the same name is the same instance.
    Named(Path),
    /// `p@port`.
    Port(Name, Name),
    /// `s@trigger`, `s@send(T, n)` and so on, where the port has arguments or is one of a session's words.
    /// `s@trigger`, `s@error` and `p@port` cannot be told apart here: without arguments they are
    /// [`Wire::Port`].
    Step(Box<Step>),
    /// A part that could not be parsed.
    Broken(Span),
}

impl Wire {
    /// The whole span.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Sequence(parts) => match parts.as_slice() {
                [] => Span::default(),
                [first, .., last] => first.span().to(last.span()),
                [only] => only.span(),
            },
            Self::Field(wire, name) => wire.span().to(name.span),
            Self::Parallel(span, _)
            | Self::Id(span)
            | Self::Copy(span)
            | Self::Merge(span)
            | Self::Discard(span)
            | Self::Empty(span)
            | Self::Barrier(span)
            | Self::Once(span, _)
            | Self::Map(span, _)
            | Self::Filter(span, _)
            | Self::Project(span, _)
            | Self::Tag(span, _)
            | Self::Keep(span, _)
            | Self::Broken(span) => *span,
            Self::Named(path) => path.span(),
            Self::Port(process, port) => process.span.to(port.span),
            Self::Step(step) => step.span,
        }
    }
}

/// `s@send(T)`, `s@recv(T, n)`, `s@done(T)`, `s@select(l)`, `s@offer(l, n)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The whole span.
    pub span: Span,
    /// The session.
    pub session: Name,
    /// The endpoint.
    pub endpoint: Endpoint,
}

/// An endpoint of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Endpoint {
    /// The payload of a step that sends.
    Send(Type, Option<u32>),
    /// The payload of a step that receives.
    Recv(Type, Option<u32>),
    /// A step is complete.
    Done(Type, Option<u32>),
    /// Choosing an arm; with a number where the label stands in several choices.
    Select(Name, Option<u32>),
    /// The other side chose an arm; the number works as above.
    Offer(Name, Option<u32>),
}

/// A type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The whole span.
    pub span: Span,
    /// The kind.
    pub kind: TypeKind,
}

impl Type {
    /// A type of this kind.
    #[must_use]
    pub const fn new(span: Span, kind: TypeKind) -> Self {
        Self { span, kind }
    }

    /// A type that could not be read.
    #[must_use]
    pub const fn broken(span: Span) -> Self {
        Self::new(span, TypeKind::Broken)
    }
}

/// A type as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `string`, `Verdict`, `Mem.Memory`; the built-in ones as well.
    Named(Path),
    /// `"agree"`: this string and no other. It is what `tag` makes.
    Literal(Arc<str>),
    /// `{ f: T, g?: U }`.
    Record(Vec<Field>),
    /// `[T]`.
    List(Box<Type>),
    /// `A | B`: two or more.
    Sum(Vec<Type>),
    /// `(A, B)`: two or more.
    Product(Vec<Type>),
    /// `!T`.
    Stream(Box<Type>),
    /// A part that could not be parsed.
    Broken,
}

/// `f: T` or `f?: T`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// The presence of the field.
    pub presence: Presence,
    /// Its type.
    pub kind: Type,
}

/// The presence of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// The field is always present.
    Required,
    /// The field may be missing.
    Optional,
}

/// A protocol as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// The whole span.
    pub span: Span,
    /// The kind.
    pub kind: ProtocolKind,
}

/// A protocol as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtocolKind {
    /// `send T . S`.
    Send(Type, Box<Protocol>),
    /// `recv T . S`.
    Recv(Type, Box<Protocol>),
    /// `select { l: S, … }`, and `{ l: S, … }` alone.
    Select(Vec<(Name, Protocol)>),
    /// `offer { l: S, … }`.
    Offer(Vec<(Name, Protocol)>),
    /// `rec X . S`.
    Rec(Name, Box<Protocol>),
    /// `X`: a variable of a `rec` around it, or another protocol.
    Named(Path),
    /// `loop`: from the top again.
    Loop,
    /// `end`.
    End,
    /// A part that could not be parsed.
    Broken,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The whole span.
    pub span: Span,
    /// The kind.
    pub kind: ExprKind,
}

impl Expr {
    /// An expression of this kind.
    #[must_use]
    pub const fn new(span: Span, kind: ExprKind) -> Self {
        Self { span, kind }
    }

    /// An expression that could not be read.
    #[must_use]
    pub const fn broken(span: Span) -> Self {
        Self::new(span, ExprKind::Broken)
    }

    /// The expressions directly within it, in order.
    #[must_use]
    pub fn parts(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Field(inner, _)
            | ExprKind::Part(inner, _)
            | ExprKind::Is(inner, _)
            | ExprKind::Unary(_, inner) => vec![inner],
            ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::If(condition, then, otherwise) => vec![condition, then, otherwise],
            ExprKind::Record(fields) => fields.iter().map(|(_, inner)| inner).collect(),
            ExprKind::List(inner) | ExprKind::Call(_, inner) => inner.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written: JSON's form.
    Number(Arc<str>),
    /// A string, its escapes resolved.
    Text(Arc<str>),
    /// A field of the message by its name, or `value`, the whole message.
    Name(Arc<str>),
    /// `{ k: e, l }`.
    Record(Vec<(Name, Expr)>),
    /// `[e, …]`.
    List(Vec<Expr>),
    /// `e.f`.
    Field(Box<Expr>, Name),
    /// `e.0`: a part of a product, from 0, as `project(0)` is of a stream. After a `.` digits are a part,
    /// not a number, so that `e.0.1` is a part of a part.
    Part(Box<Expr>, u32),
    /// `is(e, T)`: whether the value of `e` is of type `T`; `is` is a word only before `(`.
    Is(Box<Expr>, Type),
    /// `-e` or `not e`.
    Unary(Unary, Box<Expr>),
    /// `a + b`.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `if c then a else b`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `len(e)`, `contains(s, t)`, `defined(e)`.
    Call(Function, Vec<Expr>),
    /// A part that could not be parsed.
    Broken,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unary {
    /// `-`.
    Minus,
    /// `not`.
    Not,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// `||`, the weakest.
    Or,
    /// `&&`.
    And,
    /// `=`; comparisons do not chain.
    Equal,
    /// `!=`.
    Unequal,
    /// `<`.
    Less,
    /// `<=`.
    AtMost,
    /// `>`.
    Greater,
    /// `>=`.
    AtLeast,
    /// `+`.
    Plus,
    /// `-`.
    Minus,
    /// `*`.
    Times,
    /// `/`, the strongest with `*`.
    Over,
}

/// A built-in function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// `len(e)`: characters of a string, items of a list.
    Len,
    /// `contains(s, t)`: a string in a string, an item in a list.
    Contains,
    /// `defined(e)`: whether an optional field is there.
    Defined,
}

impl Function {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Len, Self::Contains, Self::Defined];

    /// The name.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Len => "len",
            Self::Contains => "contains",
            Self::Defined => "defined",
        }
    }

    /// The number of arguments.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Len | Self::Defined => 1,
            Self::Contains => 2,
        }
    }

    /// The written form.
    #[must_use]
    pub const fn form(self) -> &'static str {
        match self {
            Self::Len => "len(e)",
            Self::Contains => "contains(s, t)",
            Self::Defined => "defined(e)",
        }
    }
}
