//! The two ends of a conversation within one body: sessions that it binds, and sessions of the processes in it
//! that reach it through their ports.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::names::{Definition, Processing, Sort, TypeNames, UnitId, Units};
use crate::session::Contract;
use crate::session::codes;
use crate::span::Span;
use crate::syntax::ast::{Body, Path, Plumb, Spawn, StatementKind, Wire};

use super::process::declared;
use super::scope::View;

/// An end of a conversation, by the streams that it receives from and sends to.
#[derive(Clone, Debug)]
struct End {
    incoming: Arc<str>,
    outgoing: Arc<str>,
    contract: Rc<Contract>,
    /// The place in the body.
    span: Span,
}

/// Reports ends of one conversation that do not go together.
pub(super) fn check(units: &Units, types: &TypeNames, out: &mut Vec<Diagnostic>) {
    let mut finder = Finder {
        units,
        types,
        known: HashMap::new(),
    };
    for (unit, source) in units.list.iter().enumerate() {
        if source.processing == Processing::Skipped {
            continue;
        }
        for declaration in 0..source.program.declarations.len() {
            let definition = Definition { unit, declaration };
            if let Some(Body::Plumb(plumb)) = declared(units, definition).map(|found| &found.body) {
                let ends = finder.ends(unit, plumb);
                compare(&ends, out);
            }
        }
    }
}

fn compare(ends: &[End], out: &mut Vec<Diagnostic>) {
    for (index, one) in ends.iter().enumerate() {
        for other in ends.iter().skip(index + 1) {
            let meet = one.incoming == other.outgoing && one.outgoing == other.incoming;
            if !meet {
                continue;
            }
            let Err(clash) = one.contract.against(&other.contract) else {
                continue;
            };
            let word = |step: &Option<(String, Span)>| {
                step.as_ref()
                    .map_or("end".to_owned(), |(word, _)| word.clone())
            };
            let (mine, theirs) = (word(&clash.mine), word(&clash.theirs));
            let mut told = codes::not_dual(other.span, &mine, &theirs);
            told = told.label(one.span, "the one end");
            for (step, text) in [(&clash.mine, "of the one"), (&clash.theirs, "of the other")] {
                if let Some((_, span)) = step {
                    told = told.label(*span, text);
                }
            }
            out.push(told);
        }
    }
}

/// The channels of a process, by port.
type Joined = HashMap<Arc<str>, Arc<str>>;

struct Finder<'a> {
    units: &'a Units,
    types: &'a TypeNames,
    /// The ends of each process at its own ports.
    known: HashMap<Definition, Vec<End>>,
}

