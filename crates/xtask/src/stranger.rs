//! `cargo xtask stranger`: follows README as somebody who has never built the project, and prints times and disk.
//!
//! The commands are those of README's console blocks, in their order, in a fresh clone of the newest commit with an
//! empty home, an empty registry cache and an empty target. The provider is the simulated one. The agents that README
//! names (`claude`, `codex`, `my-agent`) are stand-ins that send one request each. The demo's output has to agree
//! with README.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::ci::timed;
use crate::command::{self, say, variable};

/// The longest CPU time from the clone to the end of the demo.
const DEMO: Duration = Duration::from_secs(300);
/// The largest program of a release build, in bytes.
const LARGEST: u64 = 30_000_000;
/// The largest distance of a figure of the demo from README's: a share of it, and so much more. The agent
/// reads the files as they are.
const NEAR: (f64, f64) = (0.25, 0.2);

/// Of the environment, what says how to reach registries and compilers.
const KEPT: [&str; 10] = [
    "PATH",
    "LANG",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "CARGO_HTTP_CAINFO",
];

/// The treatment of a command of README.
#[derive(Debug, PartialEq, Eq)]
enum Role {
    Run,
    /// Starts it, and leaves it running until the end.
    Serve,
    /// Does not run it, for this reason.
    Leave(&'static str),
}

#[expect(
    clippy::disallowed_methods,
    reason = "a clone below this one would find its settings of cargo"
)]
pub fn run(root: &Path) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("ebbtide-stranger-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let met = Stranger::new(root, &folder).and_then(|mut stranger| stranger.follow());
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    met
}

struct Stranger {
    folder: PathBuf,
    clone: PathBuf,
    /// A recorded session, where there is a corpus.
    session: Option<PathBuf>,
    running: Vec<Child>,
    /// The address of the simulated provider.
    provider: Option<String>,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

impl Stranger {
    fn new(root: &Path, folder: &Path) -> anyhow::Result<Self> {
        let stranger = Self {
            folder: folder.to_owned(),
            clone: folder.join("ebbtide"),
            session: session(root),
            running: Vec::new(),
            provider: None,
        };
        let mut clone = command::program("git clone --quiet --no-hardlinks", folder);
        clone.arg(root).arg(&stranger.clone);
        command::run(clone)?;
        stranger.furnish()?;
        Ok(stranger)
    }

    /// Creates a home with a recorded session, and the stand-ins for agents.
    fn furnish(&self) -> anyhow::Result<()> {
        let bin = self.folder.join("bin");
        fs::create_dir_all(&bin)?;
        for (name, script) in AGENTS {
            let file = bin.join(name);
            fs::write(&file, script)?;
            let mut runnable = command::program("chmod +x", &bin);
            runnable.arg(&file);
            command::run(runnable)?;
        }
        let project = self.folder.join("home/.claude/projects/stranger");
        fs::create_dir_all(&project)?;
        if let Some(session) = &self.session {
            fs::copy(session, project.join("session.jsonl"))?;
        }
        Ok(())
    }

    fn follow(&mut self) -> anyhow::Result<()> {
        let readme = fs::read_to_string(self.clone.join("README.md"))?;
        let mut told = Vec::new();
        for (number, line) in commands(&readme).into_iter().enumerate() {
            let role = match role(line)? {
                Role::Run if is_of_sessions(line) && self.session.is_none() => {
                    Role::Leave("there is no corpus")
                }
                role => role,
            };
            say(&format!("\n$ {line}"));
            let before = used();
            let (done, took) = timed(|| match role {
                Role::Run => self.perform(line),
                Role::Serve => self.serve(line).map(|()| String::new()),
                Role::Leave(why) => {
                    say(&format!("left out: {why}"));
                    Ok(String::new())
                }
            });
            let printed = done?;
            let worked = used().saturating_sub(before);
            if number == 0 {
                ensure!(
                    worked <= DEMO,
                    "`{line}` took {} CPU seconds, more than {}",
                    worked.as_secs(),
                    DEMO.as_secs()
                );
                agree(&figures(&readme), &figures(&printed))?;
                small(&self.clone.join("target/release/ebbtide"))?;
            }
            // The provider is no command of README; it is there once the program is.
            if self.provider.is_none() && line.starts_with("cargo install") {
                self.provider = Some(self.start("ebbtide sim --listen 127.0.0.1:0")?);
            }
            told.push(format!(
                "{line:<46.46}{:>8.1} s{:>8.1} s{:>8}",
                took.as_secs_f64(),
                worked.as_secs_f64(),
                disk(&self.folder)?
            ));
        }
        say(&format!(
            "\n{:<46}{:>10}{:>10}{:>8}",
            "command", "time", "CPU", "disk"
        ));
        say(&told.join("\n"));
        Ok(())
    }

