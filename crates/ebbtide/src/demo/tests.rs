//! The made session is long enough, always the same, and read like any other.

use std::fs;

use context::turn::Outcome;

use super::make;
use crate::failure::Failure;

/// A folder with `files` files of some definitions each.
fn folder(files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in 0..files {
        let below = folder.path().join(format!("part{}", file / 4));
        fs::create_dir_all(&below).expect("a folder");
        let text: String = (0..40)
            .map(|line| format!("/// Adds {line} to what is given.\nfn add_{file}_{line}(x: u32) -> u32 {{\n    x + {line}\n}}\n\n"))
            .collect();
        fs::write(below.join(format!("file{file}.rs")), text).expect("a file");
    }
    folder
}

#[test]
fn the_session_is_read_like_a_recorded_one() {
    let folder = folder(40);
    let made = make(folder.path()).expect("enough text");
    let document = wire::session::load(
        &made.log,
        "demo",
        &*tokens::counter_for(super::transcript::MODEL),
    )
    .expect("a log");
    let session = document.sessions.first().expect("one session");
    assert_eq!(session.problems, []);
    let tokens: u64 = session.turns.iter().map(|turn| turn.tokens().get()).sum();
    assert!(tokens >= 110_000, "{tokens} tokens");
    let failed = |turn: &context::Turn| turn.results().any(|r| r.outcome == Outcome::Failed);
    assert!(session.turns.iter().any(|turn| turn.calls().count() > 1));
    assert!(
        !session.turns.iter().any(failed),
        "every definition there has a comment"
    );
    assert_eq!(made.log, make(folder.path()).expect("again").log);
}

#[test]
fn a_small_folder_is_refused_with_what_was_found() {
    let folder = folder(1);
    let failure = make(folder.path()).err().expect("too little");
    assert!(
        matches!(failure, Failure::TooLittleText { found_files: 1, .. }),
        "{failure}"
    );
}

#[test]
fn binary_and_generated_files_are_left_out() {
    let folder = folder(1);
    fs::write(folder.path().join("image.png"), [0x89, 0x50, 0xff, 0]).expect("a file");
    fs::write(folder.path().join("Cargo.lock"), "[[package]]").expect("a file");
    fs::create_dir(folder.path().join("target")).expect("a folder");
    fs::write(folder.path().join("target/out.rs"), "fn out() {}").expect("a file");
    let tree = super::Tree::read(folder.path()).expect("a tree");
    assert_eq!(tree.files.len(), 1);
}
