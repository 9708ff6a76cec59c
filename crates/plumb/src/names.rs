//! Names and modules: the declarations of each source, and name lookup.

mod load;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use crate::check::codes;
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::span::{SourceId, Span};
use crate::syntax::ast::{DeclarationKind, Name, Path, Program};

pub(crate) use load::load;
pub(crate) use types::TypeNames;

/// The number of a unit among those of one check; 0 is the program.
pub(crate) type UnitId = usize;

/// One source with its declarations.
#[derive(Debug)]
pub(crate) struct Unit {
    /// The name of the module; empty for the program.
    pub name: Arc<str>,
    pub source: SourceId,
    /// The parsed program; later, the program without sessions.
    pub program: Program,
    /// The modules that it uses: as members of them are written, and which.
    pub uses: Vec<(Arc<str>, UnitId)>,
    /// The modules that it uses but that cannot be loaded, by member name, with the diagnostic.
    pub missing: Vec<(Arc<str>, Diagnostic)>,
    /// The index of the declaration of each name.
    pub types: HashMap<Arc<str>, usize>,
    pub processes: HashMap<Arc<str>, usize>,
    pub protocols: HashMap<Arc<str>, usize>,
    /// The need to check its processes.
    pub processing: Processing,
}

/// The need to check the processes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processing {
    /// The processes are checked.
    Needed,
    /// The processes are skipped: nothing names them and they are known to be sound. This applies to the
    /// built-in `mem` in programs that use only its types.
    Skipped,
}

/// The sort of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Type,
    Process,
    Protocol,
}

/// The place of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Definition {
    pub unit: UnitId,
    /// The index of its declaration.
    pub declaration: usize,
}

/// All sources of one check.
#[derive(Debug, Default)]
pub(crate) struct Units {
    pub list: Vec<Unit>,
    /// The module `mem`, whose types every program knows.
    pub mem: Option<UnitId>,
}

/// The prefix of a module's members: `mem` is `Mem`.
pub(crate) fn member_name(module: &str) -> Arc<str> {
    let mut letters = module.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect::<String>().into()
}

impl Unit {
    /// The definitions of this sort.
    pub(crate) const fn defined(&self, sort: Sort) -> &HashMap<Arc<str>, usize> {
        match sort {
            Sort::Type => &self.types,
            Sort::Process => &self.processes,
            Sort::Protocol => &self.protocols,
        }
    }

    /// Indexes the declarations, and reports names that are defined twice.
    pub(crate) fn index(&mut self, out: &mut Vec<Diagnostic>) {
        for (number, declaration) in self.program.declarations.iter().enumerate() {
            let (table, name) = match &declaration.kind {
                DeclarationKind::Use(_) => continue,
                DeclarationKind::Type(name, _) => (&mut self.types, name),
                DeclarationKind::Let(process) => (&mut self.processes, &process.name),
                DeclarationKind::Protocol(name, _) => (&mut self.protocols, name),
            };
            if let Some(first) = table.get(&name.text) {
                let first = self.program.declarations.get(*first);
                out.push(twice(name, first.map(|first| first.name().span)));
            } else {
                table.insert(name.text.clone(), number);
            }
        }
    }
}

/// The diagnostic for a name that is already defined.
pub(crate) fn twice(name: &Name, first: Option<Span>) -> Diagnostic {
    let diagnostic = codes::defined_twice(name.span, &name.text);
    match first {
        Some(first) => diagnostic.label(first, "here"),
        None => diagnostic,
    }
}

impl Units {
    pub(crate) fn get(&self, unit: UnitId) -> Option<&Unit> {
        self.list.get(unit)
    }

    /// The declaration.
    pub(crate) fn declaration(
        &self,
        definition: Definition,
    ) -> Option<&crate::syntax::ast::Declaration> {
        let unit = self.list.get(definition.unit)?;
        unit.program.declarations.get(definition.declaration)
    }

    /// The unit that a member's module is, seen from another. `Mem` is known everywhere; what comes out
    /// of the translation of a module's protocol may name what that module uses.
    fn module(&self, unit: UnitId, module: &Name) -> Option<UnitId> {
        let here = self.list.get(unit)?;
        let own = here.uses.iter().find(|(name, _)| *name == module.text);
        if let Some((_, unit)) = own {
            return Some(*unit);
        }
        let foreign = module.span.source != here.source;
        self.list.iter().enumerate().find_map(|(number, other)| {
            let known = foreign || Some(number) == self.mem;
            let named = number > 0 && member_name(&other.name) == module.text;
            (known && named).then_some(number)
        })
    }

