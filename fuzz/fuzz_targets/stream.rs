//! Any bytes as an event stream and as a body, in every dialect. The first byte says where the
//! stream is cut: the events must not depend on it. What is put together from events is JSON, and its
//! turn can be read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::api::{Accumulator, Decoder, Dialect, Event, Failure, Response};

fn events(chunks: &[&[u8]]) -> Vec<Option<Event>> {
    let mut decoder = Decoder::with_limit(1 << 12);
    for chunk in chunks {
        decoder.push(chunk);
    }
    decoder.finish();
    std::iter::from_fn(|| decoder.next_event()).map(Result::ok).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let (one, other) = stream.split_at(usize::from(cut).min(stream.len()));
    let found = events(&[stream]);
    assert_eq!(found, events(&[one, other]));
    let _ = Failure::parse(stream);
    for dialect in Dialect::ALL {
        let mut accumulator = Accumulator::new(dialect);
        for event in found.iter().flatten() {
            let _ = accumulator.accept(event);
            let encoded = event.encode();
            let again = events(&[encoded.as_bytes()]);
            assert!(encoded.len() > 1 << 12 || again == [Some(event.clone())]);
        }
        let streamed = accumulator.reply();
        let body = Response::parse(dialect, stream).map(|response| response.reply());
        for reply in [Some(streamed), body.ok()].into_iter().flatten() {
            let _ = reply.draft();
            let list = format!("{{\"input\":[{}]}}", reply.message());
            assert!(wire::api::Request::parse(Dialect::Responses, list.as_bytes()).is_ok());
        }
    }
});
