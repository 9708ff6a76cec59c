//! What the provider received, byte for byte, and what that proves.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent::ANSWER;
use super::http::{NUMBER, broken};
use crate::failure::Failure;

/// The log of a simulated provider, kept in memory.
#[derive(Clone, Default)]
pub struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    /// What was logged so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Write for Received {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A text that is pinned.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    /// The text.
    pub text: &'static str,
    /// The first request that is sent after it was pinned.
    pub from: usize,
}

/// What the received requests show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Requests of the agent.
    pub requests: usize,
    /// Those with every pin, verbatim.
    pub with_pins: usize,
    /// Pairs of neighbouring requests without a boundary between them.
    pub pairs: usize,
    /// Bytes of the first request of such a pair that do not stand at the same place in the second:
    /// instructions, tools and messages.
    pub changed: usize,
}

#[derive(Deserialize)]
struct Line<'a> {
    headers: HashMap<String, String>,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// The parts of a body in the order in which the provider reads them.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    compaction: Option<&'a RawValue>,
    #[serde(default)]
    max_tokens: u64,
}

impl Body<'_> {
    /// The bytes that a later request has to begin with.
    fn pieces(&self) -> impl Iterator<Item = &str> {
        let head = [self.tools, self.system].into_iter();
        head.map(|part| part.map_or("", RawValue::get))
            .chain(self.messages.iter().map(|message| message.get()))
    }

    /// Whether it is a request of the agent and not one for a summary that was made from it.
    fn is_of_agent(&self) -> bool {
        self.compaction.is_none() && self.max_tokens == ANSWER
    }
}

/// Reads a log. `boundaries` are the requests of the agent, by their numbers, before which the
/// conversation was made smaller.
pub fn examine(log: &[u8], pins: &[Pinned], boundaries: &[usize]) -> Result<Evidence, Failure> {
    let mut out = Evidence::default();
    let mut before: Option<Body<'_>> = None;
    for line in log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line: Line<'_> = serde_json::from_slice(line).map_err(broken)?;
        let number = line.headers.get(NUMBER).and_then(|it| it.parse().ok());
        let Some(number) = number else { continue };
        let body: Body<'_> = serde_json::from_str(line.body.get()).map_err(broken)?;
        if !body.is_of_agent() {
            continue;
        }
        out.requests += 1;
        let mut due = pins.iter().filter(|pin| pin.from <= number);
        out.with_pins += usize::from(due.all(|pin| says(line.body.get(), pin.text)));
        if let Some(before) = &before
            && !boundaries.contains(&number)
        {
            out.pairs += 1;
            out.changed += changed(before, &body);
        }
        before = Some(body);
    }
    Ok(out)
}

/// Whether a text stands in a body, as JSON spells it.
fn says(body: &str, text: &str) -> bool {
    let spelt = serde_json::Value::from(text).to_string();
    body.contains(spelt.trim_matches('"'))
}

/// The bytes of `before`, from the first piece on that `after` does not have at its place.
fn changed(before: &Body<'_>, after: &Body<'_>) -> usize {
    let mut theirs = after.pieces();
    before
        .pieces()
        .skip_while(|piece| theirs.next() == Some(*piece))
        .map(str::len)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{ANSWER, Evidence, Pinned, examine};
    use serde_json::{Value, json};

    fn line(number: usize, messages: &[&str]) -> Value {
        let body = json!({ "max_tokens": ANSWER, "system": "s", "messages": messages });
        json!({ "headers": { "x-demo-request": number.to_string() }, "body": body })
    }

    #[track_caller]
    fn check(lines: &[Value], boundaries: &[usize], expected: Evidence) {
        let log: Vec<String> = lines.iter().map(Value::to_string).collect();
        let pins = [Pinned {
            text: "say \"so\"",
            from: 2,
        }];
        let found = examine(log.join("\n").as_bytes(), &pins, boundaries);
        assert_eq!(found.expect("a log"), expected);
    }

    #[test]
    fn pins_count_from_when_they_are_set_and_changes_where_nothing_was_due() {
        let lines = [
            line(1, &["a"]),
            line(2, &["a", "b say \"so\""]),
            line(3, &["a", "b", "c"]),
        ];
        let expected = Evidence {
            requests: 3,
            with_pins: 2,
            pairs: 2,
            changed: json!("b say \"so\"").to_string().len(),
        };
        check(&lines, &[], expected);
        let expected = Evidence {
            pairs: 1,
            changed: 0,
            ..expected
        };
        check(&lines, &[3], expected);
    }

    #[test]
    fn what_is_not_the_agents_is_passed_over() {
        let mut prepared = line(1, &["a"]);
        prepared["body"]["compaction"] = json!({ "type": "summarize" });
        let mut asked = line(1, &["a", "summarise"]);
        asked["body"]["max_tokens"] = json!(ANSWER * 2);
        let other = json!({ "headers": {}, "body": null });
        let expected = Evidence {
            requests: 1,
            with_pins: 1,
            ..Evidence::default()
        };
        check(&[line(1, &["a"]), prepared, asked, other], &[], expected);
    }
}
