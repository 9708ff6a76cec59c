//! Name lookup for the translation of sessions.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::names::{Processing, Sort, TypeNames, Unit, UnitId, Units, member_name};
use crate::picture::Session;
use crate::session::{self, Scope, Watch};
use crate::syntax::ast::{
    Declaration, DeclarationKind, Field, Name, Path, Plumb, Program, Protocol, ProtocolKind, Side,
    Type, TypeKind,
};
use crate::types;

/// The sessions of bodies, by their unit and the name of their process.
pub(crate) type Watched = HashMap<(UnitId, Arc<str>), Watch>;

/// Replaces all sessions of all units by networks.
pub(super) fn desugar(units: &mut Units, names: &TypeNames, out: &mut Vec<Diagnostic>) -> Watched {
    let mut watched = Watched::new();
    for unit in 0..units.list.len() {
        let needed = |unit: &&Unit| unit.processing == Processing::Needed;
        let Some(program) = units.get(unit).filter(needed).map(|unit| &unit.program) else {
            continue;
        };
        let view = View { units, names, unit };
        let (mut program, diagnostics, bodies) = session::desugar(program, &view);
        out.extend(diagnostics);
        let bodies = bodies.into_iter();
        watched.extend(bodies.map(|(name, watch)| ((unit, name), watch)));
        new_ones_last(&mut program, units, unit);
        if let Some(unit) = units.list.get_mut(unit) {
            unit.program = program;
            for table in [&mut unit.types, &mut unit.processes, &mut unit.protocols] {
                table.clear();
            }
            unit.index(&mut Vec::new());
        }
    }
    watched
}

/// The sessions of all units, as they are bound.
pub(super) fn sessions(units: &Units) -> Vec<Session> {
    let bodies = units.list.iter().flat_map(|unit| unit.program.bodies());
    let bound = bodies.flat_map(Plumb::bindings).map(|(bind, span)| {
        let dual = match bind.side {
            Side::Itself => "",
            Side::Dual => "dual ",
        };
        let (protocol, name) = (&bind.protocol.name.text, &bind.session.text);
        Session {
            span,
            text: format!("{dual}{protocol} as {name}").into(),
        }
    });
    bound.collect()
}

/// Moves generated declarations behind the written ones, so that definitions keep their numbers.
fn new_ones_last(program: &mut Program, units: &Units, unit: UnitId) {
    let Some(before) = units.get(unit) else {
        return;
    };
    let is_new = |declaration: &Declaration| match &declaration.kind {
        DeclarationKind::Let(declared) => !before.processes.contains_key(&declared.name.text),
        _ => false,
    };
    let declarations = std::mem::take(&mut program.declarations);
    let (new, known): (Vec<_>, Vec<_>) = declarations.into_iter().partition(is_new);
    program.declarations = known.into_iter().chain(new).collect();
}

/// The names as one unit sees them.
pub(super) struct View<'a> {
    units: &'a Units,
    names: &'a TypeNames,
    unit: UnitId,
}

impl Scope for View<'_> {
    fn protocol(&self, path: &Path) -> Option<Protocol> {
        let found = self.units.find(self.unit, path, Sort::Protocol).ok()?;
        if !self
            .units
            .rivals(self.unit, path, Sort::Protocol)
            .is_empty()
        {
            return None;
        }
        let declaration = self.units.declaration(found)?;
        let DeclarationKind::Protocol(_, protocol) = &declaration.kind else {
            return None;
        };
        if found.unit == self.unit {
            return Some(protocol.clone());
        }
        Some(self.moved(found.unit, protocol, &mut Vec::new()))
    }

    fn missing(&self, path: &Path) -> Option<Diagnostic> {
        let rivals = self.units.rivals(self.unit, path, Sort::Protocol);
        if !rivals.is_empty() {
            return Some(self.units.ambiguous(path, &rivals));
        }
        self.units.find(self.unit, path, Sort::Protocol).err()
    }

    fn has_process(&self, name: &Name) -> bool {
        let path = Path::bare(name.clone());
        self.units.find(self.unit, &path, Sort::Process).is_ok()
    }

    fn resolve(&self, kind: &Type) -> Option<types::Type> {
        self.names.quietly(self.units, self.unit, kind)
    }
}

