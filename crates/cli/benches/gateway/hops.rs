//! Starts the processes between client and provider, and the provider itself.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context::Tokens;
use http::{Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sim::Latency;
use tokio::net::TcpListener;

use crate::Failed;

/// The static provider's answer. It reports one token per four bytes of the request, since the gateway
/// relies on the reported sizes.
fn answer(bytes: usize) -> String {
    let tokens = bytes / 4;
    format!(
        r#"{{"id":"msg_bench","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"done"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":{tokens},"output_tokens":2}}}}"#
    )
}

/// A child process. Dropping it kills the process.
pub struct Hop {
    child: Child,
    pub url: String,
}

impl Drop for Hop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Hop {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The CPU time of its threads and of the processes that it started (nginx works in one), from the Linux
    /// scheduler; zero on other systems. Unlike latency, it does not depend on other load.
    pub fn ran(&self) -> Duration {
        Duration::from_nanos(ran(self.id()))
    }
}

fn ran(process: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let ran = |thread: std::fs::DirEntry| -> Option<u64> {
        let told = |file| std::fs::read_to_string(thread.path().join(file));
        let own: u64 = told("schedstat").ok()?.split(' ').next()?.parse().ok()?;
        let children = told("children").unwrap_or_default();
        let children = children.split_ascii_whitespace();
        let children = children.filter_map(|child| Some(self::ran(child.parse().ok()?)));
        Some(own + children.sum::<u64>())
    };
    threads.filter_map(ran).sum()
}

/// Starts a process and reads its address from the first line of output that has one.
fn start(command: &mut Command) -> Result<Hop, Failed> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().ok_or("no output")?;
    let mut lines = BufReader::new(out).lines();
    let found = lines.find_map(|line| {
        let line = line.ok()?;
        let (_, address) = line.split_once("http://127.0.0.1:")?;
        let port: String = address.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("http://127.0.0.1:{port}"))
    });
    // The rest is read, so that the process never waits for a full pipe.
    std::thread::Builder::new()
        .name("drain".to_owned())
        .spawn(move || lines.for_each(drop))?;
    let url = found.ok_or("the process said no address")?;
    Ok(Hop { child, url })
}

/// Starts this program in another role.
pub fn role(arguments: &[&str]) -> Result<Hop, Failed> {
    start(Command::new(std::env::current_exe()?).args(arguments))
}

/// Starts the gateway.
pub fn gateway(upstream: &str, folder: &Path, more: &[&str]) -> Result<Hop, Failed> {
    gateway_logging(upstream, folder, more, Stdio::null())
}

/// Starts the gateway, and reads its log.
pub fn gateway_logging(
    upstream: &str,
    folder: &Path,
    more: &[&str],
    log: Stdio,
) -> Result<Hop, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebbtide"));
    command
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--anthropic-url",
            upstream,
            "--store",
        ])
        .arg(folder.join("history.sqlite"))
        .args(more)
        .current_dir(folder)
        .stderr(log);
    start(&mut command)
}

/// Starts nginx, configured for large bodies; `None` if it is not installed.
pub fn nginx(upstream: &str, folder: &Path) -> Result<Option<Hop>, Failed> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port();
    let to = upstream.trim_start_matches("http://");
    let at = folder.display();
    let config = format!(
        "daemon off; worker_processes 1; pid {at}/nginx.pid; error_log {at}/nginx.log;
events {{ worker_connections 1024; }}
http {{ access_log off; client_body_temp_path {at}; proxy_temp_path {at}; fastcgi_temp_path {at};
uwsgi_temp_path {at}; scgi_temp_path {at}; client_max_body_size 64m; client_body_buffer_size 4m;
upstream provider {{ server {to}; keepalive 64; }}
server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000;
location / {{ proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}"
    );
    let file = folder.join("nginx.conf");
    std::fs::File::create(&file)?.write_all(config.as_bytes())?;
    let started = Command::new("nginx")
        .arg("-c")
        .arg(&file)
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = started else { return Ok(None) };
    let hop = Hop {
        child,
        url: format!("http://127.0.0.1:{port}"),
    };
    for _ in 0..100 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(Some(hop));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Ok(None)
}

/// Serves a provider that reads each request and sends the same answer.
pub fn upstream() -> Result<(), Failed> {
    serve(|request: Request<Incoming>| async move {
        let body = request.into_body().collect().await;
        let bytes = body.map_or(0, |body| body.to_bytes().len());
        let answer = Response::builder()
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(answer(bytes))));
        Ok::<_, Infallible>(answer.unwrap_or_default())
    })
}

/// Serves the simulated provider with a latency model.
pub fn provider(window: Tokens, latency: Latency) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let config = sim::Config {
            window: Some(window),
            latency: Some(latency),
            signatures: sim::Signatures::ForeignTrusted,
            ..sim::Config::default()
        };
        let running = sim::serve(listener, config, Arc::new(jiff::Timestamp::now), None)?;
        println!("{}", running.url());
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// Serves a proxy that streams requests and answers through.
pub fn proxy(to: &str) -> Result<(), Failed> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let to = to.to_owned();
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    serve(move |mut request: Request<Incoming>| {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let uri: Result<Uri, _> = format!("{to}{path}").parse();
        let client = client.clone();
        async move {
            *request.uri_mut() = uri?;
            request.headers_mut().remove(header::HOST);
            Ok::<_, Failed>(client.request(request).await?)
        }
    })
}

pub fn serve<S, F, B, E>(service: S) -> Result<(), Failed>
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Failed>,
    E: Into<Failed> + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        println!("http://{}", listener.local_addr()?);
        let tasks = tokio_util::task::TaskTracker::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let service = service.clone();
            tasks.spawn(async move {
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(service))
                    .await;
            });
        }
    })
}
