//! The edges between crates, and their folders.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::Violation;
use super::tree::{Package, Tree};

/// Checks the packages against the table of allowed edges.
pub fn check(tree: &Tree, table: &Path) -> anyhow::Result<Vec<Violation>> {
    let text = std::fs::read_to_string(table)
        .with_context(|| format!("cannot read {}", table.display()))?;
    let allowed = parse(&text)?;
    let edges = tree
        .packages
        .iter()
        .flat_map(|package| check_package(package, &allowed));
    Ok(edges.chain(missing(&allowed, &tree.packages)).collect())
}

/// The rows of crates that do not exist.
fn missing(allowed: &[Allowed], packages: &[Package]) -> Vec<Violation> {
    let exists = |name: &str| packages.iter().any(|package| package.name == name);
    let gone = allowed.iter().filter(|row| !exists(&row.name));
    gone.map(|row| Violation {
        rule: "edges",
        at: "crates/xtask/edges.toml".to_owned(),
        message: format!("there is no crate `{}`", row.name),
    })
    .collect()
}

/// The table in `edges.toml`.
#[derive(Deserialize)]
struct Table {
    #[serde(rename = "crate")]
    rows: Vec<Allowed>,
}

/// A crate and the crates it may use, each with the reason.
#[derive(Debug, Deserialize)]
struct Allowed {
    name: String,
    #[serde(default)]
    uses: BTreeMap<String, String>,
}

fn parse(text: &str) -> anyhow::Result<Vec<Allowed>> {
    let Table { rows } = toml::from_str(text).context("cannot parse edges.toml")?;
    for (number, Allowed { name, uses }) in rows.iter().enumerate() {
        for (used, reason) in uses {
            ensure!(
                reason.trim().contains(' '),
                "edges.toml: the edge from `{name}` to `{used}` has no reason"
            );
            ensure!(
                rows.iter().take(number).any(|above| above.name == *used),
                "edges.toml: `{name}` may not use `{used}`, which does not stand above it"
            );
        }
    }
    Ok(rows)
}

fn check_package(package: &Package, allowed: &[Allowed]) -> Vec<Violation> {
    let Package { name, folder, uses } = package;
    let mut found = Vec::new();
    let mut report = |rule, message| {
        found.push(Violation {
            rule,
            at: format!("{folder}/Cargo.toml"),
            message,
        });
    };
    if *folder != format!("crates/{name}") {
        report(
            "folder",
            format!("the package `{name}` lies in `{folder}`, not in crates/{name}"),
        );
    }
    match allowed.iter().find(|row| row.name == *name) {
        None => report("edges", format!("`{name}` does not stand in edges.toml")),
        Some(row) => {
            for used in uses.iter().filter(|used| !row.uses.contains_key(*used)) {
                report("edges", format!("`{name}` may not use `{used}`"));
            }
            for allowed in row.uses.keys().filter(|allowed| !uses.contains(*allowed)) {
                let message =
                    format!("`{name}` does not use `{allowed}`; take it out of edges.toml");
                report("edges", message);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{check_package, missing, parse};
    use crate::tidy::tree::Package;

    const TABLE: &str = "[[crate]]\nname = 'a'\n[[crate]]\nname = 'b'\nuses.a = 'what is counted'";

    #[track_caller]
    fn check(name: &str, folder: &str, uses: &[&str], expected: &[&str]) {
        let package = Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            uses: uses.iter().map(|&used| used.to_owned()).collect(),
        };
        let found: Vec<String> = check_package(&package, &parse(TABLE).unwrap())
            .into_iter()
            .map(|violation| violation.message)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn edges_and_folders() {
        check("b", "crates/b", &["a"], &[]);
        check(
            "b",
            "crates/b",
            &[],
            &["`b` does not use `a`; take it out of edges.toml"],
        );
        check("a", "crates/a", &["b"], &["`a` may not use `b`"]);
        check("c", "crates/c", &[], &["`c` does not stand in edges.toml"]);
        check(
            "a",
            "crates/x/a",
            &[],
            &["the package `a` lies in `crates/x/a`, not in crates/a"],
        );
    }

    #[test]
    fn a_row_needs_its_crate() {
        let package = Package {
            name: "a".to_owned(),
            folder: "crates/a".to_owned(),
            uses: std::collections::BTreeSet::new(),
        };
        let found = missing(&parse(TABLE).unwrap(), &[package]);
        let found: Vec<String> = found.into_iter().map(|gone| gone.message).collect();
        assert_eq!(found, ["there is no crate `b`"]);
    }

    #[test]
    fn an_edge_downwards_is_refused_in_the_table() {
        parse("[[crate]]\nname = 'a'\nuses.b = 'for what'\n[[crate]]\nname = 'b'").unwrap_err();
        parse("").unwrap_err();
    }

    #[test]
    fn an_edge_without_a_reason_is_refused_in_the_table() {
        for uses in ["['a']", "{ a = '' }", "{ a = ' yes ' }"] {
            let table = format!("[[crate]]\nname = 'a'\n[[crate]]\nname = 'b'\nuses = {uses}");
            parse(&table).unwrap_err();
        }
    }
}
