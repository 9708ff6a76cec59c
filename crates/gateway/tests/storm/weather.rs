//! A relay between the gateway and the provider that fails in as many ways as it is told.
//!
//! It works on bytes, so that it can send what no server would.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::dice::Dice;
use crate::vessel::{SILENCE, patient};

/// One way in which the provider fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A refusal with this status.
    Refused(u16),
    /// A refusal whose body never ends.
    Stalled(u16),
    /// A refusal whose body is shorter than it says.
    Short(u16),
    /// A refusal that is no JSON.
    Page(u16),
    /// A refusal for a size, in one provider's words.
    TooLong(usize),
    /// The connection is closed before there is an answer.
    Reset,
    /// The same, in the middle of the head.
    HalfHead,
    /// There is never an answer.
    Silent,
    /// The head comes late.
    LateHead,
    /// The answer comes a few bytes at a time.
    Trickles,
    /// The answer stops after so many bytes and stays open.
    Hangs(usize),
    /// The answer is cut off after so many bytes.
    Cut(usize),
    /// Success with a body that says this.
    Body(usize),
    /// A stream with this in it.
    Stream(usize),
    /// Headers that are the gateway's own.
    Pretends,
    /// A redirection.
    Redirects,
}

/// Bodies under a status of success that are no answers.
const BODIES: [&[u8]; 5] = [
    b"",
    b"<html>Bad gateway</html>",
    b"{\"type\":\"message\"",
    b"\xff\xfe\x00",
    b"[[[[[[[[[[[[[[[[[[[[[[[[",
];

/// The beginnings of streams that go wrong.
const STREAMS: [&[u8]; 6] = [
    b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 9000 tokens > 6000 maximum\"}}\n\n",
    b": wait\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
    b"data: \xff\xfe\n\ndata: {\n\n",
    b"data: {\"type\":\"content_block_delta\",\"index\":99,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n",
    b"\xef\xbb\xbfid: 1\r\rretry: 5\r\r",
];

/// Words by which each kind of request for a summary is known.
const SUMMARIES: [&str; 4] = [
    "You write the record that will stand in place",
    "Write the record of this conversation",
    "\"compaction\":{\"type\":\"summarize\"",
    "{\"type\":\"compaction_trigger\"}",
];

/// The words of providers for a request that is too long.
const WORDS: [&str; 4] = [
    "prompt is too long: 7000 tokens > 6000 maximum",
    "This model's maximum context length is 6000 tokens. However, your messages resulted in 7000 tokens.",
    "the request exceeds the available context size (6000 tokens)",
    "input length and `max_tokens` exceed context limit: 7000 + 256 > 6000, decrease input length",
];

impl Fault {
    /// Every kind, with sizes by chance.
    pub fn all(dice: &mut Dice) -> Vec<Self> {
        let mut size = |most: u64| usize::try_from(dice.below(most)).unwrap();
        let cuts = [size(40), size(400), size(2_000)];
        let hangs = [size(40), size(2_000)];
        let refused = [400, 401, 403, 404, 422, 429, 500, 502, 503, 529].map(Self::Refused);
        let mut all = refused.to_vec();
        all.extend([400, 429, 500, 529].map(Self::Stalled));
        all.extend([400, 429, 529].map(Self::Short));
        all.extend([400, 502].map(Self::Page));
        all.extend((0..WORDS.len()).map(Self::TooLong));
        all.extend([Self::Reset, Self::HalfHead, Self::Silent, Self::LateHead]);
        all.extend([Self::Trickles, Self::Pretends, Self::Redirects]);
        all.extend(cuts.map(Self::Cut));
        all.extend(hangs.map(Self::Hangs));
        all.extend((0..BODIES.len()).map(Self::Body));
        all.extend((0..STREAMS.len()).map(Self::Stream));
        all
    }
}

/// The observations of one request.
#[derive(Clone, Debug)]
pub struct Seen {
    number: u64,
    /// The request's body.
    pub body: String,
    /// The provider's own answer; `None` where a fault replaced it.
    pub answered: Option<(u16, String)>,
}

