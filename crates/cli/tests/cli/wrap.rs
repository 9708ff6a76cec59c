//! `ebbtide wrap` with a real client process, in front of the simulated provider.

use crate::home::Home;
use crate::listening::Listening;
use crate::{Ran, program, run};

#[test]
fn a_strategy_file_is_the_gateways_by_its_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.plumb");
    let text = include_str!("../../../../strategies/thrifty.plumb");
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("a name");
    let options = ["--store", "memory", "--strategy", path];
    let serve = [&["serve", "--listen", "127.0.0.1:0"][..], &options].concat();
    let gateway = Listening::start(&serve);
    let address = gateway.url();
    let address = address.trim_start_matches("http://");
    let first = [
        "wrap",
        "--listen",
        address,
        "--strategy",
        path,
        "--",
        "true",
    ];
    let ran = run(program(&first), b"");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
}

#[test]
fn a_client_is_asked_to_end() {
    let wrapped = ["wrap", "--listen", "127.0.0.1:0", "--store", "memory", "--"];
    for signal in ["TERM", "HUP"] {
        let script = format!(
            "trap 'exit 5' {signal}; kill -{signal} $PPID; sleep 20 >/dev/null 2>&1 & wait"
        );
        let client = ["bash", "-c", &script];
        let ran = run(program(&[&wrapped[..], &client].concat()), b"");
        assert_eq!(ran.exit, 5, "{signal}: {}", ran.stderr);
    }
}

#[test]
fn a_gateway_that_asks_for_a_token_is_not_said_to_be_unused() {
    let token = "a-token-of-many-letters";
    let mut serve = program(&["serve", "--listen", "127.0.0.1:0", "--store", "memory"]);
    serve.env("EBBTIDE_ADMIN_TOKEN", token);
    let gateway = Listening::of(serve);
    let address = gateway.url();
    let address = address.trim_start_matches("http://");
    let ran = run(program(&["wrap", "--listen", address, "--", "true"]), b"");
    let asks = "asks for its token (EBBTIDE_ADMIN_TOKEN)";
    assert!(ran.stderr.contains(asks), "{}", ran.stderr);
    let on = ["wrap", "--listen", address, "--mode", "on", "--", "true"];
    let ran = run(program(&on), b"");
    assert!(ran.stderr.contains(asks), "{}", ran.stderr);
    let mut with = program(&on);
    with.env("EBBTIDE_ADMIN_TOKEN", token);
    let ran = run(with, b"");
    assert!(ran.stderr.contains("no request arrived"), "{}", ran.stderr);
}

/// A client that sends one request with these messages, and ends with a status.
fn client(messages: &str, ends: &str) -> String {
    format!(
        r#"body='{{"model":"claude-sonnet-5","max_tokens":64,"messages":[{messages}]}}'
host=${{ANTHROPIC_BASE_URL#http://}}
exec 3<>"/dev/tcp/${{host%:*}}/${{host#*:}}"
printf 'POST /v1/messages HTTP/1.1\r\nhost: %s\r\nconnection: close\r\nx-api-key: sk-secret\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: %s\r\n\r\n%s' "$host" "${{#body}}" "$body" >&3
cat <&3 >/dev/null
{ends}"#
    )
}

const HELLO: &str = r#"{"role":"user","content":"hello"}"#;

fn wrap(options: &[&str], client: &str) -> Ran {
    let rest = ["--store", "memory", "--", "bash", "-c", client];
    run(program(&[&["wrap"], options, &rest].concat()), b"")
}

#[test]
fn a_client_runs_through_a_gateway_of_its_own() {
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let url = sim.url();
    let own = ["--listen", "127.0.0.1:0", "--anthropic-url", &url];
    let ran = wrap(&own, &client(HELLO, "exit 7"));
    assert_eq!(ran.exit, 7, "{}", ran.stderr);
    let told = "Ebbtide: 1 request answered, 0 swaps, ";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let ran = wrap(&own, "kill -9 $$");
    assert_eq!(ran.exit, 137, "{}", ran.stderr);
    assert!(ran.stderr.contains("no request arrived"), "{}", ran.stderr);
}

#[test]
fn refusals_are_told() {
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let url = sim.url();
    let own = ["--listen", "127.0.0.1:0", "--anthropic-url", &url];
    let ran = wrap(&own, &client("", "exit 0"));
    let told = "Ebbtide: no request was answered. 1 request got an error.";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn a_running_gateway_is_used_unless_its_settings_differ() {
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let (url, memory) = (sim.url(), ["--store", "memory"]);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--mode", "observe"];
    let gateway = [&serve[..], &["--anthropic-url", &url], &memory].concat();
    let gateway = Listening::start(&gateway);
    let address = gateway.url();
    let address = address.trim_start_matches("http://");
    let joined = |options: &[&str]| {
        let script = client(HELLO, "exit 0");
        let rest = ["--", "bash", "-c", &script];
        let first = ["wrap", "--listen", address];
        run(program(&[&first, options, &rest].concat()), b"")
    };
    let ran = joined(&["--mode", "observe"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    let told = "Ebbtide: 1 request answered, would have swapped 0 times, ";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let ran = joined(&["--mode", "on"]);
    assert_eq!(ran.exit, 2);
    let told =
        format!("error[E0019]: a gateway runs at http://{address} already, with `--mode observe`");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let mut by_variable = program(&["wrap", "--listen", address, "--", "true"]);
    by_variable.env("EBBTIDE_MODE", "on");
    let ran = run(by_variable, b"");
    let told = "already, with `mode observe`";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let ran = joined(&["--window", "200k"]);
    assert!(
        ran.stderr.contains("with `--window none`"),
        "{}",
        ran.stderr
    );
    let ran = joined(&["--otlp", "http://127.0.0.1:4318"]);
    assert!(
        ran.stderr.contains("and `--otlp` cannot change it"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_file_of_a_cloned_project_is_not_read() {
    let (sim, home) = (
        Listening::start(&["sim", "--listen", "127.0.0.1:0"]),
        Home::empty(),
    );
    let upstream = |url: &str| format!("[upstream]\nanthropic = \"{url}\"\n");
    home.write(".config/ebbtide/ebbtide.toml", &upstream(&sim.url()));
    // Nothing answers there.
    home.write("clone/ebbtide.toml", &upstream("http://127.0.0.1:9"));
    let ran = |options: &[&str], folder: &str| {
        let script = client(HELLO, "exit 0");
        let own = ["wrap", "--listen", "127.0.0.1:0", "--store", "memory"];
        let rest = ["--", "bash", "-c", &script];
        let mut wrap = home.program(&[&own[..], options, &rest].concat());
        wrap.current_dir(home.path(folder));
        run(wrap, b"")
    };
    let told = "warning: ./ebbtide.toml is ignored, because this command may run in any folder. \
                To use it, add `--config ./ebbtide.toml`.\n";
    let ignored = ran(&[], "clone");
    assert!(ignored.stderr.starts_with(told), "{}", ignored.stderr);
    assert!(
        ignored.stderr.contains("1 request answered"),
        "{}",
        ignored.stderr
    );
    let named = ran(&["--config", "./ebbtide.toml"], "clone");
    assert!(!named.stderr.contains("ignored"), "{}", named.stderr);
    assert!(
        named.stderr.contains("no request was answered"),
        "{}",
        named.stderr
    );
    let own = ran(&[], ".config/ebbtide");
    assert!(!own.stderr.contains("ignored"), "{}", own.stderr);
}
