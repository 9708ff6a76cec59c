//! `ebbtide wrap` with a real client process, in front of the simulated provider.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

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

/// The longest that a test waits.
const LONG: Duration = Duration::from_secs(20);

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
    let mut by_variable = program(&["wrap", "--listen", address, "--", "true"]);
    by_variable.env("EBBTIDE_UPSTREAM_CHATGPT", "none");
    let ran = run(by_variable, b"");
    let told = "with `upstream.chatgpt https://chatgpt.com/backend-api/codex`";
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

/// A command that runs beside the test, and is killed if the test fails.
struct Beside(Child);

impl Beside {
    fn start(mut command: Command) -> Self {
        Self(command.spawn().expect("the program starts"))
    }

    fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill").success());
    }

    /// Reads standard error up to a line with this text. All of it, if there is none.
    fn said_until(&mut self, text: &str) -> String {
        let mut said = String::new();
        let stderr = self.0.stderr.as_mut().expect("a pipe");
        // One byte at a time, so that nothing behind the line is lost.
        let mut stderr = BufReader::with_capacity(1, stderr);
        while !said.contains(text) && stderr.read_line(&mut said).expect("UTF-8") > 0 {}
        said
    }

    /// Waits until the client prints this line first.
    fn wait_for(&mut self, line: &str) {
        let stdout = self.0.stdout.as_mut().expect("a pipe");
        let mut printed = String::new();
        let read = BufReader::with_capacity(1, stdout).read_line(&mut printed);
        read.expect("UTF-8");
        assert_eq!(printed, line);
    }

    fn exit(&mut self) -> Option<i32> {
        self.0.wait().expect("it ends").code()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It has ended, unless a check before failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first wrap starts a gateway, a second one joins it, and the first one's client ends.
#[test]
fn a_gateway_stays_up_while_another_wrap_uses_it() {
    let sim = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    for ends in ["by itself", "killed", "Ctrl-C"] {
        let home = Home::empty();
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let begin = |options: &[&str], script: &str| {
            let wrap = ["wrap", "--listen", &address, "--anthropic-url", &sim.url()];
            let rest = ["--", "bash", "-c", script];
            let mut wrap = home.program(&[&wrap[..], options, &rest].concat());
            wrap.current_dir(home.path(""));
            Beside::start(wrap)
        };
        // It ends on its own, if a check fails.
        let until = |file: &str| {
            format!("for n in $(seq 400); do [ -e {file} ] && break; sleep 0.05; done")
        };
        let script = format!("echo up; {}; exit 3", until("joined"));
        let mut owner = begin(&["--store", "memory"], &script);
        owner.wait_for("up\n");
        let script = format!("touch joined; {}; {}", until("go"), client(HELLO, "exit 0"));
        let mut second = begin(&[], &script);
        let said = owner.said_until("stays up while other clients use it");
        assert!(said.contains("Press Ctrl-C to stop it."), "{ends}: {said}");
        match ends {
            "by itself" => {
                home.write("go", "");
                let said = second.said_until("Ebbtide:");
                assert!(said.contains("1 request answered"), "{said}");
                assert_eq!(second.exit(), Some(0));
            }
            "killed" => second.signal("KILL"),
            _ => owner.signal("INT"),
        }
        assert_eq!(owner.exit(), Some(3), "{ends}");
        home.write("go", "");
        let locks = home.path(".local/share/ebbtide/wrap");
        let left = std::fs::read_dir(locks).expect("a folder").count();
        assert_eq!(left, 0, "{ends}");
    }
}

/// A company's gateway takes a company's token, which must not go to the provider.
#[test]
fn a_base_url_of_the_environment_is_the_upstream() {
    let company = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
    let wrap = |options: &[&str], client: &str| {
        let mut wrap = program(&[&["wrap"], options, &["--", "bash", "-c", client]].concat());
        wrap.env("ANTHROPIC_BASE_URL", company.url());
        run(wrap, b"")
    };
    let own = ["--listen", "127.0.0.1:0", "--store", "memory"];
    let ran = wrap(&own, &client(HELLO, "exit 0"));
    let told = format!(
        "Ebbtide: requests go on to {}, from ANTHROPIC_BASE_URL.\n",
        company.url()
    );
    assert!(ran.stderr.starts_with(&told), "{}", ran.stderr);
    let answered = "1 request answered";
    assert!(ran.stderr.contains(answered), "{}", ran.stderr);
    // A setting is stronger.
    let nothing = ["--anthropic-url", "http://127.0.0.1:9"];
    let ran = wrap(&[&own[..], &nothing].concat(), &client(HELLO, "exit 0"));
    assert!(!ran.stderr.contains(&told), "{}", ran.stderr);
    let unanswered = "no request was answered";
    assert!(ran.stderr.contains(unanswered), "{}", ran.stderr);

    let serve = |upstream: &str| {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--store", "memory"];
        Listening::start(&[&serve[..], &["--anthropic-url", upstream]].concat())
    };
    let joined = |gateway: &Listening| {
        let address = gateway.url();
        let address = address.trim_start_matches("http://");
        wrap(&["--listen", address], &client(HELLO, "exit 0"))
    };
    let ran = joined(&serve(&format!("{}/", company.url())));
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(answered), "{}", ran.stderr);
    let ran = joined(&serve("http://127.0.0.1:9"));
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    let told = "already, with `ANTHROPIC_BASE_URL http://127.0.0.1:9`";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(ran.stderr.contains("E0019"), "{}", ran.stderr);
}

