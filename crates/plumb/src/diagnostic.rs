//! What is wrong with a program, as values.

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

/// One line of the generated page of codes. Every part that defines codes has a table of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code.
    pub code: Code,
    /// What it means, as one phrase.
    pub meaning: &'static str,
    /// What to do, as one sentence.
    pub remedy: &'static str,
}

/// Whether the program can run nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not run.
    Error,
    /// It runs, and probably not as meant.
    Warning,
}

/// Another place that has to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there, as a phrase.
    pub text: String,
}

/// One thing that is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: Code,
    /// Whether the program can run nevertheless.
    pub severity: Severity,
    /// Where it is.
    pub span: Span,
    /// What is wrong, as a phrase: lower case, no full stop.
    pub message: String,
    /// Other places that have to do with it.
    pub labels: Vec<Label>,
    /// What to do, as a sentence.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Something because of which the program does not run.
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

    /// Something that is probably not as meant.
    #[must_use]
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, span, message)
        }
    }

    /// With another place that has to do with it.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
