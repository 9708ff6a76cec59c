//! Detects the nodes that have ended.
//!
//! A node lives as long as a message may still come to it: its inputs have messages or can get them, from
//! outside or from a node that lives. Only nodes for which this follows live (the least fixed point). It is
//! one rule for all networks: behind an ended input every node ends in turn, a feedback loop ends when
//! nothing is in it, and a barrier ends when one of its sides is empty and nothing can come there any more.
//!
//! Where everything lives, a node may still wait for room behind it for ever: the same rule, with room
//! counted in, finds full queues that wait for each other, and they end with an error.

use super::fault::FaultKind;
use super::gate::unfinished;
use super::program::{Act, Program, Unit};
use super::run::{Run, fault_at};
use super::state::{NodeSet, State};

/// Ends the nodes that have ended, with the network at rest. Returns true if there were any. Their messages are
/// left over, and nodes that waited for room may be ready now.
pub(super) fn settle(run: &mut Run<'_>) -> bool {
    let mut gone = dead(run.program, run.state, Room::Always);
    if gone.is_empty() && some_wait(run) {
        gone = dead(run.program, run.state, Room::Bounded);
        if let Some(unit) = gone.first().and_then(|it| run.program.unit(*it)) {
            let detail = "full queues wait for each other".to_owned();
            run.step
                .errors
                .push(fault_at(unit, FaultKind::Deadlock, detail));
        }
    }
    end(run, &gone);
    // Those that wait for room may end when they get it, without any other sign of it.
    run.state.ending = some_wait(run);
    !gone.is_empty()
}

/// Ends everything.
pub(super) fn end_all(run: &mut Run<'_>) {
    let all = (0..).zip(&run.program.units).map(|(node, _)| node);
    let gone: Vec<u32> = all.filter(|node| !run.state.ended.has(*node)).collect();
    end(run, &gone);
    while let Some(node) = run.state.ready.first() {
        run.state.ready.remove(node);
    }
    run.state.ending = false;
}

/// The treatment of queue bounds.
#[derive(Clone, Copy)]
enum Room {
    Always,
    Bounded,
}

/// The nodes that have not ended and do not live. An input ends only when it is closed.
fn dead(program: &Program, state: &State, room: Room) -> Vec<u32> {
    let mut alive = NodeSet::none(program.units.len());
    let mut open = Vec::new();
    // In graph order, in which most of what feeds a node stands before it; what stands later than `first`
    // comes to its turn anyway.
    for (first, unit) in (0..).zip(&program.units) {
        let mut now = Some((first, unit));
        while let Some((node, unit)) = now {
            let lives = Lives {
                program,
                state,
                alive: &alive,
            };
            if !state.ended.has(node) && !alive.has(node) && lives.lives(node, unit, room) {
                alive.put(node);
                if node == first {
                    open.extend(&unit.back);
                } else {
                    let pipes = unit.outputs.iter().filter_map(|edge| program.pipe(*edge));
                    let behind = pipes.map(|pipe| pipe.to).chain(unit.handler);
                    open.extend(behind.filter(|to| *to <= first));
                }
                if let Room::Bounded = room {
                    open.extend(unit.before.iter().filter(|from| **from <= first));
                }
            }
            now = open
                .pop()
                .and_then(|node| Some((node, program.unit(node)?)));
        }
    }
    let input = |node: &u32| {
        let unit = program.unit(*node);
        unit.is_some_and(|unit| matches!(unit.act, Act::Input))
    };
    let mut gone = state.ended.neither(&alive, program.units.len());
    gone.retain(|node| !input(node));
    gone
}

/// The nodes known to be alive so far.
struct Lives<'a> {
    program: &'a Program,
    state: &'a State,
    alive: &'a NodeSet,
}

impl Lives<'_> {
    fn lives(&self, node: u32, unit: &Unit, room: Room) -> bool {
        self.gets(node, unit) && (matches!(room, Room::Always) || self.gives(unit))
    }

    /// Returns true if a node has its inputs to move a message, or can get them.
    fn gets(&self, node: u32, unit: &Unit) -> bool {
        let comes =
            |(edge, from): (&u32, &u32)| self.alive.has(*from) || self.state.waits_on(*edge);
        let mut inputs = unit.inputs.iter().zip(&unit.before);
        match unit.act {
            Act::Input => true,
            Act::Failures => unit.before.iter().any(|from| self.alive.has(*from)),
            Act::External(_) if self.state.gaps.held.iter().any(|held| held.node == node) => true,
            Act::Barrier => inputs.all(comes),
            Act::External(_) | Act::Timer if self.state.flights_of(node) > 0 => true,
            _ => inputs.any(comes),
        }
    }

    /// Returns true if there is room behind a node, or can be. Requests to an agent take none.
    fn gives(&self, unit: &Unit) -> bool {
        let goes = |edge: &u32| {
            let to = self.program.pipe(*edge).map(|pipe| pipe.to);
            self.state.has_room(self.program, *edge) || to.is_some_and(|it| self.alive.has(it))
        };
        matches!(unit.act, Act::External(_)) || unit.outputs.iter().chain(&unit.told).all(goes)
    }
}

/// Returns true if some nodes wait for room: they hold messages, and nothing else keeps them.
fn some_wait(run: &Run<'_>) -> bool {
    let gaps = run.state.gaps.edges.iter().map(|gap| gap.edge);
    let pipes = run.state.queues.edges().chain(gaps);
    let mut nodes = pipes.filter_map(|edge| run.program.pipe(edge).map(|pipe| pipe.to));
    nodes.any(|node| holds_all(run.program, run.state, node))
}

/// Returns true if a node has all it needs but room.
fn holds_all(program: &Program, state: &State, node: u32) -> bool {
    let holds = |edge: &u32| state.waits_on(*edge);
    program.unit(node).is_some_and(|unit| match unit.act {
        Act::Barrier => unit.inputs.iter().all(holds),
        _ => unit.inputs.iter().any(holds),
    })
}

fn end(run: &mut Run<'_>, gone: &[u32]) {
    for node in gone {
        run.state.ended.put(*node);
        let Some(unit) = run.program.unit(*node) else {
            continue;
        };
        if let Act::Output(port) = unit.act {
            run.step.ended.push(port);
        }
        // Only a timer whose message would find no room.
        run.cancel(*node);
        run.state.gaps.held.retain(|held| held.node != *node);
        let mut gate = run.program.gate(*node);
        for edge in &unit.inputs {
            while let Some((message, _)) = run.state.queues.pop(*edge) {
                run.state.leave_over(run.program, *edge);
                // The first message is the state of the session.
                let told = gate.take().and_then(|gate| unfinished(gate, &message));
                run.step.errors.extend(told);
            }
            run.state.gaps.edges.retain(|gap| gap.edge != *edge);
            // A sender that waited for room there may go on.
            if let Some(pipe) = run.program.pipe(*edge) {
                run.has_got_room(pipe.from);
            }
        }
    }
}