    fn shell(&self, line: &str) -> Command {
        let session = self.session.as_deref().unwrap_or(Path::new(""));
        let projects = self.folder.join("home/.claude/projects");
        let line = line.replace("SESSION.jsonl", &session.display().to_string());
        let line = line.replace("FOLDER", &projects.display().to_string());
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(line)
            .current_dir(&self.clone)
            .env_clear();
        for name in KEPT {
            shell.envs(variable(name).map(|value| (name, value)));
        }
        let cargo = self.folder.join("cargo");
        let path = variable("PATH").unwrap_or_default();
        let (bin, own) = (cargo.join("bin"), self.folder.join("bin"));
        shell.env(
            "PATH",
            format!("{}:{}:{path}", own.display(), bin.display()),
        );
        shell.env("HOME", self.folder.join("home"));
        shell.env("CARGO_HOME", cargo);
        shell.env("RUSTUP_HOME", toolchains());
        for name in ["ANTHROPIC", "OPENAI"] {
            let there = self.provider.as_ref();
            shell.envs(there.map(|url| (format!("EBBTIDE_UPSTREAM_{name}"), url)));
        }
        shell
    }

    /// Runs a command and returns what it printed.
    fn perform(&self, line: &str) -> anyhow::Result<String> {
        let mut shell = self.shell(line);
        let ended = shell
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        say(printed.trim_end());
        ensure!(ended.status.success(), "`{line}` failed ({})", ended.status);
        Ok(printed)
    }

    fn serve(&mut self, line: &str) -> anyhow::Result<()> {
        self.start(line).map(|_| ())
    }

    /// Starts a server and returns the address that it prints.
    fn start(&mut self, line: &str) -> anyhow::Result<String> {
        let mut shell = self.shell(&format!("exec {line}"));
        let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("no output")?;
        self.running.push(child);
        let mut lines = BufReader::new(out).lines();
        let url = lines.find_map(|line| {
            let line = line.ok()?;
            say(&line);
            let (_, address) = line.split_once("http://")?;
            let address = address.split_ascii_whitespace().next()?;
            Some(format!("http://{address}"))
        });
        // Else the server would wait for somebody to read what it prints.
        let drain = std::thread::Builder::new().name("drain".to_owned());
        drain.spawn(move || lines.for_each(drop))?;
        url.with_context(|| format!("`{line}` printed no address"))
    }
}

/// The commands in the console blocks, without their remarks.
fn commands(readme: &str) -> Vec<&str> {
    let mut is_console = false;
    let mut found = Vec::new();
    for line in readme.lines() {
        match line.strip_prefix("```") {
            Some(kind) => is_console = kind == "console",
            None if is_console => {
                let typed = line.strip_prefix("$ ");
                found.extend(typed.map(|typed| typed.split("  #").next().unwrap_or(typed).trim()));
            }
            None => {}
        }
    }
    found
}

/// The rows of the demo's comparison, each with the figures in it.
fn figures(text: &str) -> BTreeMap<String, Vec<f64>> {
    let is_head = |line: &&str| line.split_whitespace().eq(["with", "Ebbtide", "without"]);
    let rows = text.lines().skip_while(|line| !is_head(line)).skip(2);
    rows.take_while(|line| !line.is_empty() && !line.starts_with("```"))
        .filter_map(|line| line.trim().split_once("  "))
        .map(|(name, told)| {
            let words = told.split(|it: char| !it.is_ascii_digit() && it != '.');
            (
                name.to_owned(),
                words.filter_map(|it| it.parse().ok()).collect(),
            )
        })
        .collect()
}

/// Fails where the figures of README are not near those of the demo.
fn agree(
    readme: &BTreeMap<String, Vec<f64>>,
    demo: &BTreeMap<String, Vec<f64>>,
) -> anyhow::Result<()> {
    let (share, more) = NEAR;
    let is_near = |(said, is): (&f64, &f64)| (said - is).abs() <= said * share + more;
    ensure!(!readme.is_empty(), "README has no figures of the demo");
    for (name, said) in readme {
        let is = demo.get(name).map(Vec::as_slice).unwrap_or_default();
        ensure!(
            said.len() == is.len() && said.iter().zip(is).all(is_near),
            "README says {said:?} for \"{name}\", and the demo {is:?}; put the new figures into README"
        );
    }
    Ok(())
}

fn role(line: &str) -> anyhow::Result<Role> {
    let words: Vec<&str> = line.split(' ').collect();
    Ok(match words.as_slice() {
        ["ebbtide", "serve", ..] => Role::Serve,
        ["cargo", "xtask", "ci"] => Role::Leave("continuous integration runs it"),
        ["cargo", "run" | "install", ..] | ["ebbtide", ..] | ["codex", ..] => Role::Run,
        [variable, "my-agent"] if variable.contains("_BASE_URL=") => Role::Run,
        _ => bail!("README has a command that the stranger cannot type: `{line}`"),
    })
}

fn is_of_sessions(line: &str) -> bool {
    line.contains("SESSION") || line.contains("FOLDER") || line == "ebbtide replay"
}

/// A recorded session of the corpus.
fn session(root: &Path) -> Option<PathBuf> {
    let beside = root.join("../shared/corpus");
    let corpus = variable("EBBTIDE_CORPUS").map_or(beside, PathBuf::from);
    let sessions = fs::read_dir(corpus.join("entire-cli")).ok()?;
    let mut sessions: Vec<PathBuf> = sessions.filter_map(|it| Some(it.ok()?.path())).collect();
    sessions.retain(|file| file.extension().is_some_and(|it| it == "jsonl"));
    sessions.sort();
    sessions.into_iter().next()
}

/// Where rustup keeps toolchains; a stranger has one, too.
fn toolchains() -> String {
    let home = variable("HOME").unwrap_or_default();
    variable("RUSTUP_HOME").unwrap_or_else(|| format!("{home}/.rustup"))
}

/// The CPU time of all commands that have ended; zero where the system does not tell.
fn used() -> Duration {
    /// Ticks a second.
    const TICKS: u64 = 100;
    let told = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may have spaces. Behind it, the 14th and 15th fields are the children's times.
    let fields = told.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields
        .skip(13)
        .take(2)
        .filter_map(|it| it.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 1_000 / TICKS)
}

/// Checks that the program is as small as `Cargo.toml` says.
fn small(program: &Path) -> anyhow::Result<()> {
    let missing = || format!("there is no {}", program.display());
    let size = fs::metadata(program).with_context(missing)?.len();
    ensure!(
        size < LARGEST,
        "the program has {size} bytes, not less than {LARGEST}"
    );
    say(&format!("the program has {size} bytes"));
    Ok(())
}

/// The size of a folder, as `du` prints it.
fn disk(folder: &Path) -> anyhow::Result<String> {
    let mut du = command::program("du -sh", folder);
    du.arg(folder);
    let told = command::output(du)?;
    Ok(told
        .split_ascii_whitespace()
        .next()
        .unwrap_or("?")
        .to_owned())
}

/// The stand-ins. Each asks the provider that it is told of, and fails unless it answers.
const AGENTS: [(&str, &str); 3] = [("claude", CLAUDE), ("my-agent", MY_AGENT), ("codex", CODEX)];

const CLAUDE: &str = r#"#!/bin/sh
exec curl --silent --show-error --fail "$ANTHROPIC_BASE_URL/v1/messages" \
  --header 'content-type: application/json' --header 'x-api-key: a-stranger' --header 'anthropic-version: 2023-06-01' \
  --data '{"model":"claude-opus-4-8","max_tokens":64,"messages":[{"role":"user","content":"Hello."}]}'
"#;

const MY_AGENT: &str = r#"#!/bin/sh
[ -n "$ANTHROPIC_BASE_URL" ] && exec claude
exec curl --silent --show-error --fail "$OPENAI_BASE_URL/chat/completions" \
  --header 'content-type: application/json' --header 'authorization: Bearer a-stranger' \
  --data '{"model":"gpt-5","messages":[{"role":"user","content":"Hello."}]}'
"#;

const CODEX: &str = r#"#!/bin/sh
url=$(printf '%s' "$2" | sed 's/^openai_base_url="\(.*\)"$/\1/')
exec curl --silent --show-error --fail "$url/responses" \
  --header 'content-type: application/json' --header 'authorization: Bearer a-stranger' \
  --data '{"model":"gpt-5","input":[{"role":"user","content":"Hello."}]}'
"#;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{LARGEST, Role, agree, commands, figures, role, small};

