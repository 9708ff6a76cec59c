//! `ebbtide demo`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{ebbtide, program, run};

/// A folder with enough text for the demo.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in 0..48 {
        let below = folder.path().join(format!("part{}", file / 5));
        fs::create_dir_all(&below).expect("a folder");
        let functions = (0..25).map(|number| {
            format!(
                "/// Adds {number} to what it is given, for the part of it that file {file} owns.\n\
                 pub fn add_{file}_{number}(given: u32) -> u32 {{\n    given + {number}\n}}\n\n"
            )
        });
        fs::write(
            below.join(format!("file{file}.rs")),
            functions.collect::<String>(),
        )
        .expect("a file");
    }
    folder
}

/// A fast clock keeps the test short.
const SHORT: [&str; 2] = ["--speed", "200"];

fn path(folder: &Path) -> String {
    folder.display().to_string()
}

#[test]
fn it_never_waits_and_what_it_keeps_is_replayed_like_any_session() {
    let (folder, kept) = (sources(), sources());
    let (dir, keep) = (path(folder.path()), path(&kept.path().join("kept")));
    let ran = ebbtide(
        &[
            &["demo", "--dir", &dir, "--json", "--keep", &keep],
            &SHORT[..],
        ]
        .concat(),
    );
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["schema"], "ebbtide.demo/1");
    let with = &report["with"];
    assert!(with["boundaries"].as_u64() >= Some(3), "{report:#}");
    assert_eq!(with["refused"], 0);
    assert_eq!(with["prefix"]["changed_bytes"], 0, "{report:#}");
    assert_eq!(with["pins"]["intact"], with["requests"], "{report:#}");
    assert_eq!(with["pins"]["set"], 4);
    let longest = |side: &str| report[side]["waits"]["longest_seconds"].as_f64();
    assert!(longest("with") < Some(5.0), "{report:#}");
    assert!(longest("without") > Some(10.0), "{report:#}");
    assert!(ran.stderr.contains("swapped"), "{}", ran.stderr);

    let session = format!("{keep}/with-session.json");
    let page = path(&kept.path().join("report.html"));
    let ran = ebbtide(&["replay", &session, "--window", "32k", "--html", &page]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("prepared"), "{}", ran.stdout);
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.matches("<figure>").count() >= 2);
}

#[test]
fn it_reads_well_on_a_narrow_terminal() {
    let folder = sources();
    let dir = path(folder.path());
    let mut narrow = program(&[&["demo", "--dir", &dir], &SHORT[..]].concat());
    narrow.env("COLUMNS", "60");
    let ran = run(narrow, b"");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let lines = ran.stdout.lines().chain(ran.stderr.lines());
    let too_wide = lines.into_iter().find(|line| line.chars().count() > 60);
    assert_eq!(too_wide, None);
    for needed in ["longest extra wait", "simulated", "Try next"] {
        assert!(ran.stdout.contains(needed), "{needed}: {}", ran.stdout);
    }
}
