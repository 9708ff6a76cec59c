//! Agents whose models are called over sockets.

use std::sync::Arc;

use driver::{Account, Driver, Surroundings};
use jiff::Timestamp;
use plumb::check::check;
use plumb::modules::BuiltIn;
use plumb::value::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{Shown, block_on_sockets, check_sim, lines, run_main};

const SEARCH: &str = r#"
type Query = { query: string }
let count : !Query -> !int = plumb(input, output) { input ; map(len(query)) ; output }
let search : Query -> int = tool { process: count, description: "Counts." }
"#;

fn with_search(settings: &str) -> String {
    let main = format!("let main : !string -> !string = agent {{ tools: [search], {settings} }}");
    format!("{SEARCH}{main}")
}

#[test]
fn what_an_agent_said_before_it_is_shown_again() {
    let program = r#"
use mem
let main : !string -> (!string, !CtrlResp, !json) = agent { provider: "sim", prompt: "Be brief." }
"#;
    let folder = crate::folder(&[]);
    let driver = crate::driver(program, folder.path());
    let messages = vec![Value::from("one"), Value::from("two")];
    let reports = block_on_sockets(run_main(&driver, messages));
    let shown = lines(&reports, Shown::Results);
    assert_eq!(shown[0], "\"You said: one\"");
    let input = |line: &str| -> i64 {
        let record = Value::parse(line.strip_prefix("2: ").unwrap()).unwrap();
        match record.get("input_tokens") {
            Some(Value::Int(tokens)) => *tokens,
            other => panic!("{other:?}"),
        }
    };
    assert!(input(&shown[4]) > input(&shown[1]) + 4, "{shown:?}");
}

