//! Modules as files, and the shipped strategies behind them.

use std::path::{Path, PathBuf};

use conversation::homunculus::hosted::SHIPPED;
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

    /// The files that a module may be, the first one first.
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

/// The text of the shipped strategy of this name: what a strategy may `use` where it runs, it may use where
/// it is written.
pub fn shipped(name: &str) -> Option<String> {
    let mut all = SHIPPED.iter();
    all.find_map(|(known, text)| (*known == name).then(|| (*text).to_owned()))
}
