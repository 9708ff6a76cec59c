//! `ebbtide serve`, `config` and `pin`. The server is stopped by a signal, so on Unix only.

use std::path::Path;
use std::process::{Command, Stdio};

use history::{Engine as _, Limits};
use history_sqlite::Sqlite;

use crate::listening::Listening;
use crate::{ebbtide, program, run};

const BODY: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"a peculiar sentence"}]}"#;

fn holds(folder: &Path, text: &str) -> bool {
    let mut files = std::fs::read_dir(folder).expect("a folder").flatten();
    files.any(|file| {
        let bytes = std::fs::read(file.path()).expect("a file");
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    })
}

#[test]
fn a_request_goes_through_and_is_kept_without_its_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("history.db");
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let gateway = Listening::start(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--anthropic-url",
        &sim.url(),
        "--store",
        store.to_str().expect("UTF-8"),
        "--log",
        "json",
    ]);
    let url = gateway.url();
    let answer = gateway.ask("POST /v1/messages", BODY);
    assert!(answer.contains("You said: a peculiar sentence"), "{answer}");
    let name = "x-ebbtide-conversation: ";
    let conversation = answer.lines().find_map(|line| line.strip_prefix(name));
    assert_eq!(conversation.map(str::len), Some(32), "{answer}");
    let conversation = conversation.unwrap_or_default();
    let pin = |arguments: &[&str]| ebbtide(&[&["pin"], arguments, &["--url", &url]].concat());
    let set = pin(&["add", conversation, "never touch the table users"]);
    assert_eq!(set.exit, 0, "{}", set.stderr);
    assert_eq!(pin(&["list", conversation]).stdout, set.stdout);
    let id = set.stdout.split(' ').next().unwrap_or_default();
    assert_eq!(pin(&["remove", conversation, id]).stdout, "removed\n");
    let again = pin(&["remove", conversation, id]);
    assert_eq!((again.exit, again.stdout.as_str()), (1, ""));
    assert!(again.stderr.contains("E0424"), "{}", again.stderr);
    assert!(again.stderr.contains(id), "{}", again.stderr);
    assert_eq!(pin(&["list", conversation]).stdout, "");
    assert!(pin(&["list", &"0".repeat(32)]).stderr.contains("E0820"));
    let turn = pin(&["add", conversation, "--turn", "1"]);
    assert_eq!(turn.exit, 0, "{}", turn.stderr);
    assert_eq!(pin(&["list", conversation]).stdout, turn.stdout);
    for (wanted, code) in [(["--turn", "99"], "E0426"), (["--path", "a.rs"], "E0427")] {
        let refused = pin(&[&["add", conversation], &wanted[..]].concat());
        assert!(refused.stderr.contains(code), "{}", refused.stderr);
    }
    let health = gateway.ask("GET /ebbtide/health", "");
    assert!(health.contains(r#""store":"ok""#), "{health}");
    let (said, exit) = gateway.end();
    assert_eq!(exit, Some(0), "{said}");
    for expected in [
        &format!("ANTHROPIC_BASE_URL={url} "),
        &format!("OPENAI_BASE_URL={url}/v1 "),
        &format!("openai_base_url = \"{url}/v1\""),
        &format!("{url}/ebbtide/"),
        r#""endpoint":"messages""#,
        r#""status":200"#,
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    for secret in ["sk-secret", "peculiar"] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    assert!(holds(folder.path(), "peculiar"), "the history is kept");
    assert!(!holds(folder.path(), "sk-secret"), "the key is not");
    sim.end();
}

#[test]
fn after_the_end_the_store_is_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("history.db");
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let (url, place) = (sim.url(), store.display().to_string());
    let gateway = serve(&["--anthropic-url", &url, "--store", &place]);
    let answer = gateway.ask("POST /v1/messages", BODY);
    assert!(answer.contains("You said: a peculiar sentence"), "{answer}");
    let (said, exit) = gateway.end();
    assert_eq!(exit, Some(0), "{said}");
    let log = std::fs::metadata(folder.path().join("history.db-wal"));
    assert_eq!(log.map_or(0, |log| log.len()), 0, "{said}");
    let alone = tempfile::tempdir().expect("a folder");
    let copy = alone.path().join("copy.db");
    std::fs::copy(&store, &copy).expect("a file");
    let copied = Sqlite::open(&copy, Limits::NONE).expect("a store");
    let tenants = copied.tenants().expect("it reads");
    assert_eq!(tenants.len(), 1);
    let read = copied.read(tenants[0], &mut |store| {
        let kept = store.conversations(jiff::Timestamp::MAX, 10)?;
        assert_eq!(kept.len(), 1);
        assert_eq!(store.stored()?.turns, 2);
        Ok(())
    });
    read.expect("it reads");
    sim.end();
}

/// A store whose first page is damaged does not keep requests from passing.
#[test]
fn a_damaged_store_is_told_of_and_requests_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("history.db");
    drop(Sqlite::open(&store, Limits::NONE).expect("a store"));
    let mut bytes = std::fs::read(&store).expect("a file");
    bytes[..16].fill(0xaa);
    bytes[100..1_024].fill(0xaa);
    std::fs::write(&store, &bytes).expect("it is written");
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let (url, place) = (sim.url(), store.display().to_string());
    let gateway = serve(&["--anthropic-url", &url, "--store", &place]);
    let answer = gateway.ask("POST /v1/messages", BODY);
    assert!(answer.contains("You said: a peculiar sentence"), "{answer}");
    let health = gateway.ask("GET /ebbtide/health", "");
    let doctor = ebbtide(&["doctor", "--url", &gateway.url()]).stdout;
    let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(doctor.contains("E0036: it keeps"), "{doctor}");
    assert!(!doctor.contains("E0030"), "{doctor}");
    let (said, exit) = gateway.end();
    assert_eq!(exit, Some(0), "{said}");
    for told in [&health, &said, &doctor] {
        assert!(told.contains("E0516"), "{told}");
        assert!(told.contains("ebbtide store repair"), "{told}");
    }
    assert!(health.contains(r#""status":"degraded""#), "{health}");
    assert!(said.contains("kept in memory and lost on exit"), "{said}");
    assert!(said.contains("  store      in memory"), "{said}");
    let after = std::fs::read(&store).expect("a file");
    assert!(after == bytes, "the file is as it was");
    sim.end();
}

/// A gateway whose store is on a disk of this size in kB, in a mount of its own. `None` where the system has none
/// for ordinary users.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn on_a_small_disk(folder: &Path, kilobytes: u32, arguments: &[&str]) -> Option<Listening> {
    let place = folder.display();
    let mount = format!("mount -t tmpfs -o size={kilobytes}k tmpfs '{place}'");
    let own = ["--user", "--map-root-user", "--mount", "sh", "-c"];
    let tried = Command::new("unshare").args(own).arg(&mount).status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("skipped: this system gives no mount of one's own");
        return None;
    }
    let fill = format!("cat '{place}.part' > '{place}/other'; exec \"$@\"");
    let store = format!("{place}/history.db");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--store", &store];
    let program = program(&[&serve, arguments].concat());
    let mut command = Command::new("unshare");
    command
        .args(own)
        .arg(format!("{mount} && {fill}"))
        .arg("sh");
    command.arg(program.get_program()).args(program.get_args());
    let environment = program.get_envs();
    command.env_clear();
    command.envs(environment.filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(Listening::of(command))
}

#[test]
fn a_full_disk_is_told_of_and_requests_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let (url, place) = (sim.url(), folder.path().join("disk"));
    std::fs::create_dir(&place).expect("a folder");
    // What stands on the disk before: all of it, and little.
    for (size, is_full) in [(100_000, true), (1_000, false)] {
        let part = folder.path().join("disk.part");
        std::fs::write(part, vec![0; size]).expect("it is written");
        let Some(gateway) = on_a_small_disk(&place, 96, &["--anthropic-url", &url]) else {
            return;
        };
        let health = gateway.ask("GET /ebbtide/health", "");
        let state = if is_full { "degraded" } else { "ok" };
        assert!(
            health.contains(&format!(r#""status":"{state}""#)),
            "{health}"
        );
        assert_eq!(health.contains("E0514"), is_full, "{health}");
        // Nothing that compresses, until the disk is full.
        for n in 0..8 {
            let said: String = (0..900)
                .map(|word| format!("{:x} ", (word + n * 900) * 40_503_u64))
                .collect();
            let body = BODY.replace("a peculiar sentence", &format!("sentence {n} {said}"));
            let answer = gateway.ask("POST /v1/messages", &body);
            assert!(
                answer.contains(&format!("You said: sentence {n}")),
                "{answer}"
            );
        }
        let health = gateway.ask("GET /ebbtide/health", "");
        assert!(health.contains(r#""status":"degraded""#), "{health}");
        let (said, exit) = gateway.end();
        assert_eq!(exit, Some(0), "{said}");
        let told = match is_full {
            true => "kept in memory and lost on exit",
            false => "the store fails; new turns are not stored",
        };
        assert!(said.contains(told), "{said}");
    }
    sim.end();
}

/// A file that is not a store of this version was named by mistake.
#[test]
fn another_file_is_refused_and_a_folder_without_a_store_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("notes.txt");
    std::fs::write(&other, "notes ".repeat(100)).expect("it is written");
    let ran = ebbtide(&["serve", "--store", &other.display().to_string()]);
    assert_eq!(ran.exit, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("E0512"), "{}", ran.stderr);
    // Not even root can make a folder there.
    let gateway = serve(&["--store", "/proc/ebbtide/history.db"]);
    let health = gateway.ask("GET /ebbtide/health", "");
    assert!(health.contains("E0511"), "{health}");
    let (said, exit) = gateway.end();
    assert_eq!(exit, Some(0), "{said}");
    assert!(said.contains("kept in memory and lost on exit"), "{said}");
}

/// A gateway with these arguments.
fn serve(arguments: &[&str]) -> Listening {
    Listening::start(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat())
}

#[test]
fn the_configuration_in_effect() {
    let mut command = program(&["config", "--window", "64k"]);
    command.env("EBBTIDE_MODE", "observe");
    let ran = run(command, b"");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    for line in [
        "listen = \"127.0.0.1:4000\"  # default\n",
        "store = \"/proc/nonexistent/.local/share/ebbtide/history.db\"  # default\n",
        "mode = \"observe\"  # EBBTIDE_MODE\n",
        "window = 64000  # --window\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let json = ebbtide(&["config", "--json"]).stdout;
    assert!(json.contains("\"upstream.openai\""), "{json}");
}

#[test]
fn a_mistake_in_the_file_is_shown_where_it_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ebbtide.toml");
    std::fs::write(&file, "[policy]\nwindwo = 1\n").expect("a file");
    let path = file.to_str().expect("UTF-8");
    for command in ["serve", "config"] {
        let ran = ebbtide(&[command, "--config", path]);
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""));
        let place = format!("  --> {path}:2:1\nhint: did you mean `policy.window`?\n");
        assert!(ran.stderr.contains("error[E0813]"), "{}", ran.stderr);
        assert!(ran.stderr.ends_with(&place), "{}", ran.stderr);
    }
}

#[test]
fn what_is_refused() {
    for (arguments, exit, code) in [
        (
            &["serve", "--listen", "0.0.0.0:0", "--store", "memory"][..],
            2,
            "E0816",
        ),
        (&["serve", "--config", "gone.toml"], 1, "E0001"),
        (
            &["serve", "--strategy", "lru", "--store", "memory"],
            2,
            "E0814",
        ),
        (
            &["pin", "list", "x", "--url", "http://127.0.0.1:9"],
            1,
            "E0827",
        ),
        (&["pin", "list", "x", "--url", "ftp://h"], 1, "E0811"),
    ] {
        let ran = ebbtide(arguments);
        assert_eq!(ran.exit, exit, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(code), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_second_gateway_on_a_store_is_warned() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("history.db");
    let store = store.to_str().expect("UTF-8");
    let start = || Listening::start(&["serve", "--listen", "127.0.0.1:0", "--store", store]);
    let (first, second) = (start(), start());
    let warning = "warning: another gateway is running on";
    let (said, _) = second.end();
    assert!(said.contains(warning), "{said}");
    let (said, _) = first.end();
    assert!(!said.contains(warning), "{said}");
    let (said, _) = start().end();
    assert!(!said.contains(warning), "{said}");
}
