//! The machine step by step, and under any order of events and any strategy.

use context::extract::Room;
use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};
use history::{MarkId, Route};
use jiff::{SignedDuration, Timestamp};

use super::{Homunculus, MOST_RETRIES, Orders, Restored};
use crate::homunculus::event::{
    Action, Event, JobId, Preparation, Refusal, Reported, StopReason, Telemetry, Verdict,
};
use crate::homunculus::extent::Extent;
use crate::homunculus::hosted::{HostSettings, Hosted, StrategyProgram};
use crate::homunculus::limits::Limits;
use crate::homunculus::outline::{Outline, Path};
use crate::homunculus::price::Prices;
use crate::homunculus::strategy::{Command, Strategy};

fn limits(window: u64) -> Limits {
    let prices = Prices {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
        ttl: SignedDuration::from_mins(5),
        cache_minimum: Tokens::new(1024),
    };
    Limits::for_window(Tokens::new(window), prices)
}

/// A strategy that is shipped.
fn shipped(name: &str, route: Route) -> Hosted {
    let settings = HostSettings {
        route,
        ..HostSettings::default()
    };
    Hosted::new(StrategyProgram::shipped(name).unwrap(), settings)
}

fn prepared() -> Hosted {
    shipped("prepared", Route::Readable)
}

/// A conversation of alternating user and assistant turns of these sizes.
fn outline(sizes: &[usize]) -> Outline {
    let mut parent = TurnId::ROOT;
    let turns: Vec<Turn> = sizes
        .iter()
        .enumerate()
        .map(|(index, size)| {
            let role = [Role::User, Role::Assistant][index % 2];
            let text = "abcd".repeat(size.saturating_sub(4));
            let turn = TurnDraft::text(role, text).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect();
    Outline::of(&turns)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// Drives one machine by hand.
struct Driver<S> {
    machine: Homunculus<S>,
    outline: Outline,
    second: i64,
}

impl<S: Strategy> Driver<S> {
    fn new(strategy: S, limits: Limits, sizes: &[usize]) -> Self {
        Self {
            machine: Homunculus::new(strategy, limits),
            outline: outline(sizes),
            second: 0,
        }
    }

    fn request(&mut self, len: usize) -> Vec<Action> {
        self.second += 10;
        let path = Path::new(&self.outline, len, &[]);
        self.machine.on(Event::Request(path), at(self.second))
    }

    fn finish(&mut self, job: JobId, tokens: u64) -> Vec<Action> {
        let event = Event::Prepared {
            job,
            mark: MarkId::from_bytes([1; 16]),
            tokens: Tokens::new(tokens),
        };
        self.machine.on(event, at(self.second))
    }
}

/// The report of a view of so much.
fn usage(input: u64) -> Event<'static> {
    Event::Usage {
        input: Tokens::new(input),
        reported: Reported::default(),
    }
}

fn ordered(actions: &[Action]) -> Option<Preparation> {
    actions.iter().find_map(|action| match action {
        Action::Prepare(preparation) => Some(*preparation),
        _ => None,
    })
}

fn sent(actions: &[Action]) -> Option<Extent> {
    actions.iter().find_map(|action| match action {
        Action::Send(shown) => Some(*shown),
        _ => None,
    })
}

fn refusals(actions: &[Action]) -> Vec<Refusal> {
    actions
        .iter()
        .filter_map(|action| match action {
            Action::Acknowledge(acknowledged) => match acknowledged.verdict {
                Verdict::Refused(refusal) => Some(refusal),
                Verdict::Done => None,
            },
            _ => None,
        })
        .collect()
}

#[test]
fn prepared_crosses_the_boundary_without_waiting() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    for len in [1, 3, 5] {
        assert_eq!(sent(&driver.request(len)), Some(Extent::default()));
        assert_eq!(driver.machine.preparing(), None);
    }
    let soft = driver.request(7);
    let order = ordered(&soft).expect("prepares at the soft threshold");
    assert_eq!((order.cut, order.route), (6, Route::Readable));
    assert_eq!(sent(&soft), Some(Extent::default()), "and sends at once");
    driver.finish(order.job, 500);
    let hard = driver.request(9);
    let shown = sent(&hard).expect("sends at once");
    assert_eq!((shown.from, shown.summary), (6, Tokens::new(500)));
    assert!(
        !hard
            .iter()
            .any(|action| matches!(action, Action::Hold { .. }))
    );
}

#[test]
fn the_providers_own_summary_stands_for_a_whole_request() {
    let mut driver = Driver::new(
        shipped("prepared", Route::Native),
        limits(10_000),
        &[1_000; 12],
    );
    let order = ordered(&driver.request(7)).expect("prepares at the soft threshold");
    assert_eq!((order.cut, order.route), (7, Route::Native));
    assert_eq!(order.node, order.made_from);
    driver.finish(order.job, 500);
    let shown = sent(&driver.request(9)).expect("sends at once");
    assert_eq!(shown.from, 7, "from the answer on");
}

#[test]
fn what_was_shown_is_resumed() {
    let limits = limits(10_000);
    let mut driver = Driver::new(prepared(), limits, &[1_000; 12]);
    let order = ordered(&driver.request(7)).unwrap();
    driver.finish(order.job, 500);
    let shown = sent(&driver.request(9)).unwrap();
    let path = Path::new(&driver.outline, 11, &[]);
    driver.machine = Homunculus::resume(prepared(), limits, shown, &path);
    assert_eq!(sent(&driver.request(11)), Some(shown));
    let short = Path::new(&driver.outline, 3, &[]);
    driver.machine = Homunculus::resume(prepared(), limits, shown, &short);
    assert_eq!(sent(&driver.request(3)), Some(Extent::default()));
}

#[test]
fn a_summary_from_before_a_restart_is_ready() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    let made = Restored {
        cut: 6,
        mark: MarkId::from_bytes([2; 16]),
        tokens: Tokens::new(500),
        since: at(0),
    };
    let path = Path::new(&driver.outline, 7, &[]);
    driver.machine.restore(&made, &path);
    assert_eq!(driver.machine.ready(), Some(made.mark));
    let shown = sent(&driver.request(9)).expect("sends at once");
    assert_eq!((shown.from, shown.mark), (6, Some(made.mark)));
    let path = Path::new(&driver.outline, 9, &[]);
    driver.machine.restore(&made, &path);
    assert_eq!(driver.machine.ready(), None, "it stands already");
}

