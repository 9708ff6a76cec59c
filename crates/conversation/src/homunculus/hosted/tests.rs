//! Programs as strategies, one conversation at a time.

mod pulses;
mod regrets;
mod words;

use std::sync::Arc;

use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};
use history::{MarkId, Route};
use jiff::{SignedDuration, Timestamp};
use plumb::modules::BuiltIn;

use super::{
    EXAMPLES, Guards, HostSettings, Hosted, PinKeeping, SHIPPED, StoredStrategy, StrategyError,
    StrategyFailure, StrategyProgram, Terms,
};
use crate::homunculus::event::{Action, Event, Preparation, Reported, Telemetry, Verdict, Wish};
use crate::homunculus::limits::Limits;
use crate::homunculus::machine::{Homunculus, Orders};
use crate::homunculus::outline::{Outline, Path, PinnedAt};
use crate::homunculus::price::Prices;
use crate::homunculus::strategy::Strategy;

/// Reads a text as a strategy: `ok`, or what is wrong with it.
fn check(text: &str) -> String {
    match StrategyProgram::new("mine", text, &BuiltIn) {
        Ok(_) => "ok".to_owned(),
        Err(StrategyError::Unsound { diagnostics, .. }) => {
            let codes: Vec<&str> = diagnostics.iter().map(|it| it.code.0).collect();
            codes.join(" ")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_shipped_checks_and_is_in_canonical_form() {
    for (name, text) in SHIPPED.into_iter().chain(EXAMPLES) {
        let program = StrategyProgram::new(name, text, &BuiltIn);
        if let Err(error) = program {
            panic!("{error}: {error:?}");
        }
        let (program, _) = plumb::syntax::parse(plumb::span::SourceId(0), text);
        assert_eq!(plumb::syntax::format(&program, text), text, "{name}");
        assert!(text.starts_with(&format!("(* {name}: ")), "{name}");
    }
}

#[test]
fn a_picture_has_a_session_as_one_node() {
    let program = StrategyProgram::shipped("stop_the_world").unwrap();
    let picture = program.picture();
    assert!(picture.starts_with("<svg "), "{picture}");
    assert_eq!(picture.matches("class=\"session\"").count(), 1, "{picture}");
    assert!(picture.contains("Mem.compressor"), "{picture}");
}

#[test]
fn what_the_documentation_shows_is_a_strategy() {
    let page = include_str!("../../../../../docs/strategies.md");
    let mut shown = page.split("```plumb\n").skip(1);
    let text = shown.next().and_then(|rest| rest.split("```").next());
    assert_eq!(check(text.unwrap()), "ok");
    assert!(shown.next().is_none());
    for (name, _) in SHIPPED.into_iter().chain(EXAMPLES) {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}

/// A strategy whose `main` has this body.
fn with(body: &str) -> String {
    format!(
        "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {{ {body} }}"
    )
}

#[test]
fn what_is_a_strategy() {
    let quiet = "answers ; discard reports ; discard";
    let swaps = "reports ; map({ swap: true }) ; commands answers ; discard";
    for (text, expected) in [
        (with(swaps), "ok"),
        (
            "let main : (!json, !json) -> !json = plumb(a, b, c) { (a * b) ; merge ; c }"
                .to_owned(),
            "ok",
        ),
        (
            with("reports ; map({ swop: true }) ; commands"),
            "P0510 P0301",
        ),
        (
            "let other : !int -> !int = id".to_owned(),
            "mine has no process `main : (!CtrlResp, !json) -> !CtrlCmd`",
        ),
        (
            "let main : !json -> !json = id".to_owned(),
            "mine has no process `main : (!CtrlResp, !json) -> !CtrlCmd`",
        ),
        (
            format!(
                "let ask : json -> CtrlCmd = tool {{ process: answer }}\n\
                 let answer : !json -> !CtrlCmd = map({{ swap: true }})\n{}",
                with(&format!("{quiet} reports ; ask ; commands"))
            ),
            "mine cannot use `ask`: a strategy can use no agents or tools except `Mem.compressor`",
        ),
        (
            format!(
                "let agent1 : !string -> !string = agent {{ provider: \"eliza\" }}\n{}",
                with(&format!(
                    "{quiet} reports ; map(\"hi\") ; agent1 ; map({{ swap: true }}) ; commands"
                ))
            ),
            "mine cannot use `agent1`: a strategy can use no agents or tools except `Mem.compressor`",
        ),
    ] {
        assert_eq!(check(&text), expected, "{text}");
    }
}

#[track_caller]
fn check_compressor(settings: &str, expected: &str) {
    let text = format!(
        "let own : !MemoryDump -> !SetMemory = agent {{ {settings} }}\n{}",
        with(
            "reports ; discard
             answers ; filter(defined(marked)) ; map({ memory: marked }) ; own ; commands"
        )
    );
    assert_eq!(check(&text), expected, "{text}");
}

#[test]
fn a_compressor_whose_settings_would_be_ignored_is_refused() {
    let refused = |setting: &str| {
        format!("mine declares the compressor `own` with `{setting}`, which the host would ignore")
    };
    check_compressor("provider: \"sim\"", "ok");
    check_compressor(
        "provider: \"sim\", prompt: \"Keep every date.\"",
        &refused("prompt"),
    );
    check_compressor(
        "provider: \"anthropic\", model: \"m\"",
        &refused("provider"),
    );
    check_compressor("provider: \"sim\", model: \"m\"", &refused("model"));
}

fn limits() -> Limits {
    let prices = Prices {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
        ttl: SignedDuration::from_mins(5),
        cache_minimum: Tokens::new(1024),
    };
    Limits::for_window(Tokens::new(10_000), prices)
}

/// Twelve turns of a thousand tokens, by turns of the user and the assistant.
fn outline() -> Outline {
    let mut parent = TurnId::ROOT;
    let turns: Vec<Turn> = (0..12)
        .map(|index| {
            let role = [Role::User, Role::Assistant][index % 2];
            let turn = TurnDraft::text(role, "abcd".repeat(996)).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect();
    Outline::of(&turns)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// One conversation in a window of ten turns.
struct House {
    machine: Homunculus<Hosted>,
    outline: Outline,
    second: i64,
}

impl House {
    fn new(program: Arc<StrategyProgram>, limits: Limits) -> Self {
        Self {
            machine: Homunculus::new(Hosted::new(program, HostSettings::default()), limits),
            outline: outline(),
            second: 0,
        }
    }

    fn of(text: &str) -> Self {
        Self::new(
            StrategyProgram::new("mine", text, &BuiltIn).unwrap(),
            limits(),
        )
    }

    fn request(&mut self, turns: usize) -> Vec<Action> {
        self.second += 10;
        let path = Path::new(&self.outline, turns, &[]);
        self.machine.on(Event::Request(path), at(self.second))
    }

    fn finish(&mut self, order: &Preparation) {
        let event = Event::Prepared {
            job: order.job,
            mark: MarkId::from_bytes([1; 16]),
            tokens: Tokens::new(500),
        };
        self.machine.on(event, at(self.second));
    }
}

/// The results of a strategy's actions, in words.
fn told(actions: &[Action]) -> Vec<String> {
    let word = |action: &Action| match action {
        Action::Prepare(order) => Some(format!("prepare {}", order.cut)),
        Action::Send(shown) => Some(format!("send from {}", shown.from)),
        Action::Hold { .. } => Some("hold".to_owned()),
        Action::Telemetry(Telemetry::StrategyFailed(failure)) => Some(failure.to_string()),
        _ => None,
    };
    actions.iter().filter_map(word).collect()
}

fn ordered(actions: &[Action]) -> Preparation {
    let order = actions.iter().find_map(|action| match action {
        Action::Prepare(order) => Some(*order),
        _ => None,
    });
    order.unwrap()
}

#[test]
fn the_published_listing_runs_as_it_was_printed() {
    let mut house = House::of(
        "
let compressor : !MemoryDump -> !SetMemory = agent { provider: \"sim\" }

protocol Compaction =
send Pause . recv PauseAck .
send GetMemory . recv MemoryDump .
send SetMemory . recv SetMemoryAck .
send Resume . recv ResumeAck . end

let compact : (!CtrlResp, !json) -> !CtrlCmd =
plumb(ctrl_out, telemetry, ctrl_in) {
(ctrl_out, ctrl_in) <-> Compaction as session
telemetry ; filter(kind = \"usage\" && input_tokens > 5000) ;
map(null) ; session@trigger
session@trigger ; map({pause: true}) ; session@send(Pause)
session@done(PauseAck) ; map({get_memory: true}) ; session@send(GetMemory)
session@recv(MemoryDump) ; compressor ; session@send(SetMemory)
session@done(SetMemoryAck) ; map({resume: true}) ; session@send(Resume)
}

let main : (!CtrlResp, !json) -> !CtrlCmd = compact
",
    );
    let mut limits = limits();
    limits.patience = SignedDuration::MAX;
    house.machine.set_limits(limits);
    assert_eq!(told(&house.request(5)), ["send from 0"]);
    let full = house.request(7);
    assert_eq!(told(&full), ["prepare 6", "hold"]);
    house.finish(&ordered(&full));
    assert_eq!(told(&house.request(7)), ["send from 6"]);
    assert_eq!(
        told(&house.request(8)),
        ["send from 6"],
        "and it is armed again"
    );
}

#[test]
fn the_module_s_own_strategies_run() {
    for (name, full) in [
        ("stop_the_world", ["prepare 8", "hold"]),
        ("prepared", ["prepare 8", "send from 0"]),
    ] {
        let text = format!("use mem\nlet main : (!CtrlResp, !json) -> !CtrlCmd = Mem.{name}");
        let mut house = House::of(&text);
        let mut limits = limits();
        limits.patience = SignedDuration::MAX;
        house.machine.set_limits(limits);
        let actions = house.request(9);
        assert_eq!(told(&actions), full, "{name}");
        house.finish(&ordered(&actions));
        assert_eq!(told(&house.request(9)), ["send from 8"], "{name}");
    }
}

#[test]
fn one_that_fails_gives_way_to_the_default() {
    for (body, failure) in [
        (
            "reports ; map({ drop_to: 1 / (window - 10000) }) ; commands answers ; discard",
            "mine:1:91: map: division by zero".to_owned(),
        ),
        (
            "reports ; map({ swap: true }) ; commands answers ; map({ swap: true }) ; commands",
            StrategyFailure::Restless.to_string(),
        ),
        (
            "let again : !json = channel reports ; again again ; again answers ; discard
             empty ; commands",
            "mine:1:85: merge: not at rest after 100000 steps; the cycle: merge -> again -> merge"
                .to_owned(),
        ),
    ] {
        let mut house = House::of(&with(body));
        let actions = house.request(7);
        assert_eq!(told(&actions), [&*failure, "prepare 6", "send from 0"]);
        assert_eq!(told(&house.request(7)), ["send from 0"], "told once");
    }
    for (said, what) in [
        ("{ hello: true, a: 1 }", "a record of `hello`, `a`"),
        ("{ drop_to: \"half\" }", "a record of `drop_to`"),
        ("[1]", "no record"),
    ] {
        let mut house = House::of(&format!(
            "let main : (!json, !json) -> !json = plumb(a, b, c) {{ a ; discard b ; map({said}) ; c }}",
        ));
        let failure = format!("what it says is not a command: {what}");
        assert_eq!(told(&house.request(3)), [&*failure, "send from 0"]);
    }
}

#[test]
fn each_command_is_told_and_what_became_of_it() {
    let commands = |actions: &[Action]| -> Vec<String> {
        let word = |action: &Action| match action {
            Action::Telemetry(Telemetry::Commanded(command, Verdict::Done)) => {
                Some((*command).to_owned())
            }
            Action::Telemetry(Telemetry::Commanded(command, Verdict::Refused(refusal))) => {
                Some(format!("{command} refused: {}", refusal.word()))
            }
            Action::Telemetry(Telemetry::CameToNothing(refusal)) => {
                Some(format!("came to nothing: {}", refusal.word()))
            }
            _ => None,
        };
        actions.iter().filter_map(word).collect()
    };
    let program = StrategyProgram::shipped("stop_the_world").unwrap();
    let mut house = House::new(program, limits().unguarded());
    let full = house.request(9);
    assert_eq!(commands(&full), ["pause", "get_memory", "compressor"]);
    house.finish(&ordered(&full));
    assert_eq!(commands(&house.request(9)), ["set_memory", "resume"]);

    // A summary that is not made is refused when it is known, which may be at a later request.
    let mut house = House::new(StrategyProgram::default_one(), limits());
    let full = house.request(9);
    assert_eq!(commands(&full), ["mark", "compressor"]);
    let job = ordered(&full).job;
    house.machine.on(Event::Failed { job }, at(house.second));
    house.second -= 10;
    let next = commands(&house.request(9));
    assert_eq!(
        next.first().map(String::as_str),
        Some("came to nothing: nothing_ready"),
        "{next:?}"
    );

    let mut house = House::of(&with(
        "reports ; map({ swap: true }) ; commands answers ; discard",
    ));
    assert_eq!(commands(&house.request(3)), ["swap refused: nothing_ready"]);
}

#[test]
fn one_that_keeps_ever_more_gives_way_to_the_default() {
    let mut house = House::of(&with(
        "let kept : !json = channel
         once([]) ; kept
         (kept * reports) ; barrier ; map([value.0, value.0, value.1.pressure]) ; kept
         answers ; discard
         empty ; commands",
    ));
    let failure = StrategyFailure::Large.to_string();
    let told: Vec<bool> = (0..20)
        .map(|_| told(&house.request(3)).contains(&failure))
        .collect();
    let failed = told.iter().position(|told| *told);
    assert!(failed.is_some_and(|at| (12..18).contains(&at)), "{told:?}");
    assert_eq!(told.iter().filter(|told| **told).count(), 1, "told once");
    assert_eq!(&**house.machine.strategy().program().name(), "prepared");
}

#[test]
fn a_preparation_that_fails_ends_the_run() {
    for name in ["prepared", "stop_the_world"] {
        let mut house = House::new(StrategyProgram::shipped(name).unwrap(), limits());
        let order = ordered(&house.request(9));
        let failed = Event::Failed { job: order.job };
        house.machine.on(failed, at(house.second));
        house.second -= 10;
        assert_eq!(
            told(&house.request(9)),
            ["send from 0"],
            "{name} leaves off"
        );
        house.second += 600;
        let again = ordered(&house.request(9));
        assert_eq!(again.cut, order.cut, "{name} begins anew");
    }
}

#[test]
fn it_goes_on_from_what_was_stored() {
    for name in ["prepared", "stop_the_world"] {
        let program = StrategyProgram::shipped(name).unwrap();
        let mut house = House::new(Arc::clone(&program), limits().unguarded());
        let mut order = None;
        for turns in 1..=9 {
            let actions = house.request(turns);
            order = order.or_else(|| {
                actions.iter().find_map(|action| match action {
                    Action::Prepare(order) => Some(*order),
                    _ => None,
                })
            });
            house.machine.strategy_mut(|strategy| {
                let text = serde_json::to_string(&strategy.to_stored()).unwrap();
                let stored: StoredStrategy = serde_json::from_str(&text).unwrap();
                *strategy = Hosted::resume(Arc::clone(&program), HostSettings::default(), stored);
            });
        }
        house.finish(&order.unwrap());
        let swapped = format!("send from {}", order.unwrap().cut);
        assert_eq!(told(&house.request(9)), [swapped], "{name}");
    }
}

#[test]
fn the_state_of_another_program_is_not_used() {
    let stop = StrategyProgram::shipped("stop_the_world").unwrap();
    let mut house = House::new(stop, limits().unguarded());
    house.request(9);
    let mut stored = None;
    house
        .machine
        .strategy_mut(|strategy| stored = Some(strategy.to_stored()));
    let other = StrategyProgram::shipped("truncate").unwrap();
    let resumed = Hosted::resume(other, HostSettings::default(), stored.unwrap());
    assert!(resumed.waiting.is_none() && !resumed.paused);
}

#[test]
fn an_idle_conversation_holds_some_hundred_bytes() {
    for program in StrategyProgram::all() {
        let mut house = House::new(Arc::clone(&program), limits().unguarded());
        for turns in 1..=12 {
            let actions = house.request(turns);
            if let Some(Action::Prepare(order)) = actions
                .iter()
                .find(|action| matches!(action, Action::Prepare(_)))
            {
                house.finish(order);
                house.request(turns);
            }
        }
        house.machine.rest();
        let bytes = house.machine.strategy().bytes();
        assert!(bytes <= 1_024, "{}: {bytes}", program.name());
    }
}

/// Looks at what a program would be told.
struct Look(Option<super::Report>);

impl Strategy for Look {
    fn decide(&mut self, orders: &mut Orders<'_>) {
        let settings = HostSettings {
            soft: Some(0.5),
            ..HostSettings::default()
        };
        self.0 = Some(super::Report::of(&orders.situation(), settings));
    }
}

#[test]
fn what_a_program_is_told() {
    let mut machine = Homunculus::new(Look(None), limits());
    let outline = outline();
    machine.on(Event::Request(Path::new(&outline, 9, &[])), at(0));
    let reported = Reported {
        output: Tokens::new(300),
        cache_read: Tokens::new(8_000),
        cache_write: Tokens::new(1_000),
    };
    let input = Tokens::new(9_000);
    machine.on(Event::Usage { input, reported }, at(1));
    machine.on(Event::Request(Path::new(&outline, 9, &[])), at(1));
    let mut told = None;
    machine.strategy_mut(|look| told = look.0);
    let expected = "{\"kind\":\"usage\",\"pressure\":0.9,\"hard\":0.85,\"stage\":\"none\",\
        \"swap\":\"none\",\"after\":0.9,\"standby\":false,\"cache\":\"warm\",\"held_ms\":0,\
        \"patience_ms\":0,\"input_tokens\":9000,\"window\":10000,\"compactions\":0,\
        \"output_tokens\":300,\"cache_read\":8000,\"cache_write\":1000,\
        \"ahead\":0.85,\"soft\":0.5}";
    assert_eq!(told.unwrap().to_value().unwrap().to_string(), expected);
}

/// The program shows what it is told by the pins that it removes.
#[test]
fn what_happened_is_told_before_the_next_report() {
    let body = "
        reports ; filter(kind = \"usage\" && stage = \"none\") ; map({ mark: true }) ; commands
        answers ; filter(defined(marked)) ; map({ memory: marked }) ; Mem.compressor ;
          map({ prepare: set_memory }) ; commands
        reports ; filter(stage = \"ready\") ; map({ swap: true }) ; commands
        reports ; filter(kind = \"swap\") ;
          map({ unpin: if tokens_after < tokens_before && compactions = 1 then \"swapped\" else \"?\" }) ;
          commands
        reports ; filter(kind = \"error\") ;
          map({ unpin: if attempt > 0 then \"failed\" else error }) ; commands";
    let mut house = House::of(&format!("use mem\n{}", with(body)));
    let unpinned = |actions: &[Action]| -> Vec<String> {
        let id = |action: &Action| match action {
            Action::Unpin(id) => Some(id.clone()),
            _ => None,
        };
        actions.iter().filter_map(id).collect()
    };
    let order = ordered(&house.request(9));
    house.finish(&order);
    assert_eq!(told(&house.request(9)), ["send from 8"]);
    assert_eq!(unpinned(&house.request(9)), ["swapped"], "and told once:");
    let again = ordered(&house.request(12));
    house
        .machine
        .on(Event::Failed { job: again.job }, at(house.second));
    house
        .machine
        .on(Event::Overflowed { input: None }, at(house.second));
    assert_eq!(unpinned(&house.request(12)), ["failed", "overflowed"]);
    assert!(unpinned(&house.request(12)).is_empty());
}

#[test]
fn the_terms_are_what_the_program_says() {
    let check = |terms: &str, expected: Option<Terms>| {
        let text = format!(
            "{terms}\n{}",
            with("answers ; discard reports ; discard empty ; commands")
        );
        match StrategyProgram::new("mine", &text, &BuiltIn) {
            Ok(program) => assert_eq!(Some(program.terms()), expected, "{terms}"),
            Err(StrategyError::Terms(_)) => assert_eq!(None, expected, "{terms}"),
            Err(error) => panic!("{terms}: {error}: {error:?}"),
        }
    };
    let off = Terms {
        guards: Guards::Off,
        pins: PinKeeping::Ignored,
    };
    check("", Some(Terms::default()));
    check(
        "let terms : () -> !Terms = once({})",
        Some(Terms::default()),
    );
    check(
        "let terms : () -> !Terms = once({ guards: true, pins: true })",
        Some(Terms::default()),
    );
    check(
        "let terms : () -> !Terms = once({ guards: false, pins: false })",
        Some(off),
    );
    check(
        "let terms : () -> !json = plumb(out) { once({ guards: false, pins: false }) ; out }",
        Some(off),
    );
    check("let terms : () -> !json = once({ guard: false })", None);
    check("let terms : () -> !Terms = empty", None);
    check("let terms : !json -> !json = id", None);
}

#[test]
fn a_copy_under_another_name_is_the_same_strategy() {
    for (name, text) in SHIPPED {
        let shipped = StrategyProgram::shipped(name).unwrap();
        let copy = StrategyProgram::new("copy", text, &BuiltIn).unwrap();
        assert_eq!(
            (copy.id(), copy.terms()),
            (shipped.id(), shipped.terms()),
            "{name}"
        );
    }
}

#[test]
fn a_strategy_begins_to_act_where_its_text_says() {
    for (name, soft, from) in [
        ("prepared", None, 2.0 / 3.0),
        ("prepared", Some(0.5), 0.5),
        ("thrifty", None, 0.65),
        ("thrifty", Some(0.5), 0.5),
        ("stop_the_world", Some(0.5), 0.85),
        ("clear_tool_results", None, 0.5),
        ("truncate", None, 0.85),
    ] {
        let program = StrategyProgram::shipped(name).unwrap();
        assert_eq!(program.acts_from(0.85, soft), Some(from), "{name}");
    }
}

#[test]
fn pins_are_kept_up_to_what_the_strategy_agrees_to() {
    let check = |name: &str, by: &str, pinned: u64, expected: &[Action]| {
        let program = StrategyProgram::shipped(name).unwrap();
        let mut machine = Homunculus::new(Hosted::new(program, HostSettings::default()), limits());
        let outline = outline();
        let tokens = Tokens::new(pinned);
        let pins = [PinnedAt { turn: None, tokens }];
        let wish = Wish {
            id: "a1",
            by,
            tokens,
        };
        let path = Path::new(&outline, 3, &pins);
        let actions = machine.on(Event::Pinned(wish, path), at(0));
        let told = |action: &Action| matches!(action, Action::Telemetry(_));
        let done: Vec<Action> = actions.into_iter().filter(|it| !told(it)).collect();
        assert_eq!(done, expected, "{name} {by} {pinned}");
    };
    let refused = [Action::Unpin("a1".to_owned())];
    check("pinning", "user", 1_000, &[]);
    check("pinning", "user", 1_001, &refused);
    check("pinning", "agent", 500, &[]);
    check("pinning", "agent", 501, &refused);
    check("prepared", "agent", 5_000, &[]);
}

#[test]
fn a_pin_changes_nothing_of_what_is_shown() {
    let mut house = House::new(StrategyProgram::default_one(), limits());
    let order = ordered(&house.request(7));
    house.finish(&order);
    assert_eq!(told(&house.request(9)), ["send from 6"]);
    let wish = Wish {
        id: "a1",
        by: "user",
        tokens: Tokens::new(10),
    };
    // A client that went back says its turns again, one by one.
    let path = Path::new(&house.outline, 1, &[]);
    house
        .machine
        .on(Event::Pinned(wish, path), at(house.second));
    assert_eq!(told(&house.request(9)), ["send from 6"]);
}

/// Tells of a pin when so many turns are there.
fn pin(house: &mut House, turns: usize) -> Vec<Action> {
    let wish = Wish {
        id: "a1",
        by: "user",
        tokens: Tokens::new(10),
    };
    let path = Path::new(&house.outline, turns, &[]);
    house
        .machine
        .on(Event::Pinned(wish, path), at(house.second))
}

#[test]
fn what_is_ordered_with_a_pin_is_done_with_the_next_request() {
    let drops = format!(
        "use mem\nlet terms : () -> !Terms = once({{ guards: false }})\n{}",
        with(
            "reports ; filter(kind = \"pin\") ; map({ drop_to: 0.4 }) ; commands answers ; discard"
        )
    );
    let compresses = format!(
        "use mem\n{}",
        with(
            "reports ; filter(kind = \"pin\") ; map({ mark: true, keep: 0.05 }) ; commands \
             answers ; filter(defined(marked)) ; map({ memory: marked }) ; Mem.compressor ; commands"
        )
    );
    for (text, first, then) in [
        (drops, "send from 6", "send from 6"),
        (compresses, "prepare 8", "send from 8"),
    ] {
        let mut house = House::of(&text);
        assert_eq!(told(&house.request(7)), ["send from 0"]);
        assert_eq!(pin(&mut house, 3), [], "{text}");
        let program = StrategyProgram::new("mine", &text, &BuiltIn).unwrap();
        house.machine.strategy_mut(|strategy| {
            let stored = serde_json::to_string(&strategy.to_stored()).unwrap();
            let stored: StoredStrategy = serde_json::from_str(&stored).unwrap();
            *strategy = Hosted::resume(program, HostSettings::default(), stored);
        });
        let actions = house.request(9);
        assert_eq!(told(&actions).first().map(String::as_str), Some(first));
        if first.starts_with("prepare") {
            house.finish(&ordered(&actions));
        }
        assert_eq!(told(&house.request(9)), [then], "{text}");
    }
}

#[test]
fn one_that_fails_when_it_is_asked_about_a_pin_is_replaced() {
    let text = with(
        "reports ; filter(kind = \"pin\") ; map({ drop_to: 1 / (window - window) }) ; commands \
         answers ; discard",
    );
    let mut house = House::of(&text);
    let actions = pin(&mut house, 3);
    assert_eq!(told(&actions).len(), 1, "{actions:?}");
    let default = StrategyProgram::default_one();
    house
        .machine
        .strategy_mut(|strategy| assert_eq!(strategy.program().id(), default.id()));
}

#[test]
fn thrifty_swaps_as_soon_as_it_pays() {
    let swapped_at = |name: &str| {
        let program = StrategyProgram::shipped(name).unwrap();
        let mut limits = limits();
        // Writing to the cache costs no more than reading from it: a smaller view pays at once.
        limits.prices.cache_write = limits.prices.cache_read;
        let mut house = House::new(program, limits);
        let order = ordered(&house.request(7));
        house.finish(&order);
        let mut turns = (7..12).filter(|&turns| told(&house.request(turns)) != ["send from 0"]);
        turns.next()
    };
    assert_eq!(swapped_at("thrifty"), Some(7));
    assert_eq!(swapped_at("prepared"), Some(9));
}

#[test]
fn cold_cache_swaps_after_a_pause() {
    let program = StrategyProgram::shipped("cold_cache").unwrap();
    let mut house = House::new(program, limits());
    let order = ordered(&house.request(5));
    house.finish(&order);
    assert_eq!(told(&house.request(7)), ["send from 0"]);
    house.second += 600;
    assert_eq!(
        told(&house.request(7)),
        [format!("send from {}", order.cut)]
    );
    let program = StrategyProgram::shipped("cold_cache").unwrap();
    let mut house = House::new(program, limits());
    let order = ordered(&house.request(5));
    house.finish(&order);
    assert_eq!(
        told(&house.request(9)),
        ["send from 0"],
        "above the hard threshold"
    );
}

#[test]
fn a_route_is_the_host_s() {
    for (name, route, made) in [
        ("prepared", Route::Native, Route::Native),
        ("stop_the_world", Route::Native, Route::Readable),
        ("stop_the_world", Route::Extractive, Route::Extractive),
    ] {
        let settings = HostSettings {
            route,
            ..HostSettings::default()
        };
        let program = StrategyProgram::shipped(name).unwrap();
        let machine = Homunculus::new(Hosted::new(program, settings), limits().unguarded());
        let mut house = House {
            machine,
            outline: outline(),
            second: 0,
        };
        assert_eq!(ordered(&house.request(9)).route, made, "{name}");
    }
}
