//! `ebbtide connect` in temporary home folders. Permissions and links are checked, so on Unix only.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::home::Home;
use crate::run;

const CLIENTS: [&str; 4] = ["claude", "codex", "opencode", "pi"];
const URL: &str = "http://127.0.0.1:4000";

const CLAUDE: &str = r#"{
    // the large one
    "model": "opus",
    "env": {
        "ANTHROPIC_BASE_URL": "https://me:sk-secret@proxy.example/v1",
        "DISABLE_TELEMETRY": "1"
    },
    "hooks": {
        "PreCompact": [
            { "hooks": [{ "type": "command", "command": "date" }] }, // mine
        ]
    },
    "permissions": { "allow": ["Bash(git:*)"] }
}
"#;

const STATE: &str = "{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"docs\": {\n      \"command\": \"docs\",\n      \"env\": {\n        \"KEY\": \"sk-secret\"\n      }\n    }\n  },\n  \"projects\": {}\n}";

const CODEX: &str = r#"# my settings
model = "gpt-5.5"  # the large one
openai_base_url = "https://proxy.example/v1"

[mcp_servers.docs]   # documentation
command = "docs"
env = { KEY = "sk-secret" }

[projects."/src"]
trust_level = "trusted"
"#;

const OPENCODE: &str = "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t/* keys */\n\t\"provider\": {\n\t\t\"anthropic\": { \"options\": { \"apiKey\": \"sk-secret\" } },\n\t},\n}\n";

const PI: &str = "{\r\n  \"providers\": {\r\n    // local\r\n    \"ollama\": { \"baseUrl\": \"http://localhost:11434/v1\", \"apiKey\": \"sk-secret\" }\r\n  }\r\n}\r\n";

/// The files of a home folder that all four clients have used.
const USED: [(&str, &str); 5] = [
    (".claude/settings.json", CLAUDE),
    (".claude.json", STATE),
    (".codex/config.toml", CODEX),
    (".config/opencode/opencode.json", OPENCODE),
    (".pi/agent/models.json", PI),
];

