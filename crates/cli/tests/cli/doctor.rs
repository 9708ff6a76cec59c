//! `ebbtide doctor` against a running gateway, and against none. The servers are stopped by a signal, so
//! on Unix only.

use crate::home::Home;
use crate::listening::{Listening, Served};
use crate::{Ran, run};

const BODY: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}"#;

impl Served {
    fn doctor(&self, home: &Home) -> Ran {
        run(home.program(&["doctor", "--url", &self.gateway.url()]), b"")
    }

    fn connect(&self, home: &Home, client: &str) {
        home.connected(&[client, "--url", &self.gateway.url()]);
    }
}

#[track_caller]
fn has(ran: &Ran, exit: i32, lines: &[&str]) {
    assert_eq!(ran.exit, exit, "{}", ran.shown());
    for line in lines {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
}

#[test]
fn without_a_gateway() {
    let home = Home::empty();
    let nothing = "http://127.0.0.1:9";
    home.connected(&["codex", "--url", nothing]);
    let ran = run(home.program(&["doctor", "--url", nothing]), b"");
    let shown = ran
        .shown()
        .replace(&home.path("").display().to_string(), "HOME/");
    insta::assert_snapshot!(shown);
}

#[test]
fn from_the_first_look_to_the_first_request() {
    let (served, home) = (Served::start(&[]), Home::empty());
    let unused = served.doctor(&home);
    has(
        &unused,
        1,
        &["ok       gateway", "problem  clients      E0033"],
    );
    served.connect(&home, "claude");
    let connected = served.doctor(&home);
    let lines = [
        "-        requests     none has arrived yet",
        "ok       MCP          a server answers at",
        "ok       Claude Code  connected by ~/.claude/settings.json",
        "-        Codex        not connected; ",
    ];
    has(&connected, 0, &lines);
    assert_eq!(connected.stderr, "No problems found.\n");
    let answer = served.gateway.ask("POST /v1/messages", BODY);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let seen = ["ok       requests     1 conversation; the last request came"];
    has(&served.doctor(&home), 0, &seen);
}

#[test]
fn each_problem_of_a_client() {
    let (served, home) = (Served::start(&[]), Home::empty());
    for client in ["claude", "codex"] {
        served.connect(&home, client);
    }
    home.write(".claude.json", "{}");
    home.write(".pi/agent/models.json", "{\"sk-secret\"");
    let opencode = r#"{"provider": {"openai": {"options": {"baseURL": "https://h/sk-secret"}}}}"#;
    home.write(".config/opencode/opencode.json", opencode);
    let codex = format!(
        "model_provider = \"azure\"\n{}",
        home.read(".codex/config.toml")
    );
    home.write(".codex/config.toml", &codex);
    let ran = served.doctor(&home);
    let lines = [
        "problem  Claude Code  E0032: connected in part; missing: mcpServers.ebbtide in",
        "Run `ebbtide connect claude --url",
        "problem  Codex        E0034: Codex uses model_provider",
        "-        opencode     not connected; it uses https://h/…",
        "problem  pi           E0020: ",
    ];
    has(&ran, 1, &lines);
    assert_eq!(ran.stderr, "3 problems found.\n");
    assert!(!ran.stdout.contains("secret"), "{}", ran.stdout);
}

#[test]
fn a_gateway_with_a_token() {
    let home = Home::empty();
    home.write("ebbtide.toml", "admin_token = \"a-long-secret-token\"\n");
    let config = home.path("ebbtide.toml").display().to_string();
    let served = Served::start(&["--config", &config]);
    served.connect(&home, "claude");
    has(&served.doctor(&home), 1, &["problem  requests     E08"]);
    let mut command = home.program(&["doctor", "--url", &served.gateway.url()]);
    command.env("EBBTIDE_ADMIN_TOKEN", "a-long-secret-token");
    let ran = run(command, b"");
    has(
        &ran,
        0,
        &["-        requests     none has arrived yet", "ok       MCP"],
    );
    assert!(!ran.shown().contains("secret"), "{}", ran.shown());
}

#[test]
fn another_server_is_no_gateway() {
    let provider = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let home = Home::empty();
    let ran = run(home.program(&["doctor", "--url", &provider.url()]), b"");
    has(
        &ran,
        1,
        &["problem  gateway      E0827: no gateway answers at"],
    );
}
