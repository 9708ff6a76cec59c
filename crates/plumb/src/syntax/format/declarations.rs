//! Declarations and statements.

use super::layout::Doc;
use super::lists::{Delimiters, EmptyLines};
use super::types::link_of;
use super::{WIDTH, Writer};
use crate::span::{SourceId, Span};
use crate::syntax::ast::{
    Bind, Body, Declaration, DeclarationKind, Let, Name, Path, Plumb, Program, Setting, Side,
    Signature, Spawn, Statement, StatementKind, Type, TypeKind,
};

/// The end of a list whose parentheses the tree does not keep. Comments behind its last item belong to the
/// next element.
const OPEN_END: u32 = 0;

impl Writer<'_> {
    pub(super) fn program(&mut self, program: &Program) -> String {
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        let whole = Span::new(SourceId::default(), 0, end);
        let lines = self.body(whole, &program.declarations, Self::declaration);
        let mut text = Doc::All(lines).lay_out(WIDTH);
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn declaration(&mut self, declaration: &Declaration) -> (Doc, EmptyLines) {
        let (doc, short) = match &declaration.kind {
            DeclarationKind::Use(name) => (
                Doc::text(format!("use {}", name.text)),
                EmptyLines::AsWritten,
            ),
            DeclarationKind::Type(name, kind) => (self.alias(name, kind), EmptyLines::AsWritten),
            DeclarationKind::Let(read) => (self.definition(read), EmptyLines::WithoutText),
            DeclarationKind::Protocol(name, protocol) => {
                let head = format!("protocol {} =", name.text);
                let steps = self.protocol_steps(protocol);
                let body = Doc::All(vec![Doc::Line, steps]).nest();
                let doc = Doc::All(vec![Doc::text(head), body]).group();
                (doc, EmptyLines::WithoutText)
            }
        };
        let apart = if doc.lay_out(WIDTH).contains('\n') {
            EmptyLines::Always
        } else {
            short
        };
        (doc, apart)
    }

    /// `type Name = T`; the variants of a sum that does not fit stand below each other.
    fn alias(&mut self, name: &Name, kind: &Type) -> Doc {
        let head = Doc::text(format!("type {} =", name.text));
        let TypeKind::Sum(variants) = &kind.kind else {
            let kind = self.type_of(kind);
            return Doc::All(vec![head, Doc::text(" "), kind]);
        };
        let variants = self.chain(link_of(variants), variants, Self::variant);
        let variants = Doc::All(vec![Doc::Line, Doc::Broken("  "), variants]).nest();
        Doc::All(vec![head, variants]).group()
    }

    fn definition(&mut self, read: &Let) -> Doc {
        let mut parts = vec![
            Doc::text("let "),
            self.inline(read.name.span.start),
            Doc::text(format!("{} : ", read.name.text)),
            self.signature(&read.signature),
            Doc::text(" ="),
        ];
        match &read.body {
            Body::Agent(span, settings) => {
                parts.push(Doc::text(" agent "));
                parts.push(self.settings(*span, settings));
            }
            Body::Tool(span, settings) => {
                parts.push(Doc::text(" tool "));
                parts.push(self.settings(*span, settings));
            }
            Body::Plumb(plumb) => {
                parts.push(Doc::text(" "));
                parts.push(self.plumb(plumb));
            }
            Body::Wire(wire) => {
                let wire = Doc::All(vec![Doc::Line, self.wire(wire)]).nest();
                parts.push(wire.group());
            }
            Body::Broken(span) => parts.push(self.source(*span)),
        }
        Doc::All(parts)
    }

    fn signature(&mut self, signature: &Signature) -> Doc {
        let inputs = self.side(&signature.inputs);
        let outputs = self.side(&signature.outputs);
        Doc::All(vec![inputs, Doc::text(" -> "), outputs])
    }

    fn side(&mut self, ports: &[Type]) -> Doc {
        if let [only] = ports {
            return self.type_of(only);
        }
        self.list(Delimiters::Parentheses, OPEN_END, ports, Self::type_of)
    }

    fn settings(&mut self, span: Span, settings: &[Setting]) -> Doc {
        self.list(Delimiters::Braces, span.end, settings, |writer, setting| {
            let value = writer.expression(&setting.value);
            Doc::All(vec![Doc::text(format!("{}: ", setting.key.text)), value])
        })
    }

    fn plumb(&mut self, plumb: &Plumb) -> Doc {
        let ports = self.list(
            Delimiters::Parentheses,
            OPEN_END,
            &plumb.ports,
            |_, port| Doc::text(&*port.text),
        );
        let lines = self.body(plumb.span, &plumb.statements, |writer, statement| {
            (writer.statement(statement), EmptyLines::AsWritten)
        });
        let mut parts = vec![Doc::text("plumb"), ports, Doc::text(" {")];
        if !lines.is_empty() {
            let mut inside = vec![Doc::Hard];
            inside.extend(lines);
            parts.push(Doc::All(inside).nest());
            parts.push(Doc::Hard);
        }
        parts.push(Doc::text("}"));
        Doc::All(parts)
    }

    fn statement(&mut self, statement: &Statement) -> Doc {
        match &statement.kind {
            StatementKind::Channel(name, kind) => Doc::All(vec![
                Doc::text(format!("let {} : ", name.text)),
                self.type_of(kind),
                Doc::text(" = channel"),
            ]),
            StatementKind::Spawn(spawn) => self.spawn(spawn),
            StatementKind::Wire(wire) => self.wire(wire).nest().group(),
            StatementKind::Bind(bind) => Doc::text(binding(bind)),
            StatementKind::Broken => self.source(statement.span),
        }
    }

    fn spawn(&mut self, spawn: &Spawn) -> Doc {
        let arguments = &spawn.arguments;
        let arguments = self.list(
            Delimiters::Parentheses,
            OPEN_END,
            arguments,
            |_, argument| {
                let channel = &argument.channel.text;
                Doc::text(match &argument.port {
                    Some(port) => format!("{}={channel}", port.text),
                    None => channel.to_string(),
                })
            },
        );
        let process = Doc::text(format!("spawn {}", path(&spawn.process)));
        Doc::All(vec![process, arguments])
    }

    /// Keeps a part that could not be parsed as it is.
    pub(super) fn source(&self, span: Span) -> Doc {
        Doc::text(self.text.get(span.range()).unwrap_or("(* broken *)"))
    }
}

pub(super) fn path(path: &Path) -> String {
    match &path.module {
        Some(module) => format!("{}.{}", module.text, path.name.text),
        None => path.name.text.to_string(),
    }
}

fn binding(bind: &Bind) -> String {
    let dual = match bind.side {
        Side::Itself => "",
        Side::Dual => "dual ",
    };
    let within = match bind.within {
        None => String::new(),
        Some((time, _)) if time > 0 && time.is_multiple_of(60_000) => {
            format!(" within {}m", time / 60_000)
        }
        Some((time, _)) if time > 0 && time.is_multiple_of(1_000) => {
            format!(" within {}s", time / 1_000)
        }
        Some((time, _)) => format!(" within {time}ms"),
    };
    format!(
        "({}, {}) <-> {dual}{} as {}{within}",
        bind.incoming.text,
        bind.outgoing.text,
        path(&bind.protocol),
        bind.session.text,
    )
}
