//! `ebbtide lost`, `recall`, `expand`, `undo` and `redo` beside a running gateway.

use std::fs;

use serde_json::{Value, json};

use crate::ebbtide;
use crate::listening::Listening;

/// The largest number of requests before a swap.
const REQUESTS: usize = 60;

/// A client with one conversation.
struct Client<'a> {
    gateway: &'a Listening,
    messages: Vec<Value>,
    id: String,
}

impl Client<'_> {
    /// Says this, and returns what the gateway did.
    fn say(&mut self, text: &str) -> String {
        self.messages.push(json!({"role": "user", "content": text}));
        let body =
            json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": self.messages});
        let answer = self.gateway.ask("POST /v1/messages", &body.to_string());
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let header = |name: &str| {
            let mut lines = head.lines();
            let found = lines.find_map(|line| line.strip_prefix(name));
            found.unwrap_or_default().to_owned()
        };
        let body: Value = serde_json::from_str(body).expect("JSON");
        let content = body["content"].clone();
        self.messages
            .push(json!({"role": "assistant", "content": content}));
        self.id = header("x-ebbtide-conversation: ");
        header("x-ebbtide-did: ")
    }

    /// Speaks until something is done.
    fn until(&mut self, done: &str) -> String {
        let mut said = 0;
        loop {
            let number = self.messages.len();
            let sentence =
                |of| format!("Section {number}.{of} of the plan asks for case{number}x{of}.");
            let sentences: Vec<String> = (0..60).map(sentence).collect();
            let did = self.say(&sentences.join(" "));
            if did.contains(done) {
                return did;
            }
            said += 1;
            assert!(said < REQUESTS, "not {done} in {said} requests: {did}");
        }
    }
}

#[test]
fn what_a_summary_replaced_is_listed_found_and_printed_and_the_swap_taken_back() {
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0", "--window", "16000"]);
    let (upstream, window) = (sim.url(), ["--window", "16000", "--route", "extractive"]);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--anthropic-url"];
    let gateway = Listening::start(&[&serve[..], &[&upstream], &window].concat());
    let url = gateway.url();
    let mut client = Client {
        gateway: &gateway,
        messages: Vec::new(),
        id: String::new(),
    };
    let first = "The port of the staging database is 54329.\n\n  It stays closed on Sundays.";
    client.say(first);
    client.until("swapped");
    let id = client.id.clone();
    let run = |arguments: &[&str]| {
        let (command, rest) = arguments.split_first().expect("a command");
        let ran = ebbtide(&[&[*command, &id], rest, &["--url", &url]].concat());
        assert_eq!(ran.exit, 0, "{arguments:?}: {}", ran.stderr);
        ran
    };

    let lost = run(&["lost"]).stdout;
    let is_entry =
        |line: &str| line.contains(": ") && line.ends_with(')') && line.contains("(turn:");
    assert!(!lost.is_empty() && lost.lines().all(is_entry), "{lost}");
    let listed: Value = serde_json::from_str(&run(&["lost", "--json"]).stdout).expect("JSON");
    let entries = listed["entries"].as_array().map(Vec::len);
    assert_eq!(entries, Some(lost.lines().count()), "{listed}");

    let found = run(&["recall", "staging database port", "--limit", "1"]).stdout;
    let place = found.lines().next();
    assert_eq!(
        place,
        Some("turn:1.1 (user, replaced by a summary)"),
        "{found}"
    );
    assert_eq!(run(&["expand", "turn:1"]).stdout, first);
    let behind = run(&["expand", "turn:1", "--range", "9-12"]);
    assert_eq!(behind.stdout, "");
    let told = "nothing is in this range; the whole has";
    assert!(behind.stderr.contains(told), "{}", behind.stderr);
    let nothing = run(&["recall", "zyzzyva"]);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("No place"), "{}", nothing.stderr);
    let short = ebbtide(&["lost", id.get(..8).unwrap_or_default(), "--url", &url]);
    assert_eq!(short.stdout, lost, "{}", short.stderr);
    for absent in ["zz", &"0".repeat(32)] {
        let ran = ebbtide(&["lost", absent, "--url", &url]);
        assert_eq!(ran.exit, 1, "{}", ran.stderr);
        let told = ran.stderr.contains("error[E0820]") && ran.stderr.contains(&id);
        assert!(told, "{}", ran.stderr);
    }
    let line = run(&["expand", "turn:1", "--range", "3-3"]).stdout;
    assert_eq!(line.trim_end(), "  It stays closed on Sundays.");

    run(&["undo"]);
    // A larger summary, since the whole conversation does not fit.
    let is_remade = |_| client.say("Go on.").contains("swapped");
    assert!((0..REQUESTS).any(is_remade), "no larger summary");
    run(&["redo"]);
    let did = client.say("Go on.");
    assert!(did.contains("swapped"), "{did}");
    gateway.end();
    sim.end();
}

/// Changes one letter of these words wherever a file has them: pages that are no longer used may have them, too.
fn damage(place: &str, words: &str) {
    let mut bytes = fs::read(place).expect("a file");
    let places = bytes.windows(words.len()).enumerate();
    let places = places.filter(|(_, it)| *it == words.as_bytes());
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "the words are in the file");
    for at in places {
        bytes[at] ^= 1;
    }
    fs::write(place, bytes).expect("it is written");
}

#[test]
fn a_damaged_turn_is_told_and_not_printed_as_an_original() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("store.db").display().to_string();
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let upstream = sim.url();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--store", &place];
    let serve = [&serve[..], &["--anthropic-url", &upstream]].concat();
    let words = "The port of the staging database is 54329.";
    let gateway = Listening::start(&serve);
    let mut client = Client {
        gateway: &gateway,
        messages: Vec::new(),
        id: String::new(),
    };
    client.say("Always answer in French.");
    client.say(words);
    client.say("Go on.");
    let id = client.id.clone();
    gateway.end();
    damage(&place, words);

    let expand = |url: &str, more: &[&str]| {
        ebbtide(&[&["expand", id.as_str(), "--url", url], more].concat())
    };
    // The damaged record, and the gap that a repair leaves in its place.
    for is_repaired in [false, true] {
        if is_repaired {
            let ran = ebbtide(&["store", "repair", "--store", &place]);
            assert_eq!(ran.exit, 0, "{}", ran.stderr);
        }
        let gateway = Listening::start(&serve);
        let url = gateway.url();
        for handle in ["turn:3", "turn:3.1"] {
            let ran = expand(&url, &[handle]);
            assert_eq!((ran.exit, ran.stdout.as_str()), (1, ""), "{handle}");
            let told = "error[E0822]: turn 3 is damaged in the store";
            assert!(ran.stderr.contains(told), "{handle}: {}", ran.stderr);
        }
        let ran = expand(&url, &["turns:1-3"]);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        let told = "The original of turn:3 is damaged in the store.\n";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        let first = "--- user, text (turn:1.1) ---\nAlways answer in French.\n";
        assert!(ran.stdout.starts_with(first), "{}", ran.stdout);
        let line = "\n--- turn:3 is damaged, this is no original ---\n";
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
        assert!(!ran.stdout.contains("(turn:3"), "{}", ran.stdout);
        let ran = expand(&url, &["turns:1-3", "--json"]);
        let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(found["damaged"], json!([3]), "{found}");
        let ran = expand(&url, &["turns:1-2"]);
        assert!(!ran.stderr.contains("damaged"), "{}", ran.stderr);
        gateway.end();
    }
    sim.end();
}
