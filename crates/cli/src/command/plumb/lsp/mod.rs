//! `ebbtide plumb lsp`: runs a language server on standard input and output.
//!
//! ```text
//!  editor ──didOpen, didChange──► Workspace ──check──► publishDiagnostics ──► editor
//!         ──hover, definition, references, rename, …──► answers from the last check
//! ```
//!
//! Every change carries the whole text, since programs are short and checking a thousand lines takes
//! milliseconds. Modules are looked up among the open documents first, then on disk.

mod answers;
mod names;
mod outline;
mod protocol;
mod uri;
mod workspace;

use std::error::Error;
use std::path::PathBuf;

use clap::Args;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::{Exit, Failure};
use protocol::{Changed, Document, DocumentPosition, Opened, Query, Renamed};
use uri::Spellings;
use workspace::Workspace;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide plumb lsp

Editors start this command; editors/README.md describes the setup. The server \
provides diagnostics, types and comments on hover, definitions, references, \
renaming, symbols, semantic tokens, completion and formatting.")]
pub struct LspArgs {
    /// Also look for modules in this folder, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
    /// Use standard input and output, the only transport; editors pass this flag
    #[arg(long, hide = true)]
    pub stdio: bool,
}

pub fn run(args: &LspArgs, console: &mut Console) -> Result<Exit, Failure> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, Workspace::new(args.path.clone()));
    // The threads end when the connection's channels close.
    drop(connection);
    let written = threads.join();
    let ended = served.and_then(|()| Ok(written?));
    if let Err(problem) = ended {
        console.note(format!(
            "The editor disconnected without sending `exit`: {problem}"
        ));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Success)
}

fn serve(connection: &Connection, mut workspace: Workspace) -> Result<(), Box<dyn Error>> {
    let (id, _) = connection.initialize_start()?;
    let answer = json!({
        "capabilities": {
            "textDocumentSync": 1,
            "hoverProvider": true,
            "definitionProvider": true,
            "documentFormattingProvider": true,
            "completionProvider": { "triggerCharacters": ["@", ".", "(", ";", ":", "!"] },
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "semanticTokensProvider": {
                "legend": {
                    "tokenTypes": outline::TOKEN_KINDS.iter().chain(&["comment"]).collect::<Vec<_>>(),
                    "tokenModifiers": ["declaration"],
                },
                "full": true,
            },
        },
        "serverInfo": { "name": "ebbtide plumb", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer)?;
    let sender = &connection.sender;
    let mut spellings = Spellings::default();
    for message in &connection.receiver {
        match message {
            Message::Request(mut request) => {
                if connection.handle_shutdown(&request)? {
                    return Ok(());
                }
                spellings.read(&mut request.params);
                let mut answer = respond(&workspace, request);
                if let Ok(result) = &mut answer.response_result {
                    spellings.write(result);
                }
                sender.send(answer.into())?;
            }
            Message::Notification(mut notification) => {
                spellings.read(&mut notification.params);
                for mut published in apply(&mut workspace, notification) {
                    spellings.write(&mut published.params);
                    sender.send(published.into())?;
                }
            }
            Message::Response(_) => {}
        }
    }
    Err("the pipe is closed".into())
}

fn respond(workspace: &Workspace, request: Request) -> Response {
    let answer = match request.method.as_str() {
        "textDocument/hover" => at(workspace, request.params, answers::hover),
        "textDocument/definition" => at(workspace, request.params, answers::definition),
        "textDocument/completion" => at(workspace, request.params, answers::completion),
        "textDocument/references" => names::references(workspace, request.params),
        "textDocument/documentHighlight" => at(workspace, request.params, names::highlights),
        "textDocument/prepareRename" => at(workspace, request.params, names::prepare_rename),
        "textDocument/rename" => match serde_json::from_value(request.params) {
            Ok(renamed) => return renaming(workspace, request.id, &renamed),
            Err(malformed) => Err(malformed),
        },
        "textDocument/documentSymbol" => of(workspace, request.params, outline::symbols),
        "textDocument/semanticTokens/full" => {
            of(workspace, request.params, outline::semantic_tokens)
        }
        "workspace/symbol" => serde_json::from_value(request.params)
            .map(|asked: Query| Some(outline::found(workspace, &asked.query))),
        "textDocument/formatting" => of(workspace, request.params, answers::formatting),
        method => {
            let code = ErrorCode::MethodNotFound as i32;
            return Response::new_err(request.id, code, format!("unknown method {method}"));
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

/// Answers a request for a new name, with an error for people if there is a reason against it.
fn renaming(workspace: &Workspace, id: RequestId, renamed: &Renamed) -> Response {
    match names::rename(workspace, renamed) {
        Ok(edits) => Response::new_ok(id, edits),
        Err(why) => Response::new_err(id, ErrorCode::RequestFailed as i32, why),
    }
}

/// Answers a request about a document.
fn of(
    workspace: &Workspace,
    params: Value,
    answer: fn(&Workspace, &str) -> Option<Value>,
) -> serde_json::Result<Option<Value>> {
    let document: Document = serde_json::from_value(params)?;
    Ok(answer(workspace, &document.text_document.uri))
}

/// Answers a request about a position.
fn at(
    workspace: &Workspace,
    params: Value,
    answer: fn(&Workspace, &DocumentPosition) -> Option<Value>,
) -> serde_json::Result<Option<Value>> {
    let at: DocumentPosition = serde_json::from_value(params)?;
    Ok(answer(workspace, &at))
}

/// Applies a notification and returns the diagnostics to publish.
fn apply(workspace: &mut Workspace, notification: Notification) -> Vec<Notification> {
    let Notification { method, params } = notification;
    let changed = match method.as_str() {
        "textDocument/didOpen" => serde_json::from_value(params).map(|opened: Opened| {
            workspace.put(opened.text_document.uri, opened.text_document.text)
        }),
        "textDocument/didChange" => serde_json::from_value(params).map(|changed: Changed| {
            let last = changed.content_changes.into_iter().next_back();
            last.map_or_else(Vec::new, |last| {
                workspace.put(changed.text_document.uri, last.text)
            })
        }),
        "textDocument/didClose" => serde_json::from_value(params)
            .map(|closed: Document| workspace.remove(&closed.text_document.uri)),
        _ => Ok(Vec::new()),
    };
    // A malformed notification is ignored, since notifications have no answer.
    let uris = changed.unwrap_or_default();
    let published = uris.into_iter().map(|uri| {
        let params = json!({ "uri": uri, "diagnostics": answers::diagnostics(workspace, &uri) });
        Notification::new("textDocument/publishDiagnostics".to_owned(), params)
    });
    published.collect()
}
