//! Tests of encoded request bodies: what is sent upstream, and limits.

use std::io::Read;

use flate2::Compression;
use flate2::read::{GzEncoder, ZlibEncoder};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::harness::{Came, Made, ask, gateway, openai, upstream, whole};

const RESPONSES: &[u8] = br#"{"model":"gpt-5","input":"hello"}"#;

fn zstd(body: &[u8]) -> Vec<u8> {
    compress_to_vec(body, CompressionLevel::Fastest)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut encoder = GzEncoder::new(body, Compression::best());
    encoder.read_to_end(&mut encoded).expect("it encodes");
    encoded
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut encoder = ZlibEncoder::new(body, Compression::best());
    encoder.read_to_end(&mut encoded).expect("it encodes");
    encoded
}

/// Two million spaces, as Brotli's reference implementation encodes them.
const SPACES: [u8; 14] = [
    0x9b, 0x7f, 0x84, 0x1e, 0xf8, 0x25, 0x40, 0xe2, 0xb1, 0x40, 0x20, 0x87, 0xcf, 0x03,
];

async fn post(url: &str, encoding: &'static str, body: Vec<u8>) -> Came {
    let mut request = openai(url, "/v1/responses", body);
    let encoding = http::HeaderValue::from_static(encoding);
    request.headers_mut().insert("content-encoding", encoding);
    ask(request).await
}

/// Answers with the coding and the bytes that arrived.
async fn mirror(request: Request<Incoming>) -> Response<Made> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let header = |name| parts.headers.get(name).cloned();
    let mut answer = Response::new(whole(body));
    for (name, from) in [
        ("x-coding", "content-encoding"),
        ("x-length", "content-length"),
    ] {
        if let Some(value) = header(from) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}

/// Checks the coding and the bytes that the provider gets.
async fn check(
    (encoding, body): (&'static str, Vec<u8>),
    (coding, arrived): (&str, &[u8]),
    is_passed: bool,
) {
    let upstream = upstream(mirror).await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let came = post(&gateway.url(), encoding, body).await;
    assert_eq!(came.body, arrived, "{encoding}: {came:?}");
    assert_eq!(came.header("x-coding"), coding);
    assert_eq!(came.header("x-length"), arrived.len().to_string());
    assert_eq!(
        came.header("x-ebbtide-did") == "passed",
        is_passed,
        "{came:?}"
    );
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_managed_body_goes_on_plain() {
    check(("zstd", zstd(RESPONSES)), ("", RESPONSES), false).await;
    check(("x-gzip", gzip(RESPONSES)), ("", RESPONSES), false).await;
    check(("Deflate", deflate(RESPONSES)), ("", RESPONSES), false).await;
    check(
        ("identity", RESPONSES.to_vec()),
        ("identity", RESPONSES),
        false,
    )
    .await;
}

#[tokio::test]
async fn an_unmanaged_body_goes_on_as_it_came() {
    let plain = RESPONSES.to_vec();
    let cut = zstd(RESPONSES)[..20].to_vec();
    let no_request = gzip(b"not JSON");
    let skipped = vec![0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 0];
    for (encoding, body) in [
        ("compress", plain.clone()),
        ("gzip, dcb", plain.clone()),
        ("gzip, gzip, gzip, gzip, gzip", plain.clone()),
        ("gzip", plain.clone()),
        ("br", plain),
        ("zstd", cut),
        ("zstd", skipped),
        ("gzip", no_request),
    ] {
        check((encoding, body.clone()), (encoding, &body), true).await;
    }
}

#[tokio::test]
async fn a_body_that_grows_beyond_the_limit_is_refused() {
    let gateway = gateway("http://127.0.0.1:9", |config| {
        config.limits.body = 1_000_000
    })
    .await;
    let spaces = vec![b' '; 2_000_000];
    let twice = zstd(&zstd(&spaces));
    for (encoding, body) in [
        ("zstd", zstd(&spaces)),
        ("gzip", gzip(&spaces)),
        ("deflate", deflate(&spaces)),
        ("br", SPACES.to_vec()),
        ("zstd, zstd", twice),
    ] {
        assert!(body.len() < 10_000, "{encoding}");
        let came = post(&gateway.url(), encoding, body).await;
        assert_eq!(came.status, 413, "{encoding}: {came:?}");
        assert_eq!(came.header("x-ebbtide-error"), "E0801");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_decoded_body_counts_against_the_bytes_that_are_held() {
    let gateway = gateway("http://127.0.0.1:9", |config| {
        config.limits.body = 3_000_000;
        config.limits.bodies = 1_500_000;
    })
    .await;
    let body = zstd(&vec![b' '; 2_000_000]);
    let came = post(&gateway.url(), "zstd", body).await;
    assert_eq!(came.status, 503, "{came:?}");
    assert_eq!(came.header("x-ebbtide-error"), "E0806");
    gateway.shutdown().await;
}
