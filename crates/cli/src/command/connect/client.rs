//! The clients, and the settings that connect each of them to the gateway.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::address::Address;
use super::document::Format;
use super::edit::{How, Setting};
use crate::environment::ClientFolders;

/// A client whose settings Ebbtide can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// opencode
    Opencode,
    /// pi
    Pi,
}

/// A gateway, as a client reaches it.
#[derive(Clone, Copy, Debug)]
pub struct Reached<'a> {
    pub address: &'a Address,
    /// The environment variable with the key that hooks and memory tools send.
    pub key: Option<&'a str>,
}

impl Reached<'_> {
    /// Adds the headers with the key to an MCP server or a hook. `open` and `close` stand around the name of an
    /// environment variable in this client's settings.
    fn with_headers(self, value: Value, [open, close]: [&str; 2]) -> Value {
        let headers = |key| json!({"Authorization": format!("Bearer {open}{key}{close}")});
        with(value, "headers", self.key.map(headers))
    }
}

/// A JSON object with one more field, where there is one.
fn with(mut object: Value, name: &str, field: Option<Value>) -> Value {
    if let (Some(object), Some(field)) = (object.as_object_mut(), field) {
        object.insert(name.to_owned(), field);
    }
    object
}

/// A settings file of a client, with the settings that it needs.
#[derive(Debug)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub format: Format,
    pub settings: Vec<Setting>,
}

/// Seconds after which Claude Code goes on without the answer of a hook.
const HOOK_TIMEOUT: u32 = 10;

impl Client {
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Opencode, Self::Pi];

    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
        }
    }

    /// The name, for display.
    pub const fn product(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
        }
    }

    /// The folder with the client's settings. It exists once the client has run.
    pub fn folder(self, folders: &ClientFolders) -> &Path {
        match self {
            Self::Claude => &folders.claude,
            Self::Codex => &folders.codex,
            Self::Opencode => &folders.opencode,
            Self::Pi => &folders.pi,
        }
    }

    /// The files to write, with their settings.
    pub fn files(self, folders: &ClientFolders, gateway: Reached<'_>) -> Vec<SettingsFile> {
        match self {
            Self::Claude => claude(folders, gateway),
            Self::Codex => codex(folders, gateway),
            Self::Opencode => opencode(folders, gateway),
            Self::Pi => pi(folders, gateway),
        }
    }

    /// A remark on a settings file that keeps the client from using the gateway.
    pub fn obstacle(self, settings: &Value) -> Option<String> {
        let provider = settings.get("model_provider")?.as_str()?;
        let other = self == Self::Codex && provider != "openai";
        other.then(|| {
            format!(
                "Codex uses model_provider = \"{provider}\", which ignores openai_base_url. \
                 Remove that line to go through the gateway."
            )
        })
    }

    /// The advice to the user after connecting.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Claude => "Restart Claude Code to use the new settings.",
            Self::Codex => {
                "Restart Codex to use the new settings. Start `ebbtide serve` first: Codex \
                 sends every request to the gateway from now on."
            }
            Self::Opencode => {
                "Restart opencode to use the new settings. Only its providers anthropic and \
                 openai go through the gateway."
            }
            Self::Pi => {
                "Restart pi to use the new settings. Only its providers anthropic and openai go \
                 through the gateway. Versions of pi before 0.99 have no MCP and ignore mcp.json."
            }
        }
    }
}

fn set(keys: &[&str], value: Value) -> Setting {
    Setting {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        how: How::Set,
        value,
    }
}

fn json_file(path: PathBuf, settings: Vec<Setting>) -> SettingsFile {
    SettingsFile {
        path,
        format: Format::Json,
        settings,
    }
}

