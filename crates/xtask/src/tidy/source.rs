//! The checks of one Rust file: head, lengths, parameters, fields, names, derives.

use anyhow::Context as _;
use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Violation;
use super::lengths::Lengths;
use super::names;
use super::tree::{File, Role};

const PARAMETERS: usize = 5;
const FIELDS: usize = 12;

/// The places whose types may be serialized: wire shapes, reports, and the programs.
const WRITES_OUT: [&str; 8] = [
    "crates/wire/",
    "crates/plumb/src/diagnostic/json.rs",
    "crates/plumb/src/machine/state",
    "crates/lab/",
    "crates/gateway/src/report",
    "crates/gateway/src/server/",
    "crates/cli/",
    "crates/xtask/",
];

/// Checks a file and adds its lengths.
///
/// # Errors
/// The file is not Rust.
pub fn check(file: &File, lengths: &mut Lengths) -> anyhow::Result<Vec<Violation>> {
    let mut found = Vec::new();
    if !file.text.starts_with("//!") {
        found.push(Violation {
            rule: "head",
            at: file.path.clone(),
            message: "the first line does not say with `//!` what the file is".to_owned(),
        });
    }
    if file.role != Role::Production {
        return Ok(found);
    }
    let parsed =
        syn::parse_file(&file.text).with_context(|| format!("{} does not parse", file.path))?;
    let mut walk = Walk {
        path: &file.path,
        lengths,
        owner: None,
        test_lines: 0,
        found,
    };
    walk.visit_file(&parsed);
    let Walk {
        found, test_lines, ..
    } = walk;
    let production = file.text.lines().count().saturating_sub(test_lines);
    lengths.file(production, &file.path);
    Ok(found)
}

/// The names of the modules that a file declares for tests alone and that lie in files of their own.
pub fn test_modules(text: &str) -> Vec<String> {
    let Ok(parsed) = syn::parse_file(text) else {
        return Vec::new();
    };
    parsed
        .items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => {
                Some(module.ident.to_string())
            }
            _ => None,
        })
        .collect()
}

struct Walk<'a> {
    path: &'a str,
    lengths: &'a mut Lengths,
    /// The type whose methods are being walked.
    owner: Option<String>,
    test_lines: usize,
    found: Vec<Violation>,
}

impl Walk<'_> {
    fn report(&mut self, rule: &'static str, item: &str, message: String) {
        self.found.push(Violation {
            rule,
            at: format!("{} {item}", self.path),
            message,
        });
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let name = match &self.owner {
            Some(owner) => format!("{owner}::{}", signature.ident),
            None => signature.ident.to_string(),
        };
        let first = signature.span().start().line;
        let last = block.span().end().line;
        let at = format!("{} {name}", self.path);
        self.lengths.function(last + 1 - first, at);
        let parameters = signature.inputs.len();
        if parameters > PARAMETERS {
            self.report(
                "parameters",
                &name,
                format!("{parameters} parameters, at most {PARAMETERS}"),
            );
        }
    }

    fn declared(&mut self, name: &syn::Ident, attributes: &[syn::Attribute]) {
        let name = name.to_string();
        self.found.extend(names::check_type(self.path, &name));
        let writes_out = WRITES_OUT
            .iter()
            .any(|folder| self.path.starts_with(folder));
        if !writes_out && derives_serialize(attributes) {
            self.report(
                "serialize",
                &name,
                "a core type does not derive `Serialize`; wire shapes stay in `wire`".to_owned(),
            );
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test(attributes(item)) {
            let span = item.span();
            self.test_lines += span.end().line + 1 - span.start().line;
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let owner = self.owner.take();
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
        self.owner = owner;
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match item.self_ty.as_ref() {
            syn::Type::Path(path) => path
                .path
                .segments
                .last()
                .map(|segment| segment.ident.to_string()),
            _ => None,
        };
        let owner = std::mem::replace(&mut self.owner, name);
        visit::visit_item_impl(self, item);
        self.owner = owner;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test(&item.attrs) {
            return;
        }
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.declared(&item.ident, &item.attrs);
        let owner = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = owner;
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declared(&item.ident, &item.attrs);
        let fields = item.fields.len();
        if fields > FIELDS {
            self.report(
                "fields",
                &item.ident.to_string(),
                format!("{fields} fields, at most {FIELDS}"),
            );
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declared(&item.ident, &item.attrs);
        for variant in item
            .variants
            .iter()
            .filter(|variant| variant.fields.len() > FIELDS)
        {
            self.report(
                "fields",
                &format!("{}::{}", item.ident, variant.ident),
                format!("{} fields, at most {FIELDS}", variant.fields.len()),
            );
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.declared(&item.ident, &item.attrs);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns true if an item is there for tests alone: `cfg(test)` or `cfg(all(test, …))`.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let condition: String = list
                .tokens
                .to_string()
                .chars()
                .filter(|character| !character.is_whitespace())
                .collect();
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    })
}

fn derives_serialize(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("derive") || list.path.is_ident("cfg_attr") => {
            names_serialize(list.tokens.clone())
        }
        _ => false,
    })
}

