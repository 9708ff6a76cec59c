//! Public items of the core crates that no production code uses.
//!
//! Paths are compared: a name in code is followed through the `use` lines and re-exports of its file to the
//! item that it stands for. A `use` line or a re-export alone is no use, and neither is the head of an
//! `impl`. The type before a dot is unknown, so `.name(…)` is a use of every method of that name: a
//! common name hides an unused method, and a used item is never reported.

mod names;
mod reader;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use proc_macro2::TokenStream;
use serde::Deserialize;

use self::names::Names;
use self::reader::{Reader, Scope};
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
        read(&mut names, &file.path, &file.text)?;
    }
    Ok(compare(&names, &known.items))
}

fn read(names: &mut Names, path: &str, text: &str) -> anyhow::Result<()> {
    let tokens = text.parse::<TokenStream>().ok();
    let tokens = tokens.with_context(|| format!("{path} does not parse"))?;
    let core = CORE.iter().any(|folder| path.starts_with(folder));
    let place = Scope::of_file(path, core);
    names.add_module(&place.module);
    Reader::new(names, path).read(tokens, &place);
    Ok(())
}

/// The list in `unused.toml`.
#[derive(Deserialize)]
struct Listed {
    items: BTreeSet<String>,
}

fn compare(names: &Names, known: &BTreeSet<String>) -> Vec<Violation> {
    let unused = names.unused();
    let violation = |at: &String, message: &str| Violation {
        rule: "unused",
        at: at.clone(),
        message: message.to_owned(),
    };
    let new = unused.difference(known);
    let new = new.map(|at| violation(at, "no production code uses this public item"));
    let old = known.difference(&unused);
    new.chain(old.map(|at| violation(at, "it has a caller or is gone; take it out of unused.toml")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::names::Names;
    use super::{Listed, compare, read};

    const CORE: &str = "crates/context/src/a.rs";

    #[track_caller]
    fn check(files: &[(&str, &str)], known: &str, expected: &[&str]) {
        let mut names = Names::default();
        for (path, text) in files {
            read(&mut names, path, text).unwrap();
        }
        let known: Listed = toml::from_str(&format!("items = [{known}]")).unwrap();
        let found = compare(&names, &known.items);
        let folder = "crates/context/src/";
        let found: Vec<&str> = found
            .iter()
            .map(|violation| violation.at.strip_prefix(folder).unwrap())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn items_without_a_caller() {
        let core = "pub fn one() {} pub(crate) fn inner() {} pub struct Two; impl Two { pub const fn go(self) {} }";
        let all = ["a.rs Two", "a.rs Two::go", "a.rs one"];
        let beside = |other: &str, expected: &[&str]| {
            check(
                &[(CORE, core), ("crates/b/src/lib.rs", other)],
                "",
                expected,
            );
        };
        beside("", &all);
        beside("use context::a::{Two, one};", &all);
        beside(
            "use context::a::{Two, one}; fn main() { one(); Two.go() }",
            &[],
        );
        beside(
            "fn main() { context::a::one(); let one = two.go; }",
            &all[..2],
        );
        let tests = "#[cfg(test)] mod tests { use super::*; fn t() { one(); Two.go() } }";
        check(&[(CORE, &format!("{core} {tests}"))], "", &all);
    }

    #[test]
    fn a_name_is_the_item_that_its_path_leads_to() {
        let files = |caller: &str, expected: &[&str]| {
            let planned =
                "pub struct Rules; impl Rules { pub fn new() {} } pub fn plan(_: &Rules) {}";
            check(
                &[
                    ("crates/context/src/a/one.rs", planned),
                    ("crates/context/src/a/two.rs", planned),
                    (
                        "crates/context/src/a.rs",
                        "pub mod one; pub mod two; pub use two::plan as second;",
                    ),
                    ("crates/context/src/lib.rs", "pub mod a; pub use a::*;"),
                    ("crates/b/src/lib.rs", caller),
                ],
                "",
                expected,
            );
        };
        let two = ["a/two.rs Rules::new", "a/two.rs plan"];
        files(
            "use context::a::one::{Rules, plan}; fn main() { plan(&Rules::new()) }",
            &two,
        );
        files(
            "use context::a::{one, two}; fn main() { one::plan(&one::Rules::new()); two::plan(two::Rules::new()) }",
            &[],
        );
        let one = [
            "a/one.rs Rules::new",
            "a/one.rs plan",
            "a/two.rs Rules::new",
        ];
        files("fn main() { context::second() }", &one);
        files("use context as core; fn main() { core::a::second() }", &one);
        files("fn main() { ::context::second() }", &one);
        files("use ::context::second; fn main() { second() }", &one);
        files(
            "mod c { fn main() { use context::*; format!(\"{second}\") } }",
            &one,
        );
    }

    #[test]
    fn methods_are_those_of_their_type() {
        let files = |body: &str, expected: &[&str]| {
            let one = "pub struct One; impl<T> super::Trait<T> for One {} impl One { pub fn go() { Self::on() } pub fn on() {} }";
            let two = "pub struct Two; impl Two { pub fn go() {} }";
            let used = format!("use context::{{a::One, b::Two}}; type Other = One; {body}");
            check(
                &[
                    (CORE, one),
                    ("crates/context/src/b.rs", two),
                    ("crates/b/src/lib.rs", &used),
                ],
                "",
                expected,
            );
        };
        files("fn f(_: Two) { One::go() }", &["b.rs Two::go"]);
        files("fn f(_: Two) { Other::go() }", &["b.rs Two::go"]);
        files("fn f(_: Two) { one.go() }", &[]);
        files(
            "fn f(_: Two) { let go = one.go; }",
            &["a.rs One::go", "b.rs Two::go"],
        );
    }

    #[test]
    fn the_list_only_shrinks() {
        let known = "'crates/context/src/a.rs one'";
        check(&[(CORE, "pub fn one() {}")], known, &[]);
        let used = "pub fn one() {} fn two() { one() }";
        check(&[(CORE, used)], known, &["a.rs one"]);
    }
}
