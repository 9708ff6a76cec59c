// Starts the language server for plumb. Highlighting works without it.

const vscode = require("vscode");

let client;

async function activate() {
  let node;
  try {
    node = require("vscode-languageclient/node");
  } catch {
    vscode.window.showInformationMessage(
      "plumb: run `npm install` in the extension's folder for mistakes, types and completions."
    );
    return;
  }
  const command = vscode.workspace.getConfiguration("plumb").get("server") || "ebbtide";
  const server = { command, args: ["plumb", "lsp"] };
  client = new node.LanguageClient("plumb", "plumb", server, {
    documentSelector: [{ language: "plumb" }],
  });
  await client.start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
