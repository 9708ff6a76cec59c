//! Streams of server-sent events, cut anywhere.

use proptest::prelude::*;

use super::{Decoder, Event};
use crate::api::ApiError;

type Found = Vec<Result<(String, String, Option<String>), ApiError>>;

fn decode(chunks: &[&[u8]], limit: usize) -> Found {
    let mut decoder = Decoder::with_limit(limit);
    for chunk in chunks {
        decoder.push(chunk);
    }
    decoder.finish();
    std::iter::from_fn(|| decoder.next_event())
        .map(|event| event.map(|event| (event.name, event.data, event.id)))
        .collect()
}

/// Checks the events of `stream` as a whole, byte by byte, and cut once at every place.
fn check(stream: &str, expected: &[(&str, &str)]) {
    let bytes = stream.as_bytes();
    let whole = decode(&[bytes], 1 << 20);
    let named: Vec<(String, String)> = whole
        .iter()
        .map(|event| event.clone().unwrap())
        .map(|(name, data, _)| (name, data))
        .collect();
    let named: Vec<(&str, &str)> = named
        .iter()
        .map(|(n, d)| (n.as_str(), d.as_str()))
        .collect();
    assert_eq!(named, expected, "{stream:?}");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode(&single, 1 << 20), whole, "{stream:?} by bytes");
    for at in 0..bytes.len() {
        let (one, other) = bytes.split_at(at);
        assert_eq!(
            decode(&[one, b"", other], 1 << 20),
            whole,
            "{stream:?} at {at}"
        );
    }
}

#[test]
fn the_format_of_the_standard() {
    check("data: a\n\n", &[("message", "a")]);
    check("event: ping\ndata: {}\n\n", &[("ping", "{}")]);
    check(
        "data: a\r\ndata:b\r\n\r\ndata: c\r\r",
        &[("message", "a\nb"), ("message", "c")],
    );
    check("data:  two spaces\n\n", &[("message", " two spaces")]);
    check(
        ": comment\n\nevent: lost\n\ndata: x\n\n",
        &[("message", "x")],
    );
    check("data\n\n", &[("message", "")]);
    check("data\ndata\n\n", &[("message", "\n")]);
    check("\u{feff}data: bom\n\n", &[("message", "bom")]);
    check("data: \u{feff}kept\n\n", &[("message", "\u{feff}kept")]);
    check("retry: 5\nunknown: x\ndata: é\n\n", &[("message", "é")]);
    check("data: no end", &[("message", "no end")]);
    check("data: one end\n", &[("message", "one end")]);
    check("", &[]);
    check("\n\n\r\n", &[]);
}

#[test]
fn ids_stay_until_they_change() {
    let found = decode(&[b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"], 100);
    let ids: Vec<_> = found.into_iter().map(|event| event.unwrap().2).collect();
    assert_eq!(
        ids,
        [Some("1".into()), Some("1".into()), Some(String::new())]
    );
}

#[test]
fn an_event_that_is_too_long_is_one_error_and_the_next_one_is_read() {
    let long = format!("data: {}\ndata: y\n\ndata: z\n\n", "x".repeat(50));
    for size in [1, 7, 1_000] {
        let chunks: Vec<&[u8]> = long.as_bytes().chunks(size).collect();
        let found = decode(&chunks, 20);
        assert_eq!(
            found,
            [
                Err(ApiError::EventTooLarge { limit: 20 }),
                Ok(("message".into(), "z".into(), None)),
            ],
            "chunks of {size}"
        );
    }
    let many = "data: 0123456\n".repeat(5);
    assert_eq!(decode(&[many.as_bytes()], 30).len(), 1);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        events in prop::collection::vec(("[a-z_.]{1,12}", "[^\r]{0,60}"), 0..6),
        size in 1_usize..40,
    ) {
        let stream: String = events.iter().map(|(n, d)| Event::new(n, d).encode()).collect();
        let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        let found: Vec<_> = decode(&chunks, 1 << 20)
            .into_iter()
            .map(|event| event.map(|(name, data, _)| (name, data)))
            .collect();
        let events: Vec<_> = events.into_iter().map(Ok).collect();
        prop_assert_eq!(found, events);
    }

    #[test]
    fn where_any_bytes_are_cut_makes_no_difference(
        bytes in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), any::<u8>()], 0..80),
        cut in any::<prop::sample::Index>(),
    ) {
        let (one, other) = bytes.split_at(cut.index(bytes.len() + 1));
        prop_assert_eq!(decode(&[one, other], 16), decode(&[&bytes], 16));
    }
}

#[test]
fn control_characters_in_a_name_arrive_again() {
    let mut decoder = Decoder::default();
    decoder.push(b"event: a\0b\x01\ndata: x\n\n");
    let event = decoder.next_event().unwrap().unwrap();
    let mut again = Decoder::default();
    again.push(event.encode().as_bytes());
    assert_eq!(again.next_event().unwrap().unwrap(), event);
}