/// A home folder that all four clients have used.
fn used() -> Home {
    let home = Home::empty();
    for (name, text) in USED {
        home.write(name, text);
    }
    home
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

#[test]
fn each_client_from_nothing_and_back() {
    for client in CLIENTS {
        let home = Home::empty();
        let said = home.connected(&[client]);
        assert!(said.contains("(new file)"), "{said}");
        assert_eq!(mode(&home.record(client)), 0o600);
        let connected = home.state();
        assert!(!connected.is_empty());
        let again = home.connect(&[client]);
        assert_eq!(again.exit, 0);
        let told = format!("is connected to {URL} already");
        assert!(again.stderr.contains(&told), "{}", again.stderr);
        assert_eq!(home.state(), connected, "{client}: twice is once");
        home.connected(&[client, "--undo"]);
        assert_eq!(home.state(), BTreeMap::new(), "{client}");
        assert!(!home.record(client).exists());
        let twice = home.connect(&[client, "--undo"]);
        assert!(twice.stderr.contains("Nothing to undo"), "{}", twice.stderr);
        assert_eq!(twice.exit, 0);
    }
}

#[test]
fn each_client_with_settings_and_back() {
    let home = used();
    let before = home.state();
    for client in CLIENTS {
        home.connected(&[client]);
        assert_ne!(home.state(), before);
        let connected = home.state();
        home.connected(&[client]);
        assert_eq!(home.state(), connected, "{client}: twice is once");
        home.connected(&[client, "--undo"]);
        assert_eq!(home.state(), before, "{client}");
    }
}

#[test]
fn what_is_written_for_claude_code() {
    let home = Home::empty();
    home.connected(&["claude"]);
    let handler = json!({
        "type": "http", "url": "http://127.0.0.1:4000/ebbtide/hooks/claude", "timeout": 10,
    });
    let hook = json!([{"hooks": [handler]}]);
    let expected = json!({
        "env": {"ANTHROPIC_BASE_URL": URL},
        "hooks": {
            "SessionStart": [{"matcher": "compact", "hooks": [handler]}],
            "PreCompact": hook,
            "PostCompact": hook,
        },
    });
    assert_eq!(home.json(".claude/settings.json"), expected);
    let server = json!({"type": "http", "url": "http://127.0.0.1:4000/mcp"});
    assert_eq!(
        home.json(".claude.json"),
        json!({"mcpServers": {"ebbtide": server}})
    );
}

#[test]
fn what_is_written_for_the_others() {
    let home = Home::empty();
    for client in CLIENTS {
        home.connected(&[client, "--url", "http://localhost:4100/"]);
    }
    let (base, mcp) = ("http://localhost:4100/v1", "http://localhost:4100/mcp");
    insta::assert_snapshot!(home.read(".codex/config.toml"), @r#"
    openai_base_url = "http://localhost:4100/v1"

    [mcp_servers.ebbtide]
    url = "http://localhost:4100/mcp"
    "#);
    let options = json!({"options": {"baseURL": base}});
    let expected = json!({
        "provider": {"anthropic": options, "openai": options},
        "mcp": {"ebbtide": {"type": "remote", "url": mcp, "enabled": true}},
    });
    assert_eq!(home.json(".config/opencode/opencode.jsonc"), expected);
    let expected = json!({
        "anthropic": {"baseUrl": "http://localhost:4100"},
        "openai": {"baseUrl": base},
    });
    assert_eq!(
        home.json(".pi/agent/models.json"),
        json!({"providers": expected})
    );
    let server = json!({"ebbtide": {"url": mcp}});
    assert_eq!(
        home.json(".pi/agent/mcp.json"),
        json!({"mcpServers": server})
    );
}

#[test]
fn a_key_is_named_by_its_variable() {
    let home = Home::empty();
    for client in CLIENTS {
        home.connected(&[client, "--key-variable", "GATE_KEY"]);
    }
    let bearer = |place: &str| json!({"Authorization": format!("Bearer {place}")});
    let settings = home.json(".claude/settings.json");
    let hook = &settings["hooks"]["PreCompact"][0]["hooks"][0];
    assert_eq!(hook["headers"], bearer("${GATE_KEY}"));
    assert_eq!(hook["allowedEnvVars"], json!(["GATE_KEY"]));
    for (file, server, place) in [
        (".claude.json", "/mcpServers/ebbtide", "${GATE_KEY}"),
        (
            ".config/opencode/opencode.jsonc",
            "/mcp/ebbtide",
            "{env:GATE_KEY}",
        ),
        (".pi/agent/mcp.json", "/mcpServers/ebbtide", "${GATE_KEY}"),
    ] {
        let server = home.json(file).pointer(server).cloned().expect("a server");
        assert_eq!(server["headers"], bearer(place), "{file}");
    }
    let codex = home.read(".codex/config.toml");
    assert!(
        codex.contains("bearer_token_env_var = \"GATE_KEY\""),
        "{codex}"
    );
    let doctor = run(home.program(&["doctor"]), b"").stdout;
    assert_eq!(doctor.matches("connected by").count(), 4, "{doctor}");
    for client in CLIENTS {
        // The variable stays known.
        let again = home.connect(&[client]).stderr;
        assert!(again.contains("is connected"), "{again}");
        home.connected(&[client, "--undo"]);
    }
    assert_eq!(home.state(), BTreeMap::new());
    for key in ["sk-ant-secret", "gsk_secret", "1F2E", "$GATE_KEY", ""] {
        let refused = home.connect(&["claude", "--key-variable", key]);
        assert_ne!(refused.exit, 0, "{key}");
        assert!(refused.stderr.contains("E0025"), "{}", refused.stderr);
        assert!(key.is_empty() || !refused.stderr.contains(key), "{key}");
    }
    assert_eq!(home.state(), BTreeMap::new());
}

#[test]
fn comments_order_and_other_settings_stay() {
    let home = used();
    for client in CLIENTS {
        home.connected(&[client]);
    }
    insta::assert_snapshot!("claude_settings", home.read(".claude/settings.json"));
    insta::assert_snapshot!("codex_settings", home.read(".codex/config.toml"));
    insta::assert_snapshot!(
        "opencode_settings",
        home.read(".config/opencode/opencode.json")
    );
    let pi = home.read(".pi/agent/models.json");
    assert!(pi.starts_with(PI.split_at(60).0), "{pi}");
    assert_eq!(pi.matches('\n').count(), pi.matches("\r\n").count(), "{pi}");
}

#[test]
fn every_change_is_told_without_secrets() {
    let home = used();
    let connected = home.connect(&["claude"]).shown();
    let undone = home.connect(&["claude", "--undo"]).shown();
    insta::assert_snapshot!("claude_told", connected);
    insta::assert_snapshot!("claude_undone", undone);
}

#[test]
fn folders_follow_the_variables_of_the_clients() {
    let home = Home::empty();
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.jsonc"),
        ("pi", "PI_CODING_AGENT_DIR", "models.json"),
    ] {
        let moved = home.path(&format!("moved/{client}"));
        let mut command = home.program(&["connect", client]);
        command.env(variable, &moved);
        assert_eq!(run(command, b"").exit, 0);
        assert!(moved.join(file).exists(), "{client} {file}");
        home.connected(&[client, "--undo"]);
        assert!(!moved.exists(), "the record holds the place");
    }
}

#[test]
fn another_gateway_later() {
    let home = used();
    let before = home.state();
    for client in CLIENTS {
        home.connected(&[client]);
        let told = home.connected(&[client, "--url", "http://localhost:4100"]);
        assert!(told.contains(URL), "the old URL is told: {told}");
        let changed = home.state().into_values().flatten();
        let holds = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(URL);
        assert!(
            !changed.into_iter().any(holds),
            "{client}: no old URL stays"
        );
        home.connected(&[client, "--undo"]);
        assert_eq!(home.state(), before, "{client}");
    }
}

#[test]
fn an_edit_in_between_survives() {
    let home = used();
    for client in CLIENTS {
        home.connected(&[client]);
    }
    let edits = [
        (".claude/settings.json", "\"opus\"", "\"haiku\""),
        (".claude.json", "\"numStartups\": 12", "\"numStartups\": 13"),
        (".codex/config.toml", "\"gpt-5.5\"", "\"gpt-6\""),
        (
            ".config/opencode/opencode.json",
            "/* keys */",
            "/* my keys */",
        ),
        (".pi/agent/models.json", "// local", "// at home"),
    ];
    for (name, old, new) in edits {
        home.write(name, &home.read(name).replace(old, new));
    }
    for client in CLIENTS {
        let told = home.connected(&[client, "--undo"]);
        assert!(told.contains("edited in the meantime"), "{client}: {told}");
    }
    for ((name, text), (_, old, new)) in USED.into_iter().zip(edits) {
        let expected: Vec<String> = words(&text.replace(old, new));
        assert_eq!(words(&home.read(name)), expected, "{name}");
    }
    assert_eq!(
        home.read(".codex/config.toml"),
        CODEX.replace("\"gpt-5.5\"", "\"gpt-6\"")
    );
    assert!(
        !home.path(".pi/agent/mcp.json").exists(),
        "it was new and not edited"
    );
}

/// The text without white space, which an edit of an object in one line changes.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace()
        .flat_map(|word| word.split_inclusive(['{', '}', '[', ']', ',']))
        .map(str::to_owned)
        .collect()
}

