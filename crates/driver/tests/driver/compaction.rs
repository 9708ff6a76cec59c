//! A homunculus compacts the memory of an agent: the two listings of the language's first description, as
//! they were printed there but for the threshold.

use driver::{Control, Report};
use plumb::value::Value;

use crate::{Shown, block_on_sockets, driver, folder, lines, run_main};

const BOT: &str = r#"
use mem

let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent {
  provider: "sim",
  prompt: "You are a patient colleague.",
  runtime_context: true
}

let compressor : !MemoryDump -> !SetMemory = Mem.compressor
"#;

const PROTOCOL: &str = r"
protocol Compaction =
send Pause . recv PauseAck .
send GetMemory . recv MemoryDump .
send SetMemory . recv SetMemoryAck .
send Resume . recv ResumeAck . end
";

const COMPACT: &str = r#"
let compact : (!CtrlResp, !json) -> !CtrlCmd =
plumb(ctrl_out, telemetry, ctrl_in) {
(ctrl_out, ctrl_in) <-> Compaction as session
telemetry ; filter(kind = "usage" && input_tokens > 150000) ;
map(null) ; session@trigger
session@trigger ; map({pause: true}) ; session@send(Pause)
session@done(PauseAck) ; map({get_memory: true}) ; session@send(GetMemory)
session@recv(MemoryDump) ; compressor ; session@send(SetMemory)
session@done(SetMemoryAck) ; map({resume: true}) ; session@send(Resume)
}
"#;

const MAIN: &str = r"
let main : !string -> !string = plumb(input, output) {
let ctrl : !CtrlCmd = channel
let ctrl_out : !CtrlResp = channel
let telem : !json = channel
spawn bot(input=input, ctrl_in=ctrl,
output=output, ctrl_out=ctrl_out,
telemetry=telem)
spawn compact(ctrl_out=ctrl_out,
telemetry=telem, ctrl_in=ctrl)
}
";

fn program(protocol: &str, compact: &str) -> String {
    [BOT, protocol, compact, MAIN].concat()
}

#[track_caller]
fn check(program: &str, messages: &[&str], expected: &[&str]) {
    let folder = folder(&[]);
    let driver = driver(program, folder.path());
    let messages = messages.iter().map(|text| Value::from(*text)).collect();
    let reports = block_on_sockets(run_main(&driver, messages));
    assert_eq!(lines(&reports, Shown::All), expected);
}

#[test]
fn one_message_at_threshold_0_leads_to_a_compaction_and_the_agent_knows_of_it() {
    let at_0 = COMPACT.replace("> 150000", "> 0");
    let compaction = [
        "bot <",
        "bot >",
        "bot tells usage",
        "bot tells pulse",
        "ANSWER",
        "bot < pause",
        "bot > paused",
        "bot < get_memory",
        "bot > memory",
        "compact.compressor.Mem.compressor <",
        "compact.compressor.Mem.compressor >",
        "bot < set_memory",
        "bot > memory_set",
        "bot tells swap",
        "bot tells pressure",
        "bot < resume",
        "bot > resumed",
    ];
    let answered = |answer| compaction.map(|line| if line == "ANSWER" { answer } else { line });
    let expected = [
        answered("\"You said: What did we decide about the schema?\""),
        answered(
            "\"Yes. According to the runtime context there has been 1 compaction in this session.\"",
        ),
    ];
    check(
        &program(PROTOCOL, &at_0),
        &[
            "What did we decide about the schema?",
            "Have you experienced compaction?",
        ],
        &expected.concat(),
    );
}

#[test]
fn below_the_threshold_nothing_is_compacted_and_the_agent_knows_that_too() {
    let no =
        "\"No. According to the runtime context there has been no compaction in this session.\"";
    check(
        &program(PROTOCOL, COMPACT),
        &["Have you experienced compaction?"],
        &["bot <", "bot >", "bot tells usage", "bot tells pulse", no],
    );
}

#[test]
fn a_protocol_that_ends_in_a_send_works_as_well() {
    let protocol = PROTOCOL.replace("send Resume . recv ResumeAck . end", "send Resume . end");
    let at_0 = COMPACT.replace("> 150000", "> 0");
    let folder = folder(&[]);
    let driver = driver(&program(&protocol, &at_0), folder.path());
    let messages = ["a", "Have you experienced compaction?"].map(Value::from);
    let reports = block_on_sockets(run_main(&driver, messages.to_vec()));
    let shown = lines(&reports, Shown::All);
    assert_eq!(
        shown.iter().filter(|line| *line == "bot > resumed").count(),
        2
    );
    let yes =
        "\"Yes. According to the runtime context there has been 1 compaction in this session.\"";
    assert!(shown.iter().any(|line| line == yes), "{shown:?}");
}

