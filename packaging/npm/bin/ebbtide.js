#!/usr/bin/env node
// Starts the program of the package for this platform.

"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "ebbtide.exe" : "ebbtide";

let program;
try {
  program = require.resolve(`ebbtide-${platform}/bin/${file}`);
} catch {
  console.error(
    `ebbtide: there is no package for ${platform}, or npm left it out (--no-optional). ` +
      "Build the program with `cargo install ebbtide-cli` instead.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; a service manager sends SIGTERM to this process only.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (error) => {
  console.error(`ebbtide: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
