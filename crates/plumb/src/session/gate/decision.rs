//! The decisions of a gate, as expressions over `{ state, event }` and over these with the decision.

use crate::session::make::Make;
use crate::session::network::{Network, number};
use crate::session::steps::{Action, Arm};
use crate::syntax::ast::{Binary, Expr};

impl Network<'_> {
    /// The decision about an event.
    pub(super) fn decision(&self) -> Expr {
        let make = self.make;
        let word = |word: &str| make.text(word);
        let trigger = make.choose(idle(make, "value.0.step"), word("start"), word("drop"));
        let same =
            |one: &str, other: &str| make.binary(Binary::Equal, make.read(one), make.read(other));
        let here = || same("value.1.step", "value.0.step");
        let in_turn = make.and(here(), make.not(make.read("value.0.called")));
        let failed = make.binary(Binary::Less, make.read("value.0.step"), make.int(0));
        let payload = make.choose(
            in_turn,
            word("send"),
            make.choose(failed, word("drop"), word("hold")),
        );
        let stands = make.and(same("value.1.run", "value.0.run"), here());
        let ready = make.choose(stands, word("send"), word("drop"));
        let running = make.binary(Binary::Greater, make.read("value.0.step"), make.int(0));
        let message = make.choose(self.expected(), word("recv"), word("unexpected"));
        let mut kinds = vec![
            ("payload", payload),
            ("message", message),
            ("trigger", trigger),
            ("ready", ready),
        ];
        if self.is_timed() {
            let waited = make.and(running, same("value.1.run", "value.0.turn"));
            kinds.push(("late", make.choose(waited, word("late"), word("drop"))));
        }
        let old = word("drop");
        kinds.into_iter().rev().fold(old, |no, (kind, yes)| {
            make.choose(make.says("value.1.kind", kind), yes, no)
        })
    }

    /// Returns true if the step that the gate stands at receives this message.
    fn expected(&self) -> Expr {
        let make = self.make;
        let steps = self.session.steps.steps.iter();
        let leaf = |action: &Action| match action {
            Action::Recv(kind, _) => make.is("value.1.body", kind.clone()),
            Action::Offer(arms) => make.is("value.1.body", make.tagged(&labels(arms))),
            Action::Send(..) | Action::Select(_) => make.bool(false),
        };
        let mut leaves = vec![make.bool(false)];
        leaves.extend(steps.map(|step| leaf(&step.action)));
        make.by_number("value.0.step", 0, &leaves)
    }

    /// The step after the one that the gate stands at, if it is done with this event.
    pub(super) fn successor(&self) -> Expr {
        let make = self.make;
        let steps = self.session.steps.steps.iter();
        let leaf = |action: &Action| match action {
            Action::Send(_, next) | Action::Recv(_, next) => make.int(number(*next)),
            Action::Select(arms) | Action::Offer(arms) => by_label(make, arms),
        };
        let mut leaves = vec![make.int(number(self.session.steps.first))];
        leaves.extend(steps.map(|step| leaf(&step.action)));
        make.by_number("value.0.step", 0, &leaves)
    }

    /// The state after an event.
    pub(super) fn moved(&self) -> Expr {
        let make = self.make;
        let read = |path: &str| make.read(path);
        let next = |run: Expr, step: Expr, held: Expr, called: Expr| {
            let turn = make.after("state.turn");
            self.state_of([run, step, held, called, turn])
        };
        let less = || make.binary(Binary::Minus, read("state.held"), make.int(1));
        let calls = || make.and(self.awaits(), self.sends());
        let start = next(
            make.after("state.run"),
            read("to"),
            read("state.held"),
            calls(),
        );
        let left = make.choose(make.says("event.kind", "ready"), less(), read("state.held"));
        let forward = next(read("state.run"), read("to"), left, calls());
        let flushed = make.choose(
            read("state.called"),
            make.after("state.held"),
            read("state.held"),
        );
        let fail = next(read("state.run"), make.minus(1), flushed, make.bool(false));
        let stay = |held: Expr, called: Expr| {
            let turn = read("state.turn");
            self.state_of([read("state.run"), read("state.step"), held, called, turn])
        };
        let hold = stay(make.after("state.held"), read("state.called"));
        let answered = make.choose(answers(make), self.more(), read("state.called"));
        let gone = stay(less(), answered);
        let was_held = make.or(
            make.says("event.kind", "old"),
            make.says("event.kind", "ready"),
        );
        let moves = make.or(make.says("do", "send"), make.says("do", "recv"));
        let cases = [
            (moves, forward),
            (make.says("do", "start"), start),
            (make.says("do", "hold"), hold),
            (failed(make), fail),
            (was_held, gone),
        ];
        let stays = read("state");
        make.first(cases, stays)
    }

    /// The messages to the steps. A payload between runs is for the next run. If a run fails during the call
    /// of its step, the step gets a word to answer the call with.
    pub(super) fn let_out(&self) -> Expr {
        let make = self.make;
        let held = || make.says("do", "hold");
        let started = || make.says("do", "start");
        let unheard = make.and(
            make.or(make.says("do", "unexpected"), make.says("do", "late")),
            make.not(make.read("state.called")),
        );
        let cases = [
            (started(), make.read("to")),
            (held(), make.read("event.step")),
            (unheard, make.int(0)),
        ];
        let step = make.first(cases, make.read("state.step"));
        let early = make.and(held(), make.counts("state.step", 0));
        let run = make.choose(
            make.or(started(), early),
            make.after("state.run"),
            make.read("state.run"),
        );
        make.record([
            ("do", make.read("do")),
            ("step", step),
            ("run", run),
            ("body", make.read("event.body")),
        ])
    }

    /// Returns true if payloads are held once this event is dealt with.
    pub(super) fn awaits(&self) -> Expr {
        let make = self.make;
        let own = make.choose(make.says("event.kind", "ready"), make.int(1), make.int(0));
        make.binary(Binary::Greater, make.read("state.held"), own)
    }

    /// Returns true if payloads are held beside the one that a barrier has given up.
    pub(super) fn more(&self) -> Expr {
        let make = self.make;
        make.binary(Binary::Greater, make.read("state.held"), make.int(1))
    }

    /// Returns true if the next step sends.
    pub(super) fn sends(&self) -> Expr {
        let make = self.make;
        let steps = self.session.steps.steps.iter();
        let mut leaves = vec![make.bool(false)];
        leaves.extend(steps.map(|step| make.bool(step.action.sends())));
        make.by_number("to", 0, &leaves)
    }
}

