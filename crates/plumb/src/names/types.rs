//! Resolves the types that the program writes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::check::codes;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::ast::{self, DeclarationKind, Name, Path, TypeKind};
use crate::types::{Field, Type, measured, overlap};

use super::{Definition, Sort, UnitId, Units};

/// The types that every program knows.
pub(super) const BUILT_IN: &[(&str, Type)] = &[
    ("string", Type::Text),
    ("int", Type::Int),
    ("number", Type::Number),
    ("bool", Type::Bool),
    ("unit", Type::Unit),
    ("json", Type::Json),
];

/// The maximum number of variants of a sum.
const VARIANTS: usize = 512;

/// The maximum length of a chain of aliases.
const DEEPEST: usize = 128;

/// Describes the cycle by which a type contains itself, if it does.
fn circle(units: &Units, open: &[Definition], of: Definition, name: &Name) -> String {
    let within = open.iter().skip_while(|open| **open != of);
    let declarations = within.filter_map(|definition| units.declaration(*definition));
    let names: Vec<&str> = declarations
        .map(|declaration| &*declaration.name().text)
        .collect();
    let itself = format!("`{}` is a part of itself", name.text);
    if names.len() < 2 {
        return itself;
    }
    format!("{itself}: {} → {}", names.join(" → "), name.text)
}

/// The types that the declarations of all units stand for.
#[derive(Debug, Default)]
pub(crate) struct TypeNames {
    done: HashMap<Definition, Type>,
    /// The spans of type names in the program itself, with their definitions, for editors.
    pub uses: RefCell<Vec<(Span, Definition)>>,
}

impl TypeNames {
    /// Resolves all `type` declarations.
    pub(crate) fn new(units: &Units, out: &mut Vec<Diagnostic>) -> Self {
        let mut names = Self::default();
        for (number, unit) in units.list.iter().enumerate() {
            for index in 0..unit.program.declarations.len() {
                let definition = Definition {
                    unit: number,
                    declaration: index,
                };
                names.declared(units, definition, &mut Vec::new(), out);
            }
        }
        names
    }

    fn declared(
        &mut self,
        units: &Units,
        definition: Definition,
        open: &mut Vec<Definition>,
        out: &mut Vec<Diagnostic>,
    ) -> Type {
        if let Some(done) = self.done.get(&definition) {
            return done.clone();
        }
        let Some(DeclarationKind::Type(name, kind)) =
            units.declaration(definition).map(|found| &found.kind)
        else {
            return Type::Unknown;
        };
        if open.contains(&definition) || open.len() >= DEEPEST {
            let why = if open.contains(&definition) {
                circle(units, open, definition, name)
            } else {
                format!("more than {DEEPEST} types stand for each other in a row")
            };
            out.push(codes::recursive_type(name.span, &why));
            for definition in open.iter() {
                self.done.insert(*definition, Type::Unknown);
            }
            self.done.insert(definition, Type::Unknown);
            return Type::Unknown;
        }
        open.push(definition);
        let mut needed = Vec::new();
        named_in(kind, &mut needed);
        for path in needed {
            if is_built_in(path) {
                continue;
            }
            let other = units.find(definition.unit, path, Sort::Type);
            let rivals = units.rivals(definition.unit, path, Sort::Type);
            for other in other.into_iter().chain(rivals) {
                self.declared(units, other, open, out);
            }
        }
        open.pop();
        if let Some(refused) = self.done.get(&definition) {
            return refused.clone();
        }
        let resolved = self.plain(units, definition.unit, kind, out);
        self.done.insert(definition, resolved.clone());
        resolved
    }

    /// The type of a message; a stream is refused.
    pub(crate) fn plain(
        &self,
        units: &Units,
        unit: UnitId,
        kind: &ast::Type,
        out: &mut Vec<Diagnostic>,
    ) -> Type {
        let mut resolver = Resolver {
            names: self,
            units,
            unit,
            out,
        };
        let resolved = resolver.resolve(kind);
        if measured(&resolved).is_some() {
            return resolved;
        }
        out.push(codes::type_too_large(kind.span));
        Type::Unknown
    }

    /// The type of a message, without saying what is wrong with it; `None` if something is.
    pub(crate) fn quietly(&self, units: &Units, unit: UnitId, kind: &ast::Type) -> Option<Type> {
        let mut wrong = Vec::new();
        let noted = self.uses.borrow().len();
        let resolved = self.plain(units, unit, kind, &mut wrong);
        self.uses.borrow_mut().truncate(noted);
        wrong.is_empty().then_some(resolved)
    }

