//! `ebbtide plumb`: checking, formatting, testing, and exit codes.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Ran, program, run};

const SOUND: &str = "let main : !int -> !int = map(value + 1)\n";
const BROKEN: &str = "let main : !int -> !int = map(value +)\nprotocol P = send int\n";
const LOOSE: &str = "let main:!int->!int=map( value+1 ) (* one more *)";

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn plumb(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut command = program(&[&["plumb"], arguments].concat());
    command.current_dir(folder);
    run(command, input.as_bytes())
}

fn text(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).expect("a file")
}

#[test]
fn several_programs_are_checked_and_each_mistake_is_shown() {
    let folder = folder(&[("sound.plumb", SOUND), ("broken.plumb", BROKEN)]);
    let ran = plumb(folder.path(), &["check", "sound.plumb", "broken.plumb"], "");
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn a_program_that_can_run_exits_with_0() {
    let folder = folder(&[]);
    let ran = plumb(folder.path(), &["check", "-"], SOUND);
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.stderr, "standard input: no errors\n");
}

#[test]
fn editors_get_json_on_standard_output() {
    let folder = folder(&[("broken.plumb", BROKEN)]);
    let ran = plumb(folder.path(), &["check", "--json", "broken.plumb"], "");
    assert_eq!((ran.exit, ran.stderr.as_str()), (2, ""));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["schema"], "ebbtide.plumb.check/1");
    let file = &report["files"][0];
    assert_eq!(
        (&file["file"], &file["sound"]),
        (&"broken.plumb".into(), &false.into())
    );
    let first = &file["diagnostics"][0];
    assert_eq!(first["code"], "P0101");
    assert_eq!(first["range"]["start"]["character"], 37);
}

#[test]
fn modules_are_found_beside_the_program_and_on_the_path() {
    let main = "use near\nuse far\nlet main : !int -> !int = Near.one ; Far.one\n";
    let folder = folder(&[
        ("main.plumb", main),
        ("near.plumb", "let one : !int -> !int = id\n"),
    ]);
    let elsewhere = folder_with_far();
    let far = PathBuf::from(elsewhere.path());
    let ran = plumb(folder.path(), &["check", "main.plumb"], "");
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.contains("far"), "{}", ran.stderr);
    let far = far.to_str().expect("a path");
    let ran = plumb(folder.path(), &["check", "main.plumb", "--path", far], "");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
}

fn folder_with_far() -> TempDir {
    folder(&[("far.plumb", "let one : !int -> !int = id\n")])
}

#[test]
fn what_a_strategy_may_use_where_it_runs_it_may_use_where_it_is_written() {
    let pinning = include_str!("../../../../strategies/pinning.plumb");
    let page = format!("```plumb\n{pinning}```\n");
    let folder = folder(&[("mine.plumb", pinning), ("mine.md", &page)]);
    for arguments in [
        ["check", "mine.plumb"],
        ["graph", "mine.plumb"],
        ["desugar", "mine.plumb"],
        ["test", "mine.md"],
    ] {
        let ran = plumb(folder.path(), &arguments, "");
        assert_eq!(ran.exit, 0, "{arguments:?}: {}", ran.stderr);
    }
    // A file of that name comes first.
    let own = "let main : !int -> !int = id\n";
    fs::write(folder.path().join("prepared.plumb"), own).expect("a file");
    let ran = plumb(folder.path(), &["check", "mine.plumb"], "");
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
}

#[test]
fn programs_are_formatted_in_place_and_broken_ones_left_alone() {
    let folder = folder(&[("loose.plumb", LOOSE), ("broken.plumb", BROKEN)]);
    let files = ["fmt", "loose.plumb", "broken.plumb"];
    let ran = plumb(folder.path(), &files, "");
    assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("P0101"), "{}", ran.stderr);
    let formatted = "let main : !int -> !int = map(value + 1) (* one more *)\n";
    assert_eq!(text(&folder, "loose.plumb"), formatted);
    assert_eq!(text(&folder, "broken.plumb"), BROKEN);
    let again = plumb(folder.path(), &["fmt", "loose.plumb"], "");
    assert_eq!(
        (again.exit, text(&folder, "loose.plumb").as_str()),
        (0, formatted)
    );
}

#[test]
fn with_check_nothing_is_written() {
    let folder = folder(&[("loose.plumb", LOOSE), ("sound.plumb", SOUND)]);
    let ran = plumb(
        folder.path(),
        &["fmt", "--check", "loose.plumb", "sound.plumb"],
        "",
    );
    assert_eq!((ran.exit, ran.stdout.as_str()), (1, "loose.plumb\n"));
    assert_eq!(text(&folder, "loose.plumb"), LOOSE);
    let ran = plumb(folder.path(), &["fmt", "--check", "sound.plumb"], "");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""));
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    let folder = folder(&[]);
    for (input, output) in [
        (SOUND, SOUND),
        ("use mem type T=int", "use mem\ntype T = int\n"),
    ] {
        let ran = plumb(folder.path(), &["fmt", "-"], input);
        assert_eq!((ran.exit, ran.stdout.as_str()), (0, output));
    }
}

