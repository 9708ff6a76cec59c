//! Finds the modules of a program: files first, then the shipped strategies.

use std::path::{Path, PathBuf};

use conversation::homunculus::hosted::{EXAMPLES, SHIPPED};
use plumb::modules::Modules;

/// The folders in which `use name` looks for `name.plumb`, in order.
#[derive(Clone, Debug)]
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// The program's own folder, then the others. For standard input, the current folder comes first.
    pub fn of(program: &Path, others: &[PathBuf]) -> Self {
        let own = program.parent().unwrap_or(Path::new("")).to_owned();
        Self(std::iter::once(own).chain(others.iter().cloned()).collect())
    }

    /// The candidate files for a module, in order.
    pub fn places(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let file = format!("{name}.plumb");
        self.0.iter().map(move |folder| folder.join(&file))
    }
}

impl Modules for Folders {
    fn load(&self, name: &str) -> Option<String> {
        let mut texts = self.places(name).map(std::fs::read_to_string);
        texts.find_map(Result::ok).or_else(|| shipped(name))
    }

    fn place(&self, name: &str) -> Option<String> {
        let mut places = self.places(name);
        let found = places.find(|path| std::fs::read_to_string(path).is_ok());
        found.map(|path| path.display().to_string())
    }
}

/// The text of the shipped strategy of this name. The gateway resolves `use` the same way.
pub fn shipped(name: &str) -> Option<String> {
    let mut all = SHIPPED.iter().chain(&EXAMPLES);
    all.find_map(|(known, text)| (*known == name).then(|| (*text).to_owned()))
}
