//! Names that say nothing.

use super::Violation;

/// Files and folders that would hold anything.
const FILES: [&str; 8] = [
    "util",
    "utils",
    "common",
    "helper",
    "helpers",
    "misc",
    "shared",
    "utilities",
];

/// Words that name no concept, as a part of a type's name.
const TYPES: [&str; 3] = ["Manager", "Helper", "Processor"];

/// Checks the path of a file.
pub fn check_file(path: &str) -> Option<Violation> {
    let part = path
        .split('/')
        .map(|part| part.strip_suffix(".rs").unwrap_or(part))
        .find(|part| FILES.contains(part))?;
    Some(Violation {
        rule: "name",
        at: path.to_owned(),
        message: format!("`{part}` names no concept"),
    })
}

/// Checks the name of a type or trait.
pub fn check_type(path: &str, name: &str) -> Option<Violation> {
    let word = TYPES.into_iter().find(|word| name.contains(word))?;
    Some(Violation {
        rule: "name",
        at: format!("{path} {name}"),
        message: format!("`{word}` names no concept"),
    })
}

#[cfg(test)]
mod tests {
    use super::{check_file, check_type};

    #[test]
    fn files_and_types() {
        for bad in [
            "crates/a/src/util.rs",
            "crates/common/src/lib.rs",
            "crates/a/src/misc/x.rs",
        ] {
            assert!(check_file(bad).is_some(), "{bad}");
        }
        assert_eq!(check_file("crates/a/src/utility_bill.rs"), None);
        assert!(check_type("a.rs", "SessionManager").is_some());
        assert!(check_type("a.rs", "HelperOfAll").is_some());
        assert_eq!(check_type("a.rs", "Manage"), None);
    }
}
