//! Tests of two tenants with the same conversation: neither sees or influences the other's.

use std::fs;
use std::io::Write;
use std::sync::{Arc, Mutex};

use gateway::config::RouteChoice;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::{Attempt, Client};
use crate::harness::Stage;

const KEYS: [&str; 2] = ["sk-ant-secret-of-one", "sk-ant-secret-of-two"];
const PIN: &str = "only the first tenant's rule: call nobody";

/// The captured log of all levels.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn neither_sees_nor_influences_the_other() {
    let logged = Logged::default();
    let out = logged.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || out.clone())
        .init();
    let mut stage = Stage::new(RouteChoice::Readable);
    let mut clients = KEYS.map(Client::with_key);
    let mut swapped = [0; 2];
    for index in 0..24 {
        for (client, swaps) in clients.iter_mut().zip(&mut swapped) {
            client.says(&format!(
                "step {index}: {}",
                "the same words, said twice. ".repeat(40)
            ));
            let url = stage.url();
            match client.send(&url, index % 2 == 0) {
                Attempt::Answered { did } => *swaps += usize::from(did.contains("swapped")),
                failure => panic!("{failure:?}"),
            }
        }
        if index == 3 {
            pin(&mut stage, &clients[0]);
        }
    }
    assert!(swapped.iter().all(|&swaps| swaps >= 2), "{swapped:?}");
    separate(&mut stage, &clients);
    let texts = stage.log.lines();
    let with_pin = texts.iter().filter(|line| line.contains(PIN)).count();
    assert!(
        with_pin >= 20,
        "the first tenant's requests say it: {with_pin}"
    );
    stage.close();
    for key in KEYS {
        let log = logged.0.lock().unwrap();
        assert!(!contains(&log, key.as_bytes()), "{key} was logged");
        let mut read = 0;
        for file in fs::read_dir(stage.store().parent().unwrap()).unwrap() {
            // SQLite removes its log with the last connection.
            let bytes = fs::read(file.unwrap().path()).unwrap_or_default();
            assert!(!contains(&bytes, key.as_bytes()), "{key} is on disk");
            read += bytes.len();
        }
        assert!(read > 100_000, "the store was read: {read} bytes");
    }
    let log = logged.0.lock().unwrap();
    assert!(!contains(&log, b"the same words"), "text was logged");
}

/// Returns the only conversation that a key sees.
fn own(stage: &mut Stage, client: &Client) -> Value {
    let url = stage.url();
    let (status, overview) = client.ask(Method::GET, &format!("{url}/ebbtide/api/overview"), None);
    assert_eq!(status, StatusCode::OK, "{overview}");
    let conversations = overview["conversations"].as_array().unwrap();
    assert_eq!(conversations.len(), 1, "{overview}");
    conversations[0].clone()
}

fn pin(stage: &mut Stage, client: &Client) {
    let id = own(stage, client)["id"].as_str().unwrap().to_owned();
    let url = format!("{}/ebbtide/api/conversations/{id}/pins", stage.url());
    let (status, answer) = client.ask(Method::POST, &url, Some(json!({"text": PIN})));
    assert!(status.is_success(), "{status} {answer}");
}

fn separate(stage: &mut Stage, clients: &[Client; 2]) {
    let [first, second] = [&clients[0], &clients[1]].map(|client| own(stage, client));
    assert_ne!(first["id"], second["id"]);
    let url = stage.url();
    for (client, other) in [(&clients[0], &second), (&clients[1], &first)] {
        let at = format!(
            "{url}/ebbtide/api/conversations/{}",
            other["id"].as_str().unwrap()
        );
        let (status, _) = client.ask(Method::GET, &at, None);
        assert_eq!(status, StatusCode::NOT_FOUND, "the other's conversation");
        let text = Some(json!({"text": "a rule of somebody else"}));
        let (status, _) = client.ask(Method::POST, &format!("{at}/pins"), text);
        assert_eq!(
            status,
            StatusCode::NOT_FOUND,
            "a pin in the other's conversation"
        );
    }
    let at = format!(
        "{url}/ebbtide/api/conversations/{}",
        second["id"].as_str().unwrap()
    );
    let (_, detail) = clients[1].ask(Method::GET, &at, None);
    assert!(
        !detail.to_string().contains(PIN),
        "the second sees the first's pin"
    );
}

fn contains(bytes: &[u8], sought: &[u8]) -> bool {
    bytes.windows(sought.len()).any(|window| window == sought)
}
