//! The machine's invariants under random events and a strategy that gives random commands.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::*;
use crate::homunculus::strategy::Strategy;

/// Commands without rhyme or reason.
#[derive(Clone, Debug)]
struct Random {
    script: Vec<Vec<Order>>,
    next: usize,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Prepare(usize, u64, Route),
    Swap,
    Drop(usize),
    Clear(usize),
    Pause,
    Abandon,
    Resume,
}

impl Strategy for Random {
    fn decide(&mut self, orders: &mut Orders<'_>) {
        self.next += 1;
        let len = orders.situation().path.len() + 1;
        for order in &self.script[self.next % self.script.len()] {
            let command = match *order {
                Order::Prepare(cut, budget, route) => Command::Prepare {
                    cut: cut % len,
                    room: Room::without_words(Tokens::new(budget)),
                    route,
                },
                Order::Swap => Command::Swap,
                Order::Drop(cut) => Command::Drop { cut: cut % len },
                Order::Clear(upto) => Command::Clear { upto: upto % len },
                Order::Pause => Command::Pause,
                Order::Abandon => Command::Abandon,
                Order::Resume => Command::Resume,
            };
            let _ = orders.give(command);
        }
    }
}

fn order() -> impl proptest::strategy::Strategy<Value = Order> {
    let route = prop_oneof![Just(Route::Readable), Just(Route::Extractive)];
    prop_oneof![
        4 => (any::<usize>(), 0..400_u64, route).prop_map(|(cut, budget, route)| Order::Prepare(cut, budget, route)),
        4 => Just(Order::Swap),
        1 => any::<usize>().prop_map(Order::Drop),
        1 => any::<usize>().prop_map(Order::Clear),
        2 => Just(Order::Pause),
        1 => Just(Order::Abandon),
        1 => Just(Order::Resume),
    ]
}

#[derive(Clone, Debug)]
enum Happening {
    Request { grow: usize },
    GoBack(usize),
    Finish(u64),
    Fail,
    Overflow,
    Usage(u64),
    Idle,
    LongPause,
    Undo,
    Redo,
}

fn happening() -> impl proptest::strategy::Strategy<Value = Happening> {
    prop_oneof![
        8 => (0..4_usize).prop_map(|grow| Happening::Request { grow }),
        1 => any::<usize>().prop_map(Happening::GoBack),
        4 => (0..400_u64).prop_map(Happening::Finish),
        1 => Just(Happening::Fail),
        1 => Just(Happening::Overflow),
        1 => (0..4_000_u64).prop_map(Happening::Usage),
        1 => Just(Happening::Idle),
        1 => Just(Happening::LongPause),
        1 => Just(Happening::Undo),
        1 => Just(Happening::Redo),
    ]
}

/// The invariants, checked from the outside.
#[derive(Default)]
struct Watch {
    running: Option<Preparation>,
    marks: Vec<(MarkId, Preparation)>,
    shown: Extent,
    undone: Option<Extent>,
    stopped: bool,
}

impl Watch {
    fn see(&mut self, event: &Event<'_>, actions: &[Action], path: &Path<'_>, limits: &Limits) {
        for action in actions {
            match action {
                &Action::Prepare(preparation) => {
                    assert!(self.running.is_none(), "two preparations at once");
                    assert!(path.is_cut(preparation.cut), "a cut inside a step");
                    assert_eq!(path.node_before(preparation.cut), Some(preparation.node));
                    self.running = Some(preparation);
                }
                &Action::Abandon(job) => {
                    assert_eq!(self.running.take().map(|running| running.job), Some(job));
                }
                &Action::Show(shown) if matches!(event, Event::Redo(_)) && shown.from > 0 => {
                    assert_eq!(self.undone.take(), Some(shown), "shown as it was");
                    assert!(self.shown == Extent::default() || self.shown.from == shown.from);
                    self.shown = shown;
                }
                &Action::Show(shown) => self.see_shown(shown, path, limits),
                Action::ShowAll => {
                    assert!(matches!(event, Event::Undo(_)));
                    assert_ne!(self.shown, Extent::default(), "something was taken back");
                    self.undone = Some(std::mem::take(&mut self.shown));
                }
                Action::Refuse(_) => assert!(matches!(event, Event::Undo(_) | Event::Redo(_))),
                &Action::Send(shown) => assert_eq!(shown, self.shown),
                Action::Stop(_) => self.stopped = true,
                Action::Acknowledge(acknowledged) => {
                    self.stopped &= acknowledged.command != Command::Resume;
                }
                Action::Hold { .. } => assert!(self.running.is_some(), "held for nothing"),
                Action::Retry
                | Action::PassThrough
                | Action::Telemetry(_)
                | Action::Pin(..)
                | Action::Unpin(_) => {}
            }
        }
    }