#[test]
fn the_simulated_provider_sums_up_too() {
    let own = BOT.replace("Mem.compressor", "agent { provider: \"sim\" }");
    let at_0 = COMPACT.replace("> 150000", "> 0");
    let program = [&own, PROTOCOL, &at_0, MAIN].concat();
    let folder = folder(&[]);
    let driver = driver(&program, folder.path());
    let messages = ["hello", "Have you experienced compaction?"].map(Value::from);
    let reports = block_on_sockets(run_main(&driver, messages.to_vec()));
    let yes = "Yes. According to the runtime context there has been 1 compaction in this session.";
    let expected = ["You said: hello", yes].map(|text| Value::from(text).to_string());
    assert_eq!(lines(&reports, Shown::Results), expected);
}

#[test]
fn an_agent_that_sums_up_is_asked_again_until_it_gives_a_memory() {
    let own = BOT.replace(
        "Mem.compressor",
        "agent { provider: \"script\", model: \"sums.jsonl\" }",
    );
    // A text, a memory without its pins, a memory. The mark is one that was never given.
    let sums = r#"
"They spoke of the schema."
{"set_memory": {"mark": "end", "turns": [], "summary": "They spoke of the schema."}}
{"set_memory": {"mark": "end", "turns": [], "pinned": [], "summary": "They spoke of the schema."}}
"#;
    let at_0 = COMPACT.replace("> 150000", "> 0");
    let program = [&own, PROTOCOL, &at_0, MAIN].concat();
    let folder = folder(&[("sums.jsonl", sums.trim_start())]);
    let driver = driver(&program, folder.path());
    let reports = block_on_sockets(run_main(&driver, vec![Value::from("a")]));
    let shown = lines(&reports, Shown::All);
    let of_it = |line: &&String| line.starts_with("compact.compressor") || line.contains("memory");
    let steps: Vec<&String> = shown.iter().filter(of_it).collect();
    let expected = [
        "bot < get_memory",
        "bot > memory",
        "compact.compressor <",
        "compact.compressor again",
        "compact.compressor again",
        "compact.compressor >",
        "bot < set_memory",
        "bot > memory_set",
    ];
    // What it tells of itself goes nowhere.
    let told = |line: &&&String| !line.contains(" tells ");
    assert_eq!(
        steps
            .into_iter()
            .filter(|line| told(&line))
            .collect::<Vec<_>>(),
        expected
    );
    assert_eq!(shown.last().map(String::as_str), Some("bot > resumed"));
}

/// An agent whose dumps are handed to another one, by this.
fn handed_on(by: &str) -> String {
    let agents = r#"
use mem
let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent { provider: "eliza" }
let reader : !MemoryDump -> !string = agent { provider: "eliza" }
let commands : !json -> !CtrlCmd = filter(defined(ctrl)).ctrl
let messages : !json -> !string = filter(defined(say)).say
"#;
    let main = format!(
        "let main : !json -> !string = plumb(input, output) {{
           input ; commands ; bot@ctrl_in
           input ; messages ; bot ; discard
           bot@ctrl_out ; filter(defined(memory)) ; {by} reader ; output
         }}"
    );
    [agents, &main].concat()
}

/// The input tokens that the reader was asked with, time after time.
#[track_caller]
fn read_tokens(by: &str) -> Vec<i64> {
    let folder = folder(&[]);
    let driver = driver(&handed_on(by), folder.path());
    let said = format!(r#"{{"say":"{}"}}"#, "I need a long rest. ".repeat(200));
    let put = r#"{"ctrl":{"set_memory":{"mark":"2","turns":[],"pinned":[],"summary":"s"}}}"#;
    let get = r#"{"ctrl":{"get_memory":true}}"#;
    let messages = [&said, put, get, get].map(|text| Value::parse(text).unwrap());
    let reports = block_on_sockets(run_main(&driver, messages.to_vec()));
    let tokens = |report: &Report| match report {
        Report::Control {
            at,
            control: Control::Telemetry(record),
        } if **at == *"reader" => match record.get("input_tokens") {
            Some(Value::Int(tokens)) => Some(*tokens),
            _ => None,
        },
        _ => None,
    };
    reports.iter().filter_map(tokens).collect()
}

#[test]
fn an_agent_that_is_handed_a_dump_sees_the_turns_behind_the_summary() {
    let [first, second] = read_tokens("")[..] else {
        panic!("it was not asked twice");
    };
    assert!(first > 1_000, "{first}");
    // What it remembers of the first time is the message as it came.
    assert!(second - first < 200, "{first} {second}");
    let changed = "map({ memory: { mark: memory.mark, turns: memory.turns, pinned: memory.pinned, summary: \"t\" } }) ;";
    let tokens = read_tokens(changed);
    assert!(tokens.iter().all(|tokens| *tokens < 400), "{tokens:?}");
}
