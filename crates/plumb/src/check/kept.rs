//! `keep(p)`: `p` has to make exactly one message of each, in order. Then the n-th message that goes in belongs
//! to the n-th that comes out, and a failure leaves a gap in its place.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;

use super::codes;
use super::draft::{Context, Draft, PartId, Stage};
use super::infer::Ports;
use super::process::{Process, ProcessId, Role};

/// Barriers within barriers, as deep as they are looked into.
const DEEPEST: usize = 128;

/// Per process: true if it makes one message of each, in order.
pub(super) type Steady = Vec<bool>;

/// Reports each `keep` in a body that cannot pair messages. Returns true if the body itself makes one message
/// of each.
pub(super) fn check(
    draft: &Draft<'_>,
    ports: &Ports,
    (context, process): (Context<'_>, &Process),
    steady: &Steady,
    out: &mut Vec<Diagnostic>,
) -> bool {
    if draft.suspect {
        return false;
    }
    for kept in &draft.kept {
        let mut tracer = Tracer::new(draft, ports, context, steady);
        if tracer.origin(kept.barrier, 1, Some(kept.copy), 0) != Some(kept.copy) {
            out.push(codes::kept(kept.span));
        }
    }
    if (process.inputs.len(), process.own_outputs()) != (1, 1) {
        return false;
    }
    let mut parts = draft.parts.iter();
    let output = parts.position(|part| matches!(part.stage, Stage::Output(_)));
    let mut tracer = Tracer::new(draft, ports, context, steady);
    output.is_some_and(|output| tracer.origin(output, 0, None, 0).is_some())
}

/// Follows streams back to where their messages come from.
struct Tracer<'a, 'd> {
    draft: &'d Draft<'a>,
    ports: &'d Ports,
    context: Context<'a>,
    steady: &'d Steady,
    /// The origins of barriers that were looked at.
    barriers: HashMap<PartId, Option<PartId>>,
}

impl<'a, 'd> Tracer<'a, 'd> {
    fn new(
        draft: &'d Draft<'a>,
        ports: &'d Ports,
        context: Context<'a>,
        steady: &'d Steady,
    ) -> Self {
        Self {
            draft,
            ports,
            context,
            steady,
            barriers: HashMap::new(),
        }
    }

    /// The part whose messages come to this input, one for one: `stop`, or an input of the body.
    fn origin(
        &mut self,
        part: PartId,
        port: usize,
        stop: Option<PartId>,
        depth: usize,
    ) -> Option<PartId> {
        let (mut part, mut port) = (part, port);
        // A loop comes round sooner than this.
        for _ in 0..=self.draft.parts.len() {
            let [link] = self.ports.into(part, port) else {
                return None;
            };
            let from = self.draft.links.get(*link)?.from;
            if Some(from.0) == stop {
                return stop;
            }
            match self.draft.parts.get(from.0)?.stage {
                Stage::Input(_) => return Some(from.0),
                Stage::Barrier => return self.barrier(from.0, stop, depth),
                Stage::Call(process) if from.1 == 0 && self.makes_one(process) => {}
                Stage::Channel(_)
                | Stage::Id
                | Stage::Copy
                | Stage::Map(_)
                | Stage::Take(_)
                | Stage::Project(_)
                | Stage::Tag(_) => {}
                _ => return None,
            }
            (part, port) = (from.0, 0);
        }
        None
    }

    /// The one origin of all sides of a barrier.
    fn barrier(&mut self, part: PartId, stop: Option<PartId>, depth: usize) -> Option<PartId> {
        if depth >= DEEPEST {
            return None;
        }
        if let Some(known) = self.barriers.get(&part) {
            return *known;
        }
        // Where it comes round to itself, it has no origin.
        self.barriers.insert(part, None);
        let sides = self.draft.parts.get(part)?.ins as usize;
        let first = self.origin(part, 0, stop, depth + 1)?;
        let same = (1..sides).all(|side| self.origin(part, side, stop, depth + 1) == Some(first));
        let origin = same.then_some(first);
        self.barriers.insert(part, origin);
        origin
    }

    fn makes_one(&self, id: ProcessId) -> bool {
        let process = self.context.processes.get(id);
        process.is_some_and(|process| match process.role {
            Role::Agent | Role::Tool => true,
            Role::Plumb | Role::Wire => self.steady.get(id) == Some(&true),
            Role::Timer | Role::Broken => false,
        })
    }
}