#[test]
fn an_edit_before_the_second_connection_survives() {
    let home = used();
    let file = ".codex/config.toml";
    home.connected(&["codex"]);
    home.write(file, &(home.read(file) + "\n[tui]\ntheme = \"dark\"\n"));
    home.connected(&["codex", "--url", "http://localhost:4100"]);
    assert!(home.read(file).contains("theme"));
    home.connected(&["codex", "--undo"]);
    assert_eq!(
        home.read(file),
        format!("{CODEX}\n[tui]\ntheme = \"dark\"\n")
    );
}

#[test]
fn a_value_that_the_user_changed_is_kept() {
    let home = Home::empty();
    home.connected(&["claude"]);
    let file = ".claude/settings.json";
    home.write(
        file,
        &home
            .read(file)
            .replace(&format!("\"{URL}\""), "\"https://mine\""),
    );
    let told = home.connected(&["claude", "--undo"]);
    assert!(told.contains("env.ANTHROPIC_BASE_URL: kept"), "{told}");
    let expected = json!({"env": {"ANTHROPIC_BASE_URL": "https://mine"}});
    assert_eq!(home.json(file), expected);
    assert!(!home.path(".claude.json").exists());
}

#[test]
fn files_deleted_in_between_stay_deleted() {
    let home = used();
    home.connected(&["codex"]);
    fs::remove_file(home.path(".codex/config.toml")).expect("a file");
    let told = home.connected(&["codex", "--undo"]);
    assert!(told.contains("nothing to do"), "{told}");
    assert!(!home.path(".codex/config.toml").exists());
}

#[test]
fn an_invalid_file_is_refused_and_nothing_changes() {
    for (client, name, text, place) in [
        (
            "claude",
            ".claude/settings.json",
            "{\n  \"env\": {\n}\n",
            "settings.json:",
        ),
        (
            "claude",
            ".claude.json",
            "{\"a\": sk-secret}",
            ".claude.json:1:",
        ),
        (
            "codex",
            ".codex/config.toml",
            "model = \"a\"\nkey = sk-secret\n",
            "config.toml:2:",
        ),
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            "{'a': 1}",
            "opencode.jsonc:1:2",
        ),
        ("pi", ".pi/agent/mcp.json", "{,}", "mcp.json:1:"),
    ] {
        let home = used();
        home.write(name, text);
        let before = home.state();
        let ran = home.connect(&[client]);
        assert_eq!((ran.exit, ran.stdout.as_str()), (2, ""), "{client}");
        assert!(ran.stderr.starts_with("error[E0020]: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("Nothing was changed."),
            "{}",
            ran.stderr
        );
        assert_eq!(home.state(), before, "{client}");
        assert!(!home.record(client).exists());
    }
}

