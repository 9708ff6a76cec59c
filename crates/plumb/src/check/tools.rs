//! Tools: the process behind each has its types, and none is a part of itself.

use crate::diagnostic::Diagnostic;
use crate::graph::walk::components;
use crate::span::Span;
use crate::syntax::ast::Let;
use crate::types::{Fit, Shown, Type, fits, misfit};

use super::codes;
use super::fragment::{Fragment, StepKind};
use super::infer::sentence;
use super::process::{Process, ProcessId};

/// The processes that the settings of each process name, with the span of the name.
pub(super) type Named = Vec<(ProcessId, ProcessId, Span)>;

/// Checks that a tool gives the process behind it messages that this takes, and promises answers that it gives.
/// `named` is the place where the tool names the process.
pub(super) fn check(
    declared: &Let,
    (tool, behind): (&Process, &Process),
    named: Span,
    out: &mut Vec<Diagnostic>,
) {
    let (Some(asked), Some(promised)) = (tool.inputs.first(), tool.outputs.first()) else {
        return;
    };
    let name = &behind.name;
    if let (Some(taken), Some(written)) = (behind.inputs.first(), declared.signature.inputs.first())
        && fits(&asked.kind, &taken.kind) == Fit::Never
    {
        let (wanted, given) = (Shown(&taken.kind), Shown(&asked.kind));
        let told = codes::tool_input(named, name, &wanted, &given);
        let told = because(told, &asked.kind, &taken.kind);
        out.push(told.label(written.span, "given here"));
    }
    if let (Some(given), Some(written)) =
        (behind.outputs.first(), declared.signature.outputs.first())
        && fits(&given.kind, &promised.kind) == Fit::Never
    {
        let (wanted, found) = (Shown(&promised.kind), Shown(&given.kind));
        let told = codes::tool_output(named, name, &found, &wanted);
        let told = because(told, &given.kind, &promised.kind);
        out.push(told.label(written.span, "promised here"));
    }
}

fn because(told: Diagnostic, from: &Type, to: &Type) -> Diagnostic {
    match misfit(from, to) {
        Some(why) => told.hint(sentence(&why)),
        None => told,
    }
}

/// Reports tools that call themselves, directly or through other processes.
pub(super) fn recursion(
    fragments: &[Fragment],
    named: &Named,
    processes: &[Process],
    out: &mut Vec<Diagnostic>,
) {
    let mut next: Vec<Vec<ProcessId>> = fragments.iter().map(parts).collect();
    for (from, to, _) in named {
        if let Some(parts) = next.get_mut(*from) {
            parts.push(*to);
        }
    }
    let component = components(&next);
    let same = |one: ProcessId, other: ProcessId| component.get(one) == component.get(other);
    let mut told = Vec::new();
    for (from, to, span) in named {
        let mine = component.get(*from);
        if !same(*from, *to) || told.contains(&mine) {
            continue;
        }
        told.push(mine);
        let name = |id: &ProcessId| processes.get(*id).map_or("?", |process| &*process.name);
        let back = way(&next, *to, *from);
        let names: Vec<&str> = std::iter::once(from).chain(&back).map(name).collect();
        out.push(codes::tool_calls_itself(
            *span,
            &name(from),
            &names.join(" → "),
        ));
    }
}

/// The processes and the agents and tools that a body names.
fn parts(fragment: &Fragment) -> Vec<ProcessId> {
    let nodes = fragment.nodes.iter();
    let parts = nodes.filter_map(|node| match node.kind {
        StepKind::Call(process) | StepKind::External(process, ..) => Some(process),
        _ => None,
    });
    parts.collect()
}

/// The shortest way from one process to another, both included.
fn way(next: &[Vec<ProcessId>], from: ProcessId, to: ProcessId) -> Vec<ProcessId> {
    let mut before: Vec<Option<ProcessId>> = vec![None; next.len()];
    let mut waiting = std::collections::VecDeque::from([from]);
    while let Some(at) = waiting.pop_front() {
        if at == to {
            break;
        }
        for part in next.get(at).into_iter().flatten() {
            if let Some(slot) = before.get_mut(*part)
                && slot.is_none()
                && *part != from
            {
                *slot = Some(at);
                waiting.push_back(*part);
            }
        }
    }
    let mut way = vec![to];
    while let Some(at) = way.last().copied().filter(|at| *at != from) {
        match before.get(at).copied().flatten() {
            Some(earlier) => way.push(earlier),
            None => break,
        }
    }
    way.reverse();
    way
}