    #[test]
    fn a_large_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ebbtide");
        small(&program).unwrap_err();
        let file = std::fs::File::create(&program).unwrap();
        file.set_len(LARGEST - 1).unwrap();
        small(&program).unwrap();
        file.set_len(LARGEST).unwrap();
        small(&program).unwrap_err();
    }

    #[test]
    fn every_command_of_readme_has_a_role() {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        let readme = std::fs::read_to_string(readme).unwrap();
        let commands = commands(&readme);
        assert_eq!(commands.first(), Some(&"cargo run --release -- demo"));
        assert!(commands.len() > 10, "{commands:?}");
        for line in commands {
            assert!(role(line).is_ok(), "{line}");
        }
        assert!(figures(&readme).contains_key("longest extra wait"));
    }

    #[test]
    fn figures_agree_with_the_demos() {
        let table = |wait: &str, pins: &str| {
            let head = "             with Ebbtide   without\n──────────────\n";
            figures(&format!(
                "{head}longest wait        {wait}      13 s\npins   {pins}  25 of 62\n\nmore   1\n"
            ))
        };
        let readme = table("0.7 s", "60 of 60");
        assert_eq!(readme.get("pins"), Some(&vec![60.0, 60.0, 25.0, 62.0]));
        assert_eq!(readme.len(), 2);
        assert!(agree(&readme, &table("0.9 s", "58 of 58")).is_ok());
        assert!(agree(&readme, &table("7 s", "60 of 60")).is_err());
        assert!(agree(&readme, &figures("")).is_err());
        assert!(agree(&figures(""), &readme).is_err());
    }

    #[test]
    fn remarks_are_not_typed() {
        let readme = "```console\n$ ebbtide serve     # here\noutput\n```\n```sh\n$ no\n```\n";
        assert_eq!(commands(readme), ["ebbtide serve"]);
        assert_eq!(role("ebbtide serve").unwrap(), Role::Serve);
        assert!(role("rm -rf /").is_err());
    }
}
