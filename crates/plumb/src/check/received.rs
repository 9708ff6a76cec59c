//! Each message that a session receives is used once: its stream is followed through the channels of the body.
//!
//! A filter takes a part of a stream, so several filters may split it. `discard` and a session's trigger use nothing
//! of a message. A message that a `map` or a process makes is the program's own.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::session::{Watch, codes};
use crate::span::Span;

use super::draft::{Draft, Link, PartId, Stage};
use super::infer::Ports;

/// Reports the places of a body where a received message is copied.
pub(super) fn check(draft: &Draft<'_>, ports: &Ports, watch: &Watch, out: &mut Vec<Diagnostic>) {
    let follow = Follow {
        draft,
        ports,
        watch,
    };
    let mut told = BTreeSet::new();
    for (start, part) in draft.parts.iter().enumerate() {
        let received = matches!(part.stage, Stage::Channel(_)) && watch.receives(&part.name);
        let Some(first) = follow.links(start).next().filter(|_| received) else {
            continue;
        };
        for (place, copy) in follow.copies(start) {
            if told.insert(place) {
                let copied = codes::copied_message(copy);
                out.push(copied.label(first.from_span, "received here"));
            }
        }
    }
}

struct Follow<'a, 'd> {
    draft: &'d Draft<'a>,
    ports: &'d Ports,
    watch: &'d Watch,
}

impl<'d> Follow<'_, 'd> {
    /// The links out of a part that passes messages on.
    fn links(&self, part: PartId) -> impl Iterator<Item = &'d Link> {
        let links = self.ports.out_of(part, 0).iter();
        links.filter_map(|link| self.draft.links.get(*link))
    }

    /// The parts that copy what comes from a channel of a session, each with the place of the copy.
    fn copies(&self, start: PartId) -> Vec<(PartId, Span)> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(part) = waiting.pop() {
            let Some(drafted) = self.draft.parts.get(part) else {
                continue;
            };
            match drafted.stage {
                Stage::Copy => {
                    // `keep` puts both together again.
                    if !self.draft.kept.iter().any(|kept| kept.copy == part) {
                        found.push((part, drafted.span));
                    }
                    continue;
                }
                Stage::Channel(_) | Stage::Id | Stage::Merge | Stage::Filter(_) => {}
                _ => continue,
            }
            // A step that is read twice is told by its session.
            let mut users = self.links(part).filter(|link| self.uses(link.to.0));
            if let Some(second) = users.nth(1).filter(|_| part != start) {
                found.push((part, second.from_span));
            }
            waiting.extend(
                self.links(part)
                    .map(|link| link.to.0)
                    .filter(|to| seen.insert(*to)),
            );
        }
        found
    }

    /// Returns true if a part takes every message that comes to it, and does something with it.
    fn uses(&self, part: PartId) -> bool {
        let mut part = part;
        // A loop comes round sooner than this.
        for _ in 0..=self.draft.parts.len() {
            let Some(drafted) = self.draft.parts.get(part) else {
                return false;
            };
            let mut links = self.links(part);
            match &drafted.stage {
                Stage::Filter(_) | Stage::Discard => return false,
                Stage::Channel(_) if self.watch.starts(&drafted.name) => return false,
                Stage::Channel(_) | Stage::Id | Stage::Merge => {
                    match (links.next(), links.next()) {
                        (None, _) => return false,
                        (Some(only), None) => part = only.to.0,
                        _ => return true,
                    }
                }
                _ => return true,
            }
        }
        false
    }
}
