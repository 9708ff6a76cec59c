//! `ebbtide plumb run --state`: memories from one run to the next.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Ran, locate, program, run};

const AGENT: &str = r#"
use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent { provider: "eliza", prompt: "Listen." }
let commands : !json -> !CtrlCmd = filter(defined(ctrl)).ctrl
let messages : !json -> !string = filter(defined(say)).say
let main : !json -> (!string, !CtrlResp) = plumb(input, output, ctrl) {
  input ; commands ; bot@ctrl_in
  input ; messages ; bot ; output
  bot@ctrl_out ; ctrl
}
"#;

const PUT: &str =
    r#"{"ctrl":{"set_memory":{"mark":"2","turns":[],"pinned":[],"summary":"They rest."}}}"#;
const PIN: &str = r#"{"ctrl":{"pin":"Never on Fridays."}}"#;
const GET: &str = r#"{"ctrl":{"get_memory":true}}"#;
const LEFT: &str = r#"{"ctrl":{"memory":{"mark":"4","turns":[{"role":"user","text":"I need a test."},{"role":"assistant","text":"What would change if you had a test?"}],"pinned":["Never on Fridays."],"summary":"They rest."}}}"#;

/// A folder with the program, which runs again and again with one state file.
struct House(TempDir);

impl House {
    fn new() -> Self {
        let house = Self(tempfile::tempdir().expect("a folder"));
        house.declare(AGENT);
        house
    }

    fn declare(&self, text: &str) {
        fs::write(self.0.path().join("main.plumb"), text).expect("a file");
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("bot.state")
    }

    fn command(&self) -> std::process::Command {
        let mut command = program(&[
            "plumb",
            "run",
            "main.plumb",
            "--state",
            "bot.state",
            "--log",
        ]);
        command.current_dir(self.0.path());
        command
    }

    #[track_caller]
    fn run(&self, input: &str) -> Ran {
        let ran = run(self.command(), input.as_bytes());
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        ran
    }

    /// An agent that has heard two messages, the first of which is summed up.
    fn lived_in() -> Self {
        let house = Self::new();
        house.run(&format!("{{\"say\":\"I need a rest.\"}}\n{PUT}\n{PIN}\n"));
        house.run("{\"say\":\"I need a test.\"}\n");
        house
    }

    #[track_caller]
    fn check_refused(&self, code: &str) {
        let before = fs::read(self.state()).expect("the state");
        let ran = run(self.command(), GET.as_bytes());
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        let start = format!("error[{code}]: ");
        assert!(ran.stderr.starts_with(&start), "{}", ran.stderr);
        assert!(ran.stderr.contains("bot.state"), "{}", ran.stderr);
        assert_eq!(fs::read(self.state()).expect("the state"), before);
    }
}

