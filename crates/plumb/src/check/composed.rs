//! Statements that compose a process with itself.
//!
//! In a body a name stands for one instance, and a statement that leads from it back to it, `p ; … ; p`, is
//! feedback. `;` composes all the same: in `a ; p ; p ; b` and in `p ; p` each `p` is an instance of its own, just
//! as in a declaration. Such a name means nothing definite in other statements.

use std::collections::{BTreeMap, BTreeSet};

use crate::span::Span;
use crate::syntax::ast::{Path, Plumb, StatementKind, Wire};

use super::codes;
use super::draft::{Drafter, Instances};
use super::process::ProcessId;

/// The processes that each statement, by its number, composes with themselves.
#[derive(Debug, Default)]
pub(super) struct Composed {
    pairs: BTreeSet<(u32, ProcessId)>,
    /// Those that other statements name as well, which has been reported.
    pub told: BTreeSet<ProcessId>,
}

impl Composed {
    pub(super) fn has(&self, statement: u32, process: ProcessId) -> bool {
        self.pairs.contains(&(statement, process))
    }
}

/// The place of a name in its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stand {
    first: bool,
    last: bool,
}

/// A name of a process in a statement.
#[derive(Clone, Copy, Debug)]
struct Mention {
    statement: u32,
    span: Span,
    /// The place; a port of a process has none.
    stand: Option<Stand>,
}

impl Drafter<'_, '_> {
    /// Finds what the statements of a body compose with itself, and reports such names in other statements.
    pub(super) fn compose(&mut self, plumb: &Plumb) {
        let mut mentions: BTreeMap<ProcessId, Vec<Mention>> = BTreeMap::new();
        let mut short = BTreeSet::new();
        for (number, statement) in (1..=u32::MAX).zip(&plumb.statements) {
            if let StatementKind::Wire(wire) = &statement.kind {
                if matches!(wire, Wire::Sequence(parts) if parts.len() == 2) {
                    short.insert(number);
                }
                let whole = Stand {
                    first: true,
                    last: true,
                };
                self.mentioned(wire, whole, number, &mut mentions);
            }
        }
        for (process, mentions) in mentions {
            let composing = repeated(&mentions, &short);
            for statement in &composing {
                self.composed.pairs.insert((*statement, process));
                self.elsewhere(process, *statement, &mentions, &composing);
            }
        }
    }

    fn mentioned(
        &self,
        wire: &Wire,
        stand: Stand,
        statement: u32,
        found: &mut BTreeMap<ProcessId, Vec<Mention>>,
    ) {
        let mut put = |path: &Path, stand| {
            let local = path.module.is_none() && self.locals.contains_key(&path.name.text);
            if let Ok(process) = self.context.process(self.unit, path)
                && !local
            {
                let span = path.span();
                let mention = Mention {
                    statement,
                    span,
                    stand,
                };
                found.entry(process).or_default().push(mention);
            }
        };
        match wire {
            Wire::Named(path) => put(path, Some(stand)),
            Wire::Port(name, _) => put(&Path::bare(name.clone()), None),
            Wire::Sequence(parts) => {
                let end = parts.len().saturating_sub(1);
                for (index, part) in parts.iter().enumerate() {
                    let stand = Stand {
                        first: stand.first && index == 0,
                        last: stand.last && index == end,
                    };
                    self.mentioned(part, stand, statement, found);
                }
            }
            Wire::Parallel(_, parts) => {
                for part in parts {
                    self.mentioned(part, stand, statement, found);
                }
            }
            Wire::Field(inner, _) => {
                let stand = Stand {
                    last: false,
                    ..stand
                };
                self.mentioned(inner, stand, statement, found);
            }
            Wire::Keep(_, inner) => {
                let stand = Stand {
                    first: false,
                    last: false,
                };
                self.mentioned(inner, stand, statement, found);
            }
            Wire::Id(_)
            | Wire::Copy(_)
            | Wire::Merge(_)
            | Wire::Discard(_)
            | Wire::Empty(_)
            | Wire::Once(..)
            | Wire::Barrier(_)
            | Wire::Map(..)
            | Wire::Filter(..)
            | Wire::Project(..)
            | Wire::Tag(..)
            | Wire::Step(_)
            | Wire::Broken(_) => {}
        }
    }

    /// Reports a composed process that stands in other statements too.
    fn elsewhere(
        &mut self,
        process: ProcessId,
        statement: u32,
        mentions: &[Mention],
        composing: &BTreeSet<u32>,
    ) {
        let mut here = mentions.iter().filter(|one| one.statement == statement);
        let mut others = mentions.iter();
        let other = others.find(|one| !composing.contains(&one.statement));
        let spawned = self.instances.contains_key(&process);
        let Some(second) = here.nth(1).filter(|_| spawned || other.is_some()) else {
            return;
        };
        self.instances.insert(process, Instances::Several);
        if !self.composed.told.insert(process) {
            return;
        }
        let processes = self.context.processes;
        let name = processes.get(process).map_or("?", |found| &*found.name);
        let mut told = codes::composed(second.span, &name);
        if let Some(other) = other {
            told = told.label(other.span, "which of them is this?");
        }
        self.wrong(told);
    }
}

/// The statements that compose this process with itself. `short` are those of two parts.
fn repeated(mentions: &[Mention], short: &BTreeSet<u32>) -> BTreeSet<u32> {
    let of = |statement: u32| {
        let here = mentions
            .iter()
            .filter(move |one| one.statement == statement);
        here.filter_map(|one| one.stand)
    };
    let statements = mentions.iter().map(|one| one.statement);
    let composes = |statement: &u32| {
        let inside = |stand: Stand| !stand.first && !stand.last;
        let ends = |stand: Stand| stand.first != stand.last;
        let leads = of(*statement).any(|it| it.first && ends(it))
            && of(*statement).any(|it| it.last && ends(it));
        of(*statement).count() > 1
            && (of(*statement).any(inside) || short.contains(statement) && leads)
    };
    statements.filter(composes).collect()
}
