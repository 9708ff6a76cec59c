//! The types of all streams of a body, from their sources on.
//!
//! Every stream begins at something that has a type: a boundary port, a channel, a process, an expression.
//! Feedback leads to one of these too, since nothing else has a name. So one pass forward is enough. `empty` has
//! the type without values, which fits everywhere.

use crate::diagnostic::Diagnostic;
use crate::expr::{self, Typed};
use crate::graph::walk::left;
use crate::names::UnitId;
use crate::span::Span;
use crate::syntax::ast;
use crate::types::{Field, Fit, Joint, Shown, Type, fits, join, measured, misfit};
use crate::value::Value;

use super::codes;
use super::draft::{Context, Draft, Link, PartId, Stage};
use super::notes::Shows;
use super::process::Process;

/// The types of a draft.
pub(super) struct Types {
    /// Per part: the type of each output.
    pub outs: Vec<Vec<Type>>,
    /// Per part: the type of its input, if it is not declared.
    pub ins: Vec<Vec<Type>>,
    /// Per part: its expression, if it has one.
    pub typed: Vec<Option<Typed>>,
    /// Per `once`: its message.
    pub values: Vec<Option<Value>>,
    /// Per link: true if it needs a check.
    pub checked: Vec<bool>,
}

/// The links of each port.
pub(super) struct Ports {
    /// Per part and input: the links into it.
    pub ins: Vec<Vec<Vec<usize>>>,
    /// Per part and output: the links out of it.
    pub outs: Vec<Vec<Vec<usize>>>,
}

impl Ports {
    pub(super) fn new(draft: &Draft<'_>) -> Self {
        let empty = |count: u32| vec![Vec::new(); count as usize];
        let mut ports = Self {
            ins: draft.parts.iter().map(|part| empty(part.ins)).collect(),
            outs: draft.parts.iter().map(|part| empty(part.outs)).collect(),
        };
        for (index, link) in draft.links.iter().enumerate() {
            push(&mut ports.outs, link.from, index);
            push(&mut ports.ins, link.to, index);
        }
        ports
    }

    /// The links into an input.
    pub(super) fn into(&self, part: PartId, port: usize) -> &[usize] {
        let ports = self.ins.get(part).and_then(|ports| ports.get(port));
        ports.map_or(&[], Vec::as_slice)
    }

    /// The links out of an output.
    pub(super) fn out_of(&self, part: PartId, port: usize) -> &[usize] {
        let ports = self.outs.get(part).and_then(|ports| ports.get(port));
        ports.map_or(&[], Vec::as_slice)
    }
}

fn push(ports: &mut [Vec<Vec<usize>>], (part, port): (PartId, u32), link: usize) {
    let port = ports
        .get_mut(part)
        .and_then(|part| part.get_mut(port as usize));
    if let Some(links) = port {
        links.push(link);
    }
}

/// Types a draft, and reports misfits.
pub(super) fn infer(
    draft: &Draft<'_>,
    ports: &Ports,
    context: Context<'_>,
    process: &Process,
    out: &mut Vec<Diagnostic>,
) -> Types {
    let count = draft.parts.len();
    let mut inference = Inference {
        draft,
        ports,
        context,
        process,
        unit: process.definition.unit,
        types: Types {
            outs: vec![Vec::new(); count],
            ins: vec![Vec::new(); count],
            typed: (0..count).map(|_| None).collect(),
            values: vec![None; count],
            checked: vec![false; draft.links.len()],
        },
    };
    for part in order(draft, ports) {
        inference.visit(part, out);
    }
    inference.links(out);
    inference.notes();
    inference.types
}

/// Returns true if the types of a part do not depend on its input.
const fn is_declared(stage: &Stage<'_>) -> bool {
    matches!(
        stage,
        Stage::Input(_)
            | Stage::Output(_)
            | Stage::Channel(_)
            | Stage::Call(_)
            | Stage::Discard
            | Stage::Broken
    )
}

/// The parts in the order of their dependencies.
fn order(draft: &Draft<'_>, ports: &Ports) -> Vec<PartId> {
    let declared = |part: PartId| {
        let part = draft.parts.get(part);
        part.is_none_or(|part| is_declared(&part.stage))
    };
    let mut seen: Vec<bool> = (0..draft.parts.len()).map(declared).collect();
    let first: Vec<PartId> = (0..draft.parts.len())
        .filter(|part| declared(*part))
        .collect();
    let targets = |outs: &Vec<Vec<usize>>| -> Vec<PartId> {
        let links = outs.iter().flatten();
        let links = links.filter_map(|link| draft.links.get(*link));
        links.map(|link| link.to.0).collect()
    };
    let next: Vec<Vec<PartId>> = ports.outs.iter().map(targets).collect();
    let later = left(&next, (0..draft.parts.len()).rev(), &mut seen);
    first.into_iter().chain(later.into_iter().rev()).collect()
}

