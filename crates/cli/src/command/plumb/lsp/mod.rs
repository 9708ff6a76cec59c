//! `ebbtide plumb lsp`: a language server on standard input and output.
//!
//! ```text
//!  editor ──didOpen, didChange──► Workspace ──check──► publishDiagnostics ──► editor
//!         ──hover, definition, completion, formatting──► answers of the last check
//! ```
//!
//! Texts come whole with every change: a program is a few hundred lines, and checking a thousand takes
//! milliseconds. Modules are looked for in the open texts first, then on the disk.

mod answers;
mod place;
mod protocol;
mod workspace;

use std::path::PathBuf;

use clap::Args;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde::Serialize;
use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::{Exit, Failure};
use protocol::{At, Changed, Closed, Document, Opened};
use workspace::Workspace;

/// What `ebbtide plumb lsp` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb lsp

Editors start it; editors/README.md says how. It shows what is wrong with programs
as they are written, types where one points, definitions, what could be written at
a place, and formats.")]
pub struct LspArgs {
    /// Look for modules here as well, after a program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
    /// Standard input and output; the only way, and the usual one
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// Serves an editor until it leaves.
pub fn run(args: &LspArgs, console: &mut Console) -> Result<Exit, Failure> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, Workspace::new(args.path.clone()));
    // The threads end when nobody can send any more.
    drop(connection);
    let written = threads.join();
    let outcome = served.and_then(|()| written.map_err(|error| error.to_string()));
    if let Err(problem) = outcome {
        console.remark(format!("the editor went without a word: {problem}"));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

fn serve(connection: &Connection, mut workspace: Workspace) -> Result<(), String> {
    let (id, _) = connection
        .initialize_start()
        .map_err(|error| error.to_string())?;
    let answer = json!({
        "capabilities": {
            "textDocumentSync": 1,
            "hoverProvider": true,
            "definitionProvider": true,
            "documentFormattingProvider": true,
            "completionProvider": { "triggerCharacters": ["@", "."] },
        },
        "serverInfo": { "name": "ebbtide plumb", "version": env!("CARGO_PKG_VERSION") },
    });
    connection
        .initialize_finish(id, answer)
        .map_err(|error| error.to_string())?;
    let send = |message: Message| {
        let sent = connection.sender.send(message);
        sent.map_err(|error| error.to_string())
    };
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                let ends = connection.handle_shutdown(&request);
                if ends.map_err(|error| error.to_string())? {
                    return Ok(());
                }
                send(respond(&workspace, request).into())?;
            }
            Message::Notification(notification) => {
                for news in note(&mut workspace, notification) {
                    send(news.into())?;
                }
            }
            Message::Response(_) => {}
        }
    }
    Err("its end of the pipe is closed".to_owned())
}

/// The answer to a request.
fn respond(workspace: &Workspace, request: Request) -> Response {
    let answer = match request.method.as_str() {
        "textDocument/hover" => at(workspace, request.params, answers::hover),
        "textDocument/definition" => at(workspace, request.params, answers::definition),
        "textDocument/completion" => at(workspace, request.params, answers::completion),
        "textDocument/formatting" => serde_json::from_value(request.params)
            .map(|document: Document| answer(answers::formatting(workspace, &document.uri))),
        method => {
            let code = ErrorCode::MethodNotFound as i32;
            return Response::new_err(request.id, code, format!("there is no {method}"));
        }
    };
    match answer {
        Ok(answer) => Response::new_ok(request.id, answer),
        Err(error) => {
            let code = ErrorCode::InvalidParams as i32;
            Response::new_err(request.id, code, error.to_string())
        }
    }
}

/// The answer about a place; `null` where there is none.
fn at<T: Serialize>(
    workspace: &Workspace,
    params: Value,
    asked: fn(&Workspace, &At) -> Option<T>,
) -> serde_json::Result<Value> {
    let place: At = serde_json::from_value(params)?;
    Ok(answer(asked(workspace, &place)))
}

fn answer(value: Option<impl Serialize>) -> Value {
    // Records of strings and numbers always have a form in JSON.
    serde_json::to_value(value).unwrap_or_default()
}

/// Takes note of what the editor tells; the diagnostics that follow from it.
fn note(workspace: &mut Workspace, told: Notification) -> Vec<Notification> {
    let changed = match told.method.as_str() {
        "textDocument/didOpen" => serde_json::from_value(told.params).map(|opened: Opened| {
            workspace.put(opened.text_document.uri, opened.text_document.text)
        }),
        "textDocument/didChange" => serde_json::from_value(told.params).map(|changed: Changed| {
            let last = changed.content_changes.into_iter().next_back();
            last.map_or_else(Vec::new, |last| {
                workspace.put(changed.text_document.uri, last.text)
            })
        }),
        "textDocument/didClose" => serde_json::from_value(told.params)
            .map(|closed: Closed| workspace.remove(&closed.text_document.uri)),
        _ => Ok(Vec::new()),
    };
    // What cannot be understood has no answer: a notification is not asked for one.
    let uris = changed.unwrap_or_default();
    let told = uris.into_iter().map(|uri| {
        let params = json!({ "uri": uri, "diagnostics": answers::diagnostics(workspace, &uri) });
        Notification::new("textDocument/publishDiagnostics".to_owned(), params)
    });
    told.collect()
}
