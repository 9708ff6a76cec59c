//! The size of inlined networks, and recursive processes.

use crate::diagnostic::Diagnostic;
use crate::graph::Kind;
use crate::span::Span;

use super::codes;
use super::fragment::{Fragment, StepKind};
use super::process::{Process, ProcessId};

/// The most nodes that a network may have.
const LARGEST: usize = 100_000;

/// The maximum nesting depth of processes.
const DEEPEST: usize = 128;

/// The processes that each process contains, with the spans of their names.
pub(super) fn calls(fragments: &[Fragment]) -> Vec<Vec<(ProcessId, Span)>> {
    let of = |fragment: &Fragment| {
        let steps = fragment.nodes.iter();
        let calls = steps.filter_map(|step| match step.kind {
            StepKind::Call(process) => Some((process, step.span)),
            _ => None,
        });
        calls.collect()
    };
    fragments.iter().map(of).collect()
}

/// The processes such that each comes after those that stand in it. Says which are parts of themselves.
pub(super) fn order(
    calls: &[Vec<(ProcessId, Span)>],
    processes: &[Process],
    out: &mut Vec<Diagnostic>,
) -> Vec<ProcessId> {
    let mut done = vec![false; calls.len()];
    let mut order = Vec::with_capacity(calls.len());
    let mut open: Vec<(ProcessId, usize)> = Vec::new();
    let mut is_open = vec![false; calls.len()];
    for start in 0..calls.len() {
        if done.get(start) == Some(&false) {
            open.push((start, 0));
            mark(&mut is_open, start, true);
        }
        while let Some((process, at)) = open.pop() {
            let Some((inner, span)) = calls.get(process).and_then(|calls| calls.get(at)).copied()
            else {
                mark(&mut done, process, true);
                mark(&mut is_open, process, false);
                order.push(process);
                continue;
            };
            open.push((process, at + 1));
            if is_open.get(inner) == Some(&true) {
                out.push(recursive(inner, span, &open, processes));
            } else if done.get(inner) == Some(&false) {
                open.push((inner, 0));
                mark(&mut is_open, inner, true);
            }
        }
    }
    order
}

/// Per process: true if it may say something before anything comes in. `order` has each after its parts.
pub(super) fn lively(fragments: &[Fragment], order: &[ProcessId]) -> Vec<bool> {
    let mut lively = vec![false; fragments.len()];
    for process in order {
        let nodes = fragments.get(*process).map(|fragment| &fragment.nodes);
        let begins = nodes.into_iter().flatten().any(|node| match &node.kind {
            StepKind::Plain(Kind::Once(_)) => true,
            StepKind::Call(inner) => lively.get(*inner) == Some(&true),
            _ => false,
        });
        mark(&mut lively, *process, begins);
    }
    lively
}

fn mark(marks: &mut [bool], at: usize, to: bool) {
    if let Some(mark) = marks.get_mut(at) {
        *mark = to;
    }
}

fn recursive(
    process: ProcessId,
    span: Span,
    open: &[(ProcessId, usize)],
    processes: &[Process],
) -> Diagnostic {
    let name = |id: ProcessId| processes.get(id).map_or("?", |process| &*process.name);
    let from = open.iter().position(|(id, _)| *id == process).unwrap_or(0);
    let mut way: Vec<&str> = open.iter().skip(from).map(|(id, _)| name(*id)).collect();
    way.push(name(process));
    codes::recursive_process(span, &name(process), &way.join(" → "))
}

/// Reports processes that are too large. Each comes after its parts in the order.
pub(super) fn measure(
    order: &[ProcessId],
    calls: &[Vec<(ProcessId, Span)>],
    (fragments, processes): (&[Fragment], &[Process]),
    out: &mut Vec<Diagnostic>,
) {
    let mut sizes = vec![(0_usize, 0_usize); fragments.len()];
    for process in order {
        let own = fragments
            .get(*process)
            .map_or(0, |fragment| fragment.nodes.len());
        let (mut nodes, mut depth) = (own, 0);
        for (inner, _) in calls.get(*process).into_iter().flatten() {
            let (more, deep) = sizes.get(*inner).copied().unwrap_or_default();
            nodes = nodes.saturating_add(more);
            depth = depth.max(deep + 1);
        }
        if (nodes > LARGEST || depth > DEEPEST)
            && let Some(declared) = processes.get(*process)
        {
            let (span, name) = (declared.span, &declared.name);
            out.push(codes::network_too_large(span, name, &LARGEST, &DEEPEST));
            (nodes, depth) = (0, 0);
        }
        if let Some(slot) = sizes.get_mut(*process) {
            *slot = (nodes, depth);
        }
    }
}
