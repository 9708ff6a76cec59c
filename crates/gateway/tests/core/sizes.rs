//! The provider's counts are believed, whatever was estimated.

use gateway::config::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::house::{Agent, Came, House, words};

/// A provider that counts every request as so many tokens. Its address.
#[expect(
    clippy::disallowed_methods,
    reason = "it ends with the runtime of its test"
)]
async fn counts(input: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, input));
        }
    });
    format!("http://{address}")
}

async fn answer(mut stream: TcpStream, input: u64) {
    let mut read = Vec::new();
    let mut wanted = None;
    while wanted.is_none_or(|wanted| read.len() < wanted) {
        let mut piece = vec![0; 1 << 16];
        let Ok(length @ 1..) = stream.read(&mut piece).await else {
            return;
        };
        read.extend_from_slice(&piece[..length]);
        wanted = wanted.or_else(|| whole(&read));
    }
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": input, "output_tokens": 5},
    });
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes()).await;
}

/// The length of a request, as soon as its head is there.
fn whole(read: &[u8]) -> Option<usize> {
    let end = read.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
    let (_, length) = head.split_once("content-length:")?;
    let length = length.lines().next()?.trim().parse::<usize>().ok()?;
    Some(end + length)
}

/// A gateway before a provider that counts every request as so many tokens. The window is 16,000.
async fn house(input: u64) -> House {
    let url = counts(input).await;
    House::new(|config: &mut Config| config.upstream.anthropic = url).await
}

/// Nothing was done about the size of a request.
fn left_alone(came: &Came) {
    assert_eq!(came.status, 200, "{came:?}");
    for word in ["swapped", "waited", "preparing", "compacted"] {
        assert!(!came.did().contains(word), "{came:?}");
    }
}

/// Goes on for some turns and checks that nothing was done.
async fn check_left_alone(house: &House, agent: &mut Agent, turns: usize) {
    for n in 0..turns {
        let came = agent.say(house, &format!("and question {n}?")).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        left_alone(&came);
    }
}

fn attached(block: &Value) -> Value {
    json!({"role": "user", "content": [block, {"type": "text", "text": "what is it?"}]})
}

#[tokio::test]
async fn a_large_document_is_left_to_the_provider_to_count() {
    let house = house(9_000).await;
    let mut agent = Agent::new("key-one");
    let data = "JVBERi0x".repeat(200_000);
    let paper = json!({"type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": data}});
    agent.messages.push(attached(&paper));
    let came = agent.go_on(&house).await;
    left_alone(&came);
    check_left_alone(&house, &mut agent, 6).await;
    house.close().await;
}

#[tokio::test]
async fn what_can_not_be_read_counts_little() {
    let house = house(3_000).await;
    let mut agent = Agent::new("key-one");
    agent.messages = vec![
        json!({"role": "user", "content": "think"}),
        json!({"role": "assistant", "content": [
            {"type": "redacted_thinking", "data": "E".repeat(400_000)},
            {"type": "thinking", "thinking": "hm", "signature": "S".repeat(400_000)},
            {"type": "text", "text": "found"},
        ]}),
    ];
    check_left_alone(&house, &mut agent, 5).await;
    house.close().await;
}

#[tokio::test]
async fn text_that_was_counted_too_high_is_corrected() {
    let house = house(3_000).await;
    let mut agent = Agent::new("key-one");
    // By our estimate this is over the window several times.
    for n in 0..20 {
        let came = agent.say(&house, &words(n, 3_000)).await;
        left_alone(&came);
    }
    house.close().await;
}

#[tokio::test]
async fn what_was_sent_before_a_restart_was_not_too_long() {
    let mut house = house(3_000).await;
    let mut agent = Agent::new("key-one");
    for n in 0..10 {
        let came = agent.say(&house, &words(n, 3_000)).await;
        left_alone(&came);
    }
    house.restart().await;
    let came = agent.say(&house, "and now?").await;
    assert!(!came.did().contains("swapped"), "{came:?}");
    assert!(!came.did().contains("waited"), "{came:?}");
    house.close().await;
}
