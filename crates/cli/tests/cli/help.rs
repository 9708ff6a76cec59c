//! Help, version, completions, generated pages.

use crate::ebbtide;

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(ebbtide(&["--help"]).shown());
}

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        "replay",
        "compact",
        "inspect",
        "demo",
        "purge",
        "serve",
        "config",
        "pin",
        "connect",
        "doctor",
        "lost",
        "expand",
        "recall",
        "undo",
        "redo",
        "plumb check",
        "plumb fmt",
        "completions",
    ] {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let ran = ebbtide(&words);
        assert_eq!(ran.exit, 0, "{command}");
        assert!(ran.stdout.contains("Examples:\n  ebbtide "), "{command}");
        let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
        assert!(
            widest <= Some(80),
            "{command}: a line of {widest:?} columns"
        );
    }
}

#[test]
fn nothing_at_all_shows_help_and_is_a_mistake() {
    let ran = ebbtide(&[]);
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Usage: ebbtide <COMMAND>"));
}

#[test]
fn completions_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = ebbtide(&["completions", shell]);
        assert!(ran.exit == 0 && ran.stdout.contains("ebbtide"), "{shell}");
    }
}

#[test]
fn generated_pages_are_committed_as_they_are() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (page, file) in [
        ("cli", "cli.md"),
        ("errors", "errors.md"),
        ("settings", "settings.md"),
        ("plumb-codes", "plumb/codes.md"),
        ("plumb-commands", "plumb/commands.md"),
    ] {
        let committed = std::fs::read_to_string(docs.join(file)).expect("a page");
        let printed = ebbtide(&["docs", page]).stdout;
        assert!(committed == printed, "docs/{file}: run `cargo xtask docs`");
    }
}
