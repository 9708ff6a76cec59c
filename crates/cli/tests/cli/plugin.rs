//! The plugin for Claude Code and Codex says what `ebbtide connect claude` writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::Home;

fn file(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(name)
}

fn plugin(name: &str) -> Value {
    let path = file("plugins/ebbtide").join(name);
    let text = fs::read_to_string(&path).expect("a file of the plugin");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn its_hooks_and_its_server_are_those_of_connect() {
    let home = Home::empty();
    home.connected(&["claude"]);
    let settings = home.json(".claude/settings.json");
    assert_eq!(plugin("hooks/claude-code.json")["hooks"], settings["hooks"]);
    let state = home.json(".claude.json");
    assert_eq!(plugin(".mcp.json")["mcpServers"], state["mcpServers"]);
    let portable = plugin("mcp.json")["mcpServers"]["ebbtide"].clone();
    assert_eq!(portable["type"], "streamable-http");
    let server = &state["mcpServers"]["ebbtide"];
    assert_eq!(portable["url"], server["url"]);
}

#[test]
fn its_manifest_and_the_marketplace_name_it() {
    let portable = plugin("plugin.json");
    assert_eq!(portable["name"], "ebbtide");
    assert_eq!(portable["version"], env!("CARGO_PKG_VERSION"));
    for (manifest, marketplace, source) in [
        (
            ".claude-plugin/plugin.json",
            ".claude-plugin/marketplace.json",
            "/source",
        ),
        (
            ".codex-plugin/plugin.json",
            ".agents/plugins/marketplace.json",
            "/source/path",
        ),
    ] {
        let own = plugin(manifest);
        let fields = portable.as_object().expect("fields").iter();
        for (field, value) in fields.filter(|(field, _)| *field != "$schema") {
            assert_eq!(own[field], *value, "{manifest}");
        }
        let text = fs::read(file(marketplace)).expect("a marketplace");
        let listed: Value = serde_json::from_slice(&text).expect("JSON");
        let entry = &listed["plugins"][0];
        assert_eq!(entry["name"], portable["name"]);
        let source = entry.pointer(source).and_then(Value::as_str);
        assert!(file(source.expect("a folder")).join(manifest).exists());
        for part in ["hooks", "skills", "mcpServers"] {
            let named = own[part].as_str().into_iter();
            named.for_each(|named| assert!(file("plugins/ebbtide").join(named).exists()));
        }
    }
}

#[test]
fn its_skill_and_its_command_describe_themselves() {
    for name in ["skills/compacted-memory/SKILL.md", "commands/lost.md"] {
        let text = fs::read_to_string(file("plugins/ebbtide").join(name)).expect(name);
        let (head, body) = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"))
            .expect("a head");
        assert!(head.lines().any(|line| line.starts_with("description: ")));
        assert!(body.trim().len() > 80, "{name}");
    }
}
