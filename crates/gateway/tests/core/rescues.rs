//! Randomised conversations that are too long for the provider: each ends with a request that it accepts.

use context::Tokens;
use gateway::config::RouteChoice;
use serde_json::{Value, json};
use sim::{Say, Script};

use crate::house::{Agent, House, WINDOW, words};

const RUNS: u64 = 168;

/// A seeded random number generator (SplitMix64, Steele and others 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("it fits")
    }
}

/// The next thing that happens.
#[derive(Clone, Copy)]
enum Turn {
    /// The user says so many tokens.
    Says(usize),
    /// The model calls a tool so many times, and each result has about so many tokens.
    Calls(usize, usize),
}

/// The output of a tool: prose, lines of a log, JSON or one line.
fn output(dice: &mut Dice, tokens: usize) -> String {
    let tokens = tokens / 2 + dice.below(tokens + 1);
    let number = dice.below(10_000);
    match dice.below(4) {
        0 => words(number, tokens),
        1 => (0..tokens / 8)
            .map(|line| format!("{line:05} INFO worker {number} did job {}\n", line * 7))
            .collect(),
        2 => {
            let rows = (0..tokens / 10).map(|row| json!({"id": row, "name": format!("n{number}")}));
            Value::Array(rows.collect()).to_string()
        }
        _ => format!("{number:x}").repeat(tokens),
    }
}

/// A conversation that is too long, and fits without its results and what was said before.
fn conversation(dice: &mut Dice) -> Vec<Turn> {
    let mut turns = vec![Turn::Says(20 + dice.below(2_000))];
    for _ in 0..dice.below(14) {
        let (calls, tokens) = (1 + dice.below(4), 20 + dice.below(3_000));
        turns.push(Turn::Calls(calls, tokens));
        if dice.below(3) == 0 {
            turns.push(Turn::Says(20 + dice.below(3_000)));
        }
    }
    match dice.below(3) {
        // Several results that exceed the window together.
        0 => {
            let calls = 2 + dice.below(12);
            turns.push(Turn::Calls(calls, 40_000 / calls));
        }
        1 => turns.push(Turn::Calls(1, 30_000)),
        _ => {}
    }
    turns
}

/// The model's part of a turn.
fn answer(of: Option<Turn>) -> Vec<Say> {
    match of {
        Some(Turn::Calls(calls, _)) => (0..calls)
            .map(|call| Say::Call {
                name: "read".to_owned(),
                input: json!({"path": format!("src/part_{call}.rs")}),
            })
            .collect(),
        _ => vec![Say::Text("I see.".to_owned())],
    }
}

/// The client's part of a turn, behind the model's last message.
fn message(turn: Turn, last: Option<&Value>, dice: &mut Dice) -> Value {
    let tokens = match turn {
        Turn::Says(tokens) => {
            let number = dice.below(10_000);
            return json!({"role": "user", "content": words(number, tokens)});
        }
        Turn::Calls(_, tokens) => tokens,
    };
    let asked = last.and_then(|last| last["content"].as_array());
    let calls = asked.into_iter().flatten();
    let results: Vec<Value> = calls
        .filter(|block| block["type"] == "tool_use")
        .map(|call| {
            let text = output(dice, tokens);
            json!({"type": "tool_result", "tool_use_id": call["id"], "content": text})
        })
        .collect();
    json!({"role": "user", "content": results})
}

