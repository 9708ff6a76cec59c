//! Tests of malformed, huge, slow and hostile requests: each gets a clear answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use gateway::config::RouteChoice;
use serde_json::Value;

use crate::harness::{READ_LIMIT, Stage};

const LARGEST: usize = 32 << 20;

/// Sends bytes and reads until the connection ends or goes silent.
fn exchange(url: &str, pieces: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(90)))
        .unwrap();
    for piece in pieces {
        // A server that refuses early may close before it has read all.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let mut buffer = [0; 65_536];
    while let Ok(read) = stream.read(&mut buffer) {
        answer.extend_from_slice(&buffer[..read]);
        if read == 0 || is_whole(&answer) {
            break;
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns true once an answer with a length has arrived.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}

fn head(more: &str) -> String {
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n{more}\r\n"
    )
}

fn post(url: &str, body: &[u8]) -> String {
    let head = head(&format!("content-length: {}\r\n", body.len()));
    exchange(url, &[head.as_bytes(), body])
}

/// Returns the status and the error's type and message.
fn error(answer: &str) -> (u16, String, String) {
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let start = body.find('{').unwrap_or(0);
    let end = body.rfind('}').map_or(body.len(), |at| at + 1);
    let body = body.get(start..end).unwrap_or_default();
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let of = |key: &str| body["error"][key].as_str().unwrap_or_default().to_owned();
    (status.unwrap_or(0), of("type"), of("message"))
}

fn check(stage: &mut Stage, body: &[u8], status: u16, says: &str) {
    let answer = post(&stage.url(), body);
    let (found, kind, message) = error(&answer);
    assert_eq!(found, status, "{answer:.400}");
    assert!(!kind.is_empty(), "{answer:.400}");
    assert!(message.contains(says), "{message}");
}

#[test]
fn malformed_requests_get_the_providers_own_answer() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let cases: [&[u8]; 9] = [
        b"",
        b"{",
        b"null",
        b"[1,2,3]",
        b"{\"model\":\"claude-opus-4-8\"}",
        b"{\"model\":\"claude-opus-4-8\",\"max_tokens\":1,\"messages\":{}}",
        b"{\"model\":\"claude-opus-4-8\",\"max_tokens\":1,\"messages\":[{\"role\":\"alien\",\"content\":\"x\"}]}",
        b"{\"model\":\"claude-opus-4-8\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"x\"}]}]}",
        b"{\"model\":\"\xff\xfe\",\"messages\":[]}",
    ];
    for body in cases {
        let direct = error(&post(&stage.provider.url(), body));
        let through = error(&post(&stage.url(), body));
        assert_eq!(direct, through, "{}", String::from_utf8_lossy(body));
    }
}

#[test]
fn nesting_without_end_is_refused_by_the_provider_not_by_the_stack() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let mut body = br#"{"model":"claude-opus-4-8","max_tokens":1,"messages":"#.to_vec();
    body.resize(4 << 20, b'[');
    check(&mut stage, &body, 400, "");
}

#[test]
fn too_large_is_said_before_it_is_read() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let announced = head(&format!("content-length: {}\r\n", LARGEST + 1));
    let answer = exchange(&stage.url(), &[announced.as_bytes()]);
    let (status, kind, message) = error(&answer);
    assert_eq!(
        (status, kind.as_str()),
        (413, "request_too_large"),
        "{answer}"
    );
    assert!(message.contains("32"), "{message}");
}

#[test]
fn too_large_is_noticed_while_it_comes() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let head = head("transfer-encoding: chunked\r\n");
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    let mut pieces = vec![head.as_bytes()];
    pieces.extend(std::iter::repeat_n(chunk.as_slice(), 40));
    let (status, kind, _) = error(&exchange(&stage.url(), &pieces));
    assert_eq!((status, kind.as_str()), (413, "request_too_large"));
    let after = post(&stage.url(), b"{");
    assert_eq!(error(&after).0, 400, "and the next request is served");
}

#[test]
fn the_largest_allowed_is_served() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let start =
        br#"{"model":"claude-opus-4-8","max_tokens":1,"messages":[{"role":"user","content":""#;
    let end = br#""}]}"#;
    let mut body = start.to_vec();
    body.resize(LARGEST - end.len(), b'a');
    body.extend_from_slice(end);
    check(&mut stage, &body, 400, "prompt is too long");
}

#[test]
fn who_never_finishes_is_not_waited_for() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let head = head("content-length: 1000\r\n");
    let url = stage.url();
    let answer = exchange(&url, &[head.as_bytes(), b"{\"model\":"]);
    let (status, kind, _) = error(&answer);
    assert_eq!(status, 408, "{answer}");
    assert!(!kind.is_empty(), "{answer}");
    let slow = exchange(&url, &[b"POST /v1/mess"]);
    assert!(slow.is_empty() || slow.contains(" 408 "), "{slow}");
    assert!(READ_LIMIT < Duration::from_secs(5));
}

#[test]
fn many_small_messages_are_no_trouble() {
    let mut stage = Stage::new(RouteChoice::Extractive);
    let mut body = String::from(r#"{"model":"claude-opus-4-8","max_tokens":1,"messages":["#);
    for _ in 0..50_000 {
        body.push_str(r#"{"role":"user","content":"x"},{"role":"assistant","content":"y"},"#);
    }
    body.push_str(r#"{"role":"user","content":"x"}]}"#);
    let (status, kind, _) = error(&post(&stage.url(), body.as_bytes()));
    assert_eq!(status, 400, "{kind}");
}