impl<'a> View<'a> {
    pub(super) const fn new(units: &'a Units, names: &'a TypeNames, unit: UnitId) -> Self {
        Self { units, names, unit }
    }

    /// A protocol of another unit, its names such that they mean the same here. `bound` are the variables
    /// of the `rec`s around it.
    fn moved<'p>(
        &self,
        from: UnitId,
        protocol: &'p Protocol,
        bound: &mut Vec<&'p str>,
    ) -> Protocol {
        let kind = match &protocol.kind {
            ProtocolKind::Send(kind, rest) => ProtocolKind::Send(
                self.moved_type(from, kind),
                Box::new(self.moved(from, rest, bound)),
            ),
            ProtocolKind::Recv(kind, rest) => ProtocolKind::Recv(
                self.moved_type(from, kind),
                Box::new(self.moved(from, rest, bound)),
            ),
            ProtocolKind::Select(arms) => ProtocolKind::Select(self.arms(from, arms, bound)),
            ProtocolKind::Offer(arms) => ProtocolKind::Offer(self.arms(from, arms, bound)),
            ProtocolKind::Rec(name, rest) => {
                bound.push(&name.text);
                let rest = self.moved(from, rest, bound);
                bound.pop();
                ProtocolKind::Rec(name.clone(), Box::new(rest))
            }
            ProtocolKind::Named(path) => {
                let variable = path.module.is_none() && bound.contains(&&*path.name.text);
                ProtocolKind::Named(if variable {
                    path.clone()
                } else {
                    self.moved_path(from, path, Sort::Protocol)
                })
            }
            other => other.clone(),
        };
        Protocol {
            span: protocol.span,
            kind,
        }
    }

    fn arms<'p>(
        &self,
        from: UnitId,
        arms: &'p [(Name, Protocol)],
        bound: &mut Vec<&'p str>,
    ) -> Vec<(Name, Protocol)> {
        arms.iter()
            .map(|(label, rest)| (label.clone(), self.moved(from, rest, bound)))
            .collect()
    }

    fn moved_type(&self, from: UnitId, kind: &Type) -> Type {
        let all = |parts: &[Type]| {
            parts
                .iter()
                .map(|part| self.moved_type(from, part))
                .collect()
        };
        let moved = match &kind.kind {
            TypeKind::Named(path) => TypeKind::Named(self.moved_path(from, path, Sort::Type)),
            TypeKind::Record(fields) => TypeKind::Record(
                fields
                    .iter()
                    .map(|field| Field {
                        name: field.name.clone(),
                        presence: field.presence,
                        kind: self.moved_type(from, &field.kind),
                    })
                    .collect(),
            ),
            TypeKind::List(item) => TypeKind::List(Box::new(self.moved_type(from, item))),
            TypeKind::Stream(item) => TypeKind::Stream(Box::new(self.moved_type(from, item))),
            TypeKind::Sum(parts) => TypeKind::Sum(all(parts)),
            TypeKind::Product(parts) => TypeKind::Product(all(parts)),
            TypeKind::Literal(_) | TypeKind::Broken => kind.kind.clone(),
        };
        Type::new(kind.span, moved)
    }

    fn moved_path(&self, from: UnitId, path: &Path, sort: Sort) -> Path {
        let found = self.units.find(from, path, sort).ok();
        let home = found.and_then(|found| self.units.get(found.unit));
        match home {
            Some(home) if !home.name.is_empty() && !is_built_in(path) => Path {
                module: Some(Name {
                    text: member_name(&home.name),
                    span: path.name.span,
                }),
                name: path.name.clone(),
            },
            _ => path.clone(),
        }
    }
}

fn is_built_in(path: &Path) -> bool {
    path.module.is_none()
        && path
            .name
            .text
            .starts_with(|letter: char| letter.is_ascii_lowercase())
}