    fn see_shown(&mut self, shown: Extent, path: &Path<'_>, limits: &Limits) {
        assert!(
            shown.from == 0 || path.is_cut(shown.from),
            "shown from inside a step"
        );
        if let Some(mark) = shown.mark {
            let (_, made) = self.marks.iter().rfind(|(id, _)| *id == mark).unwrap();
            assert!(
                made.cut <= shown.from,
                "a turn is neither shown nor summarised nor dropped"
            );
            let is_new = self.shown.mark != shown.mark;
            if is_new && self.shown.from == made.cut && shown.from == made.cut {
                // A larger summary in the place of the old one.
                self.undone = Some(self.shown);
            } else if is_new {
                assert_eq!(
                    made.cut, shown.from,
                    "a swap shows all that its summary does not cover"
                );
                assert_eq!(path.node_before(made.cut), Some(made.node));
                let (before, after) = (self.shown.tokens(path), shown.tokens(path));
                assert!(after < before, "a swap that makes the view larger");
                assert!(!self.stopped, "a swap after the stop");
                let tail = path.tail(shown.from);
                assert!(
                    tail <= limits.tail_cap || before + Tokens::new(4_000) > limits.hard_tokens()
                );
            }
        }
        if shown.from < self.shown.from {
            assert_eq!(shown, Extent::default(), "only a branch shows more again");
            self.stopped = false;
        }
        self.shown = shown;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_and_whatever_a_strategy_says(
        sizes in prop::collection::vec(4..300_usize, 60),
        script in prop::collection::vec(prop::collection::vec(order(), 0..4), 1..6),
        happenings in prop::collection::vec(happening(), 0..80),
        patience in 0..40_i64,
    ) {
        let mut limits = limits(2_000);
        limits.patience = SignedDuration::from_secs(patience);
        let outline = outline(&sizes);
        let mut machine = Homunculus::new(Random { script, next: 0 }, limits);
        let mut watch = Watch::default();
        let (mut len, mut second, mut holds, mut marks) = (1, 0, 0, 0_u8);
        for happening in happenings {
            second += 7;
            let path = Path::new(&outline, len, &[]);
            let event = match happening {
                Happening::Request { grow } => {
                    // The client can not go on while its request is held.
                    if holds == 0 {
                        len = (len + grow).min(outline.len());
                    }
                    Event::Request(Path::new(&outline, len, &[]))
                }
                Happening::GoBack(to) => {
                    len = 1 + to % len;
                    holds = 0;
                    Event::Request(Path::new(&outline, len, &[]))
                }
                Happening::Finish(tokens) => match watch.running.take() {
                    Some(made) => {
                        marks += 1;
                        let mark = MarkId::from_bytes([marks; 16]);
                        watch.marks.push((mark, made));
                        Event::Prepared { job: made.job, mark, tokens: Tokens::new(tokens) }
                    }
                    None => Event::Idle(path),
                },
                Happening::Fail => match watch.running.take() {
                    Some(made) => Event::Failed { job: made.job },
                    None => Event::Idle(path),
                },
                Happening::Overflow => Event::Overflowed { input: None },
                Happening::Usage(input) => usage(input),
                Happening::Idle => Event::Idle(path),
                Happening::Undo => Event::Undo(path),
                Happening::Redo => Event::Redo(path),
                Happening::LongPause => {
                    second += 3_600;
                    Event::Idle(path)
                }
            };
            let mut twin = machine.clone();
            let actions = machine.on(event, at(second));
            prop_assert_eq!(&twin.on(event, at(second)), &actions, "a clone acts alike");
            let path = Path::new(&outline, len, &[]);
            watch.see(&event, &actions, &path, &limits);
            let sends = actions.iter().filter(|action| matches!(action, Action::Send(_))).count();
            let held = actions.iter().filter(|action| matches!(action, Action::Hold { .. })).count();
            if matches!(event, Event::Request(_)) {
                prop_assert_eq!(sends + held, 1, "one answer to each request");
                holds = if held == 1 { holds + 1 } else { 0 };
                prop_assert!(holds <= 8, "held for ever");
            } else {
                prop_assert_eq!(sends + held, 0);
            }
            prop_assert_eq!(machine.stopped().is_some(), watch.stopped);
        }
    }
}
