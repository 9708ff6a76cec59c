//! Mode observe: each place that tells what was done says "would", and everything else tells what was sent.

use std::time::Duration;

use context::{Tokens, figures};
use gateway::config::{Mode, StrategyChoice};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::house::{Agent, Came, House, words};

/// The words of `x-ebbtide-did`.
const DID: [&str; 5] = ["failed", "kept", "passed", "would-prepare", "would-swap"];
/// The beginnings of entries of a journal that tell what was done.
const DONE: [&str; 6] = [
    "cleared ",
    "swapped: ",
    "preparing ",
    "a summary of ",
    "a swap was taken back",
    "shortened ",
];

/// A conversation that the gateway watched until the provider refused it as too long.
struct Watched {
    house: House,
    agent: Agent,
    id: String,
    came: Vec<Came>,
}

impl Watched {
    async fn new() -> Self {
        let house = House::new(|config| config.mode = Mode::Observe).await;
        let mut agent = Agent::new("key-one");
        let mut came: Vec<Came> = Vec::new();
        for n in 0..40 {
            came.push(agent.say(&house, &words(n, 700)).await);
            if came[n].status != 200 {
                break;
            }
        }
        assert_ne!(came[came.len() - 1].status, 200, "the refusal reaches it");
        let id = came[0].conversation().to_owned();
        Self {
            house,
            agent,
            id,
            came,
        }
    }

    async fn detail(&self) -> Value {
        self.get(&format!("/ebbtide/api/conversations/{}", self.id))
            .await
    }

