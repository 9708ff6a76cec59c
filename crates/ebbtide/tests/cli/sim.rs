//! `ebbtide sim`: on a socket, from its first line to its last. Ended by a signal, so for Unix only.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::program;

/// A provider that runs until it is told to end.
struct Sim {
    child: Child,
    address: String,
}

impl Sim {
    fn start(more: &[&str]) -> Self {
        let mut child = program(&[&["sim", "--listen", "127.0.0.1:0"], more].concat())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        // One byte at a time, so that nothing behind the line is lost.
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::with_capacity(1, stdout)
            .read_line(&mut line)
            .expect("a line");
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.expect("an address").to_owned();
        Self { child, address }
    }

    /// The whole answer to a request with this body, head included.
    fn ask(&self, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(
            stream,
            "POST /v1/messages HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\
             x-api-key: sk-secret\r\nanthropic-version: 2023-06-01\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("it takes a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("UTF-8");
        answer
    }

    /// Asks it to end as a service manager does. What it says then, and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.expect("kill").success());
        let exit = self.child.wait().expect("it ends").code();
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut said).expect("UTF-8");
        (said, exit)
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // It has ended, unless a check before failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_answers_logs_and_ends_with_totals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("requests.jsonl");
    let path = log.display().to_string();
    let sim = Sim::start(&["--window", "2000", "--log", &path]);
    let messages = |text: &str| json!([{ "role": "user", "content": text }]);
    let ask = |text: &str| {
        json!({ "model": "claude-opus-5-5", "max_tokens": 100, "messages": messages(text) })
            .to_string()
    };
    let answer = sim.ask(&ask("hello"));
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(r#""text":"You said: hello""#), "{answer}");
    let refused = sim.ask(&ask(&"long ".repeat(4_000)));
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    assert!(refused.contains("> 2000 maximum"), "{refused}");
    let (said, exit) = sim.end();
    assert_eq!(exit, Some(0));
    assert!(
        said.starts_with("1 requests answered, 1 refused, 0 summaries; "),
        "{said}"
    );
    let log = std::fs::read_to_string(log).expect("the log");
    let first: Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["body"]["messages"], messages("hello"));
    assert_eq!(log.lines().count(), 2);
    assert!(!log.contains("sk-secret"), "no key is written");
}
