//! What has ended.
//!
//! A node lives as long as a message may still come to it: from an open input, from a request in flight,
//! or from a node that holds messages and only waits for room. This is one rule for all networks: behind
//! an ended input every node ends in turn, a feedback loop ends when nothing is in it, and a barrier ends
//! when one of its sides is empty and nothing can come there any more.

use super::program::Act;
use super::run::Run;
use super::state::NodeSet;

/// Ends what has ended, with the network at rest. What was on its way there is left over. Nodes that
/// waited for room may be ready afterwards.
pub(super) fn settle(run: &mut Run<'_>) {
    loop {
        let (alive, blocked) = alive(run);
        let gone: Vec<u32> = (0..)
            .zip(&run.program.units)
            .map(|(node, _)| node)
            .filter(|node| !run.state.ended.has(*node))
            .filter(|node| !alive.has(*node) || is_starved(run, &alive, *node))
            .collect();
        // A node that waits for room can end without any further sign when it gets it.
        run.state.ending = blocked;
        if gone.is_empty() {
            return;
        }
        end(run, &gone);
    }
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

/// The nodes to which a message may still come, and whether some of them hold messages and wait for
/// room.
fn alive(run: &Run<'_>) -> (NodeSet, bool) {
    let state = &*run.state;
    let mut alive = NodeSet::none(run.program.units.len());
    let mut open = Vec::new();
    for flight in &state.flights {
        if alive.put(flight.node) {
            open.push(flight.node);
        }
    }
    let mut blocked = false;
    for (node, unit) in (0..).zip(&run.program.units) {
        if state.ended.has(node) {
            continue;
        }
        let has = |edge: &u32| state.queues.length(*edge) > 0;
        let waits = match unit.act {
            Act::Barrier => unit.inputs.iter().all(has),
            _ => unit.inputs.iter().any(has),
        };
        blocked |= waits;
        if (waits || matches!(unit.act, Act::Input)) && alive.put(node) {
            open.push(node);
        }
    }
    while let Some(unit) = open.pop().and_then(|node| run.program.unit(node)) {
        for pipe in unit
            .outputs
            .iter()
            .filter_map(|edge| run.program.pipe(*edge))
        {
            if !state.ended.has(pipe.to) && alive.put(pipe.to) {
                open.push(pipe.to);
            }
        }
    }
    (alive, blocked)
}

/// Whether a node is a barrier with a side where nothing is and nothing comes.
fn is_starved(run: &Run<'_>, alive: &NodeSet, node: u32) -> bool {
    let unit = run
        .program
        .unit(node)
        .filter(|unit| matches!(unit.act, Act::Barrier));
    unit.is_some_and(|unit| {
        unit.inputs.iter().any(|edge| {
            let producer = run.program.pipe(*edge).map(|pipe| pipe.from);
            let comes = producer.is_some_and(|it| !run.state.ended.has(it) && alive.has(it));
            !comes && run.state.queues.length(*edge) == 0
        })
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
        for edge in &unit.inputs {
            while run.state.queues.pop(*edge).is_some() {
                run.state.counters.left_over += 1;
            }
            // Whoever waited for room there may go on.
            if let Some(pipe) = run.program.pipe(*edge) {
                run.state.ready.put(pipe.from);
            }
        }
    }
}
