//! What lies under `/ebbtide/`: health, metrics, the control interface and, for everything else, the
//! dashboard.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Extension, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use bytes::Bytes;
use context::coded::{self, Coded, ErrorCode};
use context::pin::PinId;
use history::{ConversationId, MarkId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::dashboard::Ask;
use crate::error;
use crate::report::{Asker, Order, Report, ReportError};
use crate::server::access::{Denied, Visitor};
use crate::server::{State as Gateway, health};

/// The largest body that is taken here.
const LONGEST: usize = 256 << 10;
/// How many of the turns that a summary stands for are told at once, where nothing else is asked for.
const TURNS: usize = 50;

/// The other end of a connection, among a request's extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

type Desk = State<Arc<Gateway>>;

/// Everything under `/ebbtide/`.
pub(super) fn router(gateway: Arc<Gateway>) -> Router {
    let api = Router::new()
        .route("/api/overview", get(overview))
        .route("/api/conversations/{id}", get(detail))
        .route("/api/conversations/{id}/marks/{mark}", get(replaced))
        .route("/api/conversations/{id}/pins", post(pin))
        .route("/api/conversations/{id}/pins/{pin}", delete(unpin))
        .route("/api/conversations/{id}/prepare", post(prepare))
        .route("/api/conversations/{id}/swap", post(swap))
        .route("/metrics", get(metrics))
        .layer(DefaultBodyLimit::max(LONGEST))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&gateway), admit));
    let inside = api
        .route("/health", get(health::health))
        .method_not_allowed_fallback(wrong_method);
    Router::new()
        .nest("/ebbtide", inside)
        .fallback(page)
        .layer(middleware::map_response(harmless))
        .with_state(gateway)
}

/// Lets in who may see something, and notes who it is.
async fn admit(State(gateway): Desk, mut request: Request, next: Next) -> Response {
    match asker(&gateway, &request) {
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            next.run(request).await
        }
        Err(denied) => denied.into_response(),
    }
}

/// Who sends a request.
fn asker(gateway: &Gateway, request: &Request) -> Result<Asker, Denied> {
    let Some(Peer(peer)) = request.extensions().get() else {
        return Err(Denied::Unknown);
    };
    gateway.house.access.asker(Visitor {
        peer: *peer,
        method: request.method(),
        headers: request.headers(),
        host: request.uri().authority(),
    })
}

