//! The canonical form of a message, by which two spellings of it are the same.
//!
//! Clients resend a conversation, and not always in the same spelling: they move
//! cache breakpoints, write a single text as a string or as a block, or print JSON with another
//! library. The canonical form leaves out everything that the model does not see.

use super::json::scan::Kind;
use super::json::tree::Value;

/// Members of messages and blocks that control the provider's cache; the model does not see them.
pub(super) const MARKERS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];

/// The hash of one content block.
pub(super) fn hash_of_block(block: Value<'_>) -> [u8; 16] {
    let mut form = Form::default();
    form.block(block);
    form.hash()
}

/// The canonical form, unambiguous: every value starts with its sort, every string with its length.
#[derive(Default)]
struct Form {
    out: Vec<u8>,
}

impl Form {
    fn hash(&self) -> [u8; 16] {
        let mut id = [0; 16];
        blake3::Hasher::new()
            .update(&self.out)
            .finalize_xof()
            .fill(&mut id);
        id
    }

    fn open(&mut self, sort: u8) {
        self.out.push(sort);
    }

    fn sized(&mut self, sort: u8, bytes: &[u8]) {
        self.out.push(sort);
        self.out
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.out.extend_from_slice(bytes);
    }

    fn field(&mut self, key: &str) {
        self.sized(b'k', key.as_bytes());
    }

    fn string(&mut self, text: &str) {
        self.sized(b's', text.as_bytes());
    }

    /// A message, an item or a content block. Cache markers and empty members do not count; `type`
    /// does not where it says `message`, which is the default on Responses.
    fn block(&mut self, value: Value<'_>) {
        if value.kind() != Kind::Object {
            return self.data(value);
        }
        let mut members: Vec<_> = value
            .members()
            .filter_map(|(key, value)| Some((key.text()?, value)))
            .filter(|(key, value)| {
                let marks = MARKERS.contains(&&**key);
                let says_nothing = value.is_null() || value.raw() == "[]";
                let default = key == "type" && value.is("message");
                !(marks || says_nothing || default)
            })
            .collect();
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let [(first, text), (second, kind)] = &members[..]
            && first == "text"
            && second == "type"
            && ["text", "input_text", "output_text"]
                .iter()
                .any(|name| kind.is(name))
            && let Some(text) = text.text()
        {
            return self.sized(b't', text.as_bytes());
        }
        self.open(b'o');
        for (key, value) in members {
            self.field(&key);
            match &*key {
                "content" | "output" => self.content(value),
                _ => self.data(value),
            }
        }
        self.open(b'e');
    }

    /// A string stands for one text block.
    fn content(&mut self, value: Value<'_>) {
        if let Some(text) = value.text() {
            self.open(b'l');
            self.sized(b't', text.as_bytes());
            self.open(b'e');
        } else if value.kind() == Kind::List {
            self.open(b'l');
            value.elements().for_each(|block| self.block(block));
            self.open(b'e');
        } else {
            self.data(value);
        }
    }

    /// Any other value: all of it counts, except the order of keys and the spelling.
    fn data(&mut self, value: Value<'_>) {
        match value.kind() {
            Kind::Null => self.open(b'0'),
            Kind::True => self.open(b'1'),
            Kind::False => self.open(b'2'),
            Kind::Number => self.number(value.raw()),
            Kind::Plain | Kind::Escaped => self.string(&value.text().unwrap_or_default()),
            Kind::List => {
                self.open(b'l');
                value.elements().for_each(|element| self.data(element));
                self.open(b'e');
            }
            Kind::Object => {
                let mut members: Vec<_> = value
                    .members()
                    .filter_map(|(key, value)| Some((key.text()?, value)))
                    .collect();
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                self.open(b'o');
                for (key, value) in members {
                    self.field(&key);
                    self.data(value);
                }
                self.open(b'e');
            }
        }
    }

    /// A number by its value where a double holds it exactly, else by its spelling: a client that
    /// prints 1.0 as 1 sends the same message.
    fn number(&mut self, raw: &str) {
        let digits = raw.trim_start_matches('-');
        let short = digits.len() <= 15;
        match raw.parse::<f64>() {
            Ok(number) if short && number == 0.0 => self.sized(b'n', b"0"),
            Ok(number) if short && number.is_finite() => {
                self.sized(b'n', format!("{number}").as_bytes());
            }
            _ => self.sized(b'n', raw.as_bytes()),
        }
    }
}