#[test]
fn what_is_sent_besides_the_turns_counts_from_the_first_request_on() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    let tokens = Tokens::new(6_000);
    driver.machine.on(Event::Overhead { tokens }, at(0));
    assert!(ordered(&driver.request(3)).is_some());
}

#[test]
fn not_ready_at_the_hard_threshold_it_goes_on_and_at_the_wall_it_extracts() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    let order = ordered(&driver.request(7)).unwrap();
    assert_eq!(
        sent(&driver.request(9)),
        Some(Extent::default()),
        "still fits"
    );
    let wall = driver.request(11);
    assert!(wall.contains(&Action::Abandon(order.job)));
    let extract = ordered(&wall).unwrap();
    assert_eq!(extract.route, Route::Extractive);
    assert!(wall.contains(&Action::Hold {
        until: Some(at(driver.second))
    }));
    driver.finish(extract.job, 600);
    let path = Path::new(&driver.outline, 11, &[]);
    let again = driver.machine.on(Event::Request(path), at(driver.second));
    assert_eq!(sent(&again).unwrap().from, extract.cut);
    assert!(refusals(&again).is_empty());
}

#[test]
fn the_end_of_an_earlier_supervisors_summary_is_not_taken_for_its_own() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    let old = ordered(&driver.request(7)).unwrap();
    let mut next = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    next.machine.number_behind(&driver.machine);
    let own = ordered(&next.request(7)).unwrap();
    assert_ne!(own.job, old.job);
    let late = Action::Telemetry(Telemetry::LateResult(old.job));
    assert!(next.finish(old.job, 600).contains(&late));
    let failed = next.machine.on(Event::Failed { job: old.job }, at(100));
    assert!(failed.contains(&late));
    assert_eq!(next.machine.preparing(), Some(own.job));
}

