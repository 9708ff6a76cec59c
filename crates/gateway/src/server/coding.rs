//! Content codings of request bodies (RFC 9110, section 8.4.1).

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// The most codings that one body may have. Clients use one.
const MOST: usize = 4;

/// A coding that the gateway can undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn named(name: &str) -> Option<Self> {
        let is = |known: &&(&str, Self)| name.eq_ignore_ascii_case(known.0);
        let known = [
            ("gzip", Self::Gzip),
            ("x-gzip", Self::Gzip),
            ("deflate", Self::Deflate),
            ("br", Self::Brotli),
            ("zstd", Self::Zstd),
        ];
        known.iter().find(is).map(|known| known.1)
    }

    /// Reads the decoded bytes. `window` is the most that a sender may have a zstd decoder remember.
    pub(super) fn decoder(self, body: &[u8], window: usize) -> Box<dyn Read + '_> {
        match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(body)),
            // Some clients send the bare stream under this name.
            Self::Deflate if has_zlib_header(body) => Box::new(ZlibDecoder::new(body)),
            Self::Deflate => Box::new(DeflateDecoder::new(body)),
            Self::Brotli => {
                let mut decoder = Decompressor::new(body, 0);
                // A large window is no part of the coding, and could take a gigabyte.
                let large = BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
                decoder.set_parameter(large, 0);
                Box::new(decoder)
            }
            Self::Zstd => Box::new(Frames {
                rest: body,
                window: window as u64,
                frame: None,
            }),
        }
    }
}

/// Checks the two bytes with which a zlib stream begins (RFC 1950, section 2.2).
fn has_zlib_header(body: &[u8]) -> bool {
    matches!(body, [first, second, ..]
        if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31))
}

/// The codings of a body, in the order in which the client applied them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Codings(Vec<Coding>);

impl Codings {
    /// Reads `content-encoding`. Returns `None` if the gateway cannot undo what it names.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut codings = Vec::new();
        for line in headers.get_all(header::CONTENT_ENCODING) {
            for name in line.to_str().ok()?.split(',').map(str::trim) {
                if name.is_empty() || name.eq_ignore_ascii_case("identity") {
                    continue;
                }
                codings.push(Coding::named(name)?);
            }
        }
        (codings.len() <= MOST).then_some(Self(codings))
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The codings in the order in which they are undone.
    pub(super) fn last_first(&self) -> impl Iterator<Item = Coding> {
        self.0.iter().rev().copied()
    }
}

/// The frames of a zstd body, one after the other.
struct Frames<'b> {
    rest: &'b [u8],
    window: u64,
    frame: Option<Box<Frame<'b>>>,
}

type Frame<'b> = StreamingDecoder<&'b [u8], ruzstd::decoding::FrameDecoder>;

impl Frames<'_> {
    /// Begins the next frame. Returns false at the end of the body.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.rest.is_empty() {
            match StreamingDecoder::new_with_max_window_size(self.rest, self.window) {
                Ok(frame) => {
                    self.frame = Some(Box::new(frame));
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    // Its magic number and its length, four bytes each, then its content.
                    let skipped = usize::try_from(length).unwrap_or(usize::MAX);
                    let rest = self.rest.get(skipped.saturating_add(8)..);
                    self.rest = rest.ok_or(io::ErrorKind::UnexpectedEof)?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(frame) = &mut self.frame else {
                match self.begin()? {
                    true => continue,
                    false => return Ok(0),
                }
            };
            let count = frame.read(into)?;
            if count > 0 {
                return Ok(count);
            }
            self.rest = frame.get_ref();
            self.frame = None;
        }
    }
}
