//! Public items of the core crates that no production code uses.
//!
//! Names are compared, not paths: an item counts as used where its name occurs in any production file,
//! apart from declarations and `use` lines. So a common name hides an unused item, and a used item is
//! never reported.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anyhow::Context as _;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde::Deserialize;

use super::Violation;
use super::tree::{Role, Tree};

/// The crates whose public items need a caller.
const CORE: [&str; 2] = ["crates/context/src/", "crates/conversation/src/"];

/// Finds unused items, apart from those that the file `known` lists; a listed item that is used or
/// gone is reported as well, so that the list only shrinks.
///
/// # Errors
/// A file does not parse, or the list cannot be read.
pub fn check(tree: &Tree, known: &Path) -> anyhow::Result<Vec<Violation>> {
    let text = std::fs::read_to_string(known)
        .with_context(|| format!("cannot read {}", known.display()))?;
    let known: Listed = toml::from_str(&text).context("cannot parse unused.toml")?;
    let mut names = Names::default();
    for file in tree
        .files
        .iter()
        .filter(|file| file.role == Role::Production)
    {
        let tokens = file.text.parse::<TokenStream>().ok();
        let tokens = tokens.with_context(|| format!("{} does not parse", file.path))?;
        let core = CORE.iter().any(|folder| file.path.starts_with(folder));
        names.read(tokens, core.then_some(file.path.as_str()));
    }
    Ok(names.compare(&known.items))
}

/// The list in `unused.toml`.
#[derive(Deserialize)]
struct Listed {
    items: BTreeSet<String>,
}

#[derive(Default)]
struct Names {
    /// The public items of the core crates: file and name.
    declared: Vec<(String, String)>,
    /// The number of uses of each name.
    used: HashMap<String, usize>,
}

impl Names {
    /// Reads one file or group. `core` is the file's path where its public items need a caller.
    fn read(&mut self, tokens: TokenStream, core: Option<&str>) {
        let mut public = false;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    let attribute = tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
                    if attribute.is_some_and(|attribute| is_test(&attribute)) {
                        let end = |token: &TokenTree| match token {
                            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                            TokenTree::Punct(mark) => mark.as_char() == ';',
                            _ => false,
                        };
                        tokens.find(end);
                    }
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "pub" => {
                        // `pub(crate)` is no public item.
                        public = tokens
                            .next_if(|next| matches!(next, TokenTree::Group(_)))
                            .is_none();
                        continue;
                    }
                    "async" | "unsafe" => continue,
                    "const" if matches!(tokens.peek(), Some(TokenTree::Ident(next)) if next == "fn") =>
                    {
                        continue;
                    }
                    "use" => {
                        tokens.find(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';'));
                    }
                    "fn" | "struct" | "enum" | "trait" | "const" | "type" | "mod" => {
                        let name = tokens.next_if(|next| matches!(next, TokenTree::Ident(_)));
                        if let (Some(name), Some(path), true) =
                            (name, core, public && word != "mod")
                        {
                            self.declared.push((path.to_owned(), name.to_string()));
                        }
                    }
                    word => *self.used.entry(word.to_owned()).or_default() += 1,
                },
                TokenTree::Group(group) => self.read(group.stream(), core),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            public = false;
        }
    }

    fn compare(&self, known: &BTreeSet<String>) -> Vec<Violation> {
        let unused: BTreeSet<String> = self
            .declared
            .iter()
            .filter(|(_, name)| !self.used.contains_key(name))
            .map(|(path, name)| format!("{path} {name}"))
            .collect();
        let violation = |at: &String, message: &str| Violation {
            rule: "unused",
            at: at.clone(),
            message: message.to_owned(),
        };
        let new = unused.difference(known);
        let new = new.map(|at| violation(at, "no production code uses this public item"));
        let old = known.difference(&unused);
        new.chain(
            old.map(|at| violation(at, "it has a caller or is gone; take it out of unused.toml")),
        )
        .collect()
    }
}

/// Returns true if an attribute is `[cfg(test)]` or `[cfg(all(test, …))]`.
fn is_test(attribute: &TokenTree) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text.starts_with("[cfg(test)") || text.starts_with("[cfg(all(test,")
}

#[cfg(test)]
mod tests {
    use super::{Listed, Names};

    #[track_caller]
    fn check(core: &str, other: &str, known: &str, expected: &[&str]) {
        let mut names = Names::default();
        names.read(core.parse().unwrap(), Some("a.rs"));
        names.read(other.parse().unwrap(), None);
        let known: Listed = toml::from_str(&format!("items = [{known}]")).unwrap();
        let found = names.compare(&known.items);
        let found: Vec<String> = found.into_iter().map(|violation| violation.at).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn items_without_a_caller() {
        let core = "pub fn one() {} pub(crate) fn inner() {} pub struct Two; impl Two { pub const fn go(self) {} }";
        check(core, "", "", &["a.rs go", "a.rs one"]);
        check(core, "use a::one; fn main() { one(); two.go() }", "", &[]);
        check(core, "use a::{one, go};", "", &["a.rs go", "a.rs one"]);
        let tests = "#[cfg(test)] mod tests { fn t() { one(); x.go() } }";
        check(&format!("{core} {tests}"), "", "", &["a.rs go", "a.rs one"]);
    }

    #[test]
    fn the_list_only_shrinks() {
        check("pub fn one() {}", "", "'a.rs one'", &[]);
        check(
            "pub fn one() {}",
            "fn two() { one() }",
            "'a.rs one'",
            &["a.rs one"],
        );
    }
}