#[test]
fn a_base_url_that_leads_to_the_gateway_is_no_upstream() {
    let gateway = Listening::start(&["serve", "--listen", "127.0.0.1:0", "--store", "memory"]);
    let address = gateway.url();
    let mut inner = program(&[
        "wrap",
        "--listen",
        address.trim_start_matches("http://"),
        "--",
        "true",
    ]);
    inner.env("ANTHROPIC_BASE_URL", &address);
    inner.env("OPENAI_BASE_URL", format!("{address}/v1"));
    let ran = run(inner, b"");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
}

#[test]
fn a_home_that_does_not_exist_is_not_made() {
    let home = Home::empty();
    let absent = home.path("absent");
    let mut wrap = program(&[
        "wrap",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory",
        "--",
        "true",
    ]);
    wrap.env("HOME", &absent);
    let ran = run(wrap, b"");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(!absent.exists(), "it is not made");
}

/// A gateway on all addresses is reached at each of this machine's. Not on a machine that is in no network.
#[test]
fn an_address_of_this_machine_is_no_upstream_of_a_gateway_on_all_addresses() {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    // Sends nothing.
    if socket.connect("198.51.100.1:9").is_err() {
        return;
    }
    let own = socket.local_addr().expect("an address").ip();
    let free = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let listen = format!("0.0.0.0:{port}");
    let wrapped = |upstream: &str| {
        let options = ["wrap", "--listen", &listen, "--store", "memory"];
        let script = "echo $OPENAI_BASE_URL";
        let mut wrap = program(&[&options[..], &["--", "bash", "-c", script]].concat());
        wrap.env("EBBTIDE_ADMIN_TOKEN", "a-token-of-many-letters");
        wrap.env("ANTHROPIC_BASE_URL", upstream);
        wrap.env("OPENAI_BASE_URL", upstream);
        run(wrap, b"")
    };
    let ran = wrapped(&format!("http://{own}:{port}"));
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("requests go on"), "{}", ran.stderr);
    // A gateway of another machine.
    let ran = wrapped(&format!("http://198.51.100.1:{port}"));
    assert!(ran.stderr.contains("requests go on"), "{}", ran.stderr);
}

/// A client appends its paths to the base URL, and the upstream of the outer gateway has no version.
#[test]
fn a_wrap_inside_another_keeps_the_form_of_the_base_url() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address").to_string();
    drop(free);
    for (upstream, version) in [("http://127.0.0.1:9", ""), ("http://127.0.0.1:9/v1", "/v1")] {
        let wrap = ["wrap", "--listen", &address];
        let print = ["--", "bash", "-c", "echo $OPENAI_BASE_URL"];
        let mut nested = program(&[&wrap[..], &["--store", "memory", "--"]].concat());
        let inner = [&wrap[..], &print].concat();
        nested.arg(env!("CARGO_BIN_EXE_ebbtide")).args(inner);
        nested.env("OPENAI_BASE_URL", upstream);
        let ran = run(nested, b"");
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        assert_eq!(ran.stdout, format!("http://{address}{version}\n"));
    }
}

/// A provider that reads one request, says so, and answers once it is told to.
fn held_provider() -> (String, Receiver<()>, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let ((asked, was_asked), (answer, may_answer)) = (channel(), channel());
    let provider = move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        assert!(stream.read(&mut [0; 4096]).expect("a request") > 0);
        asked.send(()).expect("a test");
        if may_answer.recv().is_ok() {
            let body = r#"{"answered":true}"#;
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .expect("a gateway");
        }
    };
    let thread = thread::Builder::new().name("provider".to_owned());
    thread.spawn(provider).expect("a thread");
    (url, was_asked, answer)
}

/// A process of the client still reads an answer. The first Ctrl-C may have been meant for the client.
#[test]
fn the_first_ctrl_c_does_not_cut_the_shutdown_short() {
    for presses in [0, 1, 2] {
        let home = Home::empty();
        let (url, was_asked, answer) = held_provider();
        let left = client(HELLO, "").replace("cat <&3 >/dev/null", "cat <&3");
        let wait = "until [ -e asked ]; do sleep 0.05; done";
        let script = format!("({left}) 2>/dev/null & {wait}");
        let wrap = ["wrap", "--listen", "127.0.0.1:0", "--store", "memory"];
        let rest = ["--anthropic-url", &url, "--", "bash", "-c", &script];
        let mut wrap = home.program(&[&wrap[..], &rest].concat());
        wrap.current_dir(home.path(""));
        let mut wrap = Beside::start(wrap);
        was_asked.recv_timeout(LONG).expect("a request");
        home.write("asked", "");
        let said = wrap.said_until("storing conversations");
        assert!(said.contains("responses in progress"), "{said}");
        if presses > 0 {
            wrap.signal("INT");
            let said = wrap.said_until("again to stop immediately");
            assert!(said.contains("Press Ctrl-C again"), "{said}");
        }
        if presses > 1 {
            wrap.signal("INT");
            let said = wrap.said_until("Stopped");
            assert!(said.contains("were cut off"), "{said}");
        } else {
            answer.send(()).expect("a provider");
        }
        assert_eq!(wrap.exit(), Some(0), "{presses}");
        // Ends with the process that reads the answer.
        let mut came = String::new();
        let stdout = wrap.0.stdout.as_mut().expect("a pipe");
        stdout.read_to_string(&mut came).expect("UTF-8");
        assert_eq!(came.contains("answered"), presses < 2, "{presses}: {came}");
    }
}
