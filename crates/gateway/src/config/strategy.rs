//! Which strategy is chosen.

use std::path::Path;
use std::sync::Arc;

use conversation::homunculus::hosted::StrategyProgram;

/// A strategy by its name, or by the file in which its program stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyChoice {
    written: String,
    program: Option<Arc<StrategyProgram>>,
}

impl StrategyChoice {
    /// What is written: the name of one that is shipped, or a path that ends in `.plumb`. `None` where it is
    /// neither.
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

    /// The file that has to be read, and its program [given](Self::load), before the gateway can start.
    #[must_use]
    pub fn unread(&self) -> Option<&Path> {
        match self.program {
            Some(_) => None,
            None => Some(Path::new(&self.written)),
        }
    }

    /// Takes the program that stands in the file.
    pub fn load(&mut self, program: Arc<StrategyProgram>) {
        self.program = Some(program);
    }

    /// As it was written.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The program; of a file that was not read, the default.
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
