//! Claude Code and Codex use their memory: each is connected by `ebbtide connect`, pins a document over MCP, crosses
//! three swaps, reads a removed result back byte for byte, and has a swap undone by its user.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::process::Process;
use super::real::{Bench, Client};
use crate::command::say;

/// The fewest swaps to cross.
const SWAPS: usize = 3;
/// The number of files that are read after the one that is pinned.
const READ: usize = 7;
/// The settings that a person had before.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "claude",
        "home/.claude/settings.json",
        "{\n    \"permissions\" : {\"deny\": [ \"WebFetch\"]}\n}\n",
    ),
    ("claude", "home/.claude.json", "{\"numStartups\":3 }"),
    (
        "codex",
        "codex/config.toml",
        "# mine\nmodel_verbosity  = \"low\"\n\n[tui]\nanimations=false # no\n",
    ),
];

/// A client with its servers.
struct Session<'a> {
    bench: &'a Bench,
    client: &'a Client,
    gateway: &'a Process,
    begun: bool,
}

pub(super) fn run(bench: &Bench, client: &Client) -> anyhow::Result<()> {
    let mut provider = bench.server("sim", client.roomy);
    provider.arg("--log").arg(log(bench));
    let provider = Process::start(provider, bench.folder.join("provider.txt"))?;
    let mut gateway = bench.server("serve", client.roomy);
    let url = provider.url();
    gateway.args(["--anthropic-url", url, "--openai-url", url]);
    gateway.args(["--store", "memory", "--route", "extractive"]);
    let gateway = Process::start(gateway, bench.folder.join("gateway.txt"))?;
    let mut session = Session {
        bench,
        client,
        gateway: &gateway,
        begun: false,
    };
    let settings = session.connect()?;
    let result = session.remember();
    session.disconnect(&settings)?;
    let gateway = gateway.stop()?;
    let totals = provider.stop()?;
    let told = result.with_context(|| format!("see {}", bench.folder.display()))?;
    let swaps = gateway.lines().filter(|it| it.contains("swapped")).count();
    say(&format!(
        "{}, memory: pinned over MCP, {swaps} swaps, {told}, settings as before",
        client.name
    ));
    ensure!(swaps >= SWAPS, "{swaps} swaps, fewer than {SWAPS}");
    ensure!(super::rejected(&totals) == Some(0), "{totals}");
    Ok(())
}

impl Session<'_> {
    /// Connects the client, undoes that, and connects it again. Returns the settings as they were.
    fn connect(&self) -> anyhow::Result<Vec<(&'static str, &'static str)>> {
        let mine = SETTINGS
            .iter()
            .filter(|(client, ..)| *client == self.client.name);
        let settings: Vec<_> = mine.map(|(_, file, text)| (*file, *text)).collect();
        for (file, text) in &settings {
            let path = self.bench.folder.join(file);
            fs::create_dir_all(path.parent().context("a settings file without a folder")?)?;
            fs::write(path, text)?;
        }
        self.ebbtide(&["connect", self.client.name, "--url", self.gateway.url()])?;
        self.ebbtide(&["connect", self.client.name, "--undo"])?;
        for (file, text) in &settings {
            let now = fs::read_to_string(self.bench.folder.join(file))?;
            ensure!(now == *text, "{file} differs after `connect --undo`");
        }
        self.ebbtide(&["connect", self.client.name, "--url", self.gateway.url()])?;
        Ok(settings)
    }

    /// Undoes the connection. Settings that the client itself wrote meanwhile stay.
    fn disconnect(&self, settings: &[(&str, &str)]) -> anyhow::Result<()> {
        self.ebbtide(&["connect", self.client.name, "--undo"])?;
        for (file, _) in settings {
            let now = fs::read_to_string(self.bench.folder.join(file))?;
            ensure!(
                !now.contains("ebbtide"),
                "{file} names ebbtide after `connect --undo`"
            );
        }
        Ok(())
    }

    fn ebbtide(&self, args: &[&str]) -> anyhow::Result<()> {
        let mut ebbtide = Command::new(&self.bench.ebbtide);
        ebbtide.args(args).current_dir(&self.bench.folder);
        self.bench.at_home(&mut ebbtide);
        self.bench.finish(ebbtide)
    }

    fn remember(&mut self) -> anyhow::Result<String> {
        self.read(0)?;
        self.call("Load the memory tools.", self.client.search)?;
        let pin = format!(r#"mcp__ebbtide__pin {{"path":"{}"}}"#, self.note(0));
        self.call("Pin note 0.", &pin)?;
        for file in 1..=READ {
            self.read(file)?;
        }
        let all = requests(&log(self.bench))?;
        // The client's first text is the original.
        let pinned = result_of(&all, "line 299 of note 0:")?;
        let removed = result_of(&all, "line 299 of note 1:")?;
        let last = all.last().context("no request")?;
        let shown = strings(last);
        ensure!(
            shown.iter().any(|text| text.contains(&pinned.text)),
            "the pinned document is not in the last request"
        );
        ensure!(
            !shown.iter().any(|text| text.contains(&removed.text)),
            "note 1 is in view, so that nothing can be brought back"
        );
        let told = |text: &&&str| text.contains("removed from view:") && text.contains("expand");
        ensure!(
            shown.iter().find(told).is_some(),
            "the note does not tell what left the view"
        );
        let expand = format!(
            r#"mcp__ebbtide__expand {{"handle":"call:{}"}}"#,
            removed.call
        );
        self.call("Bring note 1 back.", &expand)?;
        let all = requests(&log(self.bench))?;
        let came = strings(all.last().context("no request")?)
            .iter()
            .any(|text| brings(text, &removed.text));
        ensure!(came, "expand did not bring note 1 byte for byte");
        let undone = self.undo()?;
        Ok(format!(
            "{} bytes expanded byte for byte, {undone}",
            removed.text.len()
        ))
    }

    /// Has the newest swap undone, and returns what the gateway did on the next request.
    fn undo(&mut self) -> anyhow::Result<&'static str> {
        let told = |gateway: &str| {
            let line = gateway.lines().rfind(|it| it.contains("conversation="))?;
            let after = line.split("conversation=").nth(1)?;
            after.split(' ').next().map(str::to_owned)
        };
        let gateway = self.bench.folder.join("gateway.txt");
        let before = fs::read_to_string(&gateway)?;
        let conversation = told(&before).context("the gateway names no conversation")?;
        self.ebbtide(&["undo", &conversation, "--url", self.gateway.url()])?;
        self.call("Go on.", "")?;
        self.call("Go on.", "")?;
        let after = fs::read_to_string(&gateway)?;
        let new = after.get(before.len()..).unwrap_or_default();
        let done = |word: &str| new.contains(&format!("did=\"{word}"));
        match (done("undone"), done("swapped")) {
            (true, _) => Ok("a swap undone"),
            (false, true) => Ok("a swap undone by a larger summary"),
            (false, false) => anyhow::bail!("nothing was undone: {new}"),
        }
    }

    fn read(&mut self, file: usize) -> anyhow::Result<()> {
        let call = (self.client.call)(Path::new(&self.note(file)));
        self.call(&format!("Look at note {file}."), &call)
    }

    fn note(&self, file: usize) -> String {
        let path = self.bench.folder.join(format!("project/note{file}.txt"));
        path.display().to_string()
    }

    /// The client's next run, in which its model makes this call.
    fn call(&mut self, prompt: &str, call: &str) -> anyhow::Result<()> {
        let script = match call {
            "" => "@sim say Well.".to_owned(),
            call => format!("@sim call {call}"),
        };
        let prompt = format!("{prompt}\n{script}");
        let client = (self.client.run)(self.bench, &prompt, !self.begun);
        self.begun = true;
        self.bench.finish(client)
    }
}

