//! Answers from a file: JSON Lines, one answer a line, given in turn.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use plumb::value::Value;

use crate::memory::shown;

/// The scripted answers of an agent. All its instances in one run share them, so each answer is given once.
#[derive(Debug)]
pub(crate) struct Script(Mutex<VecDeque<String>>);

impl Script {
    /// The answers of a text: of a line that is a JSON string, what it holds; of any other value, its JSON.
    ///
    /// # Errors
    /// Which line is not JSON, and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().zip(1..);
        let lines = lines.filter(|(line, _)| !line.trim().is_empty());
        let answers: Result<VecDeque<String>, String> = lines
            .map(|(line, number)| {
                let value =
                    Value::parse(line).map_err(|error| format!("line {number}: {error}"))?;
                Ok(shown(&value))
            })
            .collect();
        Ok(Self(Mutex::new(answers?)))
    }

    /// The next answer.
    pub fn next(&self) -> Option<String> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::Script;

    #[test]
    fn answers_are_given_in_turn() {
        let script = Script::parse("\"a\"\n\n{\"b\": 1}\n").unwrap();
        assert_eq!(script.next().as_deref(), Some("a"));
        assert_eq!(script.next().as_deref(), Some("{\"b\":1}"));
        assert_eq!(script.next(), None);
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = Script::parse("1\n{").unwrap_err();
        assert!(error.starts_with("line 2: "), "{error}");
    }
}