impl Finder<'_> {
    /// The ends that meet in a body.
    fn ends(&mut self, unit: UnitId, plumb: &Plumb) -> Vec<End> {
        let units = self.units;
        let view = View::new(units, self.types, unit);
        let mut ends = Vec::new();
        for (bind, _) in plumb.bindings() {
            if let Some(contract) = Contract::of(bind, &view) {
                ends.push(End {
                    incoming: bind.incoming.text.clone(),
                    outgoing: bind.outgoing.text.clone(),
                    contract: Rc::new(contract),
                    span: bind.protocol.span(),
                });
            }
        }
        for statement in &plumb.statements {
            if let StatementKind::Spawn(spawn) = &statement.kind {
                ends.extend(self.spawned(unit, spawn));
            }
        }
        ends.extend(self.named(unit, plumb));
        ends
    }

    /// The ends of a process at its ports.
    fn exposed(&mut self, definition: Definition) -> Vec<End> {
        if let Some(known) = self.known.get(&definition) {
            return known.clone();
        }
        // A process that contains itself has had its diagnostic.
        self.known.insert(definition, Vec::new());
        let Some(Body::Plumb(plumb)) = declared(self.units, definition).map(|found| &found.body)
        else {
            return Vec::new();
        };
        let is_port = |name: &Arc<str>| plumb.ports.iter().any(|port| port.text == *name);
        let mut ends = self.ends(definition.unit, plumb);
        ends.retain(|end| is_port(&end.incoming) && is_port(&end.outgoing));
        self.known.insert(definition, ends.clone());
        ends
    }

    fn spawned(&mut self, unit: UnitId, spawn: &Spawn) -> Vec<End> {
        let Ok(definition) = self.units.find(unit, &spawn.process, Sort::Process) else {
            return Vec::new();
        };
        let ports = self.ports(definition);
        let arguments = spawn.arguments.iter().enumerate();
        let joined = arguments.filter_map(|(index, argument)| {
            let port = match &argument.port {
                Some(port) => port.text.clone(),
                None => ports.get(index)?.clone(),
            };
            Some((port, argument.channel.text.clone()))
        });
        let joined: HashMap<Arc<str>, Arc<str>> = joined.collect();
        self.at(definition, &joined, spawn.process.span())
    }

    /// The ends of a process, at the channels that its ports are joined to.
    fn at(
        &mut self,
        definition: Definition,
        joined: &HashMap<Arc<str>, Arc<str>>,
        span: Span,
    ) -> Vec<End> {
        let ends = self.exposed(definition).into_iter();
        let moved = ends.filter_map(|end| {
            Some(End {
                incoming: joined.get(&end.incoming)?.clone(),
                outgoing: joined.get(&end.outgoing)?.clone(),
                span,
                ..end
            })
        });
        moved.collect()
    }

    /// The names of a process's ports, in the order of its signature.
    fn ports(&self, definition: Definition) -> Vec<Arc<str>> {
        match declared(self.units, definition).map(|found| &found.body) {
            Some(Body::Plumb(plumb)) => plumb.ports.iter().map(|port| port.text.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// The ends of processes that statements lead channels to: `c ; p` and `p ; d`, or `c ; p@in`.
    fn named(&mut self, unit: UnitId, plumb: &Plumb) -> Vec<End> {
        let mut joined: HashMap<Definition, (Joined, Span)> = HashMap::new();
        for statement in &plumb.statements {
            let StatementKind::Wire(Wire::Sequence(parts)) = &statement.kind else {
                continue;
            };
            for pair in parts.windows(2) {
                let [from, to] = pair else { continue };
                for (wire, stream, input) in [(to, from, true), (from, to, false)] {
                    let port = self.port(unit, plumb, wire, input);
                    if let (Some((definition, port)), Some(stream)) = (port, local(plumb, stream)) {
                        let (ports, _) = joined
                            .entry(definition)
                            .or_insert_with(|| (HashMap::new(), wire.span()));
                        ports.insert(port, stream);
                    }
                }
            }
        }
        let mut all: Vec<_> = joined.into_iter().collect();
        all.sort_by_key(|(definition, _)| *definition);
        let ends = all.into_iter();
        ends.flat_map(|(definition, (ports, span))| self.at(definition, &ports, span))
            .collect()
    }

    /// The process and the port that a wire names, on the side of its inputs or its outputs.
    fn port(
        &self,
        unit: UnitId,
        plumb: &Plumb,
        wire: &Wire,
        input: bool,
    ) -> Option<(Definition, Arc<str>)> {
        if local(plumb, wire).is_some() {
            return None;
        }
        let find = |path: &Path| self.units.find(unit, path, Sort::Process).ok();
        match wire {
            Wire::Named(path) => {
                let definition = find(path)?;
                let signature = &declared(self.units, definition)?.signature;
                let (inputs, outputs) = (signature.inputs.len(), signature.outputs.len());
                let (at, count) = if input {
                    (0, inputs)
                } else {
                    (inputs, outputs)
                };
                let port = self.ports(definition).into_iter().nth(at)?;
                (count == 1).then_some((definition, port))
            }
            Wire::Port(name, port) => Some((find(&Path::bare(name.clone()))?, port.text.clone())),
            _ => None,
        }
    }
}

/// The name of a stream of the body, if the wire is one.
fn local(plumb: &Plumb, wire: &Wire) -> Option<Arc<str>> {
    let Wire::Named(path) = wire else {
        return None;
    };
    let mut channels = plumb.channels().map(|(name, _)| name).chain(&plumb.ports);
    let known = path.module.is_none() && channels.any(|name| name.text == path.name.text);
    known.then(|| path.name.text.clone())
}
