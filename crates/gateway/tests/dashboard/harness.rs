//! A server that shows the dashboard over hand-made reports, as it is under `/ebbtide/`, and measured
//! under `/measured`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use gateway::config::Config;
use gateway::dashboard::{Dashboard, PageRequest};
use gateway::report::{Reports, Viewer};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The script that measures the framed pages and writes the result as JSON.
const MEASURE: &str = include_str!("measure.js");

/// The server, which stops when this is dropped.
pub struct Stage {
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl Stage {
    pub async fn open(reports: Arc<dyn Reports>) -> Self {
        let config = Config::default();
        let clock = Arc::new(|| "2026-01-02T03:04:05Z".parse().expect("a moment"));
        let dashboard = Arc::new(Dashboard::new(reports, &config, [3; 32], clock));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let dashboard = Arc::clone(&dashboard);
                connections.spawn(async move {
                    let service = service_fn(move |request| {
                        let dashboard = Arc::clone(&dashboard);
                        async move { Ok::<_, Infallible>(answer(&dashboard, request).await) }
                    });
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service);
                    // A browser that disconnects does not fail the test.
                    connection.await.ok();
                });
            }
        });
        Self {
            address,
            _server: server,
        }
    }

    /// Returns the address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the address of a page that frames these pages at these widths and reports the measurements.
    pub fn measured(&self, paths: &[&str], widths: &[u32]) -> String {
        let widths: Vec<String> = widths.iter().map(u32::to_string).collect();
        format!(
            "http://{}/measured?{};{}",
            self.address,
            widths.join(","),
            paths.join(",")
        )
    }
}

async fn answer(dashboard: &Dashboard, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path == "/measured" {
        return html(frames(parts.uri.query().unwrap_or_default()));
    }
    let framed = path.starts_with("/framed");
    let ask = PageRequest {
        method: parts.method.clone(),
        path: path.trim_start_matches("/framed").to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers.clone(),
        body: body.collect().await.expect("a body").to_bytes(),
        viewer: Some(Viewer::All),
    };
    let mut response = dashboard.answer(ask).await.map(Full::new);
    if framed {
        // The policy forbids frames, but only a frame can be as narrow as a phone here.
        response.headers_mut().remove(CONTENT_SECURITY_POLICY);
    }
    response
}

fn frames(query: &str) -> String {
    let (widths, paths) = query.split_once(';').expect("widths and paths");
    let mut page =
        String::from("<!doctype html><meta name=\"color-scheme\" content=\"light dark\"><body>");
    for path in paths.split(',') {
        for width in widths.split(',') {
            page.push_str(&format!(
                "<iframe src=\"/framed{path}\" width=\"{width}\" height=\"844\" style=\"border:0\"></iframe>"
            ));
        }
    }
    page.push_str("<pre id=\"measured\"></pre><script>");
    page.push_str(MEASURE);
    page.push_str("</script>");
    page
}

fn html(page: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(page)));
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    response
}