/// The hooks of Claude Code: the event of each, and its entry.
pub fn claude_hooks(gateway: Reached<'_>) -> [(&'static str, Value); 3] {
    let handler = json!({
        "type": "http",
        "url": gateway.address.claude_hook(),
        "timeout": HOOK_TIMEOUT,
    });
    let handler = gateway.with_headers(handler, ["${", "}"]);
    let allowed = gateway.key.map(|key| json!([key]));
    let handler = with(handler, "allowedEnvVars", allowed);
    let any = json!({"hooks": [handler]});
    let compact = json!({"matcher": "compact", "hooks": [handler]});
    [
        ("SessionStart", compact),
        ("PreCompact", any.clone()),
        ("PostCompact", any),
    ]
}

/// The MCP server, as Claude Code's settings name it.
pub fn claude_server(gateway: Reached<'_>) -> Value {
    let server = json!({"type": "http", "url": gateway.address.mcp()});
    gateway.with_headers(server, ["${", "}"])
}

fn claude(folders: &ClientFolders, gateway: Reached<'_>) -> Vec<SettingsFile> {
    let hook = |(event, value)| Setting {
        how: How::Append,
        ..set(&["hooks", event], value)
    };
    let base = set(
        &["env", "ANTHROPIC_BASE_URL"],
        json!(gateway.address.base()),
    );
    let hooks = claude_hooks(gateway).into_iter().map(hook);
    let settings = std::iter::once(base).chain(hooks).collect();
    let server = claude_server(gateway);
    // Claude Code prefers the file of its first versions where it exists.
    let first = folders.claude.join(".config.json");
    let state = match first.exists() {
        true => first,
        false => folders.claude_state.join(".claude.json"),
    };
    vec![
        json_file(folders.claude.join("settings.json"), settings),
        json_file(state, vec![set(&["mcpServers", "ebbtide"], server)]),
    ]
}

fn codex(folders: &ClientFolders, gateway: Reached<'_>) -> Vec<SettingsFile> {
    let address = gateway.address;
    let server = json!({"url": address.mcp()});
    let key = gateway.key.map(Value::from);
    let server = with(server, "bearer_token_env_var", key);
    vec![SettingsFile {
        path: folders.codex.join("config.toml"),
        format: Format::Toml,
        settings: vec![
            set(&["openai_base_url"], json!(address.versioned())),
            set(&["mcp_servers", "ebbtide"], server),
        ],
    }]
}

fn opencode(folders: &ClientFolders, gateway: Reached<'_>) -> Vec<SettingsFile> {
    let address = gateway.address;
    // In opencode's own order. It merges the files, and the first of these wins.
    let names = ["opencode.jsonc", "opencode.json", "config.json"];
    let found = names.map(|name| folders.opencode.join(name));
    let usual = folders.opencode.join("opencode.jsonc");
    let path = found.into_iter().find(|path| path.exists());
    let server = json!({"type": "remote", "url": address.mcp(), "enabled": true});
    let server = gateway.with_headers(server, ["{env:", "}"]);
    let base = |provider: &str| {
        let keys = ["provider", provider, "options", "baseURL"];
        set(&keys, json!(address.versioned()))
    };
    let settings = vec![
        base("anthropic"),
        base("openai"),
        set(&["mcp", "ebbtide"], server),
    ];
    vec![json_file(path.unwrap_or(usual), settings)]
}

fn pi(folders: &ClientFolders, gateway: Reached<'_>) -> Vec<SettingsFile> {
    let address = gateway.address;
    let base = |provider: &str, url: String| set(&["providers", provider, "baseUrl"], json!(url));
    let providers = vec![
        // pi's Anthropic client adds /v1 itself.
        base("anthropic", address.base().to_owned()),
        base("openai", address.versioned()),
    ];
    let server = gateway.with_headers(json!({"url": address.mcp()}), ["${", "}"]);
    let server = set(&["mcpServers", "ebbtide"], server);
    vec![
        json_file(folders.pi.join("models.json"), providers),
        json_file(folders.pi.join("mcp.json"), vec![server]),
    ]
}
