//! Errors that a user can meet: a stable code and a hint apart from the message.

use std::fmt;

/// A stable error code such as `E0102`. It never changes its meaning; a retired code is not reused.
///
/// Ranges: `E00xx` command line, `E01xx` wire and transcripts, `E02xx` tokens and models,
/// `E03xx` lab, `E04xx` context, `E05xx` history and its engines, `E06xx` homunculus, `E07xx` model,
/// `E08xx` gateway, `E09xx` driver, `E10xx` library.
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
    /// A remedy for the user, as one sentence; `None` where there is none.
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
    /// The meaning, as one phrase.
    pub meaning: &'static str,
    /// The remedy, as one sentence.
    pub remedy: &'static str,
}

/// Declares error codes as constants, with the table of them that a crate exports.
///
/// ```
/// context::error_codes! {
///     /// The codes of this crate.
///     pub CODES:
///     NO_FILE = "E0001", "the file does not exist", "Check the path.";
/// }
/// assert_eq!(CODES[0].code, NO_FILE);
/// ```
#[macro_export]
macro_rules! error_codes {
    ($(#[$doc:meta])* $visibility:vis $table:ident:
     $($name:ident = $code:literal, $meaning:literal, $remedy:literal;)*) => {
        $(pub(crate) const $name: $crate::coded::ErrorCode = $crate::coded::ErrorCode::new($code);)*

        $(#[$doc])*
        $visibility const $table: &[$crate::coded::CodeEntry] = &[
            $($crate::coded::CodeEntry { code: $name, meaning: $meaning, remedy: $remedy }),*
        ];
    };
}

/// Returns the remedy that a table holds for a code: the hint of an error without a better one.
#[must_use]
pub fn remedy(table: &[CodeEntry], code: ErrorCode) -> Option<String> {
    let entry = table.iter().find(|entry| entry.code == code)?;
    Some(entry.remedy.to_owned())
}

/// The number of entries of several tables together; for [`joined`].
#[must_use]
pub const fn total(tables: &[&[CodeEntry]]) -> usize {
    let mut rest = tables;
    let mut total = 0;
    while let [table, others @ ..] = rest {
        total += table.len();
        rest = others;
    }
    total
}

/// Several tables as one, at compile time. `N` is their [`total`]; another number does not compile
/// where the result is a constant.
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index out of range is a compile error"
)]
pub const fn joined<const N: usize>(tables: &[&[CodeEntry]]) -> [CodeEntry; N] {
    let none = CodeEntry {
        code: ErrorCode::new(""),
        meaning: "",
        remedy: "",
    };
    let mut out = [none; N];
    let (mut at, mut rest) = (0, tables);
    while let [table, others @ ..] = rest {
        let mut entries: &[CodeEntry] = table;
        while let [entry, more @ ..] = entries {
            out[at] = *entry;
            at += 1;
            entries = more;
        }
        rest = others;
    }
    assert!(at == N, "the tables have another number of entries");
    out
}
