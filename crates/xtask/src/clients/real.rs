//! `cargo xtask clients --real`: Claude Code and Codex, unmodified, hold a conversation in a small window.
//!
//! A rule stands in the file that each of them puts into its messages. The provider's log shows that the rule is in
//! every request, however often a summary was swapped in. Codex also compacts by itself, before a provider that has
//! no compaction, and before one that speaks Chat Completions only. Then each uses its memory ([`memory`]).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::memory;
use super::process::Process;
use crate::command::{self, program, say};

const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code", "@openai/codex"];
const RULE: &str = "Planted rule: every commit message ends with the word heliotrope-4711.";
/// The files that a conversation reads, one at a time.
const FILES: usize = 8;
const LEAST: usize = 3;

/// The settings under which a client holds a conversation.
struct Way {
    name: &'static str,
    provider: &'static [&'static str],
    route: &'static str,
    gateway: &'static [(&'static str, &'static str)],
    /// The size from which the client compacts by itself, with the window in which it does.
    own: Option<(&'static str, &'static str)>,
    /// The word for what has to happen to requests.
    word: &'static str,
}

/// The gateway swaps, by the routes that do not depend on the provider's own compaction.
const SWAPS: Way = Way {
    name: "extractive",
    provider: &[],
    route: "extractive",
    gateway: &[],
    own: None,
    word: "swapped",
};
/// The client compacts by itself, and the gateway answers.
const ANSWERS: Way = Way {
    name: "own compaction",
    provider: &["--no-compaction"],
    gateway: &[("EBBTIDE_POLICY_NATIVE_COMPACTION", "false")],
    own: Some(("20000", "60000")),
    word: "answered",
    ..SWAPS
};
/// The client is connected by `ebbtide connect`, and its model uses the memory tools.
const MEMORY: Way = Way {
    name: "memory",
    ..SWAPS
};
const WAYS: [Way; 4] = [
    SWAPS,
    Way {
        name: "readable",
        route: "readable",
        ..SWAPS
    },
    ANSWERS,
    Way {
        name: "over chat",
        gateway: &[("EBBTIDE_UPSTREAM_OPENAI_DIALECT", "chat")],
        ..ANSWERS
    },
];

/// A client, and the window in which its instructions and tools take about half.
pub(super) struct Client {
    pub(super) name: &'static str,
    window: &'static str,
    /// The window in which it uses its memory.
    pub(super) roomy: &'static str,
    /// The call that loads the memory tools.
    pub(super) search: &'static str,
    /// `true` for a client that compacts through its provider's interface.
    compacts: bool,
    /// The call that reads a file.
    pub(super) call: fn(&Path) -> String,
    /// The client's next run on a prompt; the first one begins the conversation.
    pub(super) run: fn(&Bench, &str, bool) -> Command,
}

const CLIENTS: [Client; 2] = [
    Client {
        name: "claude",
        window: "44000",
        roomy: "52000",
        search: r#"ToolSearch {"query":"select:mcp__ebbtide__pin,mcp__ebbtide__expand"}"#,
        compacts: false,
        call: |file| format!("Read {{\"file_path\":\"{}\"}}", file.display()),
        run: Bench::claude,
    },
    Client {
        name: "codex",
        window: "20000",
        roomy: "40000",
        search: r#"tool_search {"query":"pin expand memory"}"#,
        compacts: true,
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
        for way in WAYS
            .iter()
            .filter(|way| client.compacts || way.own.is_none())
        {
            let bench = Bench::new(&folder, &ebbtide, (client.name, way))?;
            bench.converse(client, way)?;
        }
        memory::run(
            &Bench::new(&folder, &ebbtide, (client.name, &MEMORY))?,
            client,
        )?;
    }
    Ok(())
}

/// A folder for one client on one route, and its servers.
pub(super) struct Bench {
    pub(super) ebbtide: PathBuf,
    programs: PathBuf,
    pub(super) folder: PathBuf,
    /// The gateway's URL, unless the client's settings name it.
    gateway: Option<String>,
    /// The size from which the client compacts by itself.
    limit: Option<&'static str>,
}

impl Bench {
    fn new(root: &Path, ebbtide: &Path, (name, way): (&str, &Way)) -> anyhow::Result<Self> {
        let folder = root.join(format!("{name}-{}", way.name.replace(' ', "-")));
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
            gateway: None,
            limit: way.own.map(|(limit, _)| limit),
        })
    }

    pub(super) fn server(&self, name: &str, window: &str) -> Command {
        let mut server = Command::new(&self.ebbtide);
        server.args([name, "--listen", "127.0.0.1:0", "--window", window]);
        server.current_dir(&self.folder);
        server
    }

    fn converse(mut self, client: &Client, way: &Way) -> anyhow::Result<()> {
        let log = self.folder.join("provider.jsonl");
        let window = way.own.map_or(client.window, |(_, window)| window);
        let mut provider = self.server("sim", window);
        provider.args(way.provider).arg("--log").arg(&log);
        let provider = Process::start(provider, self.folder.join("provider.txt"))?;
        let mut gateway = self.server("serve", window);
        gateway.envs(way.gateway.iter().copied());
        let url = provider.url();
        gateway.args(["--anthropic-url", url, "--openai-url", url]);
        gateway.args(["--store", "memory", "--route", way.route]);
        let gateway = Process::start(gateway, self.folder.join("gateway.txt"))?;
        self.gateway = Some(gateway.url().to_owned());
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
        let done = did.lines().filter(|line| line.contains(way.word)).count();
        let (requests, ruled) = count(&fs::read_to_string(log)?)?;
        let (name, how, word) = (client.name, way.name, way.word);
        say(&format!(
            "{name}, {how}: {requests} requests, {ruled} with the rule, {done} {word}"
        ));
        ensure!(
            ruled == requests,
            "{name} lost its rule: see {}",
            self.folder.display()
        );
        ensure!(
            done >= LEAST,
            "{name}, {how}: {done} {word} instead of {LEAST}"
        );
        ensure!(super::rejected(&totals) == Some(0), "{name}: {totals}");
        Ok(())
    }

    /// Sets where the client and `ebbtide connect` keep their files.
    pub(super) fn at_home(&self, program: &mut Command) {
        program.env("HOME", self.folder.join("home"));
        program.env("CODEX_HOME", self.folder.join("codex"));
        program.env("XDG_DATA_HOME", self.folder.join("data"));
    }

    /// Runs a client to its end. Its output goes to a file.
    pub(super) fn finish(&self, mut client: Command) -> anyhow::Result<()> {
        let file = self.folder.join("client.txt");
        let file = File::options().create(true).append(true).open(file)?;
        self.at_home(&mut client);
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
        let tools = "--allowedTools=Read,mcp__ebbtide__pin,mcp__ebbtide__expand";
        claude.args(["-p", "--model", "claude-sonnet-4-5", tools]);
        claude.args((!begins).then_some("--continue")).arg(prompt);
        let url = self.gateway.iter();
        claude.envs(url.map(|url| ("ANTHROPIC_BASE_URL", url)));
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
        codex.args(["-m", "gpt-5.5"]);
        if let Some(url) = &self.gateway {
            codex.args(["-c", &format!("openai_base_url=\"{url}/v1\"")]);
        }
        if let Some(limit) = self.limit {
            codex.arg("-c");
            codex.arg(format!("model_auto_compact_token_limit={limit}"));
        }
        codex.arg(prompt);
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
