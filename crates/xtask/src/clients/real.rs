//! `cargo xtask clients --real`: Claude Code and Codex, unmodified, hold a conversation in a small window.
//!
//! A rule stands in the file that each of them puts into its messages. The provider's log shows that the rule is in
//! every request, however often a summary was swapped in.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::process::Process;
use crate::command::{self, program, say};

const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code", "@openai/codex"];
const RULE: &str = "Planted rule: every commit message ends with the word heliotrope-4711.";
/// The routes to a summary that do not depend on the provider's own compaction.
const ROUTES: [&str; 2] = ["extractive", "readable"];
/// The files that a conversation reads, one at a time.
const FILES: usize = 8;
const LEAST_SWAPS: usize = 3;

/// A client, and the window in which its instructions and tools take about half.
struct Client {
    name: &'static str,
    window: &'static str,
    /// The call that reads a file.
    call: fn(&Path) -> String,
    /// The client's next run on a prompt; the first one begins the conversation.
    run: fn(&Bench, &str, bool) -> Command,
}

const CLIENTS: [Client; 2] = [
    Client {
        name: "claude",
        window: "44000",
        call: |file| format!("Read {{\"file_path\":\"{}\"}}", file.display()),
        run: Bench::claude,
    },
    Client {
        name: "codex",
        window: "20000",
        call: |file| format!("exec_command {{\"cmd\":\"cat {}\"}}", file.display()),
        run: Bench::codex,
    },
];

/// Installs the newest clients and runs each on every route. Without access to npm, it prints a line instead.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("target/clients/real");
    fs::create_dir_all(&folder).context("cannot create target/clients/real")?;
    let mut install = program(
        "npm install --no-audit --no-fund --silent --prefix .",
        &folder,
    );
    install.args(PACKAGES.map(|name| format!("{name}@latest")));
    if !command::answers(install) {
        say("skipped: npm cannot install Claude Code and Codex here");
        return Ok(());
    }
    let ebbtide = command::ebbtide(root)?;
    for client in &CLIENTS {
        for route in ROUTES {
            let bench = Bench::new(&folder, &ebbtide, (client.name, route))?;
            bench.converse(client, route)?;
        }
    }
    Ok(())
}

/// A folder for one client on one route, and its servers.
struct Bench {
    ebbtide: PathBuf,
    programs: PathBuf,
    folder: PathBuf,
    gateway: String,
}