/// Nothing from here is kept by a cache, framed by another page or taken for another type; no page
/// runs a script or takes a style from elsewhere.
async fn harmless(mut response: Response) -> Response {
    const ALL: [(header::HeaderName, &str); 4] = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ];
    let headers = response.headers_mut();
    for (name, value) in ALL {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// What is wrong with a request to the control interface.
enum Problem {
    Report(ReportError),
    Bad(&'static str),
    Nothing,
    Method,
    Denied(Denied),
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Self {
        Self::Report(error)
    }
}

impl Problem {
    fn status(&self) -> StatusCode {
        match self {
            Self::Report(ReportError::NoConversation | ReportError::NoMark) | Self::Nothing => {
                StatusCode::NOT_FOUND
            }
            Self::Report(
                ReportError::Refused { .. } | ReportError::AtRest | ReportError::NotKept,
            ) => StatusCode::CONFLICT,
            Self::Report(ReportError::Store(_)) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Denied(denied) => denied.status(),
        }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Report(error) => error.code(),
            Self::Bad(_) => error::BAD_REQUEST,
            Self::Nothing => error::NOTHING_HERE,
            Self::Method => error::WRONG_METHOD,
            Self::Denied(denied) => denied.code(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, code) = (self.status(), self.code());
        // What is refused is often refused by a rule of another crate.
        let tables = [
            crate::CODES,
            context::CODES,
            conversation::homunculus::CODES,
            history::CODES,
        ];
        let hint = tables.iter().find_map(|table| coded::remedy(table, code));
        let meaning = || {
            let entry = error::CODES.iter().find(|entry| entry.code == code);
            entry.map_or("", |entry| entry.meaning).to_owned()
        };
        let message = match self {
            Self::Report(error) => error.to_string(),
            Self::Bad(what) => what.to_owned(),
            Self::Nothing | Self::Method | Self::Denied(_) => meaning(),
        };
        let body = json!({"error": {"code": code.as_str(), "message": message, "hint": hint}});
        let mut response = (status, axum::Json(body)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        Problem::Denied(self).into_response()
    }
}

async fn wrong_method() -> Problem {
    Problem::Method
}

/// A page of the dashboard.
async fn page(State(gateway): Desk, request: Request) -> Result<Response, Problem> {
    if request.uri().path().starts_with("/ebbtide/api/") {
        return Err(Problem::Nothing);
    }
    // Who is not known by the request may be by a cookie, which is the dashboard's affair.
    let asker = asker(&gateway, &request).ok();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LONGEST)
        .await
        .map_err(|_| Problem::Bad("the body is too long or broke off"))?;
    let ask = Ask {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
        asker,
    };
    let page = gateway.house.dashboard.answer(ask).await;
    Ok(page.map(axum::body::Body::from))
}

/// A report as JSON.
async fn told<T: Serialize>(report: Report<'_, T>) -> Result<Response, Problem> {
    Ok(axum::Json(report.await?).into_response())
}

fn conversation(id: &str) -> Result<ConversationId, Problem> {
    ConversationId::parse(id).ok_or(Problem::Report(ReportError::NoConversation))
}

async fn overview(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
) -> Result<Response, Problem> {
    told(gateway.house.reports.overview(asker)).await
}

async fn detail(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    told(gateway.house.reports.detail(asker, conversation(&id)?)).await
}

/// Which of the turns that a summary stands for.
#[derive(Debug, Deserialize)]
struct Turns {
    #[serde(default)]
    from: usize,
    count: Option<usize>,
}

async fn replaced(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
    Path((id, mark)): Path<(String, String)>,
    turns: Result<Query<Turns>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(turns) = turns.map_err(|_| Problem::Bad("`from` and `count` have to be numbers"))?;
    let mark = MarkId::parse(&mark).ok_or(Problem::Report(ReportError::NoMark))?;
    let count = turns.count.unwrap_or(TURNS);
    let range = turns.from..turns.from.saturating_add(count);
    told(
        gateway
            .house
            .reports
            .replaced(asker, conversation(&id)?, mark, range),
    )
    .await
}

/// What is to be pinned.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPin {
    text: String,
}

async fn pin(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Problem> {
    let id = conversation(&id)?;
    let pin: NewPin = serde_json::from_slice(&body)
        .map_err(|_| Problem::Bad("the body has to be {\"text\": \"…\"}"))?;
    told(gateway.house.reports.pin(asker, id, pin.text)).await
}

async fn unpin(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
    Path((id, pin)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let id = conversation(&id)?;
    let pin = PinId::parse(&pin).ok_or(Problem::Bad("a pin's id has eight hexadecimal digits"))?;
    let removed = gateway.house.reports.unpin(asker, id, pin).await?;
    Ok(axum::Json(json!({"removed": removed})).into_response())
}

async fn prepare(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    order(&gateway, asker, &id, Order::Prepare).await
}

async fn swap(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    order(&gateway, asker, &id, Order::Swap).await
}

async fn order(
    gateway: &Gateway,
    asker: Asker,
    id: &str,
    order: Order,
) -> Result<Response, Problem> {
    gateway
        .house
        .reports
        .order(asker, conversation(id)?, order)
        .await?;
    Ok((StatusCode::ACCEPTED, axum::Json(json!({"accepted": true}))).into_response())
}

/// The counts concern all tenants.
async fn metrics(
    State(gateway): Desk,
    Extension(asker): Extension<Asker>,
) -> Result<Response, Problem> {
    if asker != Asker::All {
        return Err(Problem::Denied(Denied::Unknown));
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], gateway.metrics.render()).into_response())
}
