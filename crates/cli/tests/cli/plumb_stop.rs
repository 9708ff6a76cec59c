//! `ebbtide plumb run` on Ctrl-C and SIGTERM.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::program;

/// Ctrl-C, and what a service manager sends.
const SIGNALS: [&str; 2] = ["-INT", "-TERM"];

/// A program that runs until it is stopped.
struct Running {
    _folder: TempDir,
    child: Child,
    stdin: ChildStdin,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(text: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("main.plumb"), text).expect("a file");
        let mut command = program(&[&["plumb", "run", "main.plumb"], arguments].concat());
        let child = command.current_dir(folder.path()).spawn();
        let mut child = child.expect("the program starts");
        let stdin = child.stdin.take().expect("a pipe");
        Self {
            _folder: folder,
            child,
            stdin,
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("it reads");
    }

    fn stdout(&mut self) -> Lines<BufReader<ChildStdout>> {
        BufReader::new(self.child.stdout.take().expect("a pipe")).lines()
    }

    fn stderr(&mut self) -> Lines<BufReader<ChildStderr>> {
        BufReader::new(self.child.stderr.take().expect("a pipe")).lines()
    }

    /// Sends a signal and returns the exit code, which comes within a second.
    #[expect(
        clippy::disallowed_methods,
        reason = "the time that it takes is what is tested"
    )]
    #[track_caller]
    fn interrupted(&mut self, signal: &str) -> Option<i32> {
        let mut kill = Command::new("kill");
        let told = kill.args([signal, &self.child.id().to_string()]);
        assert!(told.status().expect("kill").success());
        let begun = Instant::now();
        loop {
            let took = begun.elapsed();
            if let Some(status) = self.child.try_wait().expect("a child") {
                assert!(took < Duration::from_secs(1), "{signal}: {took:?}");
                return status.code();
            }
            assert!(took < Duration::from_secs(20), "{signal} does not end it");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The memory that it holds, in KiB, where the system tells.
    fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

#[track_caller]
fn expect(lines: &mut impl Iterator<Item = std::io::Result<String>>, start: &str) {
    let line = lines.next().expect("a line").expect("UTF-8");
    assert!(line.starts_with(start), "{line}");
}

/// Reads to the end, so that the program does not wait for room.
fn drained<R: BufRead + Send + 'static>(lines: Lines<R>) -> std::thread::JoinHandle<usize> {
    let thread = std::thread::Builder::new();
    thread.spawn(move || lines.count()).expect("a thread")
}

#[test]
fn the_input_ends_and_nothing_is_lost() {
    for signal in SIGNALS {
        let text = "let main : !string -> !string = agent { provider: \"eliza\" }";
        let mut running = Running::start(text, &["--log"]);
        let mut said = running.stdout();
        running.say("I need a rest.");
        expect(&mut said, "\"What would change if you had a rest?\"");
        assert_eq!(running.interrupted(signal), Some(0));
        assert!(said.next().is_none());
    }
}

#[test]
fn what_is_under_way_is_abandoned_and_counted() {
    for signal in SIGNALS {
        // It starts, and answers nothing.
        let text = "let main : string -> string = tool { mcp: \"sleep 600\" }";
        let mut running = Running::start(text, &["--log"]);
        let mut log = running.stderr();
        running.say("a");
        expect(&mut log, r#"{"at":"main","asked":"input"}"#);
        assert_eq!(running.interrupted(signal), Some(1));
        expect(&mut log, "Stopped.");
        expect(&mut log, r#"{"error":"abandoned","code":"P0812","#);
    }
}

/// Each answer is the agent's next input, without end.
const CIRCLE: &str = "let bot : !string -> !string = agent { provider: \"eliza\", max_messages: 2 }
let main : !string -> !string = plumb(input, output) {
  let said : !string = channel
  input ; said
  said ; bot ; said
  bot ; output
}";

#[test]
fn a_loop_that_never_waits_is_stopped() {
    for signal in SIGNALS {
        let mut running = Running::start(CIRCLE, &["--log"]);
        let reads = drained(running.stdout());
        let mut log = running.stderr();
        running.say("I need a rest.");
        assert_eq!(log.by_ref().take(40).count(), 40);
        let log = drained(log);
        assert_eq!(running.interrupted(signal), Some(1));
        assert!(reads.join().expect("it reads") > 0);
        assert!(log.join().expect("it reads") > 0);
    }
}

#[test]
fn a_run_whose_output_nobody_reads_is_stopped() {
    for signal in SIGNALS {
        let mut running = Running::start(CIRCLE, &[]);
        running.say("I need a rest.");
        // More than a pipe holds.
        let mut pause = Command::new("sleep");
        assert!(pause.arg("1").status().expect("sleep").success());
        assert_eq!(running.interrupted(signal), Some(1));
    }
}

/// Each acknowledgement is the next command.
const COMMANDS: &str = "use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp) = agent { provider: \"eliza\" }
let main : !string -> !string = plumb(input, output) {
  input ; bot ; output
  input ; map({ resume: true }) ; bot@ctrl_in
  bot@ctrl_out ; map({ resume: true }) ; bot@ctrl_in
}";

/// A compaction that answers every violation of its protocol with `resume`. The acknowledgement of that comes
/// outside of a run, which is a violation.
const RECOVERY: &str = "use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent { provider: \"eliza\" }

protocol Compaction =
  send Pause . recv PauseAck . send GetMemory . recv MemoryDump .
  send SetMemory . recv SetMemoryAck . send Resume . recv ResumeAck . end

let compact : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
  (ctrl_out, ctrl_in) <-> Compaction as session
  telemetry ; filter(kind = \"usage\" && input_tokens > 150000) ; map(null) ; session@trigger
  session@trigger ; map({pause: true}) ; session@send(Pause)
  session@done(PauseAck) ; map({get_memory: true}) ; session@send(GetMemory)
  session@recv(MemoryDump) ; Mem.compressor ; session@send(SetMemory)
  session@done(SetMemoryAck) ; map({resume: true}) ; session@send(Resume)
  session@error ; map({resume: true}) ; ctrl_in
}

let main : !string -> !string = plumb(input, output) {
  let ctrl : !CtrlCmd = channel
  let ctrl_out : !CtrlResp = channel
  let telem : !json = channel
  input ; map({ resume: true }) ; ctrl
  spawn bot(input=input, ctrl_in=ctrl, output=output, ctrl_out=ctrl_out, telemetry=telem)
  spawn compact(ctrl_out=ctrl_out, telemetry=telem, ctrl_in=ctrl)
}";

/// The most by which the memory of a loop may grow while it is watched, in KiB.
const GROWTH: u64 = 32 << 10;

#[test]
fn a_loop_of_commands_is_stopped_and_takes_no_more_memory() {
    for (text, signal) in [COMMANDS, RECOVERY]
        .into_iter()
        .flat_map(|text| SIGNALS.map(|signal| (text, signal)))
    {
        let endless = ["--max-commands", "1000000000000", "--log"];
        let mut running = Running::start(text, &endless);
        let reads = drained(running.stdout());
        let mut log = running.stderr();
        running.say("I need a rest.");
        assert_eq!(log.by_ref().take(2_000).count(), 2_000);
        let before = running.resident();
        let log = drained(log);
        let mut pause = Command::new("sleep");
        assert!(pause.arg("2").status().expect("sleep").success());
        let after = running.resident();
        if let (Some(before), Some(after)) = (before, after) {
            assert!(after < before + GROWTH, "{before} KiB, {after} KiB");
        }
        assert_eq!(running.interrupted(signal), Some(1));
        assert!(log.join().expect("it reads") > 0);
        reads.join().expect("it reads");
    }
}
