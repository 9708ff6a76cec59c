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

/// A line that is wrapped by hand and then by the program leaves a few words on a line of their own.
#[test]
fn no_line_of_help_ends_before_it_is_full() {
    let page = ebbtide(&["docs", "cli"]).stdout;
    let lines: Vec<&str> = page.lines().collect();
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with([' ', '#', '`']);
    for pair in lines
        .windows(2)
        .filter(|it| it.iter().all(|it| is_prose(it)))
    {
        let word = pair[1].split(' ').next().unwrap_or_default();
        let full = pair[0].chars().count() + 1 + word.chars().count();
        assert!(full > 80, "{}\n{}", pair[0], pair[1]);
    }
}

#[test]
fn redo_has_help_of_its_own() {
    let [undo, redo] = ["undo", "redo"].map(|command| ebbtide(&[command, "--help"]).stdout);
    assert!(
        undo.contains("a larger summary replaces the old one"),
        "{undo}"
    );
    assert!(!redo.contains("a larger summary"), "{redo}");
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