impl Bench {
    fn new(root: &Path, ebbtide: &Path, (name, route): (&str, &str)) -> anyhow::Result<Self> {
        let folder = root.join(format!("{name}-{route}"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        for name in ["home", "codex", "project"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let project = folder.join("project");
        for name in ["CLAUDE.md", "AGENTS.md"] {
            fs::write(project.join(name), format!("# Rules\n\n{RULE}\n"))?;
        }
        for file in 0..FILES {
            let line = |at: usize| {
                format!(
                    "line {at} of note {file}: register {} is {}\n",
                    at % 97,
                    at * at
                )
            };
            fs::write(
                project.join(format!("note{file}.txt")),
                (0..300).map(line).collect::<String>(),
            )?;
        }
        Ok(Self {
            ebbtide: ebbtide.to_owned(),
            programs: root.join("node_modules/.bin"),
            folder,
            gateway: String::new(),
        })
    }

    fn server(&self, name: &str, window: &str) -> Command {
        let mut server = Command::new(&self.ebbtide);
        server.args([name, "--listen", "127.0.0.1:0", "--window", window]);
        server.current_dir(&self.folder);
        server
    }

    fn converse(mut self, client: &Client, route: &str) -> anyhow::Result<()> {
        let log = self.folder.join("provider.jsonl");
        let mut provider = self.server("sim", client.window);
        provider.arg("--log").arg(&log);
        let provider = Process::start(provider, self.folder.join("provider.txt"))?;
        let mut gateway = self.server("serve", client.window);
        let url = provider.url();
        gateway.args(["--anthropic-url", url, "--openai-url", url]);
        gateway.args(["--store", "memory", "--route", route]);
        let gateway = Process::start(gateway, self.folder.join("gateway.txt"))?;
        gateway.url().clone_into(&mut self.gateway);
        for file in 0..FILES {
            let path = self.folder.join(format!("project/note{file}.txt"));
            let call = (client.call)(&path);
            let prompt = format!("Look at note {file}.\n@sim call {call}");
            self.finish((client.run)(&self, &prompt, file == 0))?;
            let prompt = format!("What did note {file} say?\n@sim say It has 300 lines.");
            self.finish((client.run)(&self, &prompt, false))?;
        }
        let did = gateway.stop()?;
        let totals = provider.stop()?;
        let swaps = did.lines().filter(|line| line.contains("swapped")).count();
        let (requests, ruled) = count(&fs::read_to_string(log)?)?;
        let name = client.name;
        say(&format!(
            "{name}, {route}: {requests} requests, {ruled} with the rule, {swaps} swaps"
        ));
        ensure!(
            ruled == requests,
            "{name} lost its rule: see {}",
            self.folder.display()
        );
        ensure!(
            swaps >= LEAST_SWAPS,
            "{name}: {swaps} swaps instead of {LEAST_SWAPS}"
        );
        ensure!(super::rejected(&totals) == Some(0), "{name}: {totals}");
        Ok(())
    }

    /// Runs a client to its end. Its output goes to a file.
    fn finish(&self, mut client: Command) -> anyhow::Result<()> {
        let file = self.folder.join("client.txt");
        let file = File::options().create(true).append(true).open(file)?;
        client.env("HOME", self.folder.join("home"));
        client.env("NO_PROXY", "127.0.0.1");
        client.current_dir(self.folder.join("project"));
        client
            .stdin(Stdio::null())
            .stderr(file.try_clone()?)
            .stdout(file);
        let status = client.status()?;
        let line = command::line(&client);
        ensure!(
            status.success(),
            "`{line}` failed ({status}): see {}",
            self.folder.display()
        );
        Ok(())
    }

    fn claude(&self, prompt: &str, begins: bool) -> Command {
        let mut claude = Command::new(self.programs.join("claude"));
        claude.args(["-p", "--model", "claude-sonnet-4-5", "--allowedTools=Read"]);
        claude.args((!begins).then_some("--continue")).arg(prompt);
        claude.env("ANTHROPIC_BASE_URL", &self.gateway);
        claude.env("ANTHROPIC_API_KEY", "any");
        claude.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        claude
    }

    fn codex(&self, prompt: &str, begins: bool) -> Command {
        let mut codex = Command::new(self.programs.join("codex"));
        codex.arg("exec");
        codex.args(["resume", "--last"].iter().filter(|_| !begins));
        // The tools run without a sandbox of their own, which a container may forbid.
        codex.args([
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
        ]);
        let url = format!("openai_base_url=\"{}/v1\"", self.gateway);
        codex.args(["-m", "gpt-5.5", "-c", &url, prompt]);
        codex.env("CODEX_HOME", self.folder.join("codex"));
        codex.env("CODEX_API_KEY", "any");
        codex
    }
}

/// The generation requests in a provider's log, and those of them that hold the rule.
fn count(log: &str) -> anyhow::Result<(usize, usize)> {
    // The gateway's own requests, for summaries, have no tools.
    let requests = log.lines().filter(|line| line.contains("\"tools\":["));
    let (mut all, mut ruled) = (0, 0);
    for request in requests {
        all += 1;
        ruled += usize::from(request.contains(RULE));
    }
    ensure!(all > 0, "the provider received no request");
    Ok((all, ruled))
}

#[cfg(test)]
mod tests {
    use super::{RULE, count};

    #[test]
    fn requests_with_the_rule_are_counted() {
        let with = format!("{{\"tools\":[],\"input\":\"{RULE}\"}}");
        let log = format!("{with}\n{{\"tools\":[]}}\n{{\"method\":\"HEAD\"}}\n{with}\n");
        assert_eq!(count(&log).unwrap(), (3, 2));
        assert!(count("").is_err());
    }
}
