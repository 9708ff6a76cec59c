//! `ebbtide sim` on a socket. The server is stopped by a signal, so on Unix only.

use serde_json::{Value, json};

use crate::listening::Listening;

const MESSAGES: &str = "POST /v1/messages";

fn start(more: &[&str]) -> Listening {
    Listening::start(&[&["sim", "--listen", "127.0.0.1:0"], more].concat())
}

#[test]
fn it_answers_logs_and_ends_with_totals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("requests.jsonl");
    let path = log.display().to_string();
    let sim = start(&["--window", "2000", "--log", &path]);
    let messages = |text: &str| json!([{ "role": "user", "content": text }]);
    let ask = |text: &str| {
        json!({ "model": "claude-opus-5-5", "max_tokens": 100, "messages": messages(text) })
            .to_string()
    };
    let answer = sim.ask(MESSAGES, &ask("hello"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(r#""text":"You said: hello""#), "{answer}");
    let refused = sim.ask(MESSAGES, &ask(&"long ".repeat(4_000)));
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    assert!(refused.contains("> 2000 maximum"), "{refused}");
    let (said, exit) = sim.end();
    assert_eq!(exit, Some(0));
    assert!(
        said.starts_with("1 requests answered, 1 rejected, 0 summaries; "),
        "{said}"
    );
    let log = std::fs::read_to_string(log).expect("the log");
    let first: Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["body"]["messages"], messages("hello"));
    assert_eq!(log.lines().count(), 2);
    assert!(!log.contains("sk-secret"), "no key is written");
}
