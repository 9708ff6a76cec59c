//! The settings of an agent as its program gives them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plumb::graph::External;
use plumb::value::Value;

use crate::error::SetupError;

/// The settings of an agent, with the files read that they name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `None` if the host chooses.
    pub provider: Option<Arc<str>>,
    /// The model's name; of a script, the file.
    pub model: Option<Arc<str>>,
    /// The prompt, and the files of `prompts` behind it.
    pub prompt: String,
    /// The model's URL, instead of the provider's own.
    pub endpoint: Option<Arc<str>>,
    pub limits: Limits,
    pub sampling: Sampling,
    /// True if each message comes with a note about the agent's memory.
    pub runtime_context: bool,
    /// True if nothing is remembered from one message to the next.
    pub amnesiac: bool,
    /// Processes that are offered as tools.
    pub tools: Vec<Arc<str>>,
    /// Programs that serve tools.
    pub servers: Vec<Command>,
}

/// Limits of an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The longest answer in tokens.
    pub tokens: Option<u64>,
    /// The maximum number of retries after an answer of the wrong type.
    pub retries: u32,
    /// The maximum number of remembered turns.
    pub messages: Option<usize>,
    /// The maximum number of tool calls for one message.
    pub tool_calls: u32,
    pub waits: Waits,
}

/// The limits of waiting: for an answer, and for programs that serve tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    /// The longest time for one message.
    pub timeout: Option<Duration>,
    /// The most restarts in a row of a program that has ended.
    pub restarts: u32,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            timeout: None,
            restarts: 3,
        }
    }
}

impl Waits {
    /// The limits among the settings of an agent or a tool.
    pub fn of(declared: &External) -> Self {
        let mut waits = Self::default();
        for (key, value) in &declared.settings {
            waits.set(key, value);
        }
        waits
    }

    fn set(&mut self, key: &str, value: &Value) {
        match key {
            "timeout" => {
                let seconds = number(value).map(Duration::try_from_secs_f64);
                self.timeout = seconds.and_then(Result::ok);
            }
            "max_restarts" => self.restarts = small(value).unwrap_or(self.restarts),
            _ => {}
        }
    }
}

/// Sampling settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampling {
    pub temperature: Option<f64>,
    /// The budget of thinking tokens.
    pub thinking: Option<u64>,
}

/// The usual maximum of failures in a row.
const FAILURES: u32 = 10_000;

/// The maximum number of failures in a row of an agent or a tool that the program handles.
pub(crate) fn max_failures(declared: &External) -> u32 {
    let mut settings = declared.settings.iter();
    let own = settings.find(|(key, _)| &**key == "max_failures");
    own.and_then(|(_, value)| small(value)).unwrap_or(FAILURES)
}

/// A program that serves tools: its name and arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Command {
    pub program: String,
    pub arguments: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tokens: None,
            retries: 3,
            messages: None,
            tool_calls: 50,
            waits: Waits::default(),
        }
    }
}

impl Settings {
    /// Reads the settings of an agent. Paths of files are relative to `folder`.
    ///
    /// # Errors
    /// If a file of `prompts` cannot be read.
    pub fn read(agent: &External, folder: &Path) -> Result<Self, SetupError> {
        let mut settings = Self::default();
        let mut files = Vec::new();
        for (key, value) in &agent.settings {
            settings.set(key, value);
            if &**key == "prompts" {
                files = texts(value);
            }
        }
        for file in files {
            let text = read(agent, &folder.join(&*file))?;
            if !settings.prompt.is_empty() {
                settings.prompt.push_str("\n\n");
            }
            settings.prompt.push_str(text.trim_end());
        }
        Ok(settings)
    }

    /// The checker has seen to it that each is of its kind.
    fn set(&mut self, key: &str, value: &Value) {
        let text = || value.as_text().map(Arc::from);
        match key {
            "provider" => self.provider = text(),
            "model" => self.model = text(),
            "prompt" => self.prompt = value.as_text().unwrap_or_default().to_owned(),
            "endpoint" => self.endpoint = text(),
            "max_tokens" => self.limits.tokens = whole(value),
            "max_retries" => self.limits.retries = small(value).unwrap_or(3),
            "max_messages" => {
                self.limits.messages = whole(value).and_then(|most| most.try_into().ok());
            }
            "max_tool_calls" => self.limits.tool_calls = small(value).unwrap_or(50),
            "thinking_budget" => self.sampling.thinking = whole(value).filter(|most| *most > 0),
            "temperature" => self.sampling.temperature = number(value),
            "runtime_context" => self.runtime_context = *value == Value::Bool(true),
            "amnesiac" => self.amnesiac = *value == Value::Bool(true),
            "tools" => self.tools = texts(value),
            "mcp" => self.servers = Command::all(value),
            _ => self.limits.waits.set(key, value),
        }
    }
}

impl Command {
    /// The commands of the setting `mcp`: a command line, which is divided at white space and seen by no
    /// shell, or `{ command, args }`, or a list of such.
    pub fn all(value: &Value) -> Vec<Self> {
        match value.items() {
            Some(items) => items.iter().filter_map(Self::one).collect(),
            None => Self::one(value).into_iter().collect(),
        }
    }

    fn one(value: &Value) -> Option<Self> {
        if let Some(line) = value.as_text() {
            let mut words = line.split_whitespace().map(str::to_owned);
            return Some(Self {
                program: words.next()?,
                arguments: words.collect(),
            });
        }
        let arguments = value.get("args").map(texts).unwrap_or_default();
        Some(Self {
            program: value.get("command")?.as_text()?.to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
        })
    }
}

/// The text of a file that an agent names.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read(agent: &External, path: &Path) -> Result<String, SetupError> {
    std::fs::read_to_string(path).map_err(|error| unreadable(agent, path.into(), error.to_string()))
}

pub(crate) fn unreadable(agent: &External, path: PathBuf, why: String) -> SetupError {
    SetupError::Unreadable {
        agent: agent.name.clone(),
        path,
        why,
    }
}

/// The number in a value, or `None` if it is not a number.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "settings are small numbers")]
        Value::Int(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn small(value: &Value) -> Option<u32> {
    whole(value)?.try_into().ok()
}

fn texts(value: &Value) -> Vec<Arc<str>> {
    let items = value.items().unwrap_or_default().iter();
    items.filter_map(Value::as_text).map(Arc::from).collect()
}

#[cfg(test)]
mod tests {
    use plumb::value::Value;

    use super::Command;

    fn check(setting: &str, expected: &[(&str, &[&str])]) {
        let value = Value::parse(setting).unwrap();
        let commands = Command::all(&value);
        let shown: Vec<(&str, Vec<&str>)> = commands
            .iter()
            .map(|it| {
                let arguments = it.arguments.iter().map(String::as_str);
                (it.program.as_str(), arguments.collect())
            })
            .collect();
        let expected: Vec<(&str, Vec<&str>)> = expected
            .iter()
            .map(|(program, arguments)| (*program, arguments.to_vec()))
            .collect();
        assert_eq!(shown, expected, "{setting}");
    }

    #[test]
    fn a_server_is_a_command_or_several() {
        check(r#""files --root ./x""#, &[("files", &["--root", "./x"])]);
        check(
            r#"{"command":"my files","args":["a b"]}"#,
            &[("my files", &["a b"])],
        );
        check(
            r#"["one", {"command":"two"}]"#,
            &[("one", &[]), ("two", &[])],
        );
    }
}