/// The model's message, where the provider is not asked for it.
fn invented(of: Option<Turn>, dice: &mut Dice) -> Value {
    let block = |said: Say| match said {
        Say::Call { name, input } => {
            let id = format!("toolu_{}", dice.below(1 << 40));
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Say::Text(text) | Say::Think(text) => json!({"type": "text", "text": text}),
    };
    let content: Vec<Value> = answer(of).into_iter().map(block).collect();
    json!({"role": "assistant", "content": content})
}

/// Holds a conversation step by step, or sends it all at once, and goes on. The attempts that the provider
/// refused.
async fn run(seed: u64) -> u64 {
    let mut dice = Dice(seed);
    let known = dice.below(3) == 0;
    let house = House::new(|config| {
        config.policy.window = Some(Tokens::new(if known { WINDOW } else { 200_000 }));
        config.policy.route = RouteChoice::Extractive;
    })
    .await;
    let turns = conversation(&mut dice);
    let by_steps = dice.below(2) == 0;
    let mut agent = Agent::new("key-one");
    for (index, &turn) in turns.iter().enumerate() {
        let message = message(turn, agent.messages.last(), &mut dice);
        agent.messages.push(message);
        let next = turns.get(index + 1).copied();
        if !by_steps && next.is_some() {
            agent.messages.push(invented(next, &mut dice));
            continue;
        }
        house.sim.provider().config_mut().script = Script::Steps([answer(next)].into());
        let came = agent.go_on(&house).await;
        assert_eq!(came.status, 200, "seed {seed}, turn {index}: {came:?}");
        let has_room = came.body["stop_reason"] != "model_context_window_exceeded";
        assert!(has_room, "seed {seed}, turn {index}: {came:?}");
    }
    let came = agent.say(&house, "and then?").await;
    assert_eq!(came.status, 200, "seed {seed}: {came:?}");
    let has_room = came.body["stop_reason"] != "model_context_window_exceeded";
    assert!(has_room, "seed {seed}: {came:?}");
    let refused = house.sim.provider().total().refused;
    house.close().await;
    refused
}

async fn check(seeds: std::ops::Range<u64>) {
    let mut refused = 0;
    for seed in seeds {
        refused += run(seed).await;
    }
    assert!(refused > 10, "{refused} refusals: hardly any was too long");
}

#[tokio::test]
async fn what_is_too_long_is_sent_in_the_end_0() {
    check(0..RUNS / 2).await;
}

#[tokio::test]
async fn what_is_too_long_is_sent_in_the_end_1() {
    check(RUNS / 2..RUNS).await;
}

/// The newest results are shortened where they nearly fill the window: the provider would accept the request
/// and cut its answer off.
#[tokio::test]
async fn results_that_nearly_fill_the_window_leave_room_for_the_answer() {
    check_nearly_full(None, 1).await;
}

/// The same where they were shortened as each of them is.
#[tokio::test]
async fn shortened_results_that_nearly_fill_the_window_leave_room_too() {
    for shrink in (3_500..=3_950).step_by(75) {
        check_nearly_full(Some(Tokens::new(shrink)), 3).await;
    }
}

/// Checks requests with results so many times as large as nearly fill the window.
async fn check_nearly_full(shrink: Option<Tokens>, times: u64) {
    let mut shortened = 0;
    for tokens in (14_000..=15_800).step_by(300).map(|it| it * times) {
        let house = House::new(|config| config.policy.shrink = shrink).await;
        let mut agent = Agent::new("key-one");
        let asks = json!({"role": "user", "content": "Read the four parts."});
        agent.messages.push(asks);
        let mut dice = Dice(tokens);
        agent
            .messages
            .push(invented(Some(Turn::Calls(4, 0)), &mut dice));
        let calls = agent
            .messages
            .last()
            .and_then(|last| last["content"].as_array());
        let text = words(0, usize::try_from(tokens / 4).expect("it fits"));
        let result = |call: &Value| json!({"type": "tool_result", "tool_use_id": call["id"], "content": text});
        let results: Vec<Value> = calls.into_iter().flatten().map(result).collect();
        agent
            .messages
            .push(json!({"role": "user", "content": results}));
        house.sim.provider().config_mut().script =
            Script::Steps([answer(Some(Turn::Calls(4, 0)))].into());
        let came = agent.go_on(&house).await;
        let has_room = came.body["stop_reason"] != "model_context_window_exceeded";
        assert!(has_room, "{tokens} tokens: {came:?}");
        let did = came.headers["x-ebbtide-did"].to_str().expect("text");
        let refused = house.sim.provider().total().refused;
        let told = came.headers["x-ebbtide-tokens"].to_str().expect("text");
        let told: f64 = told.parse().expect("a number");
        let usage = &came.body["usage"];
        let counted = [
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ];
        let counted: f64 = counted.iter().filter_map(|it| usage[*it].as_f64()).sum();
        assert!((told / counted - 1.0).abs() < 0.05, "{told} of {counted}");
        shortened += u32::from(did.contains("shrunk") && refused == 0);
        house.close().await;
    }
    assert!(shortened > 0, "none was shortened before it was sent");
}

/// A single message of the person's own that exceeds the window cannot be shortened.
#[tokio::test]
async fn what_cannot_fit_is_refused() {
    let house = House::new(|config| config.policy.window = Some(Tokens::new(200_000))).await;
    let mut agent = Agent::new("key-one");
    let came = agent.say(&house, &words(0, 30_000)).await;
    assert_eq!(came.status, 400, "{came:?}");
    house.close().await;
}

/// Where a message leaves a little room for the answer, the note about the agent's memory does not take it.
#[tokio::test]
async fn the_note_leaves_room_for_the_answer() {
    let asked = async |tokens: usize| {
        let house = House::new(|_| {}).await;
        let mut agent = Agent::new("key-one");
        agent.say(&house, "Hello.").await;
        let came = agent.say(&house, &words(0, tokens)).await;
        house.close().await;
        let input = came.body["usage"]["input_tokens"].as_u64();
        (
            usize::try_from(input.expect("a number")).expect("it fits"),
            came,
        )
    };
    let (each, _) = asked(1_000).await;
    let (twice, noted) = asked(2_000).await;
    assert!(noted.did().contains("noted"), "{noted:?}");
    let window = usize::try_from(WINDOW).expect("it fits");
    let mut filled = 0;
    for left in (0..200).step_by(4) {
        let tokens = 1_000 + (window - left - each) * 1_000 / (twice - each);
        let (input, came) = asked(tokens).await;
        filled += usize::from(input > window - 400);
        let has_room = came.body["stop_reason"] == "end_turn";
        assert!(has_room, "{left} left, {input} sent: {came:?}");
    }
    assert!(filled > 10, "{filled} requests nearly filled the window");
}

/// A house and its agent, up to a summary of the provider's own that is ready and leaves names out.
async fn with_a_ledger() -> (House, Agent) {
    let house = House::new(|config| {
        config.policy.route = RouteChoice::Native;
        // More than is kept free where the provider refused a request.
        config.policy.hard = Some(0.945);
        config.policy.notes = false;
    })
    .await;
    let mut agent = Agent::new("key-one");
    for n in 0..60 {
        let rule = |at| format!("Never touch src/area_{n}_{at}.rs, and use port {n}{at}.");
        let said: Vec<String> = (10..30).map(rule).collect();
        let came = agent.say(&house, &said.join("\n")).await;
        house.prepared(came.conversation()).await;
        if came.did().contains("preparing") {
            break;
        }
    }
    (house, agent)
}

/// The number of times that the newest request tells a ledger.
fn ledgers(house: &House) -> usize {
    let newest = Value::from(house.newest()).to_string();
    newest.matches("[Ebbtide: names").count()
}

/// Where a message leaves a little room for the answer, what the provider's own summary does not name waits.
#[tokio::test]
async fn the_ledger_leaves_room_for_the_answer() {
    let shown = async |tokens: usize| {
        let (house, mut agent) = with_a_ledger().await;
        let came = agent.say(&house, &words(0, tokens)).await;
        assert!(came.did().contains("swapped"), "{came:?}");
        let told = ledgers(&house);
        house.close().await;
        let input = came.body["usage"]["input_tokens"].as_u64();
        (told > 0, input.expect("a number"))
    };
    let (mut told, mut waits) = (0, 0);
    for tokens in (9_000..=12_250).step_by(250) {
        let (is_told, input) = shown(tokens).await;
        assert!(!is_told || input <= WINDOW * 19 / 20, "{tokens}: {input}");
        told += usize::from(is_told);
        waits += usize::from(!is_told);
    }
    assert!(told > 3 && waits > 3, "{told} told, {waits} wait");
}

/// A ledger that waits is told as soon as there is room for it, once.
#[tokio::test]
async fn the_ledger_is_told_once_there_is_room() {
    let (house, mut agent) = with_a_ledger().await;
    let before = agent.messages.len();
    let came = agent.say(&house, &words(0, 12_250)).await;
    assert!(came.did().contains("swapped"), "{came:?}");
    assert_eq!(ledgers(&house), 0, "there is no room for it");
    // The client takes the long message back.
    agent.messages.truncate(before);
    for text in ["Go on.", "And then?", "What else?"] {
        let came = agent.say(&house, text).await;
        assert_eq!(came.status, 200, "{came:?}");
        assert_eq!(ledgers(&house), 1, "{text} {came:?}");
    }
    house.close().await;
}
