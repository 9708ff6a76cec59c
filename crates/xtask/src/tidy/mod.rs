//! `cargo xtask tidy`: the parts of the house style that a program can check.

mod edges;
mod exceptions;
mod lengths;
mod names;
mod paths;
mod source;
mod tree;
mod unused;

use std::fmt;
use std::path::Path;

use anyhow::bail;

use self::exceptions::Exceptions;
use self::lengths::Lengths;
use self::tree::Tree;
use crate::command::say;

/// A place where a rule does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The rule's name.
    rule: &'static str,
    /// A path from the root, with the item behind a space where it is about one.
    at: String,
    /// The defect, in words.
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.at, self.message, self.rule)
    }
}

/// Checks the workspace.
///
/// # Errors
/// A rule does not hold somewhere, an exception is not needed, or a file cannot be read.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let tree = Tree::read(root)?;
    let exceptions = Exceptions::read(&root.join("crates/xtask/tidy.toml"))?;
    let mut violations = edges::check(&tree, &root.join("crates/xtask/edges.toml"))?;
    violations.extend(paths::check(&tree, root));
    violations.extend(unused::check(
        &tree,
        &root.join("crates/xtask/unused.toml"),
    )?);
    let mut lengths = Lengths::default();
    for file in tree.rust() {
        violations.extend(names::check_file(&file.path));
        violations.extend(source::check(file, &mut lengths)?);
    }
    violations.extend(lengths.check());
    let left = exceptions.apply(violations);
    if left.is_empty() {
        say(&format!("tidy: {lengths}, nothing to tidy"));
        return Ok(());
    }
    for violation in &left {
        say(&violation.to_string());
    }
    bail!("{} places to tidy", left.len())
}
