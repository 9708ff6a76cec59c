//! Liveness: unreachable parts, barriers that never fill and endless loops.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::graph::walk::components;
use crate::session::{Progress, Watch};

use super::codes;
use super::draft::{Context, Draft, Link, Part, PartId, Stage};
use super::infer::Ports;
use super::process::{PortState, Role};

/// The messages that can reach a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Nothing leads to it.
    Nothing,
    /// Only `empty` does.
    Ended,
    /// Messages can.
    Messages,
}

/// Per process: pairs of an input and an output that it reaches with nothing between that can stop a message.
pub(super) type Passes = Vec<Vec<(u32, u32)>>;

/// A draft whose streams are looked at as a whole.
pub(super) struct Streams<'a, 'd> {
    pub draft: &'d Draft<'a>,
    pub ports: &'d Ports,
    pub context: Context<'a>,
    /// Per process: true if it may say something before anything comes in.
    pub lively: &'d [bool],
    /// The sessions of the body.
    pub watch: &'d Watch,
    pub out: &'d mut Vec<Diagnostic>,
}

impl Streams<'_, '_> {
    /// Reports streams that nothing feeds or reads, barriers that never fill, and statements that no message
    /// reaches.
    pub(super) fn check(&mut self) {
        if self.draft.suspect {
            return;
        }
        let before = self.out.len();
        for (part, drafted) in self.draft.parts.iter().enumerate() {
            self.fed(part, drafted);
        }
        let starved = self.out.len() > before;
        for (part, drafted) in self.draft.parts.iter().enumerate() {
            self.read(part, drafted);
        }
        if starved {
            return;
        }
        let progress = self.progress();
        if let Some(stuck) = self.watch.stuck(&progress) {
            self.out.push(stuck);
            return;
        }
        let reach = self.reach(None);
        let before = self.out.len();
        for (part, drafted) in self.draft.parts.iter().enumerate() {
            if matches!(drafted.stage, Stage::Barrier) {
                self.barrier(part, drafted, &reach);
            }
        }
        if self.out.len() == before {
            self.statements(&reach);
        }
    }

    /// Reports inputs that nothing feeds.
    fn fed(&mut self, part: PartId, drafted: &Part<'_>) {
        for port in 0..drafted.ins {
            if !self.ports.into(part, port as usize).is_empty() {
                continue;
            }
            let (span, name) = (drafted.span, &drafted.name);
            let diagnostic = match &drafted.stage {
                Stage::Broken => continue,
                Stage::Channel(_) if self.ports.out_of(part, 0).is_empty() => continue,
                Stage::Channel(_) => codes::unfed_channel(span, name),
                Stage::Output(_) => codes::unfed_output(span, name),
                Stage::Call(process) => {
                    let process = self.context.processes.get(*process);
                    let Some(port) = process.and_then(|process| process.inputs.get(port as usize))
                    else {
                        continue;
                    };
                    let agent = process.is_some_and(|process| process.role == Role::Agent);
                    if agent && (port.state == PortState::Implied || &*port.name != "input") {
                        continue;
                    }
                    codes::unfed_input(span, &port.name, name)
                }
                _ => codes::unfed(span, name),
            };
            self.out.push(diagnostic);
        }
    }

    /// Reports outputs that nothing reads.
    fn read(&mut self, part: PartId, drafted: &Part<'_>) {
        for port in 0..drafted.outs {
            if !self.ports.out_of(part, port as usize).is_empty() {
                continue;
            }
            let (span, name) = (drafted.span, &drafted.name);
            self.out.push(match &drafted.stage {
                Stage::Broken | Stage::Call(_) => continue,
                Stage::Channel(_) if self.ports.into(part, 0).is_empty() => {
                    codes::unused_channel(span, name)
                }
                Stage::Channel(_) => codes::unread_channel(span, name),
                Stage::Input(_) => codes::unread_input(span, name),
                _ => codes::unread_output(span),
            });
        }
    }