/// Returns true if no run stands.
fn idle(make: Make, step: &str) -> Expr {
    make.binary(Binary::Less, make.read(step), make.int(1))
}

/// Returns true if a barrier has answered the call of the step that the run stands at.
pub(super) fn answers(make: Make) -> Expr {
    let same =
        |one: &str, other: &str| make.binary(Binary::Equal, make.read(one), make.read(other));
    make.and(
        same("event.run", "state.run"),
        same("event.step", "state.step"),
    )
}

/// Returns true if a run was ended before its time.
pub(super) fn failed(make: Make) -> Expr {
    make.and(
        make.or(make.says("do", "unexpected"), make.says("do", "late")),
        make.binary(Binary::Greater, make.read("state.step"), make.int(0)),
    )
}

fn labels(arms: &[Arm]) -> Vec<&str> {
    arms.iter().map(|arm| &*arm.label.text).collect()
}

/// The step after a choice, by binary search over its labels.
fn by_label(make: Make, arms: &[Arm]) -> Expr {
    match arms {
        [] => make.int(0),
        [first, rest @ ..] if rest.iter().all(|arm| arm.next == first.next) => {
            make.int(number(first.next))
        }
        _ => {
            let (left, right) = arms.split_at(arms.len() / 2);
            make.choose(
                make.is("value.1.body", make.tagged(&labels(left))),
                by_label(make, left),
                by_label(make, right),
            )
        }
    }
}
