//! The newest requests of a conversation: what was done to them, how fast they were answered, what failed.

use ::conversation::words::Did;
use context::figures;
use jiff::Timestamp;

use super::moment::Moment;
use super::text::one_line;
use crate::report::RequestReport;

/// Requests shown unfolded.
const SHOWN: usize = 10;

/// The rows of the table: the newest, and those that are folded.
pub struct Requests {
    pub newest: Vec<Row>,
    pub older: Vec<Row>,
}

/// One request.
pub struct Row {
    pub at: Moment,
    pub tokens: String,
    /// For each thing that was done, its word and its meaning.
    pub did: Vec<(&'static str, &'static str)>,
    pub status: u16,
    pub began: String,
    pub ended: String,
    pub error: String,
}

impl Requests {
    pub fn of(requests: &[RequestReport], now: Timestamp) -> Self {
        let mut newest: Vec<Row> = requests.iter().map(|it| Row::of(it, now)).collect();
        let older = newest.split_off(SHOWN.min(newest.len()));
        Self { newest, older }
    }

    /// The newest rows, or the others, with the id of their table.
    pub fn tables(&self) -> [(&'static str, &[Row]); 2] {
        [("newest", &self.newest), ("older", &self.older)]
    }
}

impl Row {
    fn of(request: &RequestReport, now: Timestamp) -> Self {
        let meaning = |word: &'static str| {
            let did = Did::ALL.into_iter().find(|did| did.as_str() == word);
            (word, did.map_or("", Did::meaning))
        };
        Self {
            at: Moment::of(&request.at, now),
            tokens: request.tokens.map_or("–".to_owned(), figures::count),
            did: request.did.iter().copied().map(meaning).collect(),
            status: request.status,
            began: request.began.map_or("–".to_owned(), latency),
            ended: latency(request.ended),
            error: one_line(&request.error, 200),
        }
    }

    /// Returns true if something went wrong.
    pub fn failed(&self) -> bool {
        !self.error.is_empty()
    }
}

/// Formats a time that somebody waits for.
fn latency(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        1.0..100.0 => format!("{seconds:.1} s"),
        _ => figures::seconds(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::{Requests, latency};
    use crate::dashboard::tests::sample::{detail, visit};

    #[test]
    fn short_times_are_exact() {
        let shown = [0.0004, 0.0426, 0.9994, 1.26, 99.94].map(latency);
        assert_eq!(shown, ["0 ms", "43 ms", "999 ms", "1.3 s", "99.9 s"]);
    }

    #[test]
    fn the_newest_are_shown_and_the_others_folded() {
        let mut requests = detail().requests;
        let one = requests[0].clone();
        requests.resize(37, one);
        let requests = Requests::of(&requests, visit().now);
        assert_eq!((requests.newest.len(), requests.older.len()), (10, 27));
        assert!(
            requests
                .newest
                .iter()
                .all(|row| { row.did.iter().all(|(_, meaning)| meaning.ends_with('.')) })
        );
    }
}
