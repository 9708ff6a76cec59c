//! Modules as files.

use std::path::{Path, PathBuf};

use plumb::modules::Modules;

/// The folders in which `use name` finds `name.plumb`, the first one first.
#[derive(Clone, Debug)]
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// The folder of the program itself, then the others. Of a program on standard input it is the one in
    /// which Ebbtide was started.
    pub fn of(program: &Path, others: &[PathBuf]) -> Self {
        let own = program.parent().unwrap_or(Path::new("")).to_owned();
        Self(std::iter::once(own).chain(others.iter().cloned()).collect())
    }
}

impl Modules for Folders {
    fn load(&self, name: &str) -> Option<String> {
        let file = format!("{name}.plumb");
        let mut texts = self
            .0
            .iter()
            .map(|folder| std::fs::read_to_string(folder.join(&file)));
        texts.find_map(Result::ok)
    }
}