    /// Computes what the sessions can do with what reaches them.
    fn progress(&self) -> Progress {
        if self.watch.sessions().is_empty() {
            return Progress::default();
        }
        let named = self.draft.parts.iter().enumerate().filter(|(_, part)| {
            matches!(
                part.stage,
                Stage::Channel(_) | Stage::Input(_) | Stage::Output(_)
            )
        });
        let parts: HashMap<&str, PartId> = named.map(|(id, part)| (&*part.name, id)).collect();
        let mut progress = Progress::default();
        loop {
            let reach = self.reach(Some(&progress));
            let reached = |name: &str| {
                let part = parts.get(name).and_then(|part| reach.get(*part));
                part == Some(&Reach::Messages)
            };
            let alone = |name: &str| {
                let part = parts.get(name);
                part.is_some_and(|part| self.ports.into(*part, 0).len() == 1)
            };
            let next = self.watch.advance(&progress, &reached, &alone);
            if next == progress {
                return progress;
            }
            progress = next;
        }
    }

    /// Computes what reaches each part, as a least fixed point, so that a loop that nothing enters gets
    /// nothing. Sessions hold back what their steps have not brought, where their progress is given.
    fn reach(&self, progress: Option<&Progress>) -> Vec<Reach> {
        let parts = &self.draft.parts;
        let mut reach: Vec<Reach> = parts
            .iter()
            .map(|part| match part.stage {
                Stage::Input(_) | Stage::Once(_) | Stage::Broken => Reach::Messages,
                Stage::Empty => Reach::Ended,
                Stage::Call(_) if part.ins == 0 => Reach::Messages,
                Stage::Call(process) if self.lively.get(process) == Some(&true) => Reach::Messages,
                _ => Reach::Nothing,
            })
            .collect();
        let sources = reach.iter().enumerate();
        let mut waiting: Vec<PartId> = sources
            .filter(|(_, reach)| **reach > Reach::Nothing)
            .map(|(part, _)| part)
            .collect();
        while let Some(part) = waiting.pop() {
            let outs = self.ports.outs.get(part).into_iter().flatten().flatten();
            for link in outs.filter_map(|link| self.draft.links.get(*link)) {
                let to = link.to.0;
                let new = self.arriving(to, &reach).min(self.most(to, progress));
                if let Some(slot) = reach.get_mut(to)
                    && new > *slot
                {
                    *slot = new;
                    waiting.push(to);
                }
            }
        }
        reach
    }

    /// The most that can reach a part while sessions stand where they stand.
    fn most(&self, part: PartId, progress: Option<&Progress>) -> Reach {
        let (Some(part), Some(progress)) = (self.draft.parts.get(part), progress) else {
            return Reach::Messages;
        };
        let channel = matches!(part.stage, Stage::Channel(_));
        if channel && !self.watch.opens(&part.name, progress) {
            Reach::Nothing
        } else {
            Reach::Messages
        }
    }

    fn arriving(&self, part: PartId, reach: &[Reach]) -> Reach {
        let Some(drafted) = self.draft.parts.get(part) else {
            return Reach::Nothing;
        };
        let sides = (0..drafted.ins).map(|port| self.side(part, port, reach));
        let all = matches!(drafted.stage, Stage::Barrier);
        let come = if all { sides.min() } else { sides.max() };
        come.unwrap_or(Reach::Nothing)
    }

    /// The messages that can reach one input.
    fn side(&self, part: PartId, port: u32, reach: &[Reach]) -> Reach {
        let links = self.ports.into(part, port as usize).iter();
        let from = links.filter_map(|link| self.draft.links.get(*link));
        let come = from.filter_map(|link| reach.get(link.from.0).copied());
        come.max().unwrap_or(Reach::Nothing)
    }

    fn barrier(&mut self, part: PartId, drafted: &Part<'_>, reach: &[Reach]) {
        let sides: Vec<Reach> = (0..drafted.ins)
            .map(|port| self.side(part, port, reach))
            .collect();
        let some = sides.contains(&Reach::Messages);
        let Some(dead) = sides.iter().position(|side| *side < Reach::Messages) else {
            return;
        };
        if !some {
            return;
        }
        let port = u32::try_from(dead).unwrap_or(u32::MAX);
        let mut diagnostic = codes::never_fills(drafted.span);
        let link = self.ports.into(part, port as usize).first();
        if let Some(link) = link.and_then(|link| self.draft.links.get(*link)) {
            diagnostic = diagnostic.label(link.from_span, "no message ever comes from here");
        }
        self.out.push(diagnostic);
    }

