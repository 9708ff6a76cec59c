//! `ebbtide store`: a check, a repair and a copy of a store that a person can rely on.

use std::fs;
use std::path::{Path, PathBuf};

use history::conformance::sample;
use history::{Engine as _, Limits, Tenant};
use history_sqlite::Sqlite;
use tempfile::TempDir;

use crate::{Ran, ebbtide};

const TENANT: Tenant = Tenant::from_bytes([0xaa; 16]);
const WORDS: &str = "words that stand in one place of the file";

/// A store with one conversation.
fn kept() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("store.db");
    let store = Sqlite::open(&place, Limits::NONE).expect("a store");
    let said = sample::line(&["a question", WORDS, "an answer", "a last word"]);
    let head = sample::head(&said);
    store
        .write(TENANT, &mut |store| {
            store.record(&said)?;
            store.add_mark(sample::mark(head, "summary"))?;
            store.save(&sample::full_conversation(1, head, sample::moment(1)))
        })
        .expect("it is kept");
    store.settle().expect("one file");
    (folder, place)
}

fn store(action: &str, place: &Path, to: &[&str]) -> Ran {
    let place = place.display().to_string();
    ebbtide(&[&["store", action, "--store", place.as_str()], to].concat())
}

/// Changes one letter of the words in the file.
fn damage(place: &Path) {
    let mut bytes = fs::read(place).expect("a file");
    let mut places = bytes.windows(WORDS.len());
    let at = places.position(|it| it == WORDS.as_bytes());
    bytes[at.expect("the words")] ^= 1;
    fs::write(place, bytes).expect("it is written");
}

#[test]
fn a_sound_store_is_checked_and_copied() {
    let (folder, place) = kept();
    let ran = store("check", &place, &[]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("4 turns"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("No damage found.\n"), "{}", ran.stdout);

    let copy = folder.path().join("copy.db").display().to_string();
    assert_eq!(store("backup", &place, &[&copy]).exit, 0);
    assert_eq!(store("check", Path::new(&copy), &[]).stdout, ran.stdout);
    let again = store("backup", &place, &[&copy]);
    assert_eq!(again.exit, 1);
    let told = format!(
        "error[E0028]: {copy} exists already\nhint: Choose another name for the new file. Nothing was changed.\n"
    );
    assert_eq!(again.stderr, told);
    let nowhere = folder.path().join("absent/copy.db").display().to_string();
    let ran = store("backup", &place, &[&nowhere]);
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.contains("error[E0008]"), "{}", ran.stderr);
    assert!(!folder.path().join("absent").exists(), "no folder is made");
}

#[test]
fn a_damaged_store_is_told_of_and_repaired() {
    let (_folder, place) = kept();
    damage(&place);
    let ran = store("check", &place, &[]);
    assert_eq!(ran.exit, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("damaged: 1 turn\n"), "{}", ran.stdout);
    let foretold = "Turns that have lost their text: 1. Each reads as a gap";
    for words in [foretold, "ebbtide store repair"] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }

    let ran = store("repair", &place, &[]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(foretold), "{}", ran.stderr);
    for words in ["kept 3 turns", "1 summary", "left out 1 turn", "left a gap"] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
    let ran = store("check", &place, &[]);
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    let gaps = "gaps of earlier repairs: 1 turn";
    assert!(ran.stdout.contains(gaps), "{}", ran.stdout);
    let left = fs::read_dir(place.parent().expect("a folder")).expect("a folder");
    assert!(left.count() >= 2, "the damaged file is still there");
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("none.db");
    for action in ["check", "repair"] {
        let ran = store(action, &place, &[]);
        assert_eq!(ran.exit, 1, "{action}");
        let told = format!("error[E0027]: there is no store at {}\n", place.display());
        assert!(ran.stderr.starts_with(&told), "{action}: {}", ran.stderr);
        assert!(!place.exists(), "{action}");
    }
}

#[test]
fn an_empty_file_is_no_store_and_stays_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("empty.db");
    fs::write(&place, "").expect("a file");
    for action in ["check", "repair"] {
        let ran = store(action, &place, &[]);
        assert_eq!(ran.exit, 2, "{action}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[E0512]"), "{}", ran.stderr);
        assert_eq!(fs::read(&place).expect("a file"), b"", "{action}");
    }
}
