//! Agents and tools.

use super::{check_all, drawn};

/// Checks the settings of an agent.
#[track_caller]
fn agents(cases: &[(&str, &[&str])]) {
    let texts: Vec<(String, &[&str])> = cases
        .iter()
        .map(|(text, codes)| {
            let provider = match text.contains("provider") {
                true => "",
                false => "provider: \"sim\", ",
            };
            let text = format!("let a : !string -> !string = agent {{ {provider}{text} }}");
            (text, *codes)
        })
        .collect();
    let cases: Vec<(&str, &[&str])> = texts
        .iter()
        .map(|(text, codes)| (&**text, *codes))
        .collect();
    check_all(&cases);
}

#[test]
fn settings() {
    agents(&[
        ("", &[]),
        ("provider: \"anthropic\", model: \"m\", prompt: \"p\"", &[]),
        (
            "prompts: [\"a.md\", \"b.md\"], endpoint: \"http://localhost\"",
            &[],
        ),
        (
            "max_tokens: 100, max_retries: 0, max_messages: 1, max_tool_calls: 0",
            &[],
        ),
        (
            "thinking_budget: 1024, temperature: 0.7, runtime_context: true, amnesiac: false",
            &[],
        ),
        ("temperature: 0", &[]),
        ("temperature: 3", &["P0702"]),
        ("temperature: -1", &["P0702"]),
        ("max_tokens: 0", &["P0702"]),
        ("max_tokens: 1.5", &["P0702"]),
        ("model: 3", &["P0702"]),
        ("prompts: \"a.md\"", &["P0702"]),
        ("amnesiac: \"yes\"", &["P0702"]),
        ("provider: \"acme\"", &["P0703"]),
        ("modle: \"m\"", &["P0701"]),
        ("model: \"m\", model: \"n\"", &["P0706"]),
        ("mcp: \"server\"", &[]),
        ("mcp: [{ command: \"server\", args: [\"-v\"] }]", &[]),
        ("mcp: [{ args: [\"-v\"] }]", &["P0702"]),
        ("tools: [a]", &["P0709"]),
        ("tools: [nothing]", &["P0201"]),
        ("tools: \"a\"", &["P0702"]),
        ("tools: [Mem.compressor]", &[]),
        ("tools: [Mem.prepared]", &["P0707"]),
    ]);
}

#[test]
fn ports_of_agents() {
    check_all(&[
        (
            "let a : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent { provider: \"sim\" }",
            &[],
        ),
        (
            "let a : (!string, !CtrlCmd) -> (!string, !json) = agent { provider: \"sim\" }",
            &[],
        ),
        (
            "let a : (!string, !Pause) -> (!string, !CtrlResp) = agent { provider: \"sim\" }",
            &[],
        ),
        (
            "let a : (!string, !int) -> !string = agent { provider: \"sim\" }",
            &["P0704"],
        ),
        (
            "let a : !string -> (!string, !int) = agent { provider: \"sim\" }",
            &["P0704"],
        ),
        (
            "let a : !string -> (!string, !CtrlResp, !int) = agent { provider: \"sim\" }",
            &[],
        ),
        (
            "let a : () -> !string = agent { provider: \"sim\" }",
            &["P0704"],
        ),
        (
            "let a : !string -> !unit = agent { provider: \"sim\" }",
            &["P0705"],
        ),
        (
            "let a : !string -> !int = agent { provider: \"eliza\" }",
            &["P0705"],
        ),
        (
            "let a : string -> !string = agent { provider: \"sim\" }",
            &["P0304"],
        ),
    ]);
}

#[test]
fn tools() {
    check_all(&[
        (
            "let search : string -> [string] = tool { process: searcher }
             let searcher : !string -> ![string] = map([value])
             let main : !string -> ![string] = search",
            &[],
        ),
        ("let t : int -> int = tool { }", &["P0708"]),
        ("let t : int -> int = tool { mcp: \"server\" }", &[]),
        (
            "let t : !int -> !int = tool { mcp: \"server\" }",
            &["P0304", "P0304"],
        ),
        ("let t : (int, int) -> int = tool { mcp: \"server\" }", &[]),
        ("let t : int -> int = tool { process: missing }", &["P0201"]),
    ]);
}

#[test]
fn agents_name_a_provider() {
    check_all(&[
        ("let a : !string -> !string = agent { }", &["P0708"]),
        (
            "let a : !string -> !string = agent { model: \"m\" }",
            &["P0708"],
        ),
        (
            "let a : !string -> !string = agent { provder: \"sim\" }",
            &["P0701"],
        ),
        // The host chooses who makes summaries.
        (
            "use mem let c : !MemoryDump -> !SetMemory = Mem.compressor",
            &[],
        ),
    ]);
}

#[test]
fn tools_have_the_types_of_their_processes() {
    check_all(&[
        (
            "let p : !int -> !int = id  let t : string -> int = tool { process: p }",
            &["P0301"],
        ),
        (
            "let p : !int -> !int = id  let t : int -> string = tool { process: p }",
            &["P0301"],
        ),
        (
            "let p : !int -> !int = id  let t : string -> string = tool { process: p }",
            &["P0301", "P0301"],
        ),
        (
            "let p : !number -> !int = map(1)  let t : int -> number = tool { process: p }",
            &[],
        ),
        // `json` is checked when it runs.
        (
            "let p : !int -> !json = map(value)  let t : json -> int = tool { process: p }",
            &[],
        ),
        (
            "let p : !{ a: int } -> !int = map(a)  let t : { a?: int } -> int = tool { process: p }",
            &["P0301"],
        ),
        (
            "let a : !int -> !string = agent { provider: \"sim\" }
             let t : int -> int = tool { process: a }",
            &["P0301"],
        ),
        (
            "let s : string -> int = tool { mcp: \"server\" }
             let t : int -> int = tool { process: s }",
            &["P0301"],
        ),
    ]);
}

#[test]
fn tools_do_not_call_themselves() {
    check_all(&[
        ("let t : int -> int = tool { process: t }", &["P0709"]),
        (
            "let t : int -> int = tool { process: p }  let p : !int -> !int = t",
            &["P0709"],
        ),
        (
            "let t : int -> int = tool { process: p }
             let p : !int -> !int = plumb(i, o) { i ; q ; o }
             let q : !int -> !int = plumb(i, o) { i ; filter(value > 0) ; t ; o }",
            &["P0709"],
        ),
        (
            "let t : int -> int = tool { process: u }  let u : int -> int = tool { process: t }",
            &["P0709"],
        ),
        (
            "let t : string -> string = tool { process: a }
             let a : !string -> !string = agent { provider: \"sim\", tools: [t] }",
            &["P0709"],
        ),
        (
            "let t : int -> int = tool { process: p }  let p : !int -> !int = id
             let u : int -> int = tool { process: p }  let main : !int -> !int = t ; u ; t",
            &[],
        ),
    ]);
}

#[test]
fn ports_that_the_signature_leaves_out_exist() {
    let text = "
let a : !string -> !string = agent { provider: \"sim\" }
let b : !string -> (!string, !json) = agent { provider: \"sim\" }
let main : !string -> (!string, !json) = plumb(input, output, seen) {
  input ; a ; b ; output
  input ; discard
  a@telemetry ; filter(kind = \"usage\") ; map({ pause: true }) ; b@ctrl_in
  b@telemetry ; seen
}";
    insta::assert_snapshot!(drawn(text));
}