    /// Statements one of whose links nothing ever comes through.
    fn statements(&mut self, reach: &[Reach]) {
        let mut last = 0;
        let dead = |link: &&Link| reach.get(link.from.0) == Some(&Reach::Nothing);
        let mut links: Vec<&Link> = self.draft.links.iter().filter(dead).collect();
        links.sort_by_key(|link| link.statement);
        for link in links {
            if link.statement == last {
                continue;
            }
            last = link.statement;
            let index = (last as usize).checked_sub(1);
            let span = index
                .and_then(|index| self.draft.statements.get(index))
                .copied();
            let diagnostic = codes::unreachable(span.unwrap_or_default());
            self.out
                .push(diagnostic.label(link.from_span, "no message ever comes from here"));
        }
    }

    /// Finds the inputs that lead to outputs with nothing between that can stop a message, and reports
    /// endless loops. `passes` holds the result for the processes inside.
    pub(super) fn passes(&mut self, passes: &Passes) -> Vec<(u32, u32)> {
        let links = &self.draft.links;
        let next: Vec<Vec<usize>> = links
            .iter()
            .map(|link| self.through(link, passes))
            .collect();
        self.round(&next);
        let mut found = Vec::new();
        for (part, drafted) in self.draft.parts.iter().enumerate() {
            let Stage::Input(input) = drafted.stage else {
                continue;
            };
            let mut seen = vec![false; links.len()];
            let mut waiting: Vec<usize> = self.ports.out_of(part, 0).to_vec();
            while let Some(link) = waiting.pop() {
                let fresh = seen.get_mut(link).filter(|seen| !**seen);
                let Some(fresh) = fresh else {
                    continue;
                };
                *fresh = true;
                let to = links
                    .get(link)
                    .and_then(|link| self.draft.parts.get(link.to.0));
                if let Some(Stage::Output(output)) = to.map(|part| &part.stage) {
                    found.push((number(input), number(*output)));
                }
                waiting.extend(next.get(link).into_iter().flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The links that a message on a link surely goes on to.
    fn through(&self, link: &Link, passes: &Passes) -> Vec<usize> {
        let (part, port) = link.to;
        let Some(drafted) = self.draft.parts.get(part) else {
            return Vec::new();
        };
        let all = || (0..drafted.outs).collect::<Vec<u32>>();
        let outs: Vec<u32> = match &drafted.stage {
            Stage::Channel(_)
            | Stage::Id
            | Stage::Copy
            | Stage::Merge
            | Stage::Map(_)
            | Stage::Take(_)
            | Stage::Project(_)
            | Stage::Tag(_) => all(),
            Stage::Call(process) => {
                let role = self
                    .context
                    .processes
                    .get(*process)
                    .map(|process| process.role);
                match role {
                    Some(Role::Agent | Role::Tool) if port == 0 => vec![0],
                    Some(Role::Plumb | Role::Wire) => {
                        let of = passes.get(*process).into_iter().flatten();
                        of.filter(|(input, _)| *input == port)
                            .map(|(_, output)| *output)
                            .collect()
                    }
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        };
        let links = outs
            .iter()
            .flat_map(|out| self.ports.out_of(part, *out as usize));
        links.copied().collect()
    }

    fn round(&mut self, next: &[Vec<usize>]) {
        let component = components(next);
        let mut told = Vec::new();
        for (link, to) in next.iter().enumerate() {
            let mine = component.get(link).copied().unwrap_or(usize::MAX);
            let round = to.iter().any(|to| component.get(*to) == Some(&mine));
            if !round || told.contains(&mine) {
                continue;
            }
            told.push(mine);
            let Some(link) = self.draft.links.get(link) else {
                continue;
            };
            let span = link.from_span.to(link.to_span);
            self.out.push(codes::never_stops(span));
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
