//! A sealed summary in front of an answer that is on its way.

use std::fmt;

use serde_json::Value;

use super::Dialect;
use super::limits::LONGEST_BODY;
use super::sse::{Decoder, Event};

/// Changes an answer on its way, piece by piece.
pub trait Remake: Send + fmt::Debug {
    /// Takes the next piece and returns what is ready of the changed answer.
    fn piece(&mut self, bytes: &[u8]) -> Vec<u8>;
    /// Returns the rest of it.
    fn end(&mut self) -> Vec<u8>;
}

/// Puts a sealed summary in front of the pieces of an answer, in the events of one dialect.
pub(super) trait Prefix: Send {
    /// The events in place of one event.
    fn event(&mut self, name: &str, data: Value) -> Vec<(String, Value)>;
    /// Changes a whole body.
    fn body(&self, body: &mut Value);
}

/// An answer with a sealed summary in front. An event or a body that is no JSON stays as it is; an event that is longer
/// than the decoder's limit is left out.
pub struct Prefixed {
    prefix: Box<dyn Prefix>,
    form: Form,
}

enum Form {
    Stream(Box<Decoder>),
    Body(Vec<u8>),
    /// A body that is too long to be held: it goes on as it is.
    Through,
}

impl fmt::Debug for Prefixed {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefixed").finish_non_exhaustive()
    }
}

impl Prefixed {
    /// With the block or item `piece` in front. `None` where the dialect has none.
    #[must_use]
    pub fn new(dialect: Dialect, piece: &str, streams: bool) -> Option<Self> {
        let piece = serde_json::from_str(piece).ok()?;
        Some(Self {
            prefix: (dialect.table().replies.prefix)(piece)?,
            form: match streams {
                true => Form::Stream(Box::default()),
                false => Form::Body(Vec::new()),
            },
        })
    }

    fn remade(&mut self, event: &Event) -> String {
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            return event.encode();
        };
        let events = self.prefix.event(&event.name, data);
        let encode = |(name, data): (String, Value)| Event::new(name, data.to_string()).encode();
        events.into_iter().map(encode).collect()
    }

    fn ready(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        loop {
            let Form::Stream(decoder) = &mut self.form else {
                return out;
            };
            match decoder.next_event() {
                None => return out,
                Some(Ok(event)) => out.extend(self.remade(&event).into_bytes()),
                Some(Err(_)) => {}
            }
        }
    }
}

impl Remake for Prefixed {
    fn piece(&mut self, bytes: &[u8]) -> Vec<u8> {
        match &mut self.form {
            Form::Stream(decoder) => decoder.push(bytes),
            Form::Body(body) if body.len() + bytes.len() > LONGEST_BODY => {
                let mut body = std::mem::take(body);
                body.extend_from_slice(bytes);
                self.form = Form::Through;
                return body;
            }
            Form::Body(body) => body.extend_from_slice(bytes),
            Form::Through => return bytes.to_vec(),
        }
        self.ready()
    }

    fn end(&mut self) -> Vec<u8> {
        match &mut self.form {
            Form::Stream(decoder) => {
                decoder.finish();
                self.ready()
            }
            Form::Body(body) => {
                let body = std::mem::take(body);
                let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
                    return body;
                };
                self.prefix.body(&mut value);
                value.to_string().into_bytes()
            }
            Form::Through => Vec::new(),
        }
    }
}

/// Adds to the number under `key`, where there is one.
pub(super) fn shift(data: &mut Value, key: &str) {
    let number = data.get(key).and_then(Value::as_u64);
    if let (Some(number), Some(object)) = (number, data.as_object_mut()) {
        object.insert(key.to_owned(), Value::from(number + 1));
    }
}

/// Puts `piece` in front of the list under `key`.
pub(super) fn prepend(body: &mut Value, key: &str, piece: &Value) {
    if let Some(list) = body.get_mut(key).and_then(Value::as_array_mut) {
        list.insert(0, piece.clone());
    }
}
