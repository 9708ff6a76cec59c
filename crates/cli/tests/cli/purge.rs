//! `ebbtide purge`: previews, and deletions with --yes.

use std::path::{Path, PathBuf};

use history::conformance::sample;
use history::{Engine as _, Limits, Tenant};
use history_sqlite::Sqlite;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::{Ran, ebbtide, program, run};

const TENANTS: [Tenant; 2] = [
    Tenant::from_bytes([0xaa; 16]),
    Tenant::from_bytes([0xbb; 16]),
];

/// A store in which each of two tenants has an old conversation and one that was seen in the far future.
fn store() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("store.db");
    let store = Sqlite::open(&place, Limits::NONE).expect("a store");
    for tenant in TENANTS {
        for (n, seen, texts) in [
            (1, "2020-01-01T00:00:00Z", ["shared", "old"]),
            (2, "2200-01-01T00:00:00Z", ["shared", "young"]),
        ] {
            let said = sample::line(&texts);
            let seen: Timestamp = seen.parse().expect("a moment");
            store
                .write(tenant, &mut |store| {
                    store.record(&said)?;
                    store.add_mark(sample::mark(sample::head(&said), "summary"))?;
                    store.save(&sample::conversation(n, sample::head(&said), seen))
                })
                .expect("it is kept");
        }
    }
    (folder, place)
}

fn purge(place: &Path, arguments: &[&str]) -> Ran {
    let place = place.display().to_string();
    ebbtide(&[&["purge", "--store", place.as_str()], arguments].concat())
}

/// The output of a purge, without the bytes, which depend on SQLite's pages.
#[track_caller]
fn check(place: &Path, arguments: &[&str], expected: &str) {
    let ran = purge(place, arguments);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let said = ran.stdout.split(';').next().unwrap_or_default();
    assert_eq!(said, expected, "{arguments:?}");
    let told = ran.stderr.contains("Nothing was deleted. Add --yes");
    assert_eq!(told, expected.starts_with("would"), "{}", ran.stderr);
}

#[test]
fn a_preview_deletes_nothing_and_yes_deletes() {
    let (_folder, place) = store();
    let of_one = ["--tenant", &TENANTS[0].to_string()];
    for _ in 0..2 {
        check(
            &place,
            &["--older-than", "30d"],
            "would delete 2 conversations, 2 turns and 2 summaries",
        );
    }
    check(
        &place,
        &[&of_one[..], &["--older-than", "1w", "--yes"]].concat(),
        "deleted 1 conversation, 1 turn and 1 summary",
    );
    check(
        &place,
        &["--older-than", "30d", "--yes"],
        "deleted 1 conversation, 1 turn and 1 summary",
    );
    let second = sample::conversation_id(2).to_string();
    check(
        &place,
        &[&of_one[..], &["--conversation", &second, "--yes"]].concat(),
        "deleted 1 conversation, 2 turns and 1 summary",
    );
    check(
        &place,
        &of_one,
        "would delete 0 conversations, 0 turns and 0 summaries",
    );
    check(
        &place,
        &["--all", "--yes"],
        "deleted 1 conversation, 2 turns and 1 summary",
    );
    let store = Sqlite::open(&place, Limits::NONE).expect("a store");
    assert_eq!(store.tenants(), Ok(Vec::new()));
}

#[test]
fn a_conversation_that_is_not_there_is_no_reason_to_remove_anything() {
    let (_folder, place) = store();
    let absent = sample::conversation_id(7).to_string();
    for more in [&["--yes"][..], &[]] {
        let ran = purge(&place, &[&["--conversation", &absent], more].concat());
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
        let said = format!("error[E0015]: no conversation {absent} in ");
        assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    }
    check(
        &place,
        &["--all"],
        "would delete 4 conversations, 6 turns and 4 summaries",
    );
}

#[test]
fn what_is_to_go_has_to_be_said() {
    let (folder, place) = store();
    let check = |arguments: &[&str], exit: i32, said: &str| {
        let ran = purge(&place, arguments);
        assert_eq!((ran.exit, ran.stdout.as_str()), (exit, ""), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    };
    check(&["--yes"], 2, "required arguments were not provided");
    check(&["--all", "--older-than", "1d"], 2, "cannot be used with");
    check(
        &["--older-than", "soon"],
        2,
        "expected an age such as 12h, 30d or 8w",
    );
    check(
        &["--conversation", "12"],
        2,
        "expected 32 hexadecimal digits",
    );
    check(
        &["--tenant", "sk-ant-key"],
        2,
        "expected 32 hexadecimal digits",
    );

    let absent = folder.path().join("absent/store.db");
    let ran = purge(&absent, &["--all", "--yes"]);
    assert_eq!(ran.exit, 1, "{}", ran.stderr);
    assert!(
        ran.stderr
            .starts_with("error[E0027]: there is no store at "),
        "{}",
        ran.stderr
    );
    assert!(!folder.path().join("absent").exists(), "nothing is made");
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a store").expect("a file");
    let ran = purge(&text, &["--all", "--yes"]);
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error[E0512]"), "{}", ran.stderr);
}

#[test]
fn the_file_of_the_working_folder_does_not_choose_the_store() {
    let (folder, place) = store();
    let text = format!("store = \"{}\"\n", place.display());
    std::fs::write(folder.path().join("ebbtide.toml"), text).expect("a file");
    let purge = |variables: &[(&str, &str)]| {
        let mut purge = program(&["purge", "--all", "--yes"]);
        purge
            .current_dir(folder.path())
            // The default store is absent.
            .env("HOME", folder.path())
            .envs(variables.iter().copied());
        run(purge, b"")
    };
    let ran = purge(&[]);
    assert_ne!(ran.exit, 0, "{}", ran.stdout);
    let told = "warning: ./ebbtide.toml is ignored";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
    let there = Sqlite::open(&place, Limits::NONE).expect("a store");
    assert_eq!(there.tenants().map(|tenants| tenants.len()), Ok(2));
    drop(there);
    let ran = purge(&[("EBBTIDE_CONFIG", "./ebbtide.toml")]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let told = format!("Store: {}\n", place.display());
    assert_eq!(ran.stderr, told);
}
