//! Diagnostics as values.

pub mod codes;
mod json;
mod position;
mod render;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::span::Span;

pub use json::to_json;
pub use position::{Lines, Position};
pub use render::{Colour, render};

/// A stable code such as `P0101`. It never changes its meaning; a retired code is not reused.
///
/// Ranges: `P01xx` lexical and syntax, `P02xx` names and modules, `P03xx` types, `P04xx` expressions,
/// `P05xx` wiring, `P06xx` protocols, `P07xx` agents and tools, `P08xx` the machine at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One row of the generated page of codes. Each module that defines codes has such a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code.
    pub code: Code,
    /// The meaning, as one phrase.
    pub meaning: &'static str,
    /// The remedy, as one sentence.
    pub remedy: &'static str,
}

/// Defines codes with their meanings and remedies, and the table `CODES` of them.
macro_rules! code_table {
    ($($vis:vis $name:ident = $code:literal: $meaning:literal, $remedy:literal;)*) => {
        $(
            #[doc = concat!($code, ": ", $meaning, ".")]
            $vis const $name: Code = Code($code);
        )*

        /// The meaning and the remedy of each code.
        pub const CODES: &[CodeEntry] = &[
            $(CodeEntry { code: $name, meaning: $meaning, remedy: $remedy },)*
        ];
    };
}
pub(crate) use code_table;

/// Defines the texts of diagnostics: each row becomes a function that makes the diagnostic at a place. The
/// message and the hint name the arguments in braces.
macro_rules! mistakes {
    ($($severity:ident $name:ident($($argument:ident),*) = $code:ident:
        $message:literal $(, $hint:literal)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($code), "`: ", $message, ".")]
            pub(crate) fn $name(span: Span $(, $argument: &dyn std::fmt::Display)*) -> Diagnostic {
                let message = format_args!($message).to_string();
                Diagnostic::$severity($code, span, message)
                    $(.hint(format_args!($hint).to_string()))?
            }
        )*
    };
}
pub(crate) use mistakes;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program does not run.
    Error,
    /// The program runs, but probably not as intended.
    Warning,
}

/// A related place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The label, as a phrase.
    pub text: String,
}

/// One problem of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: Code,
    /// The severity of a diagnostic.
    pub severity: Severity,
    /// The place.
    pub span: Span,
    /// The problem, as a phrase: lower case, no full stop.
    pub message: String,
    /// Related places.
    pub labels: Vec<Label>,
    /// The remedy, as a sentence.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error: the program does not run.
    #[must_use]
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            span,
            message: message.into(),
            labels: Vec::new(),
            hint: None,
        }
    }

    /// A warning: the program runs, but probably not as intended.
    #[must_use]
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// Adds a related place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds a remedy, in the place of any other.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the known word that was probably meant, if there is one.
    #[must_use]
    pub(crate) fn meant(self, near: Option<&str>) -> Self {
        match near {
            Some(near) => self.hint(format!("Did you mean `{near}`?")),
            None => self,
        }
    }
}
