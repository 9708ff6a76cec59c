//! Tests of a provider over TLS, with an authority and a proxy from the environment.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::harness::{anthropic, ask, gateway, whole};

const MESSAGES: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}"#;
const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Over TLS."}],"model":"claude-sonnet-4-5","stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}"#;

/// The variable with the provider's URL, for the test process started by another test.
const UPSTREAM: &str = "EBBTIDE_TEST_TLS_UPSTREAM";

/// An authority, and a certificate that it issued for this machine.
struct Authority {
    pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn authority() -> Authority {
    let key = KeyPair::generate().expect("a key");
    let mut root = CertificateParams::new(Vec::new()).expect("parameters");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = root.self_signed(&key).expect("a root").pem();
    let issuer = Issuer::new(root, key);
    let key = KeyPair::generate().expect("a key");
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let own = own.signed_by(&key, &issuer).expect("a certificate");
    Authority {
        pem,
        certificate: own.der().clone(),
        key: PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
    }
}

/// Serves the same answer over TLS to every request.
async fn serve(listener: TcpListener, authority: Authority) {
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![authority.certificate], authority.key)
        .expect("a certificate that fits");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        connections.spawn(async move {
            // A client that does not trust the certificate disconnects.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(|_| async {
                let mut answer = http::Response::new(whole(ANSWER));
                let json = http::HeaderValue::from_static("application/json");
                answer.headers_mut().insert("content-type", json);
                Ok::<_, std::convert::Infallible>(answer)
            });
            let server = hyper::server::conn::http1::Builder::new();
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// A proxy that opens tunnels and records the requests for them.
async fn proxy(listener: TcpListener, asked: Arc<Mutex<String>>) {
    let mut tunnels = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let asked = Arc::clone(&asked);
        tunnels.spawn(async move {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.expect("a head"));
            }
            let head = String::from_utf8(head).expect("text");
            let server = head.split(' ').nth(1).expect("a server").to_owned();
            asked.lock().expect("a lock").push_str(&head);
            let mut server = TcpStream::connect(server).await.expect("a server");
            let opened = b"HTTP/1.1 200 OK\r\n\r\n";
            client.write_all(opened).await.expect("a client");
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}

#[tokio::test]
async fn it_is_reached_through_the_proxy_that_the_environment_names() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("an address");
    let between = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let by = between.local_addr().expect("an address");
    let folder = tempfile::tempdir().expect("a folder");
    let right = authority();
    let file = folder.path().join("right.pem");
    std::fs::write(&file, &right.pem).expect("a file");
    let asked = Arc::default();
    let mut serving = JoinSet::new();
    serving.spawn(serve(listener, right));
    serving.spawn(proxy(between, Arc::clone(&asked)));
    let named = ("HTTPS_PROXY", format!("http://one:two@{by}"));
    let upstream = format!("https://{at}");
    let heard = || std::mem::take(&mut *asked.lock().expect("a lock"));

    let said = with_environment(&file, &upstream, std::slice::from_ref(&named)).await;
    assert!(
        said.contains("200 ") && said.contains("Over TLS."),
        "{said}"
    );
    let head = heard();
    assert!(
        head.starts_with(&format!("CONNECT {at} HTTP/1.1\r\n")),
        "{head}"
    );
    assert!(
        head.to_lowercase()
            .contains("proxy-authorization: basic b25lonr3bw=="),
        "{head}"
    );
    assert!(!head.contains("key-of-a-test"), "{head}");

    let except = ("NO_PROXY", "127.0.0.1".to_owned());
    let said = with_environment(&file, &upstream, &[named, except]).await;
    assert!(
        said.contains("200 ") && said.contains("Over TLS."),
        "{said}"
    );
    assert_eq!(heard(), "");

    let other = ("ALL_PROXY", format!("socks5://{by}"));
    let said = with_environment(&file, &upstream, &[other]).await;
    assert!(said.contains("502 "), "{said}");
    assert_eq!(heard(), "");
}

async fn with_certificates(file: &Path, upstream: &str) -> String {
    with_environment(file, upstream, &[]).await
}

/// Runs the first of these tests in a process of its own, whose environment names these certificates and
/// proxies; what it says.
async fn with_environment(file: &Path, upstream: &str, proxies: &[(&str, String)]) -> String {
    let program = std::env::current_exe().expect("a program");
    let mut command = Command::new(program);
    for name in ["HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command
        .envs(proxies.iter().map(|(name, value)| (name, value)))
        .args([
            "--exact",
            "tls::it_is_trusted_as_the_environment_says",
            "--nocapture",
        ])
        .env("SSL_CERT_FILE", file)
        .env(UPSTREAM, upstream)
        .stderr(Stdio::inherit())
        .output();
    let output = output.await.expect("an end");
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "an environment is for a whole process, so this one runs itself"
)]
async fn it_is_trusted_as_the_environment_says() {
    if let Ok(upstream) = std::env::var(UPSTREAM) {
        let gateway = gateway(&upstream, |_| {}).await;
        let came = ask(anthropic(&gateway.url(), "/v1/messages", MESSAGES)).await;
        println!("{} {:?}", came.status.as_u16(), came.body);
        return gateway.shutdown().await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let upstream = format!("https://{}", listener.local_addr().expect("an address"));
    let folder = tempfile::tempdir().expect("a folder");
    let (right, wrong) = (authority(), authority());
    let files = ["right.pem", "wrong.pem"].map(|name| folder.path().join(name));
    std::fs::write(&files[0], &right.pem).expect("a file");
    std::fs::write(&files[1], &wrong.pem).expect("a file");
    let mut serving = JoinSet::new();
    serving.spawn(serve(listener, right));
    let said = with_certificates(&files[0], &upstream).await;
    assert!(
        said.contains("200 ") && said.contains("Over TLS."),
        "{said}"
    );
    let said = with_certificates(&files[1], &upstream).await;
    assert!(
        said.contains("502 ") && !said.contains("Over TLS."),
        "{said}"
    );
}