/// The folder with the programs to read and run.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn programs_are_drawn() {
    let dot = plumb(&examples(), &["graph", "debate.plumb"], "");
    assert_eq!((dot.exit, dot.stderr.as_str()), (0, ""));
    assert!(
        dot.stdout.starts_with("digraph \"main\" {"),
        "{}",
        dot.stdout
    );
    let svg = plumb(&examples(), &["graph", "debate.plumb", "--svg"], "");
    assert!(svg.stdout.starts_with("<svg "), "{}", svg.stdout);
    let folder = folder(&[("sound.plumb", SOUND)]);
    let arguments = ["graph", "sound.plumb", "-o", "sound.svg"];
    let ran = plumb(folder.path(), &arguments, "");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""));
    let written = text(&folder, "sound.svg");
    assert!(written.contains("value + 1"), "{written}");
}

#[test]
fn a_process_is_named() {
    let folder = folder(&[("sound.plumb", SOUND)]);
    let of = |process| {
        plumb(
            folder.path(),
            &["graph", "sound.plumb", "--process", process],
            "",
        )
    };
    let mem = of("Mem.prepared");
    assert_eq!((mem.exit, mem.stderr.as_str()), (0, ""));
    assert!(mem.stdout.contains("Mem.compressor"), "{}", mem.stdout);
    let none = of("mian");
    assert_eq!((none.exit, none.stdout.as_str()), (2, ""));
    assert_eq!(
        none.stderr,
        "error[E0014]: sound.plumb has no process `mian`\nhint: It has main. Choose one with --process.\n"
    );
}

#[test]
fn programs_without_their_sessions_check_and_say_so_again() {
    let ran = plumb(&examples(), &["desugar", "compaction.plumb"], "");
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    assert!(!ran.stdout.contains("<->"), "{}", ran.stdout);
    let again = plumb(&examples(), &["desugar", "-"], &ran.stdout);
    assert_eq!((again.exit, again.stdout), (0, ran.stdout));
    let broken = plumb(&examples(), &["desugar", "-"], BROKEN);
    assert_eq!((broken.exit, broken.stdout.as_str()), (2, ""));
    assert!(broken.stderr.contains("P0114"), "{}", broken.stderr);
}

const PAGE: &str = "# Adding\n\n```plumb\nlet main : !int -> !int = map(value + 1)\n```\n\n```run\n> 1\n< 3\n```\n";

#[test]
fn pages_are_tested_and_brought_up_to_date() {
    let folder = folder(&[("page.md", PAGE), ("other.txt", "")]);
    let ran = plumb(folder.path(), &["test", "."], "");
    assert_eq!((ran.exit, ran.stdout.as_str()), (1, ""));
    let told = "./page.md, line 7, `run`:\n  - < 3\n  + < 2\n\
                ./page.md: 1 program, 1 expectation: 1 failed\n";
    assert_eq!(ran.stderr, told);
    let ran = plumb(folder.path(), &["test", "--update", "page.md"], "");
    assert_eq!((ran.exit, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.stderr, "page.md: 1 program, 1 expectation: updated\n");
    assert_eq!(text(&folder, "page.md"), PAGE.replace("< 3", "< 2"));
    let ran = plumb(folder.path(), &["test", "page.md"], "");
    assert_eq!(ran.stderr, "page.md: 1 program, 1 expectation: passed\n");
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = folder(&[]);
    let ran = plumb(folder.path(), &["check", "gone.plumb"], "");
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.contains("error[E0001]"), "{}", ran.stderr);
    fs::write(folder.path().join("latin.plumb"), b"(* \xe9 *)").expect("a file");
    let ran = plumb(folder.path(), &["check", "latin.plumb"], "");
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.contains("UTF-8"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("permissions"), "{}", ran.stderr);
    let ran = plumb(folder.path(), &["check", "."], "");
    assert_eq!(ran.exit, 2);
    let told = "error[E0004]: . is a folder\nhint: Pass the files in it, such as ./*.plumb.\n";
    assert_eq!(ran.stderr, told);
}