fn names_serialize(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "Serialize",
        TokenTree::Group(group) => names_serialize(group.stream()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{check, test_modules};
    use crate::tidy::lengths::Lengths;
    use crate::tidy::tree::{File, Role};

    #[track_caller]
    fn violations(path: &str, role: Role, text: &str, expected: &[&str]) {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
            role,
        };
        let found: Vec<String> = check(&file, &mut Lengths::default())
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn production(text: &str, expected: &[&str]) {
        violations("crates/context/src/a.rs", Role::Production, text, expected);
    }

    #[test]
    fn each_rule_fires() {
        production("//! A.\n", &[]);
        production(
            "fn a() {}",
            &[
                "crates/context/src/a.rs: the first line does not say with `//!` what the file is [head]",
            ],
        );
        production(
            "//! A.\nfn a(b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {}",
            &["crates/context/src/a.rs a: 6 parameters, at most 5 [parameters]"],
        );
        production(
            "//! A.\nstruct S;\nimpl S { fn a(&self, c: u8, d: u8, e: u8, f: u8, g: u8) {} }",
            &["crates/context/src/a.rs S::a: 6 parameters, at most 5 [parameters]"],
        );
        let fields: String = (0..13).map(|number| format!("f{number}: u8, ")).collect();
        production(
            &format!("//! A.\nstruct S {{ {fields} }}"),
            &["crates/context/src/a.rs S: 13 fields, at most 12 [fields]"],
        );
        production(
            &format!("//! A.\nenum E {{ V {{ {fields} }} }}"),
            &["crates/context/src/a.rs E::V: 13 fields, at most 12 [fields]"],
        );
        production(
            "//! A.\ntrait TurnProcessor {}",
            &["crates/context/src/a.rs TurnProcessor: `Processor` names no concept [name]"],
        );
        production(
            "//! A.\n#[derive(Clone, serde::Serialize)]\nstruct S;",
            &[
                "crates/context/src/a.rs S: a core type does not derive `Serialize`; wire shapes stay in `wire` [serialize]",
            ],
        );
    }

    #[test]
    fn tests_are_held_to_their_head_alone() {
        let text = "//! A.\n#[cfg(test)]\nmod tests { fn a(b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {} struct XManager; }";
        production(text, &[]);
        violations(
            "crates/a/tests/b.rs",
            Role::Test,
            "//! A.\nstruct XManager;",
            &[],
        );
        violations(
            "crates/a/tests/b.rs",
            Role::Test,
            "fn a() {}",
            &[
                "crates/a/tests/b.rs: the first line does not say with `//!` what the file is [head]",
            ],
        );
    }

    #[test]
    fn wire_shapes_may_be_written_out() {
        violations(
            "crates/wire/src/a.rs",
            Role::Production,
            "//! A.\n#[derive(Serialize)]\nstruct S;",
            &[],
        );
    }

    #[test]
    fn lengths_leave_out_tests_and_documentation_of_functions() {
        let text = "//! A.\n\n/// Documented.\n/// At length.\nfn a() {\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        let mut lengths = Lengths::default();
        let file = File {
            path: "crates/a/src/a.rs".to_owned(),
            text: text.to_owned(),
            role: Role::Production,
        };
        check(&file, &mut lengths).unwrap();
        assert_eq!(
            lengths.to_string(),
            "1 files of 8 lines (median; 95th percentile 8), 1 functions (95th percentile 3 lines)"
        );
    }

    #[test]
    fn modules_for_tests() {
        let text = "#[cfg(test)]\nmod a;\n#[cfg(all(test, unix))]\nmod b;\nmod c;\n#[cfg(test)]\nmod d {}\n#[cfg(not(test))]\nmod e;";
        assert_eq!(test_modules(text), ["a", "b"]);
        assert!(test_modules("not rust {").is_empty());
    }
}