#[test]
fn a_fat_tail_is_prepared_again_while_the_old_summary_stands_by() {
    let sizes = [
        1_000, 1_000, 1_000, 500, 400, 400, 2_400, 400, 400, 300, 300,
    ];
    let mut driver = Driver::new(prepared(), limits(10_000), &sizes);
    let first = ordered(&driver.request(7)).unwrap();
    driver.finish(first.job, 500);
    let second = ordered(&driver.request(9)).expect("the tail has outgrown its cap");
    assert!(second.cut > first.cut);
    let failed = driver.machine.on(Event::Failed { job: second.job }, at(99));
    assert!(ordered(&failed).is_none());
    assert!(driver.machine.preparing().is_none());
    let next = driver.request(11);
    assert!(
        matches!(refusals(&next)[..], [Refusal::BackingOff(_)]),
        "{next:?}"
    );
    assert!(sent(&next).is_some());
}

#[test]
fn at_the_hard_threshold_a_fat_tail_is_no_reason_to_go_on_to_the_wall() {
    let sizes = [
        1_000, 1_000, 1_000, 500, 400, 400, 2_400, 400, 400, 600, 600,
    ];
    let mut driver = Driver::new(prepared(), limits(10_000), &sizes);
    let first = ordered(&driver.request(7)).unwrap();
    driver.finish(first.job, 500);
    let second = ordered(&driver.request(9)).expect("the tail has outgrown its cap");
    let hard = driver.request(11);
    let shown = sent(&hard).expect("sends at once");
    assert_eq!((shown.from, shown.summary), (first.cut, Tokens::new(500)));
    assert_eq!(driver.machine.preparing(), Some(second.job));
}

#[test]
fn a_summary_that_does_not_make_the_view_fit_is_not_shown_before_one_that_does() {
    let sizes = [
        1_000, 1_000, 1_000, 500, 400, 400, 2_400, 400, 400, 300, 7_000,
    ];
    let mut driver = Driver::new(prepared(), limits(10_000), &sizes);
    let first = ordered(&driver.request(7)).unwrap();
    driver.finish(first.job, 500);
    assert!(ordered(&driver.request(9)).is_some(), "the first stands by");
    let over = driver.request(11);
    assert_eq!(sent(&over), None);
    let order = ordered(&over).expect("a smaller one");
    assert_eq!((order.route, order.cut), (Route::Extractive, 10));
}

#[test]
fn the_users_words_before_a_summary_leave_the_view_its_window() {
    // Room for a whole summary beside the words, and for less and less of it.
    for newest in [6_000, 7_500, 8_400, 9_000, 9_300] {
        let sizes = [500, 500, 500, 500, 500, 500, 500, 500, newest];
        let mut driver = Driver::new(prepared(), limits(10_000), &sizes);
        let mut shown = None;
        // The second summary knows the size of the words.
        for _ in 0..3 {
            let actions = driver.request(9);
            shown = sent(&actions);
            if let Some(order) = ordered(&actions) {
                assert_eq!(order.words, limits(10_000).words, "they are not cut");
                let words = Tokens::new(400);
                driver.finish(order.job, (order.budget + words).get());
            }
        }
        let shown = shown.expect("sends");
        let path = Path::new(&driver.outline, 9, &[]);
        let size = driver.machine.size(&shown, &path).all();
        assert!(size <= Tokens::new(10_000), "{newest}: {size}");
    }
}

#[test]
fn what_is_sent_while_a_summary_is_written_leaves_room_for_the_answer() {
    let sizes = [
        1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 700, 2_100, 900, 200,
    ];
    let mut driver = Driver::new(prepared(), limits(10_000), &sizes);
    assert!(ordered(&driver.request(7)).is_some());
    let wall = driver.request(9);
    let extract = ordered(&wall).expect("made at once above 95 %");
    assert_eq!(extract.route, Route::Extractive);
    driver.finish(extract.job, 600);
    let path = Path::new(&driver.outline, 9, &[]);
    let again = driver.machine.on(Event::Request(path), at(driver.second));
    let shown = sent(&again).expect("sends");
    assert!(shown.tokens(&path) < Tokens::new(8_500));
}

