//! Reading a program and the modules it uses.

use std::collections::HashMap;
use std::sync::Arc;

use crate::check::codes;
use crate::diagnostic::Diagnostic;
use crate::modules::{MEM, Modules};
use crate::source::Sources;
use crate::span::SourceId;
use crate::syntax::ast::{DeclarationKind, Name};
use crate::syntax::parse;

use super::{Processing, Unit, UnitId, Units, member_name};

/// The maximum depth of modules that use each other.
const DEEPEST: usize = 64;

/// Parses a program and everything that it uses, and `mem`, which every program knows. Where nothing names
/// a process of `mem` they may be skipped.
pub(crate) fn load(
    name: &str,
    text: &str,
    modules: &dyn Modules,
    of_mem: Processing,
    out: &mut Vec<Diagnostic>,
) -> (Units, Sources) {
    let mut loader = Loader {
        modules,
        units: Units::default(),
        sources: Sources::default(),
        by_name: HashMap::new(),
        open: Vec::new(),
        out,
    };
    let source = loader.sources.add(name, text);
    loader.unit(source, text, Arc::from(""));
    let mem: Arc<str> = Arc::from("mem");
    loader.units.mem = match loader.by_name.get(&mem) {
        Some(unit) => *unit,
        None => loader.module(&mem),
    };
    if of_mem == Processing::Skipped {
        loader.skip();
    }
    (loader.units, loader.sources)
}

struct Loader<'a> {
    modules: &'a dyn Modules,
    units: Units,
    sources: Sources,
    /// Modules that were requested; `None` if there is no such module.
    by_name: HashMap<Arc<str>, Option<UnitId>>,
    /// The modules that are being read, outermost first.
    open: Vec<Arc<str>>,
    out: &'a mut Vec<Diagnostic>,
}

impl Loader<'_> {
    /// Most programs know `mem` for its types alone.
    fn skip(&mut self) {
        let Some(mem) = self.units.mem.and_then(|mem| self.units.list.get_mut(mem)) else {
            return;
        };
        let mut texts = self.sources.iter();
        let named = texts.any(|(id, source)| id != mem.source && source.text.contains("Mem."));
        let text = self.sources.get(mem.source);
        if !named && text.is_some_and(|source| *source.text == *MEM) {
            mem.processing = Processing::Skipped;
        }
    }

    fn module(&mut self, name: &Arc<str>) -> Option<UnitId> {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let built_in = || (**name == *"mem").then(|| MEM.to_owned());
        let Some(text) = self.modules.load(name).or_else(built_in) else {
            self.by_name.insert(name.clone(), None);
            return None;
        };
        self.open.push(name.clone());
        let place = self.modules.place(name);
        let source = self
            .sources
            .add_at(name, place.as_deref().unwrap_or(name), &text);
        let unit = self.unit(source, &text, name.clone());
        self.open.pop();
        self.by_name.insert(name.clone(), Some(unit));
        Some(unit)
    }

    fn unit(&mut self, source: SourceId, text: &str, name: Arc<str>) -> UnitId {
        let (program, diagnostics) = parse(source, text);
        self.out.extend(diagnostics);
        let number = self.units.list.len();
        let uses: Vec<Name> = program
            .declarations
            .iter()
            .filter_map(|declaration| match &declaration.kind {
                DeclarationKind::Use(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let mut unit = Unit {
            name,
            source,
            program,
            uses: Vec::new(),
            missing: Vec::new(),
            types: HashMap::new(),
            processes: HashMap::new(),
            protocols: HashMap::new(),
            processing: Processing::Needed,
        };
        unit.index(self.out);
        self.units.list.push(unit);
        for name in uses {
            let used = self.used(&name);
            let Some(unit) = self.units.list.get_mut(number) else {
                continue;
            };
            match used {
                Ok(used) => unit.uses.push((member_name(&name.text), used)),
                Err(told) => {
                    self.out.push((*told).clone());
                    unit.missing.push((member_name(&name.text), *told));
                }
            }
        }
        number
    }

    /// The module that a `use` names.
    ///
    /// # Errors
    /// Why there is none.
    fn used(&mut self, name: &Name) -> Result<UnitId, Box<Diagnostic>> {
        if let Some(at) = self.open.iter().position(|open| *open == name.text) {
            let circle: Vec<&str> = self.open.iter().skip(at).map(|name| &**name).collect();
            let told = codes::module_cycle(name.span, &name.text, &circle.join(" → "));
            return Err(Box::new(told));
        }
        if self.open.len() >= DEEPEST {
            return Err(Box::new(codes::module_chain(name.span, &DEEPEST)));
        }
        let missing = || Box::new(codes::missing_module(name.span, &name.text));
        self.module(&name.text).ok_or_else(missing)
    }
}