fn log(bench: &Bench) -> std::path::PathBuf {
    bench.folder.join("provider.jsonl")
}

/// The generation requests in a provider's log. The gateway's own, for summaries, have no tools.
fn requests(log: &Path) -> anyhow::Result<Vec<Value>> {
    let log = fs::read_to_string(log)?;
    let lines = log.lines().filter(|line| line.contains("\"tools\":["));
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// A tool result as the provider received it first.
struct Original {
    call: String,
    text: String,
}

/// The first result that holds these words.
fn result_of(requests: &[Value], words: &str) -> anyhow::Result<Original> {
    let mut found = requests.iter().filter_map(|request| find(request, words));
    found
        .next()
        .with_context(|| format!("no result holds {words:?}"))
}

fn find(value: &Value, words: &str) -> Option<Original> {
    let id = value.get("tool_use_id").or_else(|| value.get("call_id"));
    let text = value.get("content").or_else(|| value.get("output"));
    if let (Some(call), Some(text)) = (id, text) {
        let text = strings(text).into_iter().find(|it| it.contains(words));
        return text.zip(call.as_str()).map(|(text, call)| Original {
            call: call.to_owned(),
            text: text.to_owned(),
        });
    }
    inside(value).find_map(|value| find(value, words))
}

/// All strings in a value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        other => inside(other).flat_map(strings).collect(),
    }
}

fn inside(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns true if a tool's answer holds a text, as it is or in JSON. Codex puts the time in front of the JSON, Claude Code a
/// reminder behind it.
fn brings(answer: &str, text: &str) -> bool {
    let json = answer.get(answer.find('{').unwrap_or_default()..);
    let json = json.unwrap_or_default();
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let told = values.next().and_then(Result::ok);
    answer.contains(text) || told.is_some_and(|told| strings(&told).contains(&text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{brings, find};

    #[test]
    fn results_are_found_with_their_call() {
        let request = json!({"messages": [{"content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one\n"}]},
            {"type": "tool_result", "tool_use_id": "b", "content": "two\n"},
        ]}]});
        let found = find(&request, "two").unwrap();
        assert_eq!((&*found.call, &*found.text), ("b", "two\n"));
        assert_eq!(find(&request, "one").unwrap().call, "a");
        assert!(find(&request, "three").is_none());
        assert!(
            brings("{\"text\":\"two\\n\"}\n<reminder>", "two\n")
                && !brings(r#"{"text":"two"}"#, "two\n")
        );
    }
}
