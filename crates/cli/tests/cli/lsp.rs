//! `ebbtide plumb lsp`, driven by messages of an editor.

mod names;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::{Value, json};

use crate::program;

const PROGRAM: &str = "use shapes
type Verdict = { resolved: bool, topic: string }
let judge : !string -> !Verdict = agent { provider: \"sim\" }
let main : !string -> !string = plumb(input, output) {
  input ; judge
  judge ; filter(resolved).topic ; output
}
let flip : !Point -> !Point = Shapes.flip
";

const SHAPES: &str = "type Point = { x: int, y: int }
let flip : !Point -> !Point = map({ x: y, y: x })
";

/// An editor.
struct Editor {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: i64,
}

impl Editor {
    /// One that has said hello.
    fn start(folder: &Path) -> Self {
        let mut command = program(&["plumb", "lsp"]);
        command.current_dir(folder);
        let mut child = command.spawn().expect("the program starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut editor = Self {
            child,
            to,
            from,
            last: 0,
        };
        let answer = editor.ask(
            "initialize",
            &json!({ "processId": null, "capabilities": {} }),
        );
        assert_eq!(answer["capabilities"]["textDocumentSync"], 1);
        editor.tell("initialized", &json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("a pipe");
        self.to.flush().expect("a pipe");
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The result of a request, or its error.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        match answer.get("result") {
            Some(result) => result.clone(),
            None => answer["error"].clone(),
        }
    }

    /// The next message.
    fn hear(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("a pipe");
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().expect("a number");
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).expect("a message");
        let message: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// Opens a text; what is wrong with it.
    fn open(&mut self, uri: &str, text: &str) -> Value {
        let document = json!({ "uri": uri, "languageId": "plumb", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        self.diagnostics(uri)
    }

    /// Changes a text.
    fn change(&mut self, uri: &str, text: &str) {
        self.tell("textDocument/didChange", &json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": text }] }),
        );
    }

    fn diagnostics(&mut self, uri: &str) -> Value {
        let told = self.hear();
        assert_eq!(told["method"], "textDocument/publishDiagnostics");
        assert_eq!(told["params"]["uri"], uri);
        told["params"]["diagnostics"].clone()
    }

    /// The answer about the place of the nth occurrence of a text, so many characters in.
    fn at(&mut self, method: &str, uri: &str, text: &str, (part, plus): (&str, usize)) -> Value {
        let byte = text.find(part).expect("it is there") + plus;
        let before = text.get(..byte).expect("a character");
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap_or_default().len();
        self.ask(
            method,
            &json!({
                "textDocument": { "uri": uri },
                "position": { "line": line, "character": character },
            }),
        )
    }

    /// Leaves; what the program exits with.
    fn leave(mut self) -> i32 {
        assert_eq!(self.ask("shutdown", &Value::Null), Value::Null);
        self.tell("exit", &Value::Null);
        let status = self.child.wait().expect("the program ends");
        status.code().expect("an exit code")
    }
}

/// A folder with a module, and the URI of a program in it.
fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("shapes.plumb"), SHAPES).expect("a file");
    let uri = format!("file://{}/main%20one.plumb", folder.path().display());
    (folder, uri)
}

#[test]
fn mistakes_are_told_as_they_are_made() {
    let (folder, uri) = folder();
    let mut editor = Editor::start(folder.path());
    assert_eq!(editor.open(&uri, PROGRAM), json!([]));
    editor.change(&uri, &PROGRAM.replace("(resolved)", "(resolvd)"));
    let told = editor.diagnostics(&uri);
    assert_eq!(told[0]["code"], "P0401");
    assert_eq!(told[0]["severity"], 1);
    assert_eq!(
        told[0]["range"],
        json!({ "start": { "line": 5, "character": 17 }, "end": { "line": 5, "character": 24 } })
    );
    let message = told[0]["message"].as_str().expect("a text");
    assert!(message.ends_with("\nDid you mean `resolved`?"), "{message}");
    editor.tell(
        "textDocument/didClose",
        &json!({ "textDocument": { "uri": uri } }),
    );
    assert_eq!(editor.diagnostics(&uri), json!([]));
    assert_eq!(editor.leave(), 0);
}

#[test]
fn a_module_that_is_open_is_the_one_that_is_used() {
    let (folder, uri) = folder();
    let module = format!("file://{}/shapes.plumb", folder.path().display());
    let mut editor = Editor::start(folder.path());
    assert_eq!(editor.open(&uri, PROGRAM), json!([]));
    assert_eq!(editor.open(&module, SHAPES), json!([]));
    assert_eq!(editor.diagnostics(&uri), json!([]));
    editor.change(&module, &SHAPES.replace("let flip", "let turn"));
    assert_eq!(editor.diagnostics(&module), json!([]));
    let told = editor.diagnostics(&uri);
    assert_eq!(told[0]["code"], "P0201");
    assert_eq!(told[0]["range"]["start"]["line"], 7);
    assert_eq!(editor.leave(), 0);
}

#[test]
fn modules_that_are_on_no_disk() {
    let (folder, uri) = folder();
    let mut editor = Editor::start(folder.path());
    // One that is only open, and one that is shipped.
    let text = "use fresh\nuse truncate\nlet main : !int -> !int = Fresh.one\n";
    let told = editor.open(&uri, text);
    assert_eq!(told[0]["code"], "P0203");
    assert_eq!(told[0]["range"]["start"]["line"], 0);
    let module = format!("file://{}/fresh.plumb", folder.path().display());
    let opened = editor.open(&module, "let one : !int -> !int = id\n");
    assert_eq!(opened, json!([]));
    assert_eq!(editor.diagnostics(&uri), json!([]));
    assert_eq!(editor.leave(), 0);
}

#[test]
fn types_definitions_and_completions() {
    let (folder, uri) = folder();
    let mut editor = Editor::start(folder.path());
    editor.open(&uri, PROGRAM);
    let place = ("judge ; filter", 1);
    let hover = editor.at("textDocument/hover", &uri, PROGRAM, place);
    assert_eq!(
        hover["contents"],
        json!({ "kind": "markdown", "value": "```plumb\njudge : !string -> !Verdict\n```" })
    );
    assert_eq!(
        hover["range"]["start"],
        json!({ "line": 5, "character": 2 })
    );
    let found = editor.at("textDocument/definition", &uri, PROGRAM, place);
    assert_eq!(found["uri"], uri);
    assert_eq!(
        found["range"]["start"],
        json!({ "line": 2, "character": 4 })
    );
    let found = editor.at("textDocument/definition", &uri, PROGRAM, ("Shapes.flip", 8));
    let module = format!("file://{}/shapes.plumb", folder.path().display());
    assert_eq!(found["uri"], module);
    assert_eq!(
        found["range"]["start"],
        json!({ "line": 1, "character": 4 })
    );
    let nothing = editor.at("textDocument/hover", &uri, PROGRAM, ("{ provider", 0));
    assert_eq!(nothing, Value::Null);

    let labels = |items: &Value| -> Vec<String> {
        let items = items.as_array().expect("a list").iter();
        items
            .map(|item| item["label"].as_str().expect("a text").to_owned())
            .collect()
    };
    let ports = PROGRAM.replace("input ; judge", "input ; judge@");
    editor.change(&uri, &ports);
    editor.diagnostics(&uri);
    let found = editor.at("textDocument/completion", &uri, &ports, ("judge@", 6));
    let wanted = [
        "ctrl_in",
        "ctrl_out",
        "error",
        "input",
        "output",
        "telemetry",
    ];
    assert_eq!(labels(&found), wanted);
    editor.change(&uri, PROGRAM);
    editor.diagnostics(&uri);
    let found = editor.at("textDocument/completion", &uri, PROGRAM, ("(resolved)", 1));
    // An editor shows them in the order of their `sortText`: fields first.
    let items = found.as_array().expect("a list");
    let mut sorted: Vec<(&str, &str)> = items
        .iter()
        .map(|item| {
            let text = |key: &str| item[key].as_str().expect("a text");
            (text("sortText"), text("detail"))
        })
        .collect();
    sorted.sort_unstable();
    let details: Vec<&str> = sorted.iter().take(2).map(|(_, detail)| *detail).collect();
    assert_eq!(details, ["resolved: bool", "topic: string"]);
    assert_eq!(editor.leave(), 0);
}

#[test]
fn formatting_and_what_is_not_spoken() {
    let (folder, uri) = folder();
    let mut editor = Editor::start(folder.path());
    let document = json!({ "textDocument": { "uri": uri }, "options": { "tabSize": 2 } });
    editor.open(&uri, "type T=int (* é *)\n");
    let edits = editor.ask("textDocument/formatting", &document);
    let all =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1, "character": 0 } });
    assert_eq!(
        edits,
        json!([{ "range": all, "newText": "type T = int (* é *)\n" }])
    );
    editor.change(&uri, "type T=\n");
    editor.diagnostics(&uri);
    let edits = editor.ask("textDocument/formatting", &document);
    assert_eq!(edits, Value::Null);
    assert_eq!(
        editor.ask("textDocument/foldingRange", &json!({}))["code"],
        -32601
    );
    assert_eq!(editor.ask("textDocument/hover", &json!({}))["code"], -32602);
    editor.tell("textDocument/didOpen", &json!({ "nonsense": 1 }));
    assert_eq!(editor.leave(), 0);
}

#[test]
fn a_disconnected_editor_is_reported() {
    let (folder, _) = folder();
    let Editor { mut child, to, .. } = Editor::start(folder.path());
    drop(to);
    assert_eq!(child.wait().expect("the program ends").code(), Some(1));
}
