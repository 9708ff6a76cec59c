//! The plugin for Claude Code says what `ebbtide connect claude` writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::Home;

fn file(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(name)
}

fn plugin(name: &str) -> Value {
    let path = file("plugins/claude-code").join(name);
    let text = fs::read_to_string(&path).expect("a file of the plugin");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn its_hooks_and_its_server_are_those_of_connect() {
    let home = Home::empty();
    home.connected(&["claude"]);
    let settings = home.json(".claude/settings.json");
    assert_eq!(plugin("hooks/hooks.json")["hooks"], settings["hooks"]);
    let state = home.json(".claude.json");
    assert_eq!(plugin(".mcp.json")["mcpServers"], state["mcpServers"]);
}

#[test]
fn its_manifest_and_the_marketplace_name_it() {
    let manifest = plugin(".claude-plugin/plugin.json");
    assert_eq!(manifest["name"], "ebbtide");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let marketplace = fs::read(file(".claude-plugin/marketplace.json")).expect("a marketplace");
    let marketplace: Value = serde_json::from_slice(&marketplace).expect("JSON");
    let entry = &marketplace["plugins"][0];
    assert_eq!(entry["name"], manifest["name"]);
    let source = entry["source"].as_str().expect("a folder");
    assert!(file(source).join(".claude-plugin/plugin.json").exists());
}

#[test]
fn its_skill_and_its_command_describe_themselves() {
    for name in ["skills/compacted-memory/SKILL.md", "commands/lost.md"] {
        let text = fs::read_to_string(file("plugins/claude-code").join(name)).expect(name);
        let (head, body) = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"))
            .expect("a head");
        assert!(head.lines().any(|line| line.starts_with("description: ")));
        assert!(body.trim().len() > 80, "{name}");
    }
}