    /// The type of the messages of a stream, and whether it is written as one.
    pub(crate) fn stream(
        &self,
        units: &Units,
        unit: UnitId,
        kind: &ast::Type,
        out: &mut Vec<Diagnostic>,
    ) -> (Type, bool) {
        match &kind.kind {
            TypeKind::Stream(inner) => (self.plain(units, unit, inner, out), true),
            TypeKind::Broken => (Type::Unknown, true),
            _ => (self.plain(units, unit, kind, out), false),
        }
    }
}

/// Resolves the types that one unit writes.
struct Resolver<'a> {
    names: &'a TypeNames,
    units: &'a Units,
    unit: UnitId,
    out: &'a mut Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn resolve(&mut self, kind: &ast::Type) -> Type {
        match &kind.kind {
            TypeKind::Named(path) => self.named(path),
            TypeKind::Literal(text) => Type::Literal(text.clone()),
            TypeKind::Record(fields) => self.record(fields),
            TypeKind::List(item) => Type::List(Arc::new(self.resolve(item))),
            TypeKind::Sum(parts) => self.sum(parts),
            TypeKind::Product(parts) => {
                Type::Product(parts.iter().map(|part| self.resolve(part)).collect())
            }
            TypeKind::Stream(inner) => {
                self.out.push(codes::stream_in_type(kind.span));
                self.resolve(inner)
            }
            TypeKind::Broken => Type::Unknown,
        }
    }

    fn named(&mut self, path: &Path) -> Type {
        if is_built_in(path) {
            let name = &*path.name.text;
            let found = BUILT_IN.iter().find(|(known, _)| *known == name);
            return found.map_or(Type::Unknown, |(_, kind)| kind.clone());
        }
        match self.units.find(self.unit, path, Sort::Type) {
            Ok(definition) => {
                if path.name.span.source.0 == 0 {
                    self.names.uses.borrow_mut().push((path.span(), definition));
                }
                let known = |one: &Definition| self.names.done.get(one);
                let kind = known(&definition).cloned().unwrap_or(Type::Unknown);
                let rivals = self.units.rivals(self.unit, path, Sort::Type);
                // Modules may call one type by one name.
                if rivals.iter().any(|one| known(one) != Some(&kind)) {
                    self.out.push(self.units.ambiguous(path, &rivals));
                    return Type::Unknown;
                }
                kind
            }
            Err(diagnostic) => {
                self.out.push(diagnostic);
                Type::Unknown
            }
        }
    }

    fn record(&mut self, fields: &[ast::Field]) -> Type {
        let mut seen: HashMap<&str, Span> = HashMap::with_capacity(fields.len());
        let mut resolved = Vec::with_capacity(fields.len());
        for field in fields {
            let kind = self.resolve(&field.kind);
            if let Some(first) = seen.insert(&field.name.text, field.name.span) {
                let twice = codes::field_twice(field.name.span, &field.name.text);
                self.out.push(twice.label(first, "here first"));
                continue;
            }
            resolved.push(Field {
                name: field.name.text.clone(),
                presence: field.presence,
                kind,
            });
        }
        Type::record(resolved)
    }

    fn sum(&mut self, parts: &[ast::Type]) -> Type {
        let mut variants: Vec<(Type, Span)> = Vec::with_capacity(parts.len());
        let mut disjoint = true;
        for part in parts {
            let kind = self.resolve(part);
            for variant in kind.variants() {
                let common = variants
                    .iter()
                    .find_map(|(held, span)| Some((*span, overlap(held, variant)?)));
                match common {
                    Some((span, value)) if disjoint => {
                        disjoint = false;
                        let told = codes::overlapping(part.span, &value);
                        self.out.push(told.label(span, "the other one"));
                    }
                    Some(_) => {}
                    None if variants.len() >= VARIANTS => {
                        self.out.push(codes::many_variants(part.span, &VARIANTS));
                        return Type::Unknown;
                    }
                    None => variants.push((variant.clone(), part.span)),
                }
            }
        }
        if !disjoint
            || variants
                .iter()
                .any(|(kind, _)| matches!(kind, Type::Unknown))
        {
            return Type::Unknown;
        }
        Type::of_variants(variants.into_iter().map(|(kind, _)| kind).collect())
    }
}

fn is_built_in(path: &Path) -> bool {
    path.module.is_none() && BUILT_IN.iter().any(|(known, _)| *known == &*path.name.text)
}

/// The names that stand in a type.
fn named_in<'a>(kind: &'a ast::Type, names: &mut Vec<&'a Path>) {
    match &kind.kind {
        TypeKind::Named(path) => names.push(path),
        TypeKind::Record(fields) => fields.iter().for_each(|field| named_in(&field.kind, names)),
        TypeKind::List(item) | TypeKind::Stream(item) => named_in(item, names),
        TypeKind::Sum(parts) | TypeKind::Product(parts) => {
            parts.iter().for_each(|part| named_in(part, names));
        }
        TypeKind::Literal(_) | TypeKind::Broken => {}
    }
}
