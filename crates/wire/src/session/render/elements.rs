//! Writes message lists: the record around them unchanged, and the shown messages in the lists.

use std::ops::Range;

use context::Turn;
use serde_json::Value;

use super::chat::{Dump, Voice};
use super::voice::Voice as _;
use crate::session::Format;
use crate::session::lines::slice;
use crate::session::scan::Array;

/// The arrays of a session's messages.
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) record: Range<usize>,
    pub(super) arrays: &'a [Array],
}

/// A message to be written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// The element with this number, counted through all arrays.
    Own(usize),
    /// A turn that is not in the file.
    New(&'a Turn),
}

/// Writes the record. New messages go to the array of the message before them, those at the
/// beginning to the array of the first message after them.
pub(super) fn write(source: &Source<'_>, format: Format, pieces: &[Piece<'_>]) -> Vec<u8> {
    let first = source
        .arrays
        .iter()
        .flat_map(|array| &array.elements)
        .next();
    let dump = first.map_or(Dump::Data, |at| Dump::of(slice(source.bytes, at.clone())));
    let mut voice = Voice::new(format).dumped(dump);
    let mut shares: Vec<Vec<Piece<'_>>> = vec![Vec::new(); source.arrays.len()];
    let begin = pieces.iter().find_map(|piece| match piece {
        Piece::Own(number) => array_of(source.arrays, *number),
        Piece::New(_) => None,
    });
    let mut current = begin.unwrap_or_default();
    for piece in pieces {
        if let Piece::Own(number) = piece {
            current = array_of(source.arrays, *number).unwrap_or(current);
        }
        if let Some(share) = shares.get_mut(current) {
            share.push(*piece);
        }
    }
    let mut out = Vec::new();
    let mut at = source.record.start;
    let mut base = 0;
    for (array, share) in source.arrays.iter().zip(&shares) {
        out.extend_from_slice(slice(source.bytes, at..array.inner.start));
        let list = List {
            bytes: source.bytes,
            array,
            base,
        };
        list.write(share, &mut voice, &mut out);
        base += array.elements.len();
        at = array.inner.end;
        if !array.whole {
            // The text behind the break cannot be kept; open brackets are closed.
            out.push(b']');
            close(source, array, &mut out);
            out.push(b'\n');
            return out;
        }
    }
    out.extend_from_slice(slice(source.bytes, at..source.record.end));
    out.push(b'\n');
    out
}

/// The array that holds the element with this number.
fn array_of(arrays: &[Array], number: usize) -> Option<usize> {
    let mut before = 0;
    arrays.iter().position(|array| {
        before += array.elements.len();
        number < before
    })
}

/// Closes what is open around a broken array: brackets and braces between the beginning of the
/// record and the array, those in strings not counted.
fn close(source: &Source<'_>, array: &Array, out: &mut Vec<u8>) {
    let before = slice(source.bytes, source.record.start..array.inner.start);
    let mut open = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for byte in before {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' if !quoted => open.push(b']'),
            b'{' if !quoted => open.push(b'}'),
            b']' | b'}' if !quoted => {
                open.pop();
            }
            _ => {}
        }
    }
    // The last that was opened is the array itself, which is closed already.
    open.pop();
    out.extend(open.into_iter().rev());
}

struct List<'a> {
    bytes: &'a [u8],
    array: &'a Array,
    /// The number of the first element.
    base: usize,
}

impl List<'_> {
    fn element(&self, number: usize) -> Option<&Range<usize>> {
        self.array.elements.get(number.checked_sub(self.base)?)
    }

    /// The bytes between one element and the next.
    fn gap(&self, number: usize) -> Option<&[u8]> {
        let (this, next) = (self.element(number)?, self.element(number + 1)?);
        Some(slice(self.bytes, this.end..next.start))
    }

    /// Writes the shown elements between the brackets. Elements that are neighbors in the file
    /// keep the bytes between them; elsewhere the first gap of the list is used.
    fn write(&self, share: &[Piece<'_>], voice: &mut Voice, out: &mut Vec<u8>) {
        let elements = &self.array.elements;
        let (Some(first), Some(last)) = (elements.first(), elements.last()) else {
            let inner = slice(self.bytes, self.array.inner.clone());
            if share.is_empty() {
                return out.extend_from_slice(inner);
            }
            return self.write_pieces(share, b",", voice, out);
        };
        if share.is_empty() {
            return;
        }
        let usual = self.gap(self.base).unwrap_or(b",");
        out.extend_from_slice(slice(self.bytes, self.array.inner.start..first.start));
        self.write_pieces(share, usual, voice, out);
        if self.array.whole {
            out.extend_from_slice(slice(self.bytes, last.end..self.array.inner.end));
        }
    }

    fn write_pieces(
        &self,
        share: &[Piece<'_>],
        usual: &[u8],
        voice: &mut Voice,
        out: &mut Vec<u8>,
    ) {
        let mut before: Option<Option<usize>> = None;
        for piece in share {
            match piece {
                Piece::Own(number) => {
                    let gap = match before {
                        Some(Some(last)) if last + 1 == *number => self.gap(last),
                        _ => None,
                    };
                    if before.is_some() {
                        out.extend_from_slice(gap.unwrap_or(usual));
                    }
                    let element = self.element(*number).cloned().unwrap_or_default();
                    out.extend_from_slice(slice(self.bytes, element));
                    before = Some(Some(*number));
                }
                Piece::New(turn) => {
                    for message in voice.say(turn, turn.at()) {
                        if before.is_some() {
                            out.extend_from_slice(usual);
                        }
                        out.extend(Value::Object(message).to_string().bytes());
                        before = Some(None);
                    }
                }
            }
        }
    }
}