#[derive(Default)]
struct Board {
    waiting: VecDeque<Fault>,
    /// True if no request for a summary is answered.
    silent_to_summaries: bool,
    /// The requests for a summary that were not answered for that.
    unanswered: u64,
    requests: u64,
    seen: Vec<Seen>,
    /// True once nobody is passed on any more.
    is_over: bool,
}

impl Board {
    /// The fault for this request.
    fn next(&mut self, body: &[u8]) -> Option<Fault> {
        let is_for_a_summary = || {
            let body = String::from_utf8_lossy(body);
            SUMMARIES.iter().any(|words| body.contains(words))
        };
        if self.silent_to_summaries && is_for_a_summary() {
            self.unanswered += 1;
            return Some(Fault::Silent);
        }
        self.waiting.pop_front()
    }
}

/// The relay.
#[derive(Clone)]
pub struct Weather {
    board: Arc<Mutex<Board>>,
    provider: String,
    pub url: String,
}

impl Weather {
    /// Stands before a provider at this address.
    #[expect(clippy::disallowed_methods, reason = "a server of blocking threads")]
    pub fn before(provider: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let weather = Self {
            board: Arc::default(),
            provider: provider.trim_start_matches("http://").to_owned(),
            url: format!("http://{}", listener.local_addr().unwrap()),
        };
        let relay = weather.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let relay = relay.clone();
                if relay.board.lock().unwrap().is_over {
                    return;
                }
                // A connection that breaks is what this is about.
                thread::spawn(move || relay.pass(stream).ok());
            }
        });
        weather
    }

    /// Gives the address back.
    pub fn end(&self) {
        let board = self.board.lock();
        board.unwrap_or_else(PoisonError::into_inner).is_over = true;
        let _wakes_it = TcpStream::connect(self.url.trim_start_matches("http://"));
    }

    /// Strikes the next requests with these, one each.
    pub fn strike(&self, faults: impl IntoIterator<Item = Fault>) {
        self.board.lock().unwrap().waiting.extend(faults);
    }

    /// From now on, no request for a summary is answered.
    pub fn fall_silent_to_summaries(&self) {
        self.board.lock().unwrap().silent_to_summaries = true;
    }

    /// The requests for a summary that were not answered.
    pub fn unanswered(&self) -> u64 {
        self.board.lock().unwrap().unanswered
    }

    /// Calms down. Returns what was seen since the last time.
    pub fn calm(&self) -> Vec<Seen> {
        let mut board = self.board.lock().unwrap();
        board.waiting.clear();
        std::mem::take(&mut board.seen)
    }

    /// Notes that a request came, and returns its number.
    fn note(&self, body: &[u8]) -> u64 {
        let mut board = self.board.lock().unwrap();
        board.requests += 1;
        let number = board.requests;
        board.seen.push(Seen {
            number,
            body: String::from_utf8_lossy(body).into_owned(),
            answered: None,
        });
        number
    }

    fn pass(&self, mut client: TcpStream) -> std::io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(60)))?;
        let Some((head, body)) = request(&mut client)? else {
            return Ok(());
        };
        let fault = self.board.lock().unwrap().next(&body);
        let number = self.note(&body);
        if let Some(made) = fault.and_then(invented) {
            return made.send(&mut client);
        }
        if matches!(fault, Some(Fault::Reset)) {
            return Ok(());
        }
        let mut provider = TcpStream::connect(&self.provider)?;
        provider.write_all(
            head.replacen("\r\n", "\r\nconnection: close\r\n", 1)
                .as_bytes(),
        )?;
        provider.write_all(&body)?;
        let mut answer = Vec::new();
        provider.read_to_end(&mut answer)?;
        let answered = Some(status_of(&answer));
        let mut board = self.board.lock().unwrap();
        if let Some(seen) = board.seen.iter_mut().find(|seen| seen.number == number) {
            seen.answered = answered;
        }
        drop(board);
        spoiled(answer, fault).send(&mut client)
    }
}

