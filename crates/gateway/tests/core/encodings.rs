//! Conversations of clients that compress their requests.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::house::{Agent, Coding, House};

fn all(mut encoder: impl Read) -> Vec<u8> {
    let mut encoded = Vec::new();
    encoder.read_to_end(&mut encoded).expect("it encodes");
    encoded
}

fn gzip(body: &[u8]) -> Vec<u8> {
    all(GzEncoder::new(body, Compression::fast()))
}

fn zlib(body: &[u8]) -> Vec<u8> {
    all(ZlibEncoder::new(body, Compression::fast()))
}

fn bare_deflate(body: &[u8]) -> Vec<u8> {
    all(DeflateEncoder::new(body, Compression::fast()))
}

fn zstd(body: &[u8]) -> Vec<u8> {
    compress_to_vec(body, CompressionLevel::Fastest)
}

/// In frames of some kilobytes, with one between them that is to be skipped.
fn zstd_in_frames(body: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for piece in body.chunks(9_000) {
        encoded.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        encoded.extend(zstd(piece));
    }
    encoded
}

/// In stored blocks (RFC 7932, section 9.2): a window of 16 bits, then 65,536 bytes at a time.
fn brotli(body: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut bits = Bits::default();
    bits.push(0, 1);
    for piece in body.chunks(1 << 16) {
        // Not the last, four nibbles of length, stored.
        bits.push(0, 3);
        bits.push(piece.len() - 1, 16);
        bits.push(1, 1);
        bits.flush(&mut encoded);
        encoded.write_all(piece).expect("memory");
    }
    // The last, and empty.
    bits.push(0b11, 2);
    bits.flush(&mut encoded);
    encoded
}

#[derive(Default)]
struct Bits {
    value: usize,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: usize, count: u32) {
        self.value |= value << self.count;
        self.count += count;
    }

    /// Writes all bits, up to a whole byte.
    fn flush(&mut self, into: &mut Vec<u8>) {
        let bytes = self.count.div_ceil(8) as usize;
        into.extend(&self.value.to_le_bytes()[..bytes]);
        *self = Self::default();
    }
}

/// Two codings, in the order of their header.
fn gzip_then_zstd(body: &[u8]) -> Vec<u8> {
    zstd(&gzip(body))
}

/// Tells enough for two swaps. The provider reads no encoded body, so each answer is a proof.
async fn check(coding: Coding) {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    agent.coding = Some(coding);
    let mut swaps = 0;
    for n in 0..30 {
        let came = agent.tell(&house, n, 1_400).await;
        swaps += usize::from(came.did().contains("swapped"));
        assert!(!came.did().contains("passed"), "{came:?}");
    }
    assert!(swaps >= 2, "{}: {swaps} swaps", coding.0);
    house.close().await;
}

#[tokio::test]
async fn zstd_is_managed() {
    check(("zstd", zstd)).await;
    check(("ZSTD", zstd_in_frames)).await;
}

#[tokio::test]
async fn gzip_is_managed() {
    check(("gzip", gzip)).await;
}

#[tokio::test]
async fn deflate_is_managed_with_its_wrapper_and_without() {
    check(("deflate", zlib)).await;
    check(("deflate", bare_deflate)).await;
}

#[tokio::test]
async fn brotli_is_managed() {
    check(("br", brotli)).await;
}

#[tokio::test]
async fn several_codings_are_undone_last_first() {
    check(("gzip, identity, zstd", gzip_then_zstd)).await;
}