#[test]
fn a_memory_survives_a_restart_with_everything_behind_it() {
    let house = House::lived_in();
    let ran = house.run(GET);
    assert_eq!(ran.stdout.trim_end(), LEFT);
    let state = fs::read_to_string(house.state()).expect("the state");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    let memory = &state["agents"]["bot"]["memory"];
    assert_eq!(memory["turns"].as_array().map(Vec::len), Some(4));
    assert_eq!(memory["turns"][0]["parts"][0]["text"], "I need a rest.");
    // The agent knows how often it was compacted.
    let ran = house.run("{\"say\":\"I need a pause.\"}\n");
    assert!(ran.stderr.contains("\"compactions\":1"), "{}", ran.stderr);
    // Nothing else is left in the folder.
    let mut names: Vec<String> = fs::read_dir(house.0.path())
        .expect("the folder")
        .map(|file| {
            file.expect("a file")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    assert_eq!(names, ["bot.state", "main.plumb"]);
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_a_state() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::lived_in();
    let mode = fs::metadata(house.state())
        .expect("the state")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_state_of_another_program_is_refused() {
    let house = House::lived_in();
    house.declare(&AGENT.replace("Listen.", "Talk."));
    house.check_refused("E0909");
    house.declare(&AGENT.replace("bot", "clerk"));
    house.check_refused("E0909");
    // What is around the agent may change.
    house.declare(&format!(
        "(* mine *)\n{}",
        AGENT.replace("messages", "words")
    ));
    assert_eq!(house.run(GET).stdout.trim_end(), LEFT);
}

#[test]
fn a_state_that_is_damaged_or_newer_is_refused() {
    let house = House::lived_in();
    let state = fs::read_to_string(house.state()).expect("the state");
    let half: String = state.chars().take(state.len() / 2).collect();
    for (text, code) in [
        (state.replace("I need a rest.", "I need a nest."), "E0907"),
        (half, "E0907"),
        (String::new(), "E0907"),
        ("[]".to_owned(), "E0907"),
        (state.replace("ebbtide.plumb.state", "other"), "E0907"),
        (state.replace("\"version\":1", "\"version\":2"), "E0908"),
    ] {
        fs::write(house.state(), &text).expect("written");
        house.check_refused(code);
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_is_ended_by_a_signal_keeps_what_was_said() {
    use std::io::{BufRead, BufReader, Write};
    let house = House::new();
    for (signal, exit) in [("-TERM", Some(0)), ("-KILL", None)] {
        let mut child = house.command().spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        writeln!(stdin, "{{\"say\":\"I need a rest.\"}}").expect("it reads");
        let answer = said.next().expect("a line").expect("UTF-8");
        assert_eq!(
            answer,
            r#"{"output":"What would change if you had a rest?"}"#
        );
        let id = child.id().to_string();
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args([signal, &id]).status().expect("kill").success());
        assert_eq!(child.wait().expect("it ends").code(), exit);
        drop(stdin);
    }
    let ran = house.run(GET);
    assert_eq!(
        ran.stdout.matches("I need a rest.").count(),
        2,
        "{}",
        ran.stdout
    );
}

#[cfg(unix)]
#[test]
fn an_exchange_is_saved_before_the_next_line_is_worked_on() {
    use std::io::{BufRead, BufReader, Write};
    let house = House::new();
    let slow = r#"
let slow : string -> string = tool { mcp: "sleep 5" }
let waits : !json -> !string = filter(defined(wait)).wait
"#;
    let main = AGENT.replace(
        "  bot@ctrl_out",
        "  input ; waits ; slow ; discard\n  bot@ctrl_out",
    );
    house.declare(&format!("{main}{slow}"));
    let mut child = house.command().spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines = "{\"say\":\"I need a rest.\"}\n{\"wait\":\"a\"}\n";
    stdin.write_all(lines.as_bytes()).expect("it reads");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let asked = |line: std::io::Result<String>| line.is_ok_and(|line| line.contains("\"slow\""));
    assert!(log.any(asked), "the tool was not asked");
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let state = fs::read_to_string(house.state()).expect("the state");
    assert!(state.contains("I need a rest."), "{state}");
}

/// Messages that people sent to agents, short ones.
fn real_messages(corpus: &Path) -> Vec<String> {
    let path = corpus.join("tau-bench/historical_trajectories/gpt-4o-airline.json");
    let text = fs::read_to_string(path).expect("the sessions");
    let sessions: Value = serde_json::from_str(&text).expect("JSON");
    let turns = sessions.as_array().into_iter().flatten();
    let turns = turns
        .filter_map(|session| session["traj"].as_array())
        .flatten();
    let said = turns.filter(|turn| turn["role"] == "user");
    let texts = said.filter_map(|turn| turn["content"].as_str());
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = texts.filter(|text| (20..400).contains(&text.len()));
    short.map(one_line).take(24).collect()
}

#[test]
fn real_messages_are_compacted_in_two_runs_and_the_first_demand_stays() {
    let Some(corpus) = locate::corpus() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("bot.state").display().to_string();
    let demand = "Never book anything before 2027-03-14 without asking Ottoline.";
    let mut messages = vec![demand.to_owned()];
    messages.extend(real_messages(&corpus));
    assert_eq!(messages.len(), 25);
    for run_of in messages.chunks(13) {
        let mut command = program(&["plumb", "run", "compaction.plumb", "--state", &state]);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"));
        let input: Vec<String> = run_of
            .iter()
            .map(|text| Value::from(text.as_str()).to_string())
            .collect();
        let ran = run(command, input.join("\n").as_bytes());
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
    }
    let state: Value =
        serde_json::from_str(&fs::read_to_string(&state).expect("the state")).expect("JSON");
    let memory = &state["agents"]["bot"]["memory"];
    assert_eq!(memory["compactions"], 25);
    let summary = memory["summary"].as_str().expect("a summary");
    assert!(summary.contains(demand), "{summary}");
}