#[test]
fn stop_the_world_holds_the_request() {
    let mut driver = Driver::new(
        shipped("stop_the_world", Route::Readable),
        limits(10_000).unguarded(),
        &[1_000; 12],
    );
    assert!(sent(&driver.request(8)).is_some());
    let hard = driver.request(9);
    let order = ordered(&hard).unwrap();
    assert_eq!(hard.last(), Some(&Action::Hold { until: None }));
    driver.finish(order.job, 500);
    assert_eq!(sent(&driver.request(9)).unwrap().from, order.cut);
}

#[test]
fn truncation_drops_as_few_steps_as_it_must() {
    let mut driver = Driver::new(
        shipped("truncate", Route::Readable),
        limits(10_000).unguarded(),
        &[1_000; 20],
    );
    for (len, from) in [(8, 0), (9, 1), (10, 2), (13, 5)] {
        let shown = sent(&driver.request(len)).unwrap();
        assert_eq!((shown.from, shown.mark), (from, None), "{len} turns");
    }
}

#[test]
fn a_client_that_goes_back_is_followed() {
    let mut driver = Driver::new(
        shipped("truncate", Route::Readable),
        limits(10_000).unguarded(),
        &[1_000; 20],
    );
    assert_eq!(sent(&driver.request(13)).unwrap().from, 5);
    assert_eq!(sent(&driver.request(3)).unwrap(), Extent::default());
}

#[test]
fn an_overflow_is_rescued_a_few_times_and_then_passed_through() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    driver.request(5);
    assert!(
        driver
            .machine
            .on(Event::Overflowed { input: None }, at(11))
            .contains(&Action::Retry)
    );
    let again = driver.request(5);
    let order = ordered(&again).expect("our count was wrong, so it compacts");
    assert_eq!(order.route, Route::Extractive);
    driver.finish(order.job, 300);
    assert!(sent(&driver.request(5)).unwrap().from > 0);
    let mut again = || driver.machine.on(Event::Overflowed { input: None }, at(12));
    for _ in 1..MOST_RETRIES {
        assert!(again().contains(&Action::Retry));
    }
    assert!(again().contains(&Action::PassThrough));
}

#[test]
fn what_is_refused_again_is_rescued_again_when_the_client_tries_again() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    driver.request(5);
    let overflowed = |driver: &mut Driver<Hosted>, input: u64| {
        let input = Some(Tokens::new(input));
        driver.machine.on(Event::Overflowed { input }, at(99))
    };
    for _ in 0..2 {
        for _ in 0..MOST_RETRIES {
            assert!(overflowed(&mut driver, 9_000).contains(&Action::Retry));
        }
        assert!(overflowed(&mut driver, 9_000).contains(&Action::PassThrough));
    }
}

#[test]
fn a_smaller_window_is_taken_at_once_and_what_does_not_fit_is_made_much_smaller() {
    let mut driver = Driver::new(prepared(), limits(200_000), &[1_000; 12]);
    driver.request(9);
    driver.machine.set_limits(limits(8_000));
    let input = Some(Tokens::new(8_900));
    let actions = driver.machine.on(Event::Overflowed { input }, at(99));
    assert!(actions.contains(&Action::Retry));
    let order = ordered(&driver.request(9)).expect("at once");
    assert_eq!(order.route, Route::Extractive);
    driver.finish(order.job, order.budget.get());
    let shown = sent(&driver.request(9)).expect("sends");
    let path = Path::new(&driver.outline, 9, &[]);
    let size = driver.machine.size(&shown, &path).all();
    assert!(size < limits(8_000).hard_tokens(), "{size}");
}

