//! An agent loop with a memory, which crosses its window several times: `cargo run -p ebbtide --example loop`.

use std::error::Error;

use ebbtide::{Engine, Next, Timestamp, Tokens};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

const WINDOW: u64 = 8_000;

/// Talks, and reports the figures.
pub fn run() -> Result<String, Box<dyn Error>> {
    let engine = Engine::builder().window(WINDOW).open()?;
    let client = engine.client("my key");
    let mut provider = sim::Provider::new(sim::Config {
        window: Some(Tokens::new(WINDOW)),
        ..sim::Config::default()
    });
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_static("my key"));
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    let (mut messages, mut said, mut sent) = (Vec::<Value>::new(), 0, 0);
    for turn in 0..80 {
        let now = Timestamp::from_second(1_790_000_000 + turn * 30)?;
        let task = format!("Read src/part_{turn}.rs and mend what fails there. ").repeat(40);
        messages.push(json!({"role": "user", "content": task}));
        let body = json!({"model": "claude-opus-4-5", "max_tokens": 500, "messages": messages});
        said = body.to_string().len();
        let Next::Send(out) = engine.request(&client, body.to_string(), now)? else {
            return Err("without a model's summaries nothing is held".into());
        };
        sent = out.body.len().max(sent);
        let answer = provider.answer(&sim::Incoming {
            method: &Method::POST,
            path: "/v1/messages",
            headers: &headers,
            body: &out.body,
            now,
        });
        let text = answer.text();
        let reply: Value = serde_json::from_str(&text)?;
        // A refusal has no content.
        let content = reply.get("content").ok_or_else(|| text.clone())?;
        messages.push(json!({"role": "assistant", "content": content}));
        engine.observe(out.ticket, text.as_bytes(), now)?;
    }
    let conversations = engine.conversations(&client)?;
    let one = conversations.first().ok_or("no conversation")?;
    let (asked, swaps) = (one.totals.requests, one.compactions);
    Ok(format!(
        "{asked} requests, {swaps} summaries swapped in, none refused; {said} bytes said, at most {sent} sent"
    ))
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run()?);
    Ok(())
}
