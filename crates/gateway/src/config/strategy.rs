//! The configured strategy.

use std::path::Path;
use std::sync::Arc;

use conversation::homunculus::hosted::{EXAMPLES, SHIPPED, StrategyProgram};

/// A strategy, by its name or by the file of its program.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyChoice {
    written: String,
    program: Option<Arc<StrategyProgram>>,
}

impl StrategyChoice {
    /// Parses the name of a shipped strategy, or a path that ends in `.plumb`.
    #[must_use]
    pub fn of(written: &str) -> Option<Self> {
        let is_file = Path::new(written)
            .extension()
            .is_some_and(|ending| ending == "plumb");
        let program = StrategyProgram::shipped(written);
        (is_file || program.is_some()).then(|| Self {
            written: written.to_owned(),
            program,
        })
    }

    /// A hint in place of a name that is none: the strategy that was meant, and all that have names.
    pub(super) fn instead_of(written: &str) -> String {
        let names = |list: &[(&'static str, _)]| -> Vec<&str> {
            list.iter().map(|(name, _)| *name).collect()
        };
        let (shipped, examples) = (names(&SHIPPED), names(&EXAMPLES));
        let all = shipped.iter().chain(&examples);
        let close = context::nearest(written, all.copied());
        let close = close.map(|name| format!("Did you mean `{name}`? "));
        format!(
            "{}Shipped: {}. Example: {}.",
            close.unwrap_or_default(),
            shipped.join(", "),
            examples.join(", ")
        )
    }

    /// The file that must be read and [loaded](Self::load) before the gateway starts.
    #[must_use]
    pub fn unread(&self) -> Option<&Path> {
        let missing = self.program.is_none();
        missing.then(|| Path::new(&self.written))
    }

    /// Sets the program read from the file.
    pub fn load(&mut self, program: Arc<StrategyProgram>) {
        self.program = Some(program);
    }

    /// The name or path as configured.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The program; the default one if the file was not read.
    #[must_use]
    pub fn program(&self) -> Arc<StrategyProgram> {
        let program = self.program.as_ref();
        program.map_or_else(StrategyProgram::default_one, Arc::clone)
    }
}

impl Default for StrategyChoice {
    fn default() -> Self {
        Self::from(StrategyProgram::default_one())
    }
}

impl From<Arc<StrategyProgram>> for StrategyChoice {
    fn from(program: Arc<StrategyProgram>) -> Self {
        Self {
            written: program.name().to_string(),
            program: Some(program),
        }
    }
}