struct Inference<'a, 'd> {
    draft: &'d Draft<'a>,
    ports: &'d Ports,
    context: Context<'a>,
    process: &'d Process,
    unit: UnitId,
    types: Types,
}

impl Inference<'_, '_> {
    /// The type of an input: the join of all links to it.
    fn incoming(&self, part: PartId, port: usize, out: &mut Vec<Diagnostic>) -> Type {
        let mut kind = Type::never();
        for link in self.ports.into(part, port) {
            let Some(link) = self.draft.links.get(*link) else {
                continue;
            };
            let Some(from) = self.out(link.from) else {
                continue;
            };
            kind = self.joined(&kind, from, link.to_span, out);
        }
        kind
    }

    fn out(&self, (part, port): (PartId, u32)) -> Option<&Type> {
        self.types.outs.get(part)?.get(port as usize)
    }

    fn joined(&self, a: &Type, b: &Type, span: Span, out: &mut Vec<Diagnostic>) -> Type {
        join(a, b).unwrap_or_else(|Joint { one, other, value }| {
            let (one, other) = (Shown(&one), Shown(&other));
            out.push(codes::overlapping_streams(span, &one, &other, &value));
            Type::Unknown
        })
    }

    /// Types one part from the types of the links to it.
    fn visit(&mut self, part: PartId, out: &mut Vec<Diagnostic>) {
        let Some(drafted) = self.draft.parts.get(part) else {
            return;
        };
        let declared = is_declared(&drafted.stage);
        let ins: Vec<Type> = if declared {
            Vec::new()
        } else {
            (0..drafted.ins as usize)
                .map(|port| self.incoming(part, port, out))
                .collect()
        };
        let outs = self.outputs(part, &ins, out);
        if let Some(slot) = self.types.outs.get_mut(part) {
            *slot = outs;
        }
        if let Some(slot) = self.types.ins.get_mut(part) {
            *slot = ins;
        }
    }

    fn outputs(&mut self, part: PartId, ins: &[Type], out: &mut Vec<Diagnostic>) -> Vec<Type> {
        let Some(drafted) = self.draft.parts.get(part) else {
            return Vec::new();
        };
        let span = drafted.span;
        let one = ins.first().cloned().unwrap_or(Type::Unknown);
        let kind = match &drafted.stage {
            Stage::Input(index) => {
                let port = self.process.inputs.get(*index);
                port.map_or(Type::Unknown, |port| port.kind.clone())
            }
            Stage::Channel(kind) => kind.clone(),
            Stage::Output(_) | Stage::Discard => return Vec::new(),
            Stage::Id => one,
            Stage::Copy => return vec![one; drafted.outs as usize],
            Stage::Merge => ins.iter().fold(Type::never(), |kind, next| {
                self.joined(&kind, next, span, out)
            }),
            Stage::Empty => Type::never(),
            Stage::Once(expr) => self.once(part, expr, out),
            Stage::Barrier if ins.iter().any(Type::is_never) => Type::never(),
            Stage::Barrier => self.bounded(Type::Product(ins.into()), span, out),
            Stage::Map(_) | Stage::Filter(_) | Stage::Take(_) => self.expression(part, &one, out),
            Stage::Project(index) => project(*index, &one, span, out),
            Stage::Tag(label) if !one.is_never() => {
                let fields = vec![
                    Field::required("tag", Type::Literal(label.clone())),
                    Field::required("value", one),
                ];
                self.bounded(Type::record(fields), span, out)
            }
            Stage::Tag(_) => one,
            Stage::Call(process) => {
                let process = self.context.processes.get(*process);
                let outputs = process.map(|process| process.outputs.as_slice());
                let ports = outputs.unwrap_or_default().iter();
                return ports.map(|port| port.kind.clone()).collect();
            }
            Stage::Broken => return vec![Type::Unknown; drafted.outs as usize],
        };
        vec![kind]
    }

    fn bounded(&self, kind: Type, span: Span, out: &mut Vec<Diagnostic>) -> Type {
        if measured(&kind).is_some() {
            return kind;
        }
        out.push(codes::output_too_large(span));
        Type::Unknown
    }