/// At which request a summary is begun, where each brings 1,000 tokens in 10 s and is answered with so many
/// in 2 s.
#[track_caller]
fn check_begun(output: u64, expected: usize) {
    let mut driver = Driver::new(prepared(), limits(10_000), &[500; 20]);
    let mut lengths = (1..20).step_by(2);
    let begun = lengths.find(|&len| {
        let order = ordered(&driver.request(len));
        let usage = Event::Usage {
            input: Tokens::new(len as u64 * 500),
            reported: Reported {
                output: Tokens::new(output),
                ..Reported::default()
            },
        };
        driver.machine.on(usage, at(driver.second + 2));
        order.is_some()
    });
    assert_eq!(begun, Some(expected));
}

#[test]
fn a_summary_is_begun_earlier_where_the_model_is_slow() {
    // Nothing is known of it: at two thirds.
    check_begun(0, 15);
    // 1,000 tokens in a second.
    check_begun(2_000, 15);
    // In 25 s, in which 2,500 are said.
    check_begun(80, 11);
    // In so long that little would be covered: half of what can be.
    check_begun(1, 11);
}

#[test]
fn usage_below_our_count_lowers_the_pressure() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    for len in [3, 5, 7, 9, 11] {
        let actions = driver.request(len);
        assert!(ordered(&actions).is_none(), "{len}: {actions:?}");
        let usage = usage(1_500);
        driver.machine.on(usage, at(driver.second));
    }
}

#[test]
fn usage_above_our_count_raises_the_pressure() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    assert!(ordered(&driver.request(5)).is_none());
    driver.machine.on(usage(7_000), at(11));
    assert!(ordered(&driver.request(5)).is_some());
}

#[test]
fn swaps_that_free_nothing_stop_the_machine() {
    struct Insist;
    impl Strategy for Insist {
        fn decide(&mut self, orders: &mut Orders<'_>) {
            let situation = orders.situation();
            let cut = situation.path.cut_at_least(situation.shown.from + 1);
            let prepare = cut.map(|cut| Command::Prepare {
                cut,
                room: Room::without_words(Tokens::new(10)),
                route: Route::Readable,
            });
            for command in [Some(Command::Swap), prepare].into_iter().flatten() {
                let _ = orders.give(command);
            }
        }
    }
    // One immovable turn fills the window, so every swap frees next to nothing.
    let mut sizes = vec![30; 12];
    sizes.push(1_100);
    let mut driver = Driver::new(Insist, limits(1_000), &sizes);
    let mut stops = Vec::new();
    for _ in 0..8 {
        let actions = driver.request(13);
        assert!(sent(&actions).is_some());
        if let Some(order) = ordered(&actions) {
            driver.finish(order.job, 10);
        }
        stops.extend(
            actions
                .into_iter()
                .filter(|action| matches!(action, Action::Stop(_))),
        );
    }
    assert_eq!(stops, [Action::Stop(StopReason::Thrashing(3))]);
    assert_eq!(driver.machine.stopped(), Some(StopReason::Thrashing(3)));
    let path = Path::new(&driver.outline, 13, &[]);
    driver
        .machine
        .on(Event::Command(Command::Resume, path), at(999));
    assert_eq!(driver.machine.stopped(), None);
}

#[test]
fn a_swap_below_the_hard_threshold_must_pay() {
    let mut dear = limits(10_000);
    dear.horizon = 2.0;
    let mut driver = Driver::new(prepared(), dear, &[1_000; 12]);
    let order = ordered(&driver.request(7)).unwrap();
    driver.finish(order.job, 500);
    let path = Path::new(&driver.outline, 7, &[]);
    let actions = driver
        .machine
        .on(Event::Command(Command::Swap, path), at(driver.second));
    assert!(matches!(refusals(&actions)[..], [Refusal::LosesMoney(_)]));
    // Ten minutes later the cache is gone and the swap is free.
    driver.second += 600;
    assert!(sent(&driver.request(7)).unwrap().from > 0);
}

#[test]
fn an_idle_machine_is_small() {
    let bytes = size_of::<Homunculus<Hosted>>();
    assert!(bytes <= 1_200, "{bytes}");
}