    /// Resolves a name in a unit. Types and protocols are also looked up in the modules that it uses and in
    /// `mem`.
    ///
    /// # Errors
    /// The diagnostic that says that it means nothing.
    pub(crate) fn find(
        &self,
        unit: UnitId,
        path: &Path,
        sort: Sort,
    ) -> Result<Definition, Diagnostic> {
        let Some(here) = self.list.get(unit) else {
            return Err(self.unknown(unit, path, sort));
        };
        let within = |unit: UnitId| {
            let declaration = *self.list.get(unit)?.defined(sort).get(&path.name.text)?;
            Some(Definition { unit, declaration })
        };
        let found = match &path.module {
            Some(module) => {
                let Some(other) = self.module(unit, module) else {
                    return Err(unknown_module(here, module));
                };
                within(other)
            }
            None => within(unit).or_else(|| {
                if sort == Sort::Process {
                    return None;
                }
                let used = here.uses.iter().map(|(_, unit)| *unit);
                used.chain(self.mem).find_map(within)
            }),
        };
        found.ok_or_else(|| self.unknown(unit, path, sort))
    }

    /// The definitions that a bare name may mean in a unit that does not define it itself: one for each module
    /// that the unit uses and that does. Fewer than two are none.
    pub(crate) fn rivals(&self, unit: UnitId, path: &Path, sort: Sort) -> Vec<Definition> {
        let Some(here) = self.list.get(unit).filter(|_| path.module.is_none()) else {
            return Vec::new();
        };
        if sort == Sort::Process || here.defined(sort).contains_key(&path.name.text) {
            return Vec::new();
        }
        let mut found: Vec<Definition> = here
            .uses
            .iter()
            .filter_map(|(_, unit)| {
                let declaration = *self.list.get(*unit)?.defined(sort).get(&path.name.text)?;
                Some(Definition {
                    unit: *unit,
                    declaration,
                })
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        if found.len() < 2 { Vec::new() } else { found }
    }

    /// The diagnostic for a name that several modules define.
    pub(crate) fn ambiguous(&self, path: &Path, rivals: &[Definition]) -> Diagnostic {
        let name = &path.name.text;
        let units = rivals.iter().filter_map(|one| self.list.get(one.unit));
        let full: Vec<String> = units
            .map(|unit| format!("`{}.{name}`", member_name(&unit.name)))
            .collect();
        let mut told = codes::ambiguous_name(path.span(), name, &full.join(" or "));
        for rival in rivals {
            if let Some(declaration) = self.declaration(*rival) {
                told = told.label(declaration.name().span, "defined here");
            }
        }
        told
    }

    fn unknown(&self, unit: UnitId, path: &Path, sort: Sort) -> Diagnostic {
        let (span, name) = (path.span(), &path.name);
        let diagnostic = match sort {
            Sort::Type => codes::unknown_type(span, &name.text),
            Sort::Process => codes::unknown_process(span, &name.text),
            Sort::Protocol => codes::unknown_protocol(span, &name.text),
        };
        let scope: Vec<UnitId> = match &path.module {
            Some(module) => self.module(unit, module).into_iter().collect(),
            None => {
                let here = self.list.get(unit).into_iter();
                let used = here.flat_map(|unit| unit.uses.iter().map(|(_, unit)| *unit));
                std::iter::once(unit).chain(used).chain(self.mem).collect()
            }
        };
        if path.module.is_none() && sort == Sort::Process {
            let elsewhere = scope.iter().skip(1).find_map(|unit| {
                let unit = self.list.get(*unit)?;
                unit.processes.get(&name.text)?;
                Some(format!("{}.{}", member_name(&unit.name), name.text))
            });
            if elsewhere.is_some() {
                return diagnostic.meant(elsewhere.as_deref());
            }
        }
        let mut known: Vec<&str> = scope
            .iter()
            .take(if sort == Sort::Process { 1 } else { usize::MAX })
            .filter_map(|unit| self.list.get(*unit))
            .flat_map(|unit| unit.defined(sort).keys().map(|name| &**name))
            .collect();
        if sort == Sort::Type {
            known.extend(types::BUILT_IN.iter().map(|(name, _)| *name));
        }
        known.sort_unstable();
        diagnostic.meant(nearest(&name.text, known))
    }
}

/// The diagnostic for an unknown module. If its `use` has failed, that diagnostic is repeated instead.
fn unknown_module(here: &Unit, module: &Name) -> Diagnostic {
    let mut missing = here.missing.iter();
    if let Some((_, told)) = missing.find(|(name, _)| *name == module.text) {
        return told.clone();
    }
    let mut letters = module.text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    let file: String = first.into_iter().chain(letters).collect();
    codes::unknown_module(module.span, &module.text, &file)
}
