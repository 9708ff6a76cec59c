//! The message in front of a view, with its cache breakpoint.

use serde_json::{Value, json};

use crate::api::breakpoint::{Breakpoint, BreakpointPosition};
use crate::api::request::Request;

/// Slots for cache breakpoints, the automatic one included.
const SLOTS: usize = 4;

/// One text block per text, the last one marked where a slot is free.
pub(super) fn front(request: &Request<'_>, from: usize, texts: &[&str]) -> String {
    let content = blocks(texts, breakpoint(request, from));
    json!({"role": "user", "content": content}).to_string()
}

fn blocks(texts: &[&str], mark: Option<Life>) -> Value {
    let mut blocks: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    if let (Some(Value::Object(last)), Some(life)) = (blocks.last_mut(), mark) {
        last.insert("cache_control".to_owned(), life.control());
    }
    Value::from(blocks)
}

/// The lifetime of a cache entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Short,
    Long,
}

impl Life {
    fn of(breakpoint: &Breakpoint) -> Option<Self> {
        match breakpoint.ttl.as_deref() {
            None | Some("5m") => Some(Self::Short),
            Some("1h") => Some(Self::Long),
            Some(_) => None,
        }
    }

    fn control(self) -> Value {
        match self {
            Self::Short => json!({"type": "ephemeral"}),
            Self::Long => json!({"type": "ephemeral", "ttl": "1h"}),
        }
    }
}

/// The lifetime of the breakpoint in front, where a slot is free and a lifetime is legal there.
///
/// The provider takes at most four breakpoints, and none that lives longer than one before it (tools,
/// system, messages). Where both lifetimes are legal, the breakpoint takes that of the client's
/// breakpoints behind it, which cost the same to write; without any, that of the ones before.
fn breakpoint(request: &Request<'_>, from: usize) -> Option<Life> {
    let marks = request.breakpoints_from(from);
    if marks.len() >= SLOTS {
        return None;
    }
    let mut before = Vec::new();
    let mut behind = Vec::new();
    for mark in &marks {
        match mark.place {
            BreakpointPosition::Tool(_) | BreakpointPosition::System(_) => {
                before.push(Life::of(mark)?)
            }
            BreakpointPosition::Message { .. } | BreakpointPosition::Automatic => {
                behind.push(Life::of(mark)?)
            }
        }
    }
    let long = match (before.last(), behind.first()) {
        (Some(Life::Short), Some(Life::Long)) => return None,
        (_, Some(Life::Long)) | (Some(Life::Long), None) => true,
        (_, Some(Life::Short)) | (Some(Life::Short) | None, None) => false,
    };
    Some(if long { Life::Long } else { Life::Short })
}

#[cfg(test)]
mod tests {
    use crate::api::{Dialect, Request};

    use super::{Life, breakpoint};

    fn check(system: &[&str], messages: &[&str], automatic: &str, expected: Option<Life>) {
        let block = |ttl: &&str| match *ttl {
            "-" => r#"{"type":"text","text":"x"}"#.to_owned(),
            "" => r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}"#.to_owned(),
            ttl => format!(r#"{{"type":"text","text":"x","cache_control":{{"ttl":"{ttl}"}}}}"#),
        };
        let system: Vec<String> = system.iter().map(block).collect();
        let said: Vec<String> = messages
            .iter()
            .map(|ttl| format!(r#"{{"role":"user","content":[{}]}}"#, block(ttl)))
            .collect();
        let automatic = match automatic {
            "-" => String::new(),
            ttl => format!(r#","cache_control":{{"ttl":"{ttl}"}}"#),
        };
        let body = format!(
            r#"{{"system":[{}],"messages":[{}]{automatic}}}"#,
            system.join(","),
            said.join(",")
        );
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        assert_eq!(breakpoint(&request, 1), expected, "{body}");
    }

    #[test]
    fn a_free_slot_is_used_with_a_legal_life() {
        let (short, long) = (Some(Life::Short), Some(Life::Long));
        check(&["-"], &["-", "-"], "-", short);
        check(&[""], &["-", ""], "-", short);
        check(&["1h"], &["-", "-"], "-", long);
        check(&["1h"], &["-", "1h", "5m"], "-", long);
        check(&["1h"], &["-", "5m"], "-", short);
        check(&["1h", "5m"], &["-", "-"], "-", short);
        check(&["1h"], &["-", "-"], "1h", long);
        check(&["-"], &["-", "-"], "1h", long);
        check(&["5m"], &["-", "1h"], "-", None);
        check(&["2h"], &["-", "-"], "-", None);
    }

    #[test]
    fn there_are_never_more_than_four() {
        check(&["", ""], &["-", "", ""], "-", None);
        check(&["", ""], &["-", ""], "5m", None);
        // The message before the view is not sent, nor is its breakpoint.
        check(&["", ""], &["", ""], "-", Some(Life::Short));
    }
}
