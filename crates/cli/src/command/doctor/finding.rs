//! One result of a check, and its lines on the console.

use context::coded::ErrorCode;

use crate::console::{Palette, Tone};
use crate::table::wrap;

/// The result of one check.
#[derive(Debug)]
pub struct Finding {
    /// The part that was checked.
    pub subject: String,
    pub state: State,
    pub text: String,
    /// The way to solve the problem, as a sentence.
    pub remedy: Option<String>,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Neither good nor bad, such as a client that the user may not want to connect.
    Open,
    Bad(ErrorCode),
}

/// Columns of the verdict and of the subject, with the space behind them.
const VERDICT: usize = 9;
const SUBJECT: usize = 13;

impl Finding {
    pub fn new(subject: &str, state: State, text: String) -> Self {
        Self {
            subject: subject.to_owned(),
            state,
            text,
            remedy: None,
        }
    }

    pub const fn is_bad(&self) -> bool {
        matches!(self.state, State::Bad(_))
    }

    /// The verdict, the subject and the text, then the remedy below the text.
    pub fn lines(&self, palette: Palette, width: usize) -> Vec<String> {
        let (tone, verdict) = match self.state {
            State::Good => (Tone::Good, "ok"),
            State::Open => (Tone::Quiet, "-"),
            State::Bad(_) => (Tone::Bad, "problem"),
        };
        let text = match self.state {
            State::Bad(code) => format!("{code}: {}", self.text),
            _ => self.text.clone(),
        };
        let room = width.saturating_sub(VERDICT + SUBJECT);
        let remedy = self.remedy.iter().flat_map(|remedy| wrap(remedy, room));
        let texts = wrap(&text, room).into_iter().chain(remedy);
        let verdict = palette.paint(tone, &format!("{verdict:VERDICT$}"));
        let head = format!("{verdict}{:SUBJECT$}", self.subject);
        let rest = " ".repeat(VERDICT + SUBJECT);
        let heads = std::iter::once(head).chain(std::iter::repeat(rest));
        heads.zip(texts).map(|(head, text)| head + &text).collect()
    }
}