#[test]
fn a_model_calls_a_process() {
    let said = r#""@sim call search {\"query\": \"four\"}""#;
    check_sim(
        &with_search(r#"provider: "sim""#),
        said,
        Shown::All,
        &[
            "main <",
            "main calls search",
            "main/search <",
            "main/search >",
            "main >",
            "main tells usage",
            "main tells pulse",
            "main tells usage",
            "main tells pulse",
            "\"I read the result: 4\"",
        ],
    );
}

#[test]
fn what_goes_wrong_with_a_tool_is_told_to_the_model() {
    let program = with_search(r#"provider: "sim""#);
    let wrong = r#""@sim call search {\"query\": 4}""#;
    let told = "\"I read the result: expected string, found a whole number at .query\"";
    check_sim(&program, wrong, Shown::Results, &[told]);
    let none = with_search(r#"provider: "sim", max_tool_calls: 0"#);
    let said = r#""@sim call search {\"query\": \"four\"}""#;
    // It may call nothing, so it says nothing, and is asked again.
    let again = "\"You said: That answer cannot be used: it is empty. Answer the same message again, in the f\"";
    check_sim(&none, said, Shown::Results, &[again]);
}

#[test]
fn typed_answers_are_asked_for_and_read() {
    let program = r#"
type Verdict = { resolved: bool }
let main : !string -> !Verdict = agent { provider: "sim", max_retries: 0 }
"#;
    check_sim(
        program,
        r#""Is it?" "@sim say {\"resolved\": false}" "@sim say Yes""#,
        Shown::Results,
        &[
            "{\"resolved\":true}",
            "{\"resolved\":false}",
            "problem output_type_mismatch: main: none of 1 answers has the requested type: it is not JSON: unexpected 'Y' at byte 0",
        ],
    );
}

#[test]
fn an_answer_that_is_cut_off_says_so() {
    let program = r#"
type Verdict = { resolved: bool, topic: string }
let main : !string -> !Verdict = agent { provider: "sim", max_retries: 0, max_tokens: 5 }
"#;
    let folder = crate::folder(&[]);
    let driver = crate::driver(program, folder.path());
    let said =
        Value::from(r#"@sim say {"resolved": true, "topic": "a long one that has no room"}"#);
    let shown = lines(
        &block_on_sockets(run_main(&driver, vec![said])),
        Shown::Results,
    );
    assert!(
        shown[0].contains("it is cut off at the maximum length"),
        "{shown:?}"
    );
}

#[test]
fn thoughts_come_back_with_the_calls_that_follow_them() {
    let said = r#""@sim think hm\n@sim call search {\"query\": \"four\"}""#;
    check_sim(
        &with_search(r#"provider: "sim", thinking_budget: 1024, temperature: 0.5"#),
        said,
        Shown::Results,
        &["\"I read the result: 4\""],
    );
}

/// Lets an agent of this provider speak to a server that is not the provider's own.
#[track_caller]
fn check_endpoint(provider: &str, model: &str) {
    block_on_sockets(async {
        let clock = Arc::new(|| Timestamp::from_second(1_800_000_000).unwrap());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let config = sim::Config::default();
        let server = sim::serve(listener, config, clock.clone(), None).unwrap();
        let settings = format!(
            "provider: \"{provider}\", model: \"{model}\", endpoint: \"{}\", temperature: 1",
            server.url()
        );
        let checked = check("test.plumb", &with_search(&settings), &BuiltIn);
        let account = Account {
            key: Some("sk-test".to_owned()),
            base: None,
        };
        let surroundings = Surroundings {
            anthropic: account.clone(),
            openai: account,
            ..Surroundings::new("", clock)
        };
        let driver = Driver::new(checked, surroundings);
        let messages = ["hello", "@sim call search {\"query\": \"four\"}", "bye"];
        let messages = messages.map(Value::from).to_vec();
        let reports = run_main(&driver, messages).await;
        assert_eq!(
            lines(&reports, Shown::Results),
            [
                "\"You said: hello\"",
                "\"I read the result: 4\"",
                "\"You said: bye\"",
            ]
        );
        assert_eq!(server.provider().total().requests, 4);
        server.shutdown().await;
    });
}

#[test]
fn anthropic_is_spoken() {
    check_endpoint("anthropic", "claude-opus-5-5");
}

#[test]
fn the_simulated_provider_may_be_elsewhere() {
    check_endpoint("sim", "claude-sonnet-5");
}

#[test]
fn openai_is_spoken() {
    check_endpoint("openai", "gpt-5.5");
}

#[test]
fn an_agent_whose_model_needs_a_key_does_not_start_without_one() {
    let program =
        r#"let main : !string -> !string = agent { provider: "openai", model: "gpt-5.5" }"#;
    let folder = crate::folder(&[]);
    let driver = crate::driver(program, folder.path());
    let unfit = driver.network("main").unwrap_err();
    assert_eq!(unfit.to_string(), "`main` needs a key for api.openai.com");
}

/// An answer that a provider cut off in a call.
const CUT: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"claude-sonnet-5","stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"clean","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#;
const PLAIN: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"claude-sonnet-5","stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Nothing was done."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// Reads a request, and returns its body.
async fn body_of(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return body.to_owned();
            }
        }
        assert!(stream.read_buf(&mut read).await.unwrap() > 0, "{text}");
    }
}

#[test]
fn a_call_that_is_cut_off_is_not_made() {
    let program = r#"
let cleaned : !{ all?: bool } -> !string = plumb(input, output) { input ; map("REMOVED") ; output }
let clean : { all?: bool } -> string = tool { process: cleaned }
let main : !string -> !string = agent { provider: "sim", model: "claude-sonnet-5", endpoint: "URL", tools: [clean] }
"#;
    block_on_sockets(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serve = async {
            let mut asked = Vec::new();
            for answer in [CUT, PLAIN] {
                let (mut stream, _) = listener.accept().await.unwrap();
                let body = body_of(&mut stream).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                stream
                    .write_all(format!("{head}{answer}").as_bytes())
                    .await
                    .unwrap();
                asked.push(body);
            }
            asked
        };
        let folder = crate::folder(&[]);
        let driver = crate::driver(&program.replace("URL", &url), folder.path());
        let (reports, asked) = tokio::join!(run_main(&driver, vec![Value::from("go")]), serve);
        assert_eq!(lines(&reports, Shown::Results), ["\"Nothing was done.\""]);
        assert!(asked[1].contains("so it was not made"), "{}", asked[1]);
        assert!(!asked[1].contains("REMOVED"), "{}", asked[1]);
    });
}
