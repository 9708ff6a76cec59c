//! Words of the conversation that programs are told, and pins that they set of them.

use context::pin::{Origin, Pins};
use context::turn::{CallId, Outcome, ToolCall, ToolResult};
use context::{Heuristic, Part, Role, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
use plumb::modules::BuiltIn;

use super::super::reads::Reads;
use super::super::{HostSettings, Hosted, StrategyProgram};
use super::{at, limits, with};
use crate::homunculus::event::{Action, Event, Refusal, Telemetry, Verdict};
use crate::homunculus::machine::Homunculus;
use crate::homunculus::outline::{Outline, Path, Words};
use crate::homunculus::strategy::When;

/// A request at hand.
#[derive(Debug)]
struct Request {
    turns: Vec<Turn>,
    pins: Pins,
}

impl Words for Request {
    fn turns(&self) -> &[Turn] {
        &self.turns
    }

    fn pins(&self) -> &Pins {
        &self.pins
    }

    fn counter(&self) -> &dyn TokenCounter {
        &Heuristic
    }
}

/// A person speaks, and the agent reads a file.
fn said() -> Request {
    let call = ToolCall {
        id: CallId::from("1"),
        name: "read".into(),
        arguments: r#"{"path":"a.rs"}"#.into(),
    };
    let result = ToolResult {
        call: call.id.clone(),
        text: "fn a() {}".into(),
        outcome: Outcome::Succeeded,
    };
    let drafts = [
        TurnDraft::text(Role::User, "I cannot see.\n```\npasted\n```"),
        TurnDraft::said(Role::Assistant, vec![Part::Call(call)]),
        TurnDraft::said(Role::Tool, vec![Part::Result(result)]),
        TurnDraft::text(Role::Assistant, "It is empty."),
        TurnDraft::text(Role::User, "long ".repeat(2_000)),
    ];
    let mut parent = TurnId::ROOT;
    let placed = drafts.into_iter().map(|draft| {
        let turn = draft.after(parent, &Heuristic);
        parent = turn.id();
        turn
    });
    let mut pins = Pins::default();
    pins.add("speak French", Origin::Api, None, &Heuristic)
        .unwrap();
    Request {
        turns: placed.collect(),
        pins,
    }
}

/// The actions of a program of this text on this request, after its turns were said so.
fn asked(text: &str, when: When, request: &Request) -> Vec<Action> {
    let program = StrategyProgram::new("mine", text, &BuiltIn).unwrap();
    let hosted = Hosted::new(program, HostSettings::default());
    let mut machine = Homunculus::new(hosted, limits());
    machine.on(Event::Said(when, &request.turns), at(0));
    let outline = Outline::of(&request.turns);
    let path = Path::new(&outline, outline.len(), &[]).with_words(request);
    machine.on(Event::Request(path), at(1))
}

/// The texts that a program gave in its commands `unpin`.
fn told(text: &str, when: When) -> Vec<String> {
    let actions = asked(text, when, &said()).into_iter();
    let texts = actions.filter_map(|action| match action {
        Action::Unpin(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

#[test]
fn each_turn_is_told_with_its_handle_when_it_is_said() {
    let program = |filter: &str, field: &str| {
        let filtered = format!("reports ; filter(kind = \"turn\" && {filter})");
        with(&format!(
            "{filtered} ; map({{ unpin: {field} }}) ; commands answers ; discard"
        ))
    };
    let check = |filter: &str, field: &str, expected: &[&str]| {
        assert_eq!(told(&program(filter, field), When::Now), expected);
    };
    check("role = \"user\"", "handle", &["turn:1", "turn:5"]);
    check("role = \"tool\"", "text", &["fn a() {}"]);
    check("share < 0.1 && defined(typed)", "typed", &["I cannot see."]);
    check("contains(text, \"pasted\")", "handle", &["turn:1"]);
    let handles = program("true", "handle");
    assert_eq!(told(&handles, When::Before), [""; 0], "it was told before");
}

/// The outcome of a command to pin this: the text that is pinned and the number of the user's turn that it is,
/// or why nothing is.
fn check_pin(named: &str, expected: Result<(&str, Option<usize>), &str>) {
    let text = with(&format!(
        "reports ; filter(kind = \"usage\") ; map({{ pin: \"{named}\" }}) ; commands \
         answers ; discard"
    ));
    let request = said();
    let actions = asked(&text, When::Now, &request);
    let pinned = actions.iter().find_map(|action| match action {
        Action::Pin(pin, turn) => Some((pin.clone(), *turn)),
        _ => None,
    });
    let refused = actions.iter().find_map(|action| match action {
        Action::Telemetry(Telemetry::Commanded("pin", Verdict::Refused(refusal))) => Some(*refusal),
        _ => None,
    });
    match expected {
        Ok((text, turn)) => {
            let (pin, of) = pinned.unwrap_or_else(|| panic!("{named}: {refused:?}"));
            assert_eq!((&*pin.text, pin.origin), (text, Origin::Strategy));
            let index = |turn: TurnId| request.turns.iter().position(|it| it.id() == turn);
            assert_eq!(of.and_then(index), turn.map(|turn| turn - 1), "{named}");
        }
        Err(word) => {
            assert_eq!(pinned, None, "{named}");
            assert_eq!(refused.map(|it| Refusal::word(&it)), Some(word), "{named}");
            let told = |action: &&Action| matches!(action, Action::Telemetry(Telemetry::NotPinned(error)) if error.word() == word);
            assert_eq!(actions.iter().filter(told).count(), 1, "{named}");
        }
    }
}

#[test]
fn a_pin_is_a_text_or_what_a_handle_names() {
    let read = "Result of read {\"path\":\"a.rs\"}:\n<tool_result>\nfn a() {}\n</tool_result>";
    check_pin("answer briefly", Ok(("answer briefly", None)));
    check_pin("I cannot see.", Ok(("I cannot see.", None)));
    check_pin("turn:1", Ok(("I cannot see.\n```\npasted\n```", Some(1))));
    check_pin("turn:3", Ok((read, None)));
    check_pin("path:a.rs", Ok((read, None)));
    check_pin("turn:9", Err("no_turn"));
    check_pin("path:b.rs", Err("no_read"));
    check_pin("turn:5", Err("too_large"));
    check_pin(" ", Err("empty"));
    check_pin("It is empty.", Err("foreign"));
    check_pin("fn a() {}", Err("foreign"));
}

#[test]
fn what_is_pinned_stays_and_may_be_let_go_in_one_breath() {
    let text = with(
        "reports ; filter(kind = \"usage\") ; map({ pin: \"speak French\" }) ; commands
         reports ; filter(kind = \"usage\") ; map({ pin: \"turn:1\" }) ; commands
         reports ; filter(kind = \"usage\") ; map({ unpin: \"turn:1\" }) ; commands
         reports ; filter(kind = \"usage\") ; map({ pin: \"turn:1\" }) ; commands
         answers ; discard",
    );
    let request = said();
    let actions = asked(&text, When::Now, &request);
    let done: Vec<String> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Pin(pin, _) => Some(format!("pin {}", pin.id)),
            Action::Unpin(id) => Some(format!("unpin {id}")),
            _ => None,
        })
        .collect();
    let id = context::pin::PinId::of(&request.turns[0].readable());
    let expected = ["pin", "unpin", "pin"].map(|word| format!("{word} {id}"));
    assert_eq!(done, expected);
}

#[test]
fn a_memory_has_the_turns_and_pins_that_the_program_reads() {
    let check = |read: &str| {
        let text = with(&format!(
            "reports ; filter(kind = \"usage\") ; map({{ mark: true, keep_messages: 1 }}) ; commands
             answers ; filter(defined(marked)) ;
             map({{ unpin: if {read} then \"yes\" else \"no\" }}) ; commands"
        ));
        assert_eq!(told(&text, When::Before), ["yes"], "{read}");
    };
    check("len(marked.turns) = 4 && len(marked.pinned) = 1");
    check("contains(marked.pinned, \"speak French\")");
    check(
        "contains(marked.turns, { handle: \"turn:4\", role: \"assistant\", text: \"It is empty.\" })",
    );
}

#[test]
fn a_long_memory_is_told_from_its_end() {
    let mut request = said();
    request.turns = (0..40)
        .map(|number| {
            let text = format!("{number}{}", "x".repeat(9_999));
            TurnDraft::text(Role::User, text).after(TurnId::ROOT, &Heuristic)
        })
        .collect();
    let outline = Outline::of(&request.turns);
    let path = Path::new(&outline, outline.len(), &[]).with_words(&request);
    let turns = super::super::heard::turns_before(&path, 38).unwrap();
    let turns = turns.items().unwrap();
    assert_eq!(turns.len(), 13, "131,072 characters");
    let last = turns.last().and_then(|turn| turn.get("handle"));
    assert_eq!(last.and_then(|it| it.as_text()), Some("turn:38"));
    let tokens: Tokens = request.turns.iter().map(Turn::tokens).sum();
    assert!(tokens > Tokens::new(80_000));
}

#[test]
fn only_what_is_read_is_told() {
    let check = |body: &str, expected: Reads| {
        let text = with(&format!("{body} ; map({{ swap: true }}) ; commands"));
        let program = StrategyProgram::new("mine", &text, &BuiltIn).unwrap();
        assert_eq!(program.reads(), expected, "{body}");
    };
    let none = Reads::default();
    let quiet = "reports ; discard answers";
    check(
        "answers ; discard reports ; filter(kind = \"pin\" && pinned > 0.5)",
        none,
    );
    check(
        "answers ; discard reports ; filter(kind = \"turn\")",
        Reads { said: true, ..none },
    );
    check(
        "answers ; discard reports ; filter(typed = \"stop\")",
        Reads { said: true, ..none },
    );
    let turns = Reads {
        turns: true,
        ..none
    };
    check(&format!("{quiet} ; filter(len(marked.turns) > 3)"), turns);
    check(
        &format!("{quiet} ; filter(defined(memory)) ; map(memory) ; filter(len(turns) > 3)"),
        // The field is one of pulses too.
        Reads {
            pulses: true,
            ..turns
        },
    );
    check(
        &format!("{quiet} ; filter(len(marked.pinned) > 3)"),
        Reads {
            pinned: true,
            ..none
        },
    );
    for program in StrategyProgram::all() {
        assert_eq!(program.reads(), none, "{}", program.name());
    }
}

#[test]
fn only_what_is_droppable_is_dropped() {
    let drops = with(
        "reports ; filter(kind = \"usage\") ; map({ drop_to: 0.01 }) ; commands answers ; discard",
    );
    let freely = format!("use mem\nlet terms : () -> !Terms = once({{ guards: false }})\n{drops}");
    let outcome = |text: &str, request: &Request| {
        let actions = asked(text, When::Now, request).into_iter();
        let mut told = actions.filter_map(|action| match action {
            Action::Telemetry(Telemetry::Commanded(_, Verdict::Refused(why))) => Err(why).into(),
            Action::Show(shown) => Some(Ok(shown.from)),
            _ => None,
        });
        told.next()
    };
    // It begins with the words of the user.
    let mut request = said();
    assert_eq!(outcome(&drops, &request), Some(Err(Refusal::NotDroppable)));
    assert_eq!(outcome(&freely, &request), Some(Ok(4)));
    let mut of_operator = vec![TurnDraft::text(Role::System, "Be brief.")];
    of_operator.extend(request.turns.drain(1..).map(|turn| turn.draft()));
    let check = |drafts: &[TurnDraft], expected: Result<usize, Refusal>| {
        let mut parent = TurnId::ROOT;
        let placed = drafts.iter().map(|draft| {
            let turn = draft.clone().after(parent, &Heuristic);
            parent = turn.id();
            turn
        });
        let request = Request {
            turns: placed.collect(),
            pins: Pins::default(),
        };
        assert_eq!(outcome(&drops, &request), Some(expected));
    };
    check(&of_operator, Ok(4));
    // The model's decision stays, and all behind it.
    of_operator[3] = TurnDraft::text(Role::Assistant, "Therefore I decided to write it anew.");
    check(&of_operator, Ok(3));
}
