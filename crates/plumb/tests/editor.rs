//! The grammar for editors knows the words of the language.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::fs;
use std::path::{Path, PathBuf};

use plumb::syntax::ast::Function;
use plumb::syntax::token::{Keyword, Symbol};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode")
}

fn read(path: &str) -> Value {
    let text = fs::read_to_string(folder().join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Every regular expression below a rule, compiled.
fn expressions(rule: &Value, found: &mut Vec<Regex>) {
    match rule {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("match" | "begin" | "end", Value::String(text)) => {
                        // Words are of ASCII letters, and so are the classes of the expressions.
                        found.push(RegexBuilder::new(text).unicode(false).build().unwrap());
                    }
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

fn of(rule: &Value) -> Vec<Regex> {
    let mut found = Vec::new();
    expressions(rule, &mut found);
    found
}

/// Returns true if one of these takes the whole word.
fn takes(expressions: &[Regex], word: &str) -> bool {
    let whole = |one: &Regex| {
        let found = one.find(word.as_bytes());
        found.is_some_and(|found| found.as_bytes() == word.as_bytes())
    };
    expressions.iter().any(whole)
}

#[test]
fn every_expression_compiles_and_every_word_is_taken() {
    let grammar = read("syntaxes/plumb.tmLanguage.json");
    assert!(of(&grammar).len() > 15);
    let words = of(&grammar["repository"]["word"]);
    let keywords = Keyword::ALL.iter().map(|keyword| keyword.text());
    let functions = Function::ALL.iter().map(|function| function.text());
    let others = [
        "if", "then", "else", "not", "is", "once", "keep", "dual", "within", "string", "int",
        "number", "bool", "unit", "json", "value",
    ];
    for word in keywords.chain(functions).chain(others) {
        assert!(takes(&words, word), "{word}");
    }
    let mut signs = of(&grammar["repository"]["operator"]);
    signs.extend(of(&grammar["repository"]["access"]));
    for symbol in Symbol::ALL {
        let text = symbol.text();
        // Delimiters and separators are left as they are, and two signs are of other languages.
        let plain = symbol.closer().is_some() || symbol.closes() || ":,.@".contains(text);
        let foreign = matches!(symbol, Symbol::DoubleEqual | Symbol::FatArrow);
        assert!(plain || foreign || takes(&signs, text), "{text}");
    }
}

#[test]
fn what_the_extension_names_is_there() {
    let package = read("package.json");
    let language = &package["contributes"]["languages"][0];
    read(language["configuration"].as_str().unwrap());
    let main = folder().join(package["main"].as_str().unwrap());
    let main = fs::read_to_string(main).unwrap();
    assert!(main.contains("[\"plumb\", \"lsp\"]"), "{main}");
    for grammar in package["contributes"]["grammars"].as_array().unwrap() {
        let there = read(grammar["path"].as_str().unwrap());
        assert_eq!(there["scopeName"], grammar["scopeName"]);
        assert!(!of(&there).is_empty());
    }
}