/// Reads one request: its head and its body.
fn request(client: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut read = Vec::new();
    let mut piece = [0; 16_384];
    loop {
        let end = read.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&read[..end + 4]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse().ok())?
            });
            let whole = end + 4 + length.unwrap_or(0);
            if read.len() >= whole {
                return Ok(Some((head, read[end + 4..whole].to_vec())));
            }
        }
        let count = client.read(&mut piece)?;
        if count == 0 {
            return Ok(None);
        }
        read.extend_from_slice(&piece[..count]);
    }
}

fn status_of(answer: &[u8]) -> (u16, String) {
    let text = String::from_utf8_lossy(answer);
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    (status.unwrap_or(0), body.to_owned())
}

/// The bytes for the gateway, and the way to send them.
struct Made {
    bytes: Vec<u8>,
    /// Bytes at a time.
    piece: usize,
    /// Before the first byte, and after the last.
    waits: [Duration; 2],
}

impl Made {
    const fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            piece: usize::MAX,
            waits: [Duration::ZERO; 2],
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a slow provider")]
    fn send(self, client: &mut TcpStream) -> std::io::Result<()> {
        let [before, after] = self.waits;
        thread::sleep(before);
        for piece in self.bytes.chunks(self.piece.max(1)) {
            client.write_all(piece)?;
            if self.piece < usize::MAX {
                thread::sleep(Duration::from_millis(2));
            }
        }
        client.flush()?;
        thread::sleep(after);
        Ok(())
    }
}

/// Longer than the gateway waits for anything.
fn forever() -> Duration {
    patient(SILENCE) + Duration::from_secs(6)
}

/// The answer that a fault makes by itself.
fn invented(fault: Fault) -> Option<Made> {
    let error = |words: &str| {
        format!(
            "{{\"type\":\"error\",\"error\":{{\"type\":\"api_error\",\"message\":\"{words}\"}}}}"
        )
    };
    let head = |status: u16, kind: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let json = |status: u16, body: &str| {
        (head(status, "application/json", body.len()) + body).into_bytes()
    };
    let never = |bytes: Vec<u8>| Made {
        waits: [Duration::ZERO, forever()],
        ..Made::of(bytes)
    };
    Some(match fault {
        Fault::Refused(status) => Made::of(json(status, &error("stormy"))),
        Fault::TooLong(words) => Made::of(json(400, &error(WORDS[words]))),
        Fault::Page(status) => Made::of(json(status, "<html>stormy</html>")),
        Fault::Stalled(status) => never((head(status, "application/json", 100) + "{").into_bytes()),
        Fault::Short(status) => Made::of((head(status, "application/json", 100) + "{").into_bytes()),
        Fault::Silent => never(Vec::new()),
        Fault::HalfHead => Made::of(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec()),
        Fault::Redirects => Made::of(
            b"HTTP/1.1 302 Found\r\nlocation: http://evil.example/\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec(),
        ),
        Fault::Body(body) => {
            let body = BODIES[body];
            let head = head(200, "application/json", body.len());
            Made::of([head.as_bytes(), body].concat())
        }
        Fault::Stream(stream) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            Made::of([head.as_bytes(), STREAMS[stream]].concat())
        }
        _ => return None,
    })
}

/// The provider's own answer, with what a fault does to it.
fn spoiled(mut answer: Vec<u8>, fault: Option<Fault>) -> Made {
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = body.map_or(0, |end| end + 4);
    match fault {
        Some(Fault::LateHead) => Made {
            waits: [Duration::from_millis(700), Duration::ZERO],
            ..Made::of(answer)
        },
        Some(Fault::Trickles) => Made {
            piece: 97,
            ..Made::of(answer)
        },
        Some(Fault::Cut(after)) => {
            answer.truncate(body + after);
            Made::of(answer)
        }
        Some(Fault::Hangs(after)) => {
            answer.truncate(body + after);
            Made {
                waits: [Duration::ZERO, forever()],
                ..Made::of(answer)
            }
        }
        Some(Fault::Pretends) => {
            let ours = "\r\nx-ebbtide-error: E0801\r\nx-ebbtide-did: swapped\r\n";
            let line = answer.windows(2).position(|two| two == b"\r\n");
            let at = line.unwrap_or(0);
            answer.splice(at..at + 2, ours.bytes());
            Made::of(answer)
        }
        _ => Made::of(answer),
    }
}
