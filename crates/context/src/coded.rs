//! Errors that a user can meet: a stable code and a hint apart from the message.

use std::fmt;

/// A stable error code such as `E0102`. It never changes its meaning; a retired code is not reused.
///
/// Ranges: `E00xx` command line, `E01xx` wire and transcripts, `E02xx` tokens and models,
/// `E03xx` lab, `E04xx` context, `E05xx` history, `E06xx` homunculus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(&'static str);

impl ErrorCode {
    /// A code; `code` is `E` and four digits.
    #[must_use]
    pub const fn new(code: &'static str) -> Self {
        Self(code)
    }

    /// The code as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An error or a problem that carries a stable code and says what to do.
pub trait Coded: fmt::Display {
    /// The stable code.
    fn code(&self) -> ErrorCode;
    /// What the user can do about it, as one sentence, where there is something.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// One line of the generated error page. Every crate that defines codes exports a table of these
/// as `CODES`.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    /// The code.
    pub code: ErrorCode,
    /// What it means, as one phrase.
    pub meaning: &'static str,
    /// What to do, as one sentence.
    pub remedy: &'static str,
}
