//! Exceptions, each with a reason.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::Violation;

/// The exceptions of the workspace.
#[derive(Debug, Deserialize)]
pub struct Exceptions {
    #[serde(default, rename = "exception")]
    all: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
struct Exception {
    rule: String,
    at: String,
    reason: String,
}

impl Exceptions {
    /// Reads them from a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let exceptions: Self = toml::from_str(text).context("cannot parse tidy.toml")?;
        for Exception { at, reason, .. } in &exceptions.all {
            ensure!(
                reason.trim().len() >= 10,
                "the reason for `{at}` in tidy.toml is no sentence"
            );
        }
        Ok(exceptions)
    }

    /// The violations that no exception covers, and one for each exception that covers none.
    pub fn apply(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        let covers = |exception: &Exception, violation: &Violation| {
            exception.rule == violation.rule && exception.at == violation.at
        };
        let unneeded: Vec<Violation> = self
            .all
            .iter()
            .filter(|exception| {
                !violations
                    .iter()
                    .any(|violation| covers(exception, violation))
            })
            .map(|exception| Violation {
                rule: "exception",
                at: "crates/xtask/tidy.toml".to_owned(),
                message: format!(
                    "the exception from {} at `{}` is not needed",
                    exception.rule, exception.at
                ),
            })
            .collect();
        violations.retain(|violation| {
            !self
                .all
                .iter()
                .any(|exception| covers(exception, violation))
        });
        violations.extend(unneeded);
        violations.sort();
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::Exceptions;
    use crate::tidy::Violation;

    const TEXT: &str = "[[exception]]\nrule = 'r'\nat = 'a.rs'\nreason = 'it is better so'";

    fn violation(at: &str) -> Violation {
        Violation {
            rule: "r",
            at: at.to_owned(),
            message: "m".to_owned(),
        }
    }

    #[test]
    fn an_exception_covers_its_place_alone() {
        let exceptions = Exceptions::parse(TEXT).unwrap();
        let left = exceptions.apply(vec![violation("a.rs"), violation("b.rs")]);
        assert_eq!(left, [violation("b.rs")]);
    }

    #[test]
    fn one_that_is_not_needed_is_an_error() {
        let left = Exceptions::parse(TEXT).unwrap().apply(Vec::new());
        assert_eq!(
            left[0].message,
            "the exception from r at `a.rs` is not needed"
        );
    }

    #[test]
    fn one_without_a_reason_is_refused() {
        Exceptions::parse("[[exception]]\nrule = 'r'\nat = 'a'").unwrap_err();
        Exceptions::parse("[[exception]]\nrule = 'r'\nat = 'a'\nreason = 'x'").unwrap_err();
        assert!(Exceptions::parse("").unwrap().apply(Vec::new()).is_empty());
    }
}