#[test]
fn a_swap_that_was_taken_back_stays_so_until_the_hard_threshold() {
    let mut driver = Driver::new(prepared(), limits(10_000), &[1_000; 12]);
    let order = ordered(&driver.request(7)).unwrap();
    driver.finish(order.job, 500);
    driver.second += 600;
    let swapped = sent(&driver.request(7)).unwrap();
    assert!(swapped.from > 0);
    let tell = |driver: &mut Driver<_>, len, back: bool| {
        let path = Path::new(&driver.outline, len, &[]);
        let event = match back {
            true => Event::Undo(path),
            false => Event::Redo(path),
        };
        driver.machine.on(event, at(driver.second))
    };
    let actions = tell(&mut driver, 7, true);
    assert!(actions.contains(&Action::ShowAll));
    driver.second += 600;
    assert_eq!(sent(&driver.request(7)), Some(Extent::default()));
    let actions = tell(&mut driver, 7, false);
    assert!(actions.contains(&Action::Show(swapped)));
    assert_eq!(sent(&driver.request(7)), Some(swapped));
    let again = tell(&mut driver, 7, false);
    assert_eq!(again, [Action::Refuse(Refusal::NothingDone)]);
    // Where the whole no longer fits, a larger summary takes the place of the old one.
    let actions = tell(&mut driver, 12, true);
    let order = ordered(&actions).unwrap();
    assert_eq!(
        (order.cut, order.budget),
        (swapped.from, Tokens::new(1_000))
    );
    driver.finish(order.job, 900);
    let remade = sent(&driver.request(12)).unwrap();
    assert_eq!(
        (remade.from, remade.summary),
        (swapped.from, Tokens::new(900))
    );
    let actions = tell(&mut driver, 12, false);
    assert!(actions.contains(&Action::Show(swapped)));
    // One that does not fit any more once it is there is not shown, and that is told.
    let order = ordered(&tell(&mut driver, 12, true)).unwrap();
    driver.finish(order.job, 7_000);
    let actions = driver.request(12);
    let is_told = |it: &Action| matches!(it, Action::Telemetry(Telemetry::NotShown(_)));
    assert!(actions.iter().any(is_told), "{actions:?}");
    assert_eq!(sent(&actions), Some(swapped));
}

/// A strategy that never orders anything.
struct Nothing;

impl Strategy for Nothing {
    fn decide(&mut self, _: &mut Orders<'_>) {}
}

#[test]
fn a_refused_view_without_room_for_an_answer_is_made_smaller() {
    let mut driver = Driver::new(Nothing, limits(10_000), &[970; 10]);
    assert_eq!(sent(&driver.request(10)), Some(Extent::default()));
    let path = Path::new(&driver.outline, 10, &[]);
    let actions = driver.machine.on(Event::Rescue(path), at(driver.second));
    assert_eq!(
        ordered(&actions).map(|order| order.route),
        Some(Route::Extractive)
    );
}

#[test]
fn a_refused_view_is_made_to_fit_without_the_strategy() {
    let mut driver = Driver::new(Nothing, limits(10_000), &[1_000; 9]);
    assert_eq!(sent(&driver.request(9)), Some(Extent::default()));
    let rescue = |driver: &mut Driver<Nothing>| {
        let path = Path::new(&driver.outline, 9, &[]);
        driver.machine.on(Event::Rescue(path), at(driver.second))
    };
    assert_eq!(rescue(&mut driver), [], "it fits");
    let input = Some(Tokens::new(11_000));
    driver
        .machine
        .on(Event::Overflowed { input }, at(driver.second));
    let order = ordered(&rescue(&mut driver)).expect("a summary");
    assert_eq!((order.route, order.cut), (Route::Extractive, 8));
    assert_eq!(ordered(&rescue(&mut driver)), None, "it is being made");
    driver.finish(order.job, 500);
    let shown = rescue(&mut driver)
        .into_iter()
        .find_map(|action| match action {
            Action::Show(shown) => Some(shown),
            _ => None,
        });
    assert_eq!(shown.map(|shown| shown.from), Some(8));
    assert_eq!(rescue(&mut driver), [], "it fits");
    assert_eq!(sent(&driver.request(9)), shown);
}

mod random;