    async fn get(&self, path: &str) -> Value {
        self.agent.get(&self.house, path).await.body
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().expect("a list")
}

#[tokio::test]
async fn the_words_of_the_header_are_a_closed_list() {
    let watched = Watched::new().await;
    let did = watched.came.iter().map(Came::did);
    let did: Vec<&str> = did.flat_map(|did| did.split(", ")).collect();
    assert!(did.iter().all(|word| DID.contains(word)), "{did:?}");
    assert!(did.contains(&"would-swap") && did.contains(&"would-prepare"));
    watched.house.close().await;
}

#[tokio::test]
async fn the_tokens_are_those_of_the_request_as_it_came() {
    let watched = Watched::new().await;
    let answered = watched.came.iter().filter(|came| came.status == 200);
    let pairs: Vec<(u64, u64)> = answered
        .map(|came| {
            let counted = came.header("x-ebbtide-tokens").parse().expect("a number");
            (
                counted,
                came.body["usage"]["input_tokens"].as_u64().expect("tokens"),
            )
        })
        .collect();
    for &(counted, billed) in &pairs {
        assert!(counted.abs_diff(billed) * 20 <= billed, "{pairs:?}");
    }
    let detail = watched.detail().await;
    let requests = list(&detail, "requests").iter().rev();
    let told = requests.filter(|it| it["status"] == 200);
    let told: Vec<u64> = told.filter_map(|it| it["tokens"].as_u64()).collect();
    assert_eq!(told, pairs.iter().map(|it| it.0).collect::<Vec<_>>());
    watched.house.close().await;
}

#[tokio::test]
async fn the_journal_says_would() {
    let watched = Watched::new().await;
    let detail = watched.detail().await;
    let told = list(&detail, "journal").iter();
    let told: Vec<&str> = told.filter_map(|entry| entry["text"].as_str()).collect();
    let is_told = |start: &str| told.iter().any(|text| text.starts_with(start));
    assert!(
        is_told("would have swapped: ") && is_told("would have prepared "),
        "{told:?}"
    );
    assert!(is_told("the provider refused a request: 400"), "{told:?}");
    assert!(!DONE.iter().any(|word| is_told(word)), "{told:?}");
    watched.house.close().await;
}

#[tokio::test]
async fn the_journal_says_would_of_cleared_results_too() {
    let house = House::new(|config| {
        config.mode = Mode::Observe;
        config.policy.strategy = StrategyChoice::of("clear_tool_results").expect("is shipped");
    })
    .await;
    let mut agent = Agent::new("key-one");
    for n in 0..20 {
        agent.read(&house, n, 700).await;
    }
    let overview = agent.get(&house, "/ebbtide/api/overview").await.body;
    let line = &overview["conversations"][0];
    assert_eq!(line["compactions"], 0, "{line}");
    assert!(line["would_have_swapped"].as_u64() > Some(0), "{line}");
    let path = format!(
        "/ebbtide/api/conversations/{}",
        line["id"].as_str().expect("an id")
    );
    let detail = agent.get(&house, &path).await.body;
    let told = list(&detail, "journal").iter();
    let told: Vec<&str> = told.filter_map(|entry| entry["text"].as_str()).collect();
    let is_told = |start: &str| told.iter().any(|text| text.starts_with(start));
    assert!(
        is_told("would have cleared the tool results of"),
        "{told:?}"
    );
    assert!(!DONE.iter().any(|word| is_told(word)), "{told:?}");
    house.close().await;
}

#[tokio::test]
async fn the_state_is_observing() {
    let watched = Watched::new().await;
    let line = &watched.detail().await["line"];
    assert_eq!(line["state"], "observing");
    assert_eq!(line["observed"], true);
    let gauge = &line["gauge"];
    assert!(gauge["tokens"].as_u64() > gauge["hard"].as_u64(), "{gauge}");
    watched.house.close().await;
}

#[tokio::test]
async fn summaries_would_replace_and_the_window_holds_all() {
    let watched = Watched::new().await;
    let detail = watched.detail().await;
    let marks = list(&detail, "marks");
    assert!(!marks.is_empty() && marks.iter().all(|it| it["state"] == "would-replace"));
    let classes = list(&detail, "classes");
    let of = |class: &str| classes.iter().find(|it| it["class"] == class);
    assert!(
        of("summary").is_none() && of("pins").is_none(),
        "{classes:?}"
    );
    let all: u64 = classes.iter().filter_map(|it| it["tokens"].as_u64()).sum();
    let sent = detail["line"]["gauge"]["tokens"].as_u64().expect("tokens");
    assert!(
        all.abs_diff(sent) * 10 <= sent,
        "{all} in the window, {sent} sent"
    );
    watched.house.close().await;
}

#[tokio::test]
async fn nothing_is_lost_or_left_out() {
    let watched = Watched::new().await;
    let detail = watched.detail().await;
    assert_eq!(detail["dropped"], Value::Null);
    let of = format!("/ebbtide/api/conversations/{}", watched.id);
    let lost = watched.get(&format!("{of}/lost")).await;
    assert_eq!(lost["turns"], 0, "{lost}");
    let found = watched.get(&format!("{of}/recall?query=word")).await;
    let hits = list(&found, "hits");
    assert!(hits.iter().all(|hit| hit["hidden"] == false), "{found}");
    watched.house.close().await;
}

#[tokio::test]
async fn orders_are_refused() {
    let watched = Watched::new().await;
    for order in ["prepare", "swap", "undo", "redo"] {
        let path = format!("/ebbtide/api/conversations/{}/{order}", watched.id);
        let came = watched.agent.post(&watched.house, &path, &json!({})).await;
        assert_eq!(came.status, 409, "{order}");
        let error = came.body["error"].to_string();
        assert!(
            error.contains("E0622") && error.contains("only observes"),
            "{error}"
        );
    }
    watched.house.close().await;
}

#[tokio::test]
async fn nothing_counts_as_saved_or_swapped() {
    let watched = Watched::new().await;
    let detail = watched.detail().await;
    let money = &detail["line"]["money"];
    assert_eq!(money["stalls_avoided"], 0);
    assert_eq!(money["cost"], money["cost_without"]);
    let mut samples = list(&detail, "pressure").iter();
    assert!(samples.all(|it| it["swapped"] == false && it["tokens"] == it["unchanged"]));
    let metrics = watched.agent.text(&watched.house, "/ebbtide/metrics").await;
    assert!(metrics.contains("ebbtide_requests_total{"), "{metrics}");
    assert!(!metrics.contains("ebbtide_swaps_total{"), "{metrics}");
    watched.house.close().await;
}

/// A conversation of one mode after the other, and what is told of it after each.
struct Switched {
    house: House,
    agent: Agent,
    n: usize,
    summaries: usize,
}

impl Switched {
    async fn new() -> Self {
        let provider = sim::Config {
            window: Some(Tokens::new(200_000)),
            ..sim::Config::default()
        };
        let house = House::before(provider, |config| config.mode = Mode::Observe).await;
        let agent = Agent::new("key-one");
        Self {
            house,
            agent,
            n: 0,
            summaries: 0,
        }
    }

