//! The binary encoding of a turn's parts, stored in `node.body`.
//!
//! The first byte is the version, 1. Each part follows as a tag byte and its fields in order: a text as its
//! length and its UTF-8 bytes, a number as LEB128, a digest as its 16 bytes. Nothing is escaped, so a turn
//! takes a few bytes more than its text.

use context::turn::{Attachment, Digest, Opaque, Outcome, ToolCall, ToolResult};
use context::{CallId, Part, Text};

const FORM: u8 = 1;

const TEXT: u8 = 1;
const THINKING: u8 = 2;
const CALL: u8 = 3;
const SUCCEEDED: u8 = 4;
const FAILED: u8 = 5;
const ATTACHMENT: u8 = 6;
const OPAQUE: u8 = 7;

/// Encodes parts.
pub fn write(parts: &[Part]) -> Vec<u8> {
    let texts = parts.iter().flat_map(Part::readable).map(str::len);
    let mut out = Vec::with_capacity(texts.sum::<usize>() + 48 * parts.len() + 1);
    out.push(FORM);
    for part in parts {
        match part {
            Part::Text(said) => tagged(&mut out, TEXT, said),
            Part::Thinking(thought) => tagged(&mut out, THINKING, thought),
            Part::Call(call) => {
                tagged(&mut out, CALL, call.id.as_str());
                text(&mut out, &call.name);
                text(&mut out, &call.arguments);
            }
            Part::Result(result) => {
                let tag = match result.outcome {
                    Outcome::Succeeded => SUCCEEDED,
                    Outcome::Failed => FAILED,
                };
                tagged(&mut out, tag, result.call.as_str());
                text(&mut out, &result.text);
            }
            Part::Attachment(it) => {
                reference(&mut out, ATTACHMENT, (&it.kind, it.bytes, it.digest))
            }
            Part::Opaque(it) => reference(&mut out, OPAQUE, (&it.kind, it.bytes, it.digest)),
        }
    }
    out
}

fn tagged(out: &mut Vec<u8>, tag: u8, first: &str) {
    out.push(tag);
    text(out, first);
}

fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn reference(out: &mut Vec<u8>, tag: u8, (kind, bytes, digest): (&str, usize, Digest)) {
    tagged(out, tag, kind);
    number(out, bytes as u64);
    out.extend_from_slice(digest.as_bytes());
}

fn number(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Decodes parts; `None` if [`write`] did not produce these bytes.
pub fn read(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut rest = bytes.strip_prefix(&[FORM])?;
    let mut parts = Vec::new();
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        parts.push(part(tag, &mut rest)?);
    }
    Some(parts)
}

fn part(tag: u8, rest: &mut &[u8]) -> Option<Part> {
    let first = take_text(rest)?;
    Some(match tag {
        TEXT => Part::Text(Text::from(first)),
        THINKING => Part::Thinking(Text::from(first)),
        CALL => Part::Call(ToolCall {
            id: CallId::from(first),
            name: Text::from(take_text(rest)?),
            arguments: Text::from(take_text(rest)?),
        }),
        SUCCEEDED | FAILED => Part::Result(ToolResult {
            call: CallId::from(first),
            text: Text::from(take_text(rest)?),
            outcome: if tag == FAILED {
                Outcome::Failed
            } else {
                Outcome::Succeeded
            },
        }),
        ATTACHMENT => Part::Attachment(Attachment {
            kind: Text::from(first),
            bytes: take_number(rest)?.try_into().ok()?,
            digest: take_digest(rest)?,
        }),
        OPAQUE => Part::Opaque(Opaque {
            kind: Text::from(first),
            bytes: take_number(rest)?.try_into().ok()?,
            digest: take_digest(rest)?,
        }),
        _ => return None,
    })
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = take_number(rest)?.try_into().ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    std::str::from_utf8(text).ok()
}

fn take_digest(rest: &mut &[u8]) -> Option<Digest> {
    let (digest, after) = rest.split_first_chunk::<16>()?;
    *rest = after;
    Some(Digest::from_bytes(*digest))
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for group in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        number |= bits
            .checked_shl(7 * group)
            .filter(|moved| moved >> (7 * group) == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts() -> impl Strategy<Value = Vec<Part>> {
        let text = || ".{0,200}".prop_map(Text::from);
        let digest = || any::<[u8; 16]>().prop_map(Digest::from_bytes);
        let part = prop_oneof![
            text().prop_map(Part::Text),
            text().prop_map(Part::Thinking),
            (text(), text(), text()).prop_map(|(id, name, arguments)| Part::Call(ToolCall {
                id: CallId::from(id.as_str()),
                name,
                arguments,
            })),
            (text(), text(), any::<bool>()).prop_map(|(call, text, failed)| {
                Part::Result(ToolResult {
                    call: CallId::from(call.as_str()),
                    text,
                    outcome: if failed {
                        Outcome::Failed
                    } else {
                        Outcome::Succeeded
                    },
                })
            }),
            (text(), any::<usize>(), digest()).prop_map(|(kind, bytes, digest)| {
                Part::Attachment(Attachment {
                    kind,
                    bytes,
                    digest,
                })
            }),
            (text(), any::<usize>(), digest()).prop_map(|(kind, bytes, digest)| {
                Part::Opaque(Opaque {
                    kind,
                    bytes,
                    digest,
                })
            }),
        ];
        prop::collection::vec(part, 0..6)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(parts in parts()) {
            prop_assert_eq!(read(&write(&parts)), Some(parts));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut form = vec![FORM];
            form.extend(&bytes);
            if let Some(parts) = read(&form) {
                prop_assert_eq!(read(&write(&parts)), Some(parts));
            }
        }

        #[test]
        fn a_cut_is_noticed_or_ends_a_part(parts in parts(), cut in any::<prop::sample::Index>()) {
            let bytes = write(&parts);
            let cut = cut.index(bytes.len());
            if let Some(fewer) = read(&bytes[..cut]) {
                prop_assert_eq!(&parts[..fewer.len()], &fewer[..]);
            }
        }
    }

    #[test]
    fn a_text_costs_a_few_bytes_more_than_itself() {
        let said = "line one\nline \"two\"\n".repeat(50);
        let written = write(&[Part::Text(Text::from(said.as_str()))]);
        assert_eq!(written.len(), said.len() + 4);
    }
}