#[test]
fn one_file_that_cannot_be_read_does_not_hide_the_others() {
    let folder = folder(&[("good.plumb", "let main : !int -> !int = id")]);
    let ran = plumb(folder.path(), &["check", "gone.plumb", "good.plumb"], "");
    assert_eq!(ran.exit, 1);
    let told = "good.plumb: no errors\n";
    assert!(
        ran.stderr.starts_with("error[E0001]") && ran.stderr.ends_with(told),
        "{}",
        ran.stderr
    );
    let arguments = ["check", "--json", "gone.plumb", "good.plumb"];
    let ran = plumb(folder.path(), &arguments, "");
    assert_eq!(ran.exit, 1);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["files"][0]["error"]["code"], "E0001");
    assert_eq!(report["files"][1]["sound"], true);
}

#[test]
fn a_place_in_a_module_names_its_file() {
    let folder = folder(&[
        ("a.plumb", "use b\nlet main : !int -> !int = B.x"),
        ("lib/b.plumb", "let x : !int -> !int = map(y)"),
    ]);
    let ran = plumb(folder.path(), &["check", "a.plumb", "--path", "lib"], "");
    assert!(ran.stderr.contains("--> lib/b.plumb:1:"), "{}", ran.stderr);
    let ran = plumb(
        folder.path(),
        &["check", "a.plumb", "--path", "lib", "--json"],
        "",
    );
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        report["files"][0]["diagnostics"][0]["source"],
        "lib/b.plumb"
    );
}

#[test]
fn a_page_that_cannot_be_tested_is_not_called_right() {
    let folder = folder(&[
        ("open.md", "```plumb\nlet main : !int -> !int = id\n"),
        ("prose.md", "Words.\n"),
        (
            "nope.md",
            "```plumb\nlet main : !int -> !int = id\n```\n\n```run nope\n> 1\n```\n",
        ),
    ]);
    let ran = plumb(folder.path(), &["test", "open.md"], "");
    assert_eq!(ran.exit, 1);
    assert!(
        ran.stderr.contains("(the fence is not closed)"),
        "{}",
        ran.stderr
    );
    let ran = plumb(folder.path(), &["test", "prose.md"], "");
    let told = "prose.md: 0 programs, 0 expectations: nothing to test\n";
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, told));
    let before = text(&folder, "nope.md");
    let ran = plumb(folder.path(), &["test", "--update", "nope.md"], "");
    assert_eq!((ran.exit, text(&folder, "nope.md")), (1, before));
    assert!(ran.stderr.contains("no process `nope`"), "{}", ran.stderr);
}

#[test]
fn of_very_many_mistakes_the_first_are_shown() {
    let mistakes: String = (0..10_000)
        .map(|number| format!("let p{number} : !int -> !int = map(a{number})\n"))
        .collect();
    let folder = folder(&[("many.plumb", &mistakes)]);
    let ran = plumb(folder.path(), &["check", "many.plumb"], "");
    assert_eq!(ran.exit, 2);
    assert_eq!(ran.stderr.matches("error[P0401]").count(), 100);
    let end =
        "9900 errors more; `ebbtide plumb check --json` lists all\nmany.plumb: 10000 errors\n";
    assert!(
        ran.stderr.replace(',', "").ends_with(end),
        "{}",
        ran.stderr.len()
    );
    let json = plumb(folder.path(), &["check", "--json", "many.plumb"], "");
    assert_eq!(json.stdout.matches("\"P0401\"").count(), 10_000);
}

#[test]
fn a_session_that_stops_and_a_violation_set_the_exit_code() {
    let text = "protocol Ask = send int . recv string . end
let main : (!int, !string) -> (!int, !string) = plumb(go, heard, said, text) {
  (heard, said) <-> Ask as s
  go ; s@trigger
  go ; s@send(int)
  s@recv(string) ; text
}
";
    let folder = folder(&[("ask.plumb", text)]);
    let ran = |input: &str| plumb(folder.path(), &["run", "ask.plumb"], input);
    let whole = ran("{\"go\": 1}\n{\"heard\": \"one\"}\n");
    assert_eq!((whole.exit, whole.stderr.as_str()), (0, ""));
    let stopped = ran("{\"go\": 1}\n");
    assert_eq!(stopped.exit, 1);
    assert!(
        stopped.stderr.contains("session_unfinished"),
        "{}",
        stopped.stderr
    );
    let violated = ran("{\"heard\": \"early\"}\n");
    assert_eq!(violated.exit, 1);
    assert!(
        violated.stderr.contains("session_violation"),
        "{}",
        violated.stderr
    );
}

/// A limit on the size of files stands for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_program_is_whole_where_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.plumb");
    let text = "let  main : !int -> !int = id\n".to_owned() + &"(* A long remark. *)\n".repeat(900);
    std::fs::write(&file, &text).unwrap();
    let script = format!(
        "ulimit -f 2; trap '' XFSZ; exec '{}' plumb fmt large.plumb",
        env!("CARGO_BIN_EXE_ebbtide")
    );
    let mut shell = std::process::Command::new("sh");
    let ran = shell
        .args(["-c", &script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("E0008"),
        "{ran:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
