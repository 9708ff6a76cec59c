//! Hears an answer, piece by piece: a whole body or an event stream.

use wire::api::{Accumulator, Decoder, Dialect, LONGEST_BODY, LONGEST_STREAM, Reply, Response};

use crate::bill::is_charged;
use crate::proof::Proof;

/// An answer that is being heard.
#[derive(Default)]
pub struct Hearing(As);

#[derive(Default)]
enum As {
    /// Not at all.
    #[default]
    Off,
    /// No longer: the answer is too long.
    GivenUp,
    /// An event stream.
    Stream(Box<Stream>),
    /// A body, with the length that it announced.
    Body(Vec<u8>, Option<usize>),
}

/// An event stream, as far as it was heard.
struct Stream {
    decoder: Decoder,
    answer: Accumulator,
    proof: Proof,
    bytes: usize,
}

impl Hearing {
    /// Hears an event stream.
    #[must_use]
    pub fn stream(dialect: Dialect) -> Self {
        Self(As::Stream(Box::new(Stream {
            decoder: Decoder::default(),
            answer: Accumulator::new(dialect),
            proof: Proof::default(),
            bytes: 0,
        })))
    }

    /// Hears a body, of this length where it says so.
    #[must_use]
    pub const fn body(length: Option<usize>) -> Self {
        Self(As::Body(Vec::new(), length))
    }

    /// Returns `true` once the answer was too long. The part already heard is forgotten.
    #[must_use]
    pub const fn gave_up(&self) -> bool {
        matches!(self.0, As::GivenUp)
    }

    /// Hears the next piece. Returns `true` where the answer is whole with it.
    pub fn piece(&mut self, bytes: &[u8]) -> bool {
        match &mut self.0 {
            As::Off | As::GivenUp => false,
            As::Stream(stream) => {
                stream.bytes = stream.bytes.saturating_add(bytes.len());
                if stream.bytes > LONGEST_STREAM {
                    self.0 = As::GivenUp;
                    return false;
                }
                let Stream {
                    decoder,
                    answer,
                    proof,
                    ..
                } = &mut **stream;
                decoder.push(bytes);
                while let Some(event) = decoder.next_event() {
                    // An event that cannot be read is the client's to judge.
                    let Ok(event) = event else { continue };
                    proof.read(&event.data);
                    let _ = answer.accept(&event);
                }
                answer.is_complete()
            }
            As::Body(body, length) => {
                if body.len() + bytes.len() > LONGEST_BODY {
                    self.0 = As::GivenUp;
                    return false;
                }
                body.extend_from_slice(bytes);
                *length == Some(body.len())
            }
        }
    }

    /// The part of an event stream that came before it was cut off. `None` if the provider would charge nothing for it.
    #[must_use]
    pub fn cut(self) -> Option<Reply> {
        let As::Stream(stream) = self.0 else {
            return None;
        };
        let reply = stream.answer.reply();
        is_charged(&reply).then_some(reply)
    }

    /// The answer; `None` where it could not be read.
    #[must_use]
    pub fn end(self, dialect: Dialect) -> (Option<Reply>, Proof) {
        match self.0 {
            As::Off | As::GivenUp => (None, Proof::default()),
            As::Stream(stream) => (Some(stream.answer.reply()), stream.proof),
            As::Body(body, _) => {
                let reply = Response::parse(dialect, &body).map(|found| found.reply());
                let mut proof = Proof::default();
                proof.read(&String::from_utf8_lossy(&body));
                (reply.ok(), proof)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::api::Dialect;

    use super::{Hearing, LONGEST_BODY, LONGEST_STREAM};

    /// Hears pieces of this text until the end, and returns how many bytes were heard when it gave up.
    fn given_up(mut hearing: Hearing, piece: &str) -> Option<usize> {
        let mut heard = 0;
        while heard < 2 * LONGEST_STREAM {
            heard += piece.len();
            assert!(!hearing.piece(piece.as_bytes()), "it has no end");
            if hearing.gave_up() {
                assert!(hearing.end(Dialect::Anthropic).0.is_none());
                return Some(heard);
            }
        }
        None
    }

    #[test]
    fn an_answer_without_end_is_given_up() {
        let text = "x".repeat(1 << 20);
        let delta = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        );
        let most = |longest: usize| longest + delta.len();
        let stream = given_up(Hearing::stream(Dialect::Anthropic), &delta);
        assert!(
            stream.is_some_and(|heard| heard <= most(LONGEST_STREAM)),
            "{stream:?}"
        );
        let body = given_up(Hearing::body(None), &delta);
        assert!(
            body.is_some_and(|heard| heard <= most(LONGEST_BODY)),
            "{body:?}"
        );
    }
}
