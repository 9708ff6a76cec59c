//! Hears an answer, piece by piece: a whole body or an event stream.

use wire::api::{Accumulator, Decoder, Dialect, Reply, Response};

use crate::proof::Proof;

/// The longest answer that is read where it is no stream, in bytes.
const LONGEST: usize = 16 << 20;

/// An answer that is being heard.
#[derive(Default)]
pub struct Hearing(As);

#[derive(Default)]
enum As {
    /// Not at all.
    #[default]
    Off,
    /// An event stream.
    Stream(Box<(Decoder, Accumulator, Proof)>),
    /// A body, with the length that it announced.
    Body(Vec<u8>, Option<usize>),
}

impl Hearing {
    /// Hears an event stream.
    #[must_use]
    pub fn stream(dialect: Dialect) -> Self {
        Self(As::Stream(Box::new((
            Decoder::default(),
            Accumulator::new(dialect),
            Proof::default(),
        ))))
    }

    /// Hears a body, of this length where it says so.
    #[must_use]
    pub const fn body(length: Option<usize>) -> Self {
        Self(As::Body(Vec::new(), length))
    }

    /// Hears the next piece. Returns `true` where the answer is whole with it.
    pub fn piece(&mut self, bytes: &[u8]) -> bool {
        match &mut self.0 {
            As::Off => false,
            As::Stream(reader) => {
                let (decoder, answer, proof) = &mut **reader;
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
                if body.len() + bytes.len() > LONGEST {
                    // A longer one is passed on unread.
                    self.0 = As::Off;
                    return false;
                }
                body.extend_from_slice(bytes);
                *length == Some(body.len())
            }
        }
    }

    /// The answer; `None` where it could not be read.
    #[must_use]
    pub fn end(self, dialect: Dialect) -> (Option<Reply>, Proof) {
        match self.0 {
            As::Off => (None, Proof::default()),
            As::Stream(reader) => (Some(reader.1.reply()), reader.2),
            As::Body(body, _) => {
                let reply = Response::parse(dialect, &body).map(|found| found.reply());
                let mut proof = Proof::default();
                proof.read(&String::from_utf8_lossy(&body));
                (reply.ok(), proof)
            }
        }
    }
}
