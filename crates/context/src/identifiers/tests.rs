//! Tests of the words that count as identifiers.

use proptest::prelude::*;

use super::{Kind, mentions, scan, unescaped};

#[track_caller]
fn check(text: &str, expected: &[(&str, Kind)]) {
    let found: Vec<_> = scan(text).map(|found| (found.text, found.kind)).collect();
    assert_eq!(found, expected, "in {text:?}");
}

#[test]
fn paths_and_file_names() {
    use Kind::{Name, Number, Path};
    check("open src/main.rs:12.", &[("src/main.rs", Path)]);
    check("src/main.rs:128", &[("src/main.rs", Path), ("128", Number)]);
    check("(./a/b.txt)", &[("./a/b.txt", Path)]);
    check(
        "~/.claude/settings.json",
        &[("~/.claude/settings.json", Path)],
    );
    check("in internal/store/.", &[("internal/store", Path)]);
    check("/etc/hosts, /tmp", &[("/etc/hosts", Path), ("/tmp", Path)]);
    check("@scope/pkg", &[("@scope/pkg", Path)]);
    check("main.go and go.mod", &[("main.go", Path), ("go.mod", Path)]);
    check("a .gitignore", &[(".gitignore", Path)]);
    check("and/or 1/2 n/a I/O", &[]);
    check("//fooBar", &[("fooBar", Name)]);
    check("e.g. fmt.Println x.map(y)", &[]);
    check("/\u{d7}:", &[("/\u{d7}", Path)]);
    assert!(mentions("/\u{d7}:", "/\u{d7}"));
    check("store.NewThing()", &[("NewThing", Name)]);
}

#[test]
fn a_line_number_of_grep_is_no_part_of_a_file_name() {
    use Kind::{Name, Path};
    check("src/lib.rs-12-", &[("src/lib.rs", Path)]);
    check(
        "src/lib.rs-12-    fn doIt() {",
        &[("src/lib.rs", Path), ("doIt", Name)],
    );
    check(
        "a-b/lib.rs-7-mayFail();",
        &[("a-b/lib.rs", Path), ("mayFail", Name)],
    );
    check(
        "logs/old/app.log-20240131",
        &[("logs/old/app.log-20240131", Path)],
    );
    check("a/b-2.rs c/v1.2-3", &[("a/b-2.rs", Path)]);
}

#[test]
fn urls_and_addresses() {
    use Kind::{Email, Url};
    check(
        "see (https://a.example/x?y=1#z), ok",
        &[("https://a.example/x?y=1#z", Url)],
    );
    check("ssh://", &[]);
    check("mail me@example.org.", &[("me@example.org", Email)]);
    check("user @someone", &[]);
}

#[test]
fn flags() {
    use Kind::{Flag, Name, Path};
    check("cargo --no-run -p x", &[("--no-run", Flag), ("-p", Flag)]);
    check("`--out=a/b.rs`", &[("--out", Flag), ("a/b.rs", Path)]);
    check("-removed_line", &[("removed_line", Name)]);
    check("a -- b --- c", &[]);
}

#[test]
fn names_ids_and_numbers() {
    use Kind::{Hex, Name, Number};
    check("snake_case __init__ _x x_", &[("snake_case", Name)]);
    check(
        "MAX_SIZE camelCase PascalCase",
        &[
            ("MAX_SIZE", Name),
            ("camelCase", Name),
            ("PascalCase", Name),
        ],
    );
    check("HTTPServer APIs The", &[("HTTPServer", Name)]);
    check("2f298ea deadbee defaced", &[("2f298ea", Hex)]);
    check("42 128 3000ms", &[("128", Number)]);
    check(
        "1284c080-f9cd-45f8-9942-ff58f5c517e5",
        &[("1284c080-f9cd-45f8-9942-ff58f5c517e5", Hex)],
    );
    check("1.250 port=8080", &[("250", Number), ("8080", Number)]);
}

#[test]
fn other_scripts() {
    use Kind::{Name, Path};
    check("größe_max", &[("größe_max", Name)]);
    check("在foo_bar中", &[("foo_bar", Name)]);
    check("→src/ä.rs…", &[("src/ä.rs", Path)]);
}

#[test]
fn escapes_of_json_do_not_glue_to_names() {
    assert_eq!(
        unescaped(r#"{"a":"\nfoo_bar\u0026\t\"x\\"}"#),
        "{\"a\":\"\nfoo_bar&\t\"x\\\"}"
    );
    assert_eq!(unescaped(r"\u12"), "12");
    assert_eq!(unescaped("plain"), "plain");
}

#[test]
fn whole_means_not_inside_a_longer_word() {
    assert!(mentions("src/foo.go:12", "foo.go"));
    assert!(!mentions("foo_bar", "foo"));
    assert!(mentions("foo_bar foo", "foo"));
    assert!(!mentions("anything", ""));
}

proptest! {
    #[test]
    fn spans_are_valid_ordered_and_whole(text in "(\\PC|[a-zA-Z0-9_./@~:\\-\\\\ ]){0,200}") {
        let mut end = 0;
        for found in scan(&text) {
            prop_assert!(found.start >= end);
            prop_assert_eq!(text.get(found.start..found.end()), Some(found.text));
            prop_assert!(!found.text.is_empty());
            prop_assert!(mentions(&text, found.text));
            end = found.end();
        }
        let _ = unescaped(&text);
    }

    #[test]
    fn an_identifier_between_blanks_is_found_again(text in "[a-zA-Z0-9_./@:\\- ]{0,80}") {
        for found in scan(&text) {
            let alone = format!(" {} ", found.text);
            let again: Vec<_> = scan(&alone).map(|other| other.text).collect();
            prop_assert_eq!(again, vec![found.text]);
        }
    }
}

#[test]
fn a_flag_ends_where_no_letter_of_any_script_goes_on() {
    for text in ["'-aೠ", "--größe", "/\u{d7}:"] {
        for found in scan(text) {
            assert!(mentions(text, found.text), "{:?} in {text:?}", found.text);
        }
    }
    assert_eq!(
        scan("use -a.").map(|found| found.text).collect::<Vec<_>>(),
        ["-a"]
    );
}

#[test]
fn members_are_two_words_and_a_dot_that_name_no_file() {
    let found = |text: &'static str| -> Vec<&str> {
        super::members(text).map(|found| found.text).collect()
    };
    assert_eq!(
        found("filepath.Join(a.b, entry.Type) ends."),
        ["filepath.Join", "a.b", "entry.Type"]
    );
    assert_eq!(found("see main.go, x.rs and Cargo.toml"), [""; 0], "files");
    assert_eq!(found("a.b.c v1.2.3 ./x.y https://a.io/b.c"), [""; 0]);
    assert_eq!(found("done. Next.js? 3.5 .5 x. .y é.z"), [""; 0]);
}
