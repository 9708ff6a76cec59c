//! Measures what an event of a stream waits in each hop, and how many streams one core carries.
//!
//! The provider writes the time into each event, 100 of them a second and stream. The client reads it when the
//! event arrives; on one machine both have the same clock.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use jiff::Timestamp;
use tokio::time::{MissedTickBehavior, interval};

use crate::client::Client;
use crate::measure::quantile;
use crate::{Failed, bodies, hops};

/// Between two events of a stream.
const EVERY: Duration = Duration::from_millis(10);
/// Events of a stream.
const EVENTS: usize = 300;
/// Streams at the same time.
const ABREAST: [usize; 3] = [1, 20, 100];
/// Each hop's turns, one after the other.
const ROUNDS: usize = 3;
/// Stand before and behind the time in an event.
const MARKS: [char; 2] = ['<', '>'];

pub async fn streams() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let upstream = hops::role(&["events"])?;
    let proxy = hops::role(&["proxy", &upstream.url])?;
    let nginx = hops::nginx(&upstream.url, folder.path())?;
    let ours = hops::gateway(&upstream.url, folder.path(), &[])?;
    let mut ways = vec![("direct", &upstream), ("hyper proxy", &proxy)];
    ways.extend(nginx.as_ref().map(|nginx| ("nginx", nginx)));
    ways.push(("ebbtide", &ours));
    println!(
        "\nstreams of 100 events a second: what an event waits, and the work for it\n{:<14}{:>9}{:>10}{:>10}{:>10}{:>14}{:>17}",
        "", "streams", "p50 ms", "p99 ms", "most ms", "work \u{b5}s/event", "streams a core"
    );
    let mut conversation = 0;
    for abreast in ABREAST {
        let mut waits = vec![Vec::new(); ways.len()];
        let mut work = vec![Duration::ZERO; ways.len()];
        for round in 0..ROUNDS {
            for turn in 0..ways.len() {
                let way = (turn + round) % ways.len();
                let (_, hop) = ways[way];
                let before = hop.ran();
                waits[way].extend(together(&hop.url, abreast, &mut conversation).await?);
                work[way] += hop.ran().saturating_sub(before);
            }
        }
        for ((name, _), (waits, work)) in ways.iter().zip(waits.iter().zip(work)) {
            print(name, abreast, waits, work);
        }
    }
    Ok(())
}

/// Reads so many streams at the same time, each of a conversation of its own.
async fn together(
    url: &str,
    abreast: usize,
    conversation: &mut usize,
) -> Result<Vec<Duration>, Failed> {
    let client = Client::new();
    let all = (0..abreast).map(|_| {
        *conversation += 1;
        one(client.clone(), url.to_owned(), *conversation)
    });
    let all = futures_util::future::join_all(all).await;
    Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
}

async fn one(client: Client, url: String, conversation: usize) -> Result<Vec<Duration>, Failed> {
    let model = bodies::MODEL;
    let body = format!(
        r#"{{"model":"{model}","max_tokens":1024,"stream":true,"messages":[{{"role":"user","content":"conversation {conversation}"}}]}}"#
    );
    let mut answer = client.open(&url, &Bytes::from(body)).await?;
    let (mut waits, mut rest) = (Vec::new(), String::new());
    while let Some(frame) = answer.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        let now = Timestamp::now();
        rest.push_str(&String::from_utf8_lossy(&data));
        while let Some((sent, after)) = next(&rest) {
            waits.push(Duration::try_from(now.duration_since(sent)).unwrap_or_default());
            rest.drain(..after);
        }
    }
    match waits.len() {
        EVENTS => Ok(waits),
        other => Err(format!("{url}: {other} of {EVENTS} events came").into()),
    }
}

/// The first time in a text, and where the text goes on behind it.
fn next(text: &str) -> Option<(Timestamp, usize)> {
    let [before, behind] = MARKS;
    let start = text.find(before)? + 1;
    let end = start + text.get(start..)?.find(behind)?;
    let time = text.get(start..end)?.parse().ok()?;
    Some((Timestamp::from_nanosecond(time).ok()?, end + 1))
}

fn print(name: &str, abreast: usize, waits: &[Duration], work: Duration) {
    let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| quantile(waits, share));
    let each = work.as_secs_f64() / waits.len().max(1) as f64;
    // The provider and the client are hops without a limit of interest.
    let (each, carried) = match name {
        "direct" => (String::new(), String::new()),
        _ => (
            format!("{:.1}", each * 1e6),
            format!("{:.0}", EVERY.as_secs_f64() / each),
        ),
    };
    println!("{name:<14}{abreast:>9}{p50:>10.3}{p99:>10.3}{most:>10.3}{each:>14}{carried:>17}");
}

/// Serves a provider whose streams have the time in each event.
pub fn provider() -> Result<(), Failed> {
    hops::serve(|request: Request<Incoming>| async move {
        request.into_body().collect().await?;
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let events = futures_util::stream::unfold((0, ticks), |(at, mut ticks)| async move {
            let event = match at {
                0 => BEGIN.to_owned(),
                1..=EVENTS => {
                    ticks.tick().await;
                    delta()
                }
                _ if at == EVENTS + 1 => END.to_owned(),
                _ => return None,
            };
            let frame = Frame::data(Bytes::from(event));
            Some((Ok::<_, Failed>(frame), (at + 1, ticks)))
        });
        let answer = Response::builder()
            .header(header::CONTENT_TYPE, "text/event-stream")
            // Else nginx gathers what it passes on.
            .header("x-accel-buffering", "no")
            .body(BodyExt::boxed_unsync(StreamBody::new(events)))?;
        Ok::<_, Failed>(answer)
    })
}

const BEGIN: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":1}}}"#,
    "\n\nevent: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    "\n\n"
);

fn delta() -> String {
    let ([before, behind], now) = (MARKS, Timestamp::now().as_nanosecond());
    format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{before}{now}{behind}\"}}}}\n\n"
    )
}

const END: &str = concat!(
    "event: content_block_stop\n",
    r#"data: {"type":"content_block_stop","index":0}"#,
    "\n\nevent: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":300}}"#,
    "\n\nevent: message_stop\n",
    r#"data: {"type":"message_stop"}"#,
    "\n\n"
);
