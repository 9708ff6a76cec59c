//! Tests of files: wrong paths, other contents, damage, several processes.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use context::TurnId;
use context::coded::Coded as _;
use history::conformance::sample;
use history::{Engine, HistoryError, Limits, Purge, Store, Tenant};
use history_sqlite::Sqlite;
use rusqlite::Connection;

const TENANT: Tenant = Tenant::from_bytes([1; 16]);

fn open(place: &Path) -> Sqlite {
    Sqlite::open(place, Limits::NONE).unwrap()
}

/// Returns the error code of opening a store.
fn refusal(place: &Path) -> String {
    let error = Sqlite::open(place, Limits::NONE).unwrap_err();
    assert!(error.hint().is_some(), "{error} says what to do");
    error.code().to_string()
}

/// Stores a conversation of these texts as the n-th.
fn keep(engine: &dyn Engine, n: u8, texts: &[&str]) -> TurnId {
    let said = sample::line(texts);
    let head = sample::head(&said);
    engine
        .write(TENANT, &mut |store| {
            store.record(&said)?;
            store.save(&sample::conversation(n, head, sample::moment(1)))
        })
        .unwrap();
    head
}

fn length(engine: &dyn Engine, head: TurnId) -> Result<usize, HistoryError> {
    let mut length = 0;
    engine.read(TENANT, &mut |store| {
        length = store.path(head)?.len();
        Ok(())
    })?;
    Ok(length)
}

#[test]
fn what_is_kept_is_there_after_a_restart_and_so_is_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("a folder/of its own/store.db");
    let engine = open(&place);
    let secret = engine.secret().unwrap();
    let head = keep(&engine, 1, &["a", "b"]);
    drop(engine);
    let engine = Sqlite::open_existing(&place, Limits::NONE).unwrap();
    assert_eq!(engine.secret().unwrap(), secret);
    assert_eq!(length(&engine, head), Ok(2));
    let other = open(&folder.path().join("another.db"));
    assert_ne!(other.secret().unwrap(), secret, "each store has its own");
}

#[cfg(unix)]
#[test]
fn only_its_user_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("made/store.db");
    let engine = open(&place);
    keep(&engine, 1, &["a"]);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path().join("made")), 0o700);
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(folder.path().join("made").join(file)), 0o600, "{file}");
    }
}

#[test]
fn where_there_can_be_no_file_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let check = |place: PathBuf| assert_eq!(refusal(&place), "E0511", "{}", place.display());
    check(PathBuf::new());
    check(PathBuf::from("/"));
    check(folder.path().to_path_buf());
    check(folder.path().join(".."));
    check(file.join("store.db"));
    let absent = folder.path().join("absent/store.db");
    let error = Sqlite::open_existing(&absent, Limits::NONE).unwrap_err();
    assert_eq!(error.code().as_str(), "E0511");
    assert!(!folder.path().join("absent").exists(), "nothing was made");
}

#[test]
fn what_is_not_a_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(
        &text,
        "not a database, but long enough to be one. ".repeat(100),
    )
    .unwrap();
    let other = folder.path().join("other.db");
    let database = Connection::open(&other).unwrap();
    database.execute_batch("CREATE TABLE mine (n)").unwrap();
    drop(database);
    for place in [text, other] {
        let before = fs::read(&place).unwrap();
        assert_eq!(refusal(&place), "E0512", "{}", place.display());
        assert_eq!(fs::read(&place).unwrap(), before);
    }
}

#[test]
fn damage_is_told_and_never_taken_for_what_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("changed.db");
    let head = keep(&open(&changed), 1, &["send 10 EUR", "done"]);
    let database = Connection::open(&changed).unwrap();
    database
        .execute_batch(
            "UPDATE node SET body = CAST(replace(CAST(body AS TEXT), 'send 10', 'send 99') AS BLOB)",
        )
        .unwrap();
    drop(database);
    let mut read = |store: &dyn Store| {
        let path = store.path(head)?;
        assert!(path[0].is_gap(), "{path:?}");
        assert!(!path[0].readable().contains("send"), "{path:?}");
        assert_eq!(path[1].readable(), "done");
        Ok(())
    };
    open(&changed).read(TENANT, &mut read).unwrap();

    let torn = folder.path().join("torn.db");
    let long = "many words ".repeat(2_000);
    let head = keep(&open(&torn), 1, &[long.as_str(); 20]);
    let mut bytes = fs::read(&torn).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40_000].fill(0xa5);
    fs::write(&torn, &bytes).unwrap();
    let error = length(&open(&torn), head).unwrap_err();
    assert_eq!(error.code().as_str(), "E0516", "{error}");

    let cut = folder.path().join("cut.db");
    fs::write(&cut, &bytes[..5_500]).unwrap();
    assert_eq!(refusal(&cut), "E0516");
}

#[test]
fn several_processes_open_a_new_store_at_once_and_share_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let engines: Vec<Sqlite> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..6).map(|_| scope.spawn(|| open(&place))).collect();
        opening
            .into_iter()
            .map(|engine| engine.join().unwrap())
            .collect()
    });
    let secrets: Vec<_> = engines
        .iter()
        .map(|engine| engine.secret().unwrap())
        .collect();
    assert!(secrets.iter().all(|secret| *secret == secrets[0]));
    let heads: Vec<TurnId> = std::thread::scope(|scope| {
        let writing: Vec<_> = (0_u8..)
            .zip(&engines)
            .map(|(n, engine)| scope.spawn(move || keep(engine, n, &["shared", &n.to_string()])))
            .collect();
        writing
            .into_iter()
            .map(|head| head.join().unwrap())
            .collect()
    });
    for engine in &engines {
        for head in &heads {
            assert_eq!(length(engine, *head), Ok(2));
        }
    }
}

