//! Reads messages from standard input or a file, line by line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use plumb::check::ProcessSignature;
use plumb::types::Type;
use plumb::value::Value;
use tokio::sync::mpsc::{Receiver, channel};

use crate::failure::Failure;

/// The format of input lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    /// JSON strings; any other line is a string itself.
    Text,
}

/// Input that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The parse error.
    pub detail: String,
    /// The line from the error on.
    pub rest: String,
}

impl Form {
    /// Text for a process with one string input, else JSON.
    pub fn of(signature: Option<&ProcessSignature>) -> Self {
        match signature.map(|signature| signature.inputs.as_slice()) {
            Some([input]) if input.kind == Type::Text => Self::Text,
            _ => Self::Json,
        }
    }

    /// Parses the messages of a line. An error ends the list and holds the rest of the line.
    pub fn messages(self, line: &[u8]) -> Vec<Result<Value, Malformed>> {
        let malformed = |detail: String, rest: &str| Malformed {
            detail,
            rest: rest.trim().to_owned(),
        };
        let Ok(text) = std::str::from_utf8(line) else {
            let line = String::from_utf8_lossy(line);
            return vec![Err(malformed("it is not UTF-8".to_owned(), &line))];
        };
        let mut reader = Value::parse_all(text);
        let mut rest = text;
        let mut values = Vec::new();
        while let Some(value) = reader.next() {
            values.push(value.map_err(|error| malformed(error.to_string(), rest)));
            rest = reader.rest();
        }
        let plain = |value: &Result<Value, Malformed>| !matches!(value, Ok(Value::Text(_)));
        if self == Self::Text && values.iter().any(plain) {
            return vec![Ok(Value::from(text.trim_end_matches(['\n', '\r'])))];
        }
        values
    }
}

/// Lines that the thread reads ahead.
const AHEAD: usize = 64;

/// The lines of the input. A thread reads them, since standard input has no async interface that can
/// be cancelled; the thread ends with the program.
pub struct Lines(Receiver<Result<Vec<u8>, Failure>>);

impl Lines {
    /// Opens a file, or standard input for `None` and `-`.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let name = path.map_or_else(|| PathBuf::from("-"), Path::to_owned);
        let unreadable = Failure::unreadable(&name);
        let file = path
            .filter(|path| *path != Path::new("-"))
            .map(File::open)
            .transpose()
            .map_err(&unreadable)?;
        let (sender, receiver) = channel(AHEAD);
        let path = name.clone();
        let read = move || {
            let mut source: Box<dyn BufRead> = match file {
                Some(file) => Box::new(BufReader::new(file)),
                None => Box::new(io::stdin().lock()),
            };
            loop {
                let mut line = Vec::new();
                let sent = match source.read_until(b'\n', &mut line) {
                    Ok(0) => return,
                    Ok(_) => sender.blocking_send(Ok(line)),
                    Err(source) => {
                        let _ = sender.blocking_send(Err(Failure::unreadable(&path)(source)));
                        return;
                    }
                };
                if sent.is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("input".to_owned());
        thread.spawn(read).map_err(unreadable)?;
        Ok(Self(receiver))
    }

    /// The next line, if the thread has read it already.
    pub fn read(&mut self) -> Option<Result<Vec<u8>, Failure>> {
        self.0.try_recv().ok()
    }

    /// Takes the lines that the thread has read already, and counts those with anything on them.
    pub fn drain(&mut self) -> usize {
        let lines = std::iter::from_fn(|| self.read());
        let full = |line: &Vec<u8>| !line.iter().all(u8::is_ascii_whitespace);
        lines.flatten().filter(full).count()
    }

    /// Waits for the next line; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, Failure>> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    fn check(form: Form, line: &str, expected: &[&str]) {
        let messages = form.messages(line.as_bytes()).into_iter();
        let shown: Vec<String> = messages
            .map(|message| message.map_or_else(|error| error.rest, |value| value.to_string()))
            .collect();
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn a_line_holds_several_values_or_none() {
        check(Form::Json, "3 4 5\n", &["3", "4", "5"]);
        check(Form::Json, "\n", &[]);
        check(Form::Json, "3 {\"a\" 4 5\n", &["3", "{\"a\" 4 5"]);
        check(Form::Text, "\"a\" \"b\"\n", &["\"a\"", "\"b\""]);
        check(Form::Text, "\n", &[]);
    }

    #[test]
    fn where_strings_are_taken_any_other_line_is_one() {
        check(Form::Text, "say \"no\"\r\n", &["\"say \\\"no\\\"\""]);
        check(Form::Text, "3\n", &["\"3\""]);
        check(Form::Text, "\"a\" b\n", &["\"\\\"a\\\" b\""]);
    }
}
