//! Audits the provider's request log: pins must be verbatim, and unchanged bytes must stay unchanged.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use wire::api::{Dialect, Request};

use super::agent::ANSWER;
use super::http::{NUMBER, broken};
use crate::failure::Failure;

/// The request log of a simulated provider, in memory.
#[derive(Clone, Default)]
pub struct RequestLog(Arc<Mutex<Vec<u8>>>);

impl RequestLog {
    pub fn bytes(&self) -> Vec<u8> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Write for RequestLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pinned text.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    pub text: &'static str,
    /// The number of the first request that must contain it.
    pub from: usize,
}

/// The result of an audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Requests of the agent.
    pub requests: usize,
    /// Requests that contain every pin verbatim.
    pub with_pins: usize,
    /// Pairs of consecutive requests without a compaction between them.
    pub pairs: usize,
    /// Bytes of instructions, tools and messages that changed within such pairs.
    pub changed: usize,
}

#[derive(Deserialize)]
struct Line<'a> {
    headers: HashMap<String, String>,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// Distinguishes the agent's requests from the gateway's summary requests.
fn is_of_agent(request: &Request<'_>) -> bool {
    let most = request.field("max_tokens").map(|field| field.value);
    !request.sets("compaction") && most.and_then(|most| most.parse().ok()) == Some(ANSWER)
}

/// The pieces that the next request must repeat, in the order in which the provider caches them.
fn pieces<'r>(request: &'r Request<'_>) -> impl Iterator<Item = &'r str> {
    let value = |key| request.field(key).map_or("", |field| field.value);
    let head = [value("tools"), value("system")];
    head.into_iter()
        .chain(request.messages().map(|message| message.raw()))
}

/// Audits a log. `boundaries` are the numbers of the requests that may differ from the one before.
pub fn examine(log: &[u8], pins: &[Pinned], boundaries: &[usize]) -> Result<Audit, Failure> {
    let mut out = Audit::default();
    let mut before: Option<Request<'_>> = None;
    for line in log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line: Line<'_> = serde_json::from_slice(line).map_err(broken)?;
        let number = line.headers.get(NUMBER).and_then(|it| it.parse().ok());
        let Some(number) = number else { continue };
        let body = line.body.get();
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).map_err(broken)?;
        if !is_of_agent(&request) {
            continue;
        }
        out.requests += 1;
        let mut due = pins.iter().filter(|pin| pin.from <= number);
        out.with_pins += usize::from(due.all(|pin| says(body, pin.text)));
        if let Some(before) = &before
            && !boundaries.contains(&number)
        {
            out.pairs += 1;
            out.changed += changed(before, &request);
        }
        before = Some(request);
    }
    Ok(out)
}

/// Says if a body contains a text in its JSON-escaped form.
fn says(body: &str, text: &str) -> bool {
    let escaped = serde_json::Value::from(text).to_string();
    body.contains(escaped.trim_matches('"'))
}

/// Counts the bytes of `before` from the first piece that differs in `after`.
fn changed(before: &Request<'_>, after: &Request<'_>) -> usize {
    let mut theirs = pieces(after);
    pieces(before)
        .skip_while(|piece| theirs.next() == Some(*piece))
        .map(str::len)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{ANSWER, Audit, Pinned, examine};
    use serde_json::{Value, json};

    fn line(number: usize, messages: &[&str]) -> Value {
        let body = json!({ "max_tokens": ANSWER, "system": "s", "messages": messages });
        json!({ "headers": { "x-demo-request": number.to_string() }, "body": body })
    }

    #[track_caller]
    fn check(lines: &[Value], boundaries: &[usize], expected: Audit) {
        let log: Vec<String> = lines.iter().map(Value::to_string).collect();
        let pins = [Pinned {
            text: "say \"so\"",
            from: 2,
        }];
        let found = examine(log.join("\n").as_bytes(), &pins, boundaries);
        assert_eq!(found.expect("a log"), expected);
    }

    #[test]
    fn pins_count_once_set_and_changes_count_between_boundaries() {
        let lines = [
            line(1, &["a"]),
            line(2, &["a", "b say \"so\""]),
            line(3, &["a", "b", "c"]),
        ];
        let expected = Audit {
            requests: 3,
            with_pins: 2,
            pairs: 2,
            changed: json!("b say \"so\"").to_string().len(),
        };
        check(&lines, &[], expected);
        let expected = Audit {
            pairs: 1,
            changed: 0,
            ..expected
        };
        check(&lines, &[3], expected);
    }

    #[test]
    fn requests_of_others_are_skipped() {
        let mut prepared = line(1, &["a"]);
        prepared["body"]["compaction"] = json!({ "type": "summarize" });
        let mut asked = line(1, &["a", "summarise"]);
        asked["body"]["max_tokens"] = json!(ANSWER * 2);
        let other = json!({ "headers": {}, "body": null });
        let expected = Audit {
            requests: 1,
            with_pins: 1,
            ..Audit::default()
        };
        check(&[line(1, &["a"]), prepared, asked, other], &[], expected);
    }
}
