//! Server-sent events, read from chunks that are cut anywhere, and written.
//!
//! The rules are those of the WHATWG HTML standard, section "Server-sent events", with one
//! addition: an event at the end of the stream without the empty line after it is delivered by
//! [`Decoder::finish`], because some servers leave that line out.

use std::collections::VecDeque;
use std::fmt;

use super::error::ApiError;

/// The longest event by default: 16 MiB. A Responses stream repeats the whole answer in its last
/// event, generated images included.
pub const LONGEST_EVENT: usize = 16 << 20;

/// One event of a stream.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    /// The event name; `message` where the stream gives none.
    pub name: String,
    /// The data; several `data` lines are joined by line feeds.
    pub data: String,
    /// The last id that the stream gave.
    pub id: Option<String>,
}

impl fmt::Debug for Event {
    /// Without the data, which is text of the conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({}, {} bytes)", self.name, self.data.len())
    }
}

impl Event {
    /// An event without an id.
    #[must_use]
    pub fn new(name: impl Into<String>, data: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            data: data.into(),
            id: None,
        }
    }

    /// The event as it goes over the wire, with the empty line after it. The name `message` is the
    /// default and left out. Line breaks in a name or an id, which the format cannot carry, become
    /// spaces; any line break in the data arrives as a line feed.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = String::with_capacity(self.data.len() + self.name.len() + 16);
        let one_line = |text: &str| text.replace(['\r', '\n'], " ");
        if self.name != "message" {
            out.push_str("event: ");
            out.push_str(&one_line(&self.name));
            out.push('\n');
        }
        if let Some(id) = &self.id {
            out.push_str("id: ");
            out.push_str(&one_line(id));
            out.push('\n');
        }
        let data = self.data.replace("\r\n", "\n").replace('\r', "\n");
        for line in data.split('\n') {
            out.push_str("data: ");
            out.push_str(line);
            out.push('\n');
        }
        out.push('\n');
        out
    }
}

/// Reads events from chunks.
#[derive(Clone)]
pub struct Decoder {
    limit: usize,
    /// The current line, incomplete.
    line: Vec<u8>,
    /// `true` once the current line has any bytes, even if they are not kept.
    line_has_bytes: bool,
    /// `true` after a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    /// `true` once a line was read: only the first one may start with a byte order mark.
    started: bool,
    /// `true` while the rest of an oversized event is skipped.
    passing_over: bool,
    name: String,
    data: Option<String>,
    id: Option<String>,
    ready: VecDeque<Result<Event, ApiError>>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limit(LONGEST_EVENT)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("limit", &self.limit)
            .field("line", &self.line.len())
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder that takes events of up to `limit` bytes (lines that are no data included).
    #[must_use]
    pub const fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            line_has_bytes: false,
            after_return: false,
            started: false,
            passing_over: false,
            name: String::new(),
            data: None,
            id: None,
            ready: VecDeque::new(),
        }
    }

    /// Takes the next chunk. [`Self::next_event`] then returns its events.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.extend_line(rest);
                return;
            };
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.extend_line(line);
            self.end_line();
            self.after_return = after.first() == Some(&b'\r');
            rest = after.get(1..).unwrap_or_default();
        }
    }

    /// The next complete event.
    ///
    /// # Errors
    /// [`ApiError::EventTooLarge`] in the place of an event that passes the limit; reading goes on
    /// after it.
    pub fn next_event(&mut self) -> Option<Result<Event, ApiError>> {
        self.ready.pop_front()
    }

    /// Ends the stream. An event that has begun counts if it has data; it comes after the events
    /// that [`Self::next_event`] has yet to return.
    pub fn finish(&mut self) {
        if self.line_has_bytes {
            self.end_line();
        }
        self.end_event();
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        self.line_has_bytes |= !bytes.is_empty();
        if self.passing_over {
            return;
        }
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + bytes.len() > self.limit {
            let limit = self.limit;
            self.ready.push_back(Err(ApiError::EventTooLarge { limit }));
            self.passing_over = true;
            self.line = Vec::new();
            self.data = None;
            return;
        }
        self.line.extend_from_slice(bytes);
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let empty = !std::mem::take(&mut self.line_has_bytes);
        let first = !std::mem::replace(&mut self.started, true);
        if empty {
            self.end_event();
        } else if !self.passing_over {
            let bytes: &[u8] = &line;
            let bytes = if first {
                bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
            } else {
                bytes
            };
            if bytes.is_empty() {
                self.end_event();
            } else {
                self.field(&String::from_utf8_lossy(bytes));
            }
        }
        // The buffer is used again for the next line.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // A comment (no name), `retry`, or a field that the format does not know.
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let name = std::mem::take(&mut self.name);
        self.passing_over = false;
        let Some(data) = self.data.take() else {
            return;
        };
        self.ready.push_back(Ok(Event {
            name: if name.is_empty() {
                "message".to_owned()
            } else {
                name
            },
            data,
            id: self.id.clone(),
        }));
    }
}

#[cfg(test)]
mod tests;