#[test]
fn a_reader_does_not_wait_for_another_process_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let engine = open(&place);
    let head = keep(&engine, 1, &["a"]);
    let other = Connection::open(&place).unwrap();
    other
        .execute_batch("BEGIN EXCLUSIVE; DELETE FROM conversation; DELETE FROM node")
        .unwrap();
    assert_eq!(length(&engine, head), Ok(1));
}

#[test]
fn a_panic_in_the_work_leaves_nothing_and_the_engine_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder.path().join("store.db"));
    let said = sample::line(&["half"]);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _ = engine.write(TENANT, &mut |store| {
            store.record(&said)?;
            panic!("on purpose");
        });
    }));
    assert!(caught.is_err());
    let unknown = HistoryError::UnknownNode(sample::head(&said));
    assert_eq!(length(&engine, sample::head(&said)), Err(unknown));
    assert_eq!(length(&engine, keep(&engine, 1, &["whole"])), Ok(1));
}

#[test]
fn purged_text_is_gone_from_the_files_and_the_room_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let engine = open(&place);
    let said = "PURGED-WORDS ".repeat(20_000);
    let kept = keep(&engine, 1, &["shared", "kept words"]);
    let purged = keep(&engine, 2, &["shared", &said, "PURGED-WORDS at the end"]);
    engine
        .write(TENANT, &mut |store| {
            store.add_mark(sample::mark(purged, "PURGED-WORDS summarised"))?;
            store.add_edition(&sample::appended(purged, "PURGED-WORDS appended"))?;
            store.keep_original(purged, b"PURGED-WORDS original")?;
            store.keep_chunk([1; 16], &"PURGED-WORDS chunk".into())?;
            store.set_pin(
                sample::conversation_id(2),
                &sample::pin("PURGED-WORDS pinned"),
            )?;
            let mut named = sample::conversation(2, purged, sample::moment(1));
            named.labels.session = Some("PURGED-WORDS label".into());
            store.save(&named)
        })
        .unwrap();
    assert_eq!(length(&engine, purged), Ok(3));
    let files = || {
        let wal = folder.path().join("store.db-wal");
        [fs::read(&place).unwrap(), fs::read(wal).unwrap()].concat()
    };
    let named = |bytes: &[u8]| {
        bytes
            .windows(12)
            .filter(|window| window == b"PURGED-WORDS")
            .count()
    };
    let before = files();
    assert!(named(&before) > 10_000);
    let removed = engine
        .purge(Purge {
            tenant: None,
            conversation: Some(sample::conversation_id(2)),
            before: None,
        })
        .unwrap();
    let after = files();
    assert_eq!(named(&after), 0);
    assert_eq!(
        (removed.conversations, removed.turns, removed.marks),
        (1, 2, 1)
    );
    assert_eq!(removed.bytes, (before.len() - after.len()) as u64);
    assert!(after.len() < before.len() / 2);
    assert_eq!(length(&engine, kept), Ok(2));
}

/// Text of this size that no compression makes small.
fn noise(bytes: usize, seed: usize) -> String {
    let mut state = seed as u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + (state >> 40) as u8 % 90)
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Several rows of a transaction free more pages than one step gives back, and one row alone makes a long list.
#[test]
fn a_large_store_is_given_back_while_it_is_purged() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let engine = open(&place);
    let mut texts: Vec<String> = (0..40).map(|n| noise(1 << 20, n)).collect();
    texts.push(noise(40 << 20, 40));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    keep(&engine, 1, &texts);
    engine.settle().unwrap();
    let before = fs::metadata(&place).unwrap().len();
    assert!(before > 40 << 20, "{before}");
    let all = Purge {
        tenant: None,
        conversation: None,
        before: None,
    };
    engine.purge(all).unwrap();
    let after = fs::metadata(&place).unwrap().len();
    assert!(after < 1 << 20, "{after} of {before} bytes remain");
}

#[test]
fn where_the_secret_is_lost_no_repair_is_advised() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    keep(&open(&place), 1, &["hello"]);
    Connection::open(&place)
        .unwrap()
        .execute("DELETE FROM meta WHERE name LIKE 'secret%'", [])
        .unwrap();
    let opened = Sqlite::open(&place, Limits::NONE).map(drop);
    for error in [opened, history_sqlite::repair(&place).map(drop)] {
        let error = error.unwrap_err();
        assert_eq!(error.code().as_str(), "E0516", "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("Restore a copy"), "{hint}");
        assert!(!hint.contains("store repair"), "{hint}");
    }
}

#[test]
fn no_store_is_begun_where_there_must_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    let opened = Sqlite::open_existing(&empty, Limits::NONE).map(drop);
    for error in [opened, history_sqlite::repair(&empty).map(drop)] {
        assert_eq!(error.unwrap_err().code().as_str(), "E0512");
        assert_eq!(fs::read(&empty).unwrap(), b"");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    drop(open(&empty));
    assert!(Sqlite::open_existing(&empty, Limits::NONE).is_ok());
}

#[cfg(unix)]
#[test]
fn a_device_is_not_a_store() {
    for device in ["/dev/null", "/dev/zero"] {
        assert_eq!(refusal(Path::new(device)), "E0512", "{device}");
    }
}