#[test]
fn a_file_that_became_invalid_stops_undo() {
    let home = used();
    home.connected(&["claude"]);
    home.write(".claude.json", "{");
    let before = home.state();
    let ran = home.connect(&["claude", "--undo"]);
    assert_eq!(ran.exit, 2);
    assert!(ran.stderr.starts_with("error[E0020]"), "{}", ran.stderr);
    assert_eq!(home.state(), before);
    assert!(home.record("claude").exists(), "it can be tried again");
}

#[test]
fn values_of_another_type_are_refused() {
    for (client, name, text, keys) in [
        ("claude", ".claude/settings.json", "[]", "its top level"),
        (
            "claude",
            ".claude/settings.json",
            "{\"env\": \"sk-secret\"}",
            "`env`",
        ),
        (
            "claude",
            ".claude/settings.json",
            "{\"hooks\": {\"PreCompact\": {}}}",
            "`hooks.PreCompact`",
        ),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = 1",
            "`mcp_servers`",
        ),
    ] {
        let home = Home::empty();
        home.write(name, text);
        let ran = home.connect(&[client]);
        assert_eq!(ran.exit, 2, "{}", ran.stderr);
        assert!(ran.stderr.starts_with("error[E0021]: "), "{}", ran.stderr);
        assert!(ran.stderr.contains(keys), "{}", ran.stderr);
        assert_eq!(home.read(name), text);
    }
}

#[test]
fn links_and_permissions_stay() {
    let home = used();
    let file = home.path("dotfiles/settings.json");
    home.write("dotfiles/settings.json", CLAUDE);
    fs::remove_file(home.path(".claude/settings.json")).expect("a file");
    symlink(
        "../dotfiles/settings.json",
        home.path(".claude/settings.json"),
    )
    .expect("a link");
    for (path, bits) in [(&file, 0o640), (&home.path(".claude.json"), 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("permissions");
    }
    let before = home.state();
    for undo in [&["claude"][..], &["claude", "--undo"]] {
        home.connected(undo);
        assert_eq!(mode(&file), 0o640);
        assert_eq!(mode(&home.path(".claude.json")), 0o600);
        let link = fs::symlink_metadata(home.path(".claude/settings.json")).expect("a link");
        assert!(link.is_symlink());
    }
    assert_eq!(home.state(), before);
}

#[test]
fn a_link_to_no_file_is_followed() {
    let home = Home::empty();
    fs::create_dir(home.path(".codex")).expect("a folder");
    symlink(
        home.path("dotfiles/codex.toml"),
        home.path(".codex/config.toml"),
    )
    .expect("a link");
    home.connected(&["codex"]);
    assert!(home.read("dotfiles/codex.toml").contains(URL));
    home.connected(&["codex", "--undo"]);
    assert!(!home.path("dotfiles").exists());
    assert!(home.path(".codex/config.toml").is_symlink());
}

#[test]
fn a_dry_run_changes_nothing() {
    let home = used();
    let before = home.state();
    for client in CLIENTS {
        let dry = home.connect(&[client, "--dry-run"]);
        assert_eq!(dry.exit, 0);
        assert!(
            dry.stderr.contains("Nothing was changed."),
            "{}",
            dry.stderr
        );
        assert_eq!(home.state(), before);
        assert!(!home.record(client).exists());
        assert_eq!(
            home.connected(&[client]),
            dry.stdout,
            "it shows the real changes"
        );
        let connected = home.state();
        let dry = home.connected(&[client, "--undo", "--dry-run"]);
        assert_eq!(home.state(), connected);
        assert_eq!(home.connected(&[client, "--undo"]), dry);
    }
}

#[test]
fn codex_with_another_provider_is_warned() {
    let home = Home::empty();
    home.write(".codex/config.toml", "model_provider = \"azure\"\n");
    let ran = home.connect(&["codex"]);
    assert!(
        ran.stderr.contains("warning: Codex uses model_provider"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_damaged_record_is_refused() {
    let home = used();
    let before = home.state();
    home.write(".local/share/ebbtide/connect/codex.json", "{\"sk-secret\"}");
    for arguments in [&["codex"][..], &["codex", "--undo"]] {
        let ran = home.connect(arguments);
        assert_eq!(ran.exit, 2);
        assert!(ran.stderr.starts_with("error[E0023]"), "{}", ran.stderr);
    }
    assert_eq!(home.state(), before);
}