    async fn go_on(&mut self, mode: Mode, requests: usize) -> Vec<Came> {
        self.house.reopen(|config| config.mode = mode).await;
        let mut came = Vec::new();
        for _ in 0..requests {
            let next = self.agent.tell(&self.house, self.n, 700).await;
            self.n += 1;
            if next.did().contains("prepar") {
                self.await_summary(next.conversation()).await;
            }
            came.push(next);
        }
        came
    }

    /// Waits for the summary that a request ordered, so that it is the next request that takes it.
    async fn await_summary(&mut self, id: &str) {
        let path = format!("/ebbtide/api/conversations/{id}");
        for tries in 0.. {
            assert!(tries < 1_000, "no summary was made");
            let detail = self.agent.get(&self.house, &path).await.body;
            let made = list(&detail, "marks").len();
            if made > self.summaries {
                self.summaries = made;
                return;
            }
            sleep(Duration::from_millis(2)).await;
        }
    }
}

fn with(came: &[Came], word: &str) -> u64 {
    came.iter().filter(|came| came.did().contains(word)).count() as u64
}

#[tokio::test]
async fn what_was_done_and_what_would_have_been_are_counted_apart() {
    let mut talk = Switched::new().await;
    let (mut done, mut would) = (0, 0);
    // The summary that mode observe noted last is ready in mode on, which swaps it in.
    for (mode, taken) in [(Mode::Observe, 0), (Mode::On, 1), (Mode::Observe, 1)] {
        let came = talk.go_on(mode, 30).await;
        let id = came[0].conversation().to_owned();
        done += with(&came, "swapped");
        would += with(&came, "would-swap");
        let path = format!("/ebbtide/api/conversations/{id}");
        let detail = talk.agent.get(&talk.house, &path).await.body;
        let line = &detail["line"];
        assert_eq!(line["compactions"], done, "{mode:?}");
        assert_eq!(line["would_have_swapped"], would, "{mode:?}");
        let samples = list(&detail, "pressure").iter();
        let in_this_mode: Vec<&Value> = samples.rev().take(came.len()).collect();
        let is_smaller = |it: &Value| it["tokens"].as_u64() < it["unchanged"].as_u64();
        let mut smaller = in_this_mode.iter().rev().filter(|it| is_smaller(it));
        assert!(
            smaller.next().is_none_or(|first| first["swapped"] == true),
            "{mode:?}: nothing leaves the view without a swap"
        );
        let marks = list(&detail, "marks").iter();
        let noted = marks
            .filter(|mark| mark["state"] == "would-replace")
            .count() as u64;
        assert_eq!(noted + taken, would, "{mode:?}");
        let path = format!("/ebbtide/conversations/{id}");
        let page = talk.agent.text(&talk.house, &path).await;
        let told = format!(
            "would have swapped {}",
            figures::plural(would as usize, "time")
        );
        assert!(page.contains(&told), "{mode:?}");
        let told = figures::plural(done as usize, "swap");
        assert!(done == 0 || page.contains(&told), "{mode:?}");
    }
    assert!(done > 1 && would > 2, "{done} swaps, {would} noted");
    talk.house.close().await;
}

#[tokio::test]
async fn a_branch_counts_its_own_swaps() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let mut n = agent.until_swapped(&house, 4, 700).await;
    for _ in 0..2 {
        let len = agent.messages.len();
        agent.messages.truncate(len - 2);
        n += 1;
        agent.tell(&house, n, 300).await;
    }
    let overview = agent.get(&house, "/ebbtide/api/overview").await.body;
    let lines = list(&overview, "conversations").iter();
    let swaps: Vec<u64> = lines.filter_map(|it| it["compactions"].as_u64()).collect();
    assert_eq!(swaps.iter().sum::<u64>(), 1, "{swaps:?}");
    house.close().await;
}

#[tokio::test]
async fn the_tokens_are_true_where_the_mode_changes() {
    let mut talk = Switched::new().await;
    for mode in [Mode::On, Mode::Observe, Mode::On, Mode::Observe] {
        for came in talk.go_on(mode, 12).await {
            let counted: u64 = came.header("x-ebbtide-tokens").parse().expect("a number");
            let usage = |key: &str| came.body["usage"][key].as_u64().expect("tokens");
            let billed = usage("input_tokens")
                + usage("cache_read_input_tokens")
                + usage("cache_creation_input_tokens");
            assert!(
                counted.abs_diff(billed) * 20 <= billed,
                "{mode:?}: {counted} of {billed}, {}",
                came.did()
            );
        }
    }
    talk.house.close().await;
}