    fn once(&mut self, part: PartId, expr: &ast::Expr, out: &mut Vec<Diagnostic>) -> Type {
        let (context, unit) = (self.context, self.unit);
        let resolve = |kind: &ast::Type| resolve(context, unit, kind);
        let (value, kind) = expr::constant(expr, &resolve, out);
        if let Some(slot) = self.types.values.get_mut(part) {
            *slot = value;
        }
        kind
    }

    fn expression(&mut self, part: PartId, message: &Type, out: &mut Vec<Diagnostic>) -> Type {
        let Some(drafted) = self.draft.parts.get(part) else {
            return Type::Unknown;
        };
        let unknown = Type::Unknown;
        let nothing = message.is_never();
        let message = if nothing { &unknown } else { message };
        let (context, unit) = (self.context, self.unit);
        let resolve = |kind: &ast::Type| resolve(context, unit, kind);
        let mut wrong = Vec::new();
        let typed = match &drafted.stage {
            Stage::Map(expr) => expr::map(expr, message, &resolve, &mut wrong),
            Stage::Filter(expr) => expr::filter(expr, message, &resolve, &mut wrong),
            Stage::Take(name) => expr::field(name, message, &resolve, &mut wrong),
            _ => return Type::Unknown,
        };
        let kind = if !wrong.is_empty() {
            Type::Unknown
        } else if nothing {
            Type::never()
        } else {
            self.bounded(typed.kind.clone(), drafted.span, &mut wrong)
        };
        out.append(&mut wrong);
        if let Some(slot) = self.types.typed.get_mut(part) {
            *slot = Some(typed);
        }
        kind
    }

    /// Records the types of morphisms and of their expressions for editors.
    fn notes(&self) {
        let types = &self.types;
        let inferred = types.ins.iter().zip(&types.outs).zip(&types.typed);
        for (part, ((ins, outs), typed)) in self.draft.parts.iter().zip(inferred) {
            if part.span.source.0 != 0 {
                continue;
            }
            if let (Some(from), Some(to)) = (ins.first(), outs.first()) {
                let shows = Shows::Morphism(from.clone(), to.clone());
                self.context.notes.push(part.span, None, shows);
            }
            for (span, kind) in typed.iter().flat_map(|typed| &typed.places) {
                if *span != part.span {
                    let shows = Shows::Value(kind.clone());
                    self.context.notes.push(*span, None, shows);
                }
            }
        }
    }

    fn wanted(&self, link: Link) -> Option<&Type> {
        let (part, port) = link.to;
        self.draft
            .wanted(part, port as usize, self.process, self.context.processes)
    }

    /// Compares each link with the declared type at its end: it fits, needs a check or does not fit.
    fn links(&mut self, out: &mut Vec<Diagnostic>) {
        for (index, link) in self.draft.links.iter().enumerate() {
            let (Some(from), Some(wanted)) = (self.out(link.from), self.wanted(*link)) else {
                continue;
            };
            match fits(from, wanted) {
                Fit::Always => {}
                Fit::Checked => {
                    if let Some(checked) = self.types.checked.get_mut(index) {
                        *checked = true;
                    }
                }
                Fit::Never => {
                    let (expected, found) = (Shown(wanted), Shown(from));
                    let mut diagnostic = codes::misfit(link.to_span, &expected, &found);
                    if link.from_span != link.to_span {
                        diagnostic = diagnostic.label(link.from_span, "from here");
                    }
                    if let Some(why) = misfit(from, wanted) {
                        diagnostic = diagnostic.hint(sentence(&why));
                    }
                    out.push(diagnostic);
                }
            }
        }
    }
}

/// A phrase as a sentence.
pub(super) fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

fn resolve(context: Context<'_>, unit: UnitId, kind: &ast::Type) -> Type {
    let found = context.types.quietly(context.units, unit, kind);
    found.unwrap_or(Type::Unknown)
}

fn project(index: u32, kind: &Type, span: Span, out: &mut Vec<Diagnostic>) -> Type {
    match kind {
        Type::Unknown => Type::Unknown,
        kind if kind.is_never() => kind.clone(),
        Type::Product(parts) if (index as usize) < parts.len() => {
            parts.get(index as usize).cloned().unwrap_or(Type::Unknown)
        }
        _ => {
            let hint = match kind {
                Type::Product(parts) => {
                    format!("Its parts are 0 to {}.", parts.len().saturating_sub(1))
                }
                _ => "Only products, such as a barrier makes, have parts.".to_owned(),
            };
            let part = format!("part {index}");
            out.push(codes::unknown_field(span, &Shown(kind), &part).hint(hint));
            Type::Unknown
        }
    }
}
