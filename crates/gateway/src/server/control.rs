//! The routes under `/ebbtide/` (health, metrics, the control API and, for every other path, the dashboard)
//! and `/mcp`, the memory tools.

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
use context::coded::{Coded, ErrorCode};
use context::original::{Handle, OriginalError, Section};
use context::pin::{Origin, PinId, Subject};
use history::{ConversationId, MarkId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::dashboard::{PROTECTION, PageRequest};
use crate::error;
use crate::mcp;
use crate::report::{Order, Report, ReportError, Viewer, named};
use crate::server::access::{Denied, Visitor};
use crate::server::{State as Gateway, health, hooks};

/// The largest body accepted here, in bytes.
const LONGEST: usize = 1 << 20;
/// The default number of turns returned with a summary.
const TURNS: usize = 50;
/// The default number of places that recall returns.
const HITS: usize = 10;

/// The remote address of a connection, stored in a request's extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

type Shared = State<Arc<Gateway>>;

/// Builds the routes.
pub(super) fn router(gateway: Arc<Gateway>) -> Router {
    let api = Router::new()
        .route("/api/overview", get(overview))
        .route("/api/conversations/{id}", get(detail))
        .route("/api/conversations/{id}/marks/{mark}", get(replaced))
        .route("/api/conversations/{id}/window", get(window))
        .route("/api/conversations/{id}/lost", get(lost))
        .route("/api/conversations/{id}/original", get(original))
        .route("/api/conversations/{id}/recall", get(recall))
        .route("/api/conversations/{id}/pins", post(pin))
        .route("/api/conversations/{id}/pins/{pin}", delete(unpin))
        .route("/api/conversations/{id}/prepare", post(prepare))
        .route("/api/conversations/{id}/swap", post(swap))
        .route("/api/conversations/{id}/undo", post(undo))
        .route("/api/conversations/{id}/redo", post(redo))
        .route("/metrics", get(metrics))
        .route("/hooks/claude", post(hooks::claude))
        .layer(DefaultBodyLimit::max(LONGEST))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&gateway), admit));
    let inside = api
        .route("/health", get(health::health))
        .method_not_allowed_fallback(wrong_method);
    let memory = Router::new()
        .route("/mcp", post(mcp::serve))
        .layer(Extension(Arc::clone(&gateway.control.reports)))
        .layer(DefaultBodyLimit::max(mcp::LONGEST))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&gateway), admit));
    Router::new()
        .nest("/ebbtide", inside)
        .merge(memory)
        .fallback(page)
        .layer(middleware::map_response(protect))
        .with_state(gateway)
}

/// Admits an authorized request and stores its viewer among the extensions.
async fn admit(State(gateway): Shared, mut request: Request, next: Next) -> Response {
    match viewer(&gateway, &request) {
        Ok(viewer) => {
            request.extensions_mut().insert(viewer);
            next.run(request).await
        }
        Err(denied) => denied.into_response(),
    }
}

/// Determines what the sender of a request may see.
fn viewer(gateway: &Gateway, request: &Request) -> Result<Viewer, Denied> {
    let Some(Peer(peer)) = request.extensions().get() else {
        return Err(Denied::Unauthenticated);
    };
    gateway.control.access.viewer(Visitor {
        peer: *peer,
        method: request.method(),
        headers: request.headers(),
        host: request.uri().authority(),
    })
}

/// Adds headers that keep caches, frames, scripts and styles of other origins away from an answer.
async fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in PROTECTION
        .into_iter()
        .chain([(header::CACHE_CONTROL, "no-store")])
    {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The error of a request to the control API.
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
                ReportError::Refused { .. }
                | ReportError::Which { .. }
                | ReportError::AtRest
                | ReportError::UnderWay
                | ReportError::NotKept,
            ) => StatusCode::CONFLICT,
            Self::Report(
                ReportError::Store(_) | ReportError::Damaged { .. } | ReportError::Late,
            ) => StatusCode::SERVICE_UNAVAILABLE,
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
        let hint = error::remedy(code);
        let message = match self {
            Self::Report(error) => error.to_string(),
            Self::Bad(what) => what.to_owned(),
            Self::Nothing | Self::Method | Self::Denied(_) => error::meaning(code).to_owned(),
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

/// Serves a page of the dashboard.
async fn page(State(gateway): Shared, request: Request) -> Result<Response, Problem> {
    if request.uri().path().starts_with("/ebbtide/api/") {
        return Err(Problem::Nothing);
    }
    // The dashboard may recognize the visitor by a cookie.
    let viewer = viewer(&gateway, &request).ok();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LONGEST)
        .await
        .map_err(|_| Problem::Bad("the body is too long or was cut off"))?;
    let request = PageRequest {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
        viewer,
    };
    let page = gateway.control.dashboard.answer(request).await;
    Ok(page.map(axum::body::Body::from))
}

/// Returns a report as JSON.
async fn json_of<T: Serialize>(report: Report<'_, T>) -> Result<Response, Problem> {
    Ok(axum::Json(report.await?).into_response())
}

/// Finds the viewer's conversation with this ID, or with one that begins so.
async fn conversation(
    gateway: &Gateway,
    viewer: Viewer,
    id: &str,
) -> Result<ConversationId, Problem> {
    // A whole ID needs no list, which takes time to make.
    if let Some(id) = ConversationId::parse(id) {
        return Ok(id);
    }
    let known = gateway.control.reports.list(viewer).await?.conversations;
    Ok(named(id, &known)?)
}

async fn overview(State(gateway): Shared, viewer: Extension<Viewer>) -> Result<Response, Problem> {
    json_of(gateway.control.reports.overview(*viewer)).await
}

async fn detail(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = conversation(&gateway, *viewer, &id).await?;
    json_of(gateway.control.reports.detail(*viewer, id)).await
}

/// The range of the turns to return with a summary.
#[derive(Debug, Deserialize)]
struct Turns {
    #[serde(default)]
    from: usize,
    count: Option<usize>,
}

async fn replaced(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path((id, mark)): Path<(String, String)>,
    turns: Result<Query<Turns>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(turns) = turns.map_err(|_| Problem::Bad("`from` and `count` must be numbers"))?;
    let mark = MarkId::parse(&mark).ok_or(Problem::Report(ReportError::NoMark))?;
    let count = turns.count.unwrap_or(TURNS);
    let range = turns.from..turns.from.saturating_add(count);
    let id = conversation(&gateway, *viewer, &id).await?;
    json_of(gateway.control.reports.replaced(*viewer, id, mark, range)).await
}

/// The turn at which to show the window.
#[derive(Debug, Deserialize)]
struct WindowQuery {
    at: Option<usize>,
}

async fn window(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
    place: Result<Query<WindowQuery>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(place) = place.map_err(|_| Problem::Bad("`at` must be a number"))?;
    let id = conversation(&gateway, *viewer, &id).await?;
    json_of(gateway.control.reports.window(*viewer, id, place.at)).await
}

/// The summary whose losses to return.
#[derive(Debug, Deserialize)]
struct Of {
    mark: Option<String>,
}

async fn lost(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
    Query(of): Query<Of>,
) -> Result<Response, Problem> {
    let parse = |mark: String| MarkId::parse(&mark).ok_or(ReportError::NoMark);
    let mark = of.mark.map(parse).transpose()?;
    let id = conversation(&gateway, *viewer, &id).await?;
    json_of(gateway.control.reports.lost(*viewer, id, mark)).await
}

/// The original to return, and the section of it.
#[derive(Debug, Deserialize)]
struct Wanted {
    handle: String,
    section: Option<String>,
}

async fn original(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(wanted) = wanted.map_err(|_| Problem::Bad("`handle` is missing"))?;
    let refused = |error: OriginalError| ReportError::refused(&error);
    let handle = Handle::parse(&wanted.handle).map_err(refused)?;
    let section = wanted.section.as_deref().map(Section::parse).transpose();
    let what = (handle, section.map_err(refused)?);
    let id = conversation(&gateway, *viewer, &id).await?;
    json_of(
        gateway
            .control
            .reports
            .expand(*viewer, id, what, usize::MAX),
    )
    .await
}

/// The words to look for.
#[derive(Debug, Deserialize)]
struct Question {
    query: String,
    most: Option<usize>,
}

async fn recall(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
    asked: Result<Query<Question>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(asked) = asked.map_err(|_| Problem::Bad("`query` is missing"))?;
    let most = asked.most.unwrap_or(HITS);
    let id = conversation(&gateway, *viewer, &id).await?;
    json_of(
        gateway
            .control
            .reports
            .recall(*viewer, id, asked.query, most),
    )
    .await
}

/// The body of a request to set a pin: a text, a turn (with so many turns that end with it), or a path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPin {
    text: Option<String>,
    turn: Option<usize>,
    turns: Option<usize>,
    path: Option<String>,
}

impl NewPin {
    fn subject(self) -> Option<Subject> {
        match (self.text, (self.turn, self.turns), self.path) {
            (Some(text), (None, None), None) => Some(Subject::Text(text)),
            (None, (Some(turn), turns), None) => Some(Subject::Turns(turn, turns.unwrap_or(1))),
            (None, (None, None), Some(path)) => Some(Subject::File(path)),
            _ => None,
        }
    }
}

async fn pin(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Problem> {
    let id = conversation(&gateway, *viewer, &id).await?;
    let pin = serde_json::from_slice(&body).ok().and_then(NewPin::subject);
    let subject = pin.ok_or(Problem::Bad(
        "the body must be {\"text\": \"…\"}, {\"turn\": 14} or {\"path\": \"…\"}",
    ))?;
    json_of(
        gateway
            .control
            .reports
            .pin(*viewer, id, (subject, Origin::Api)),
    )
    .await
}

async fn unpin(
    State(gateway): Shared,
    viewer: Extension<Viewer>,
    Path((id, pin)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let id = conversation(&gateway, *viewer, &id).await?;
    let pin = PinId::parse(&pin).ok_or(Problem::Bad("a pin id has eight hexadecimal digits"))?;
    let removed = gateway.control.reports.unpin(*viewer, id, pin).await?;
    Ok(axum::Json(json!({"removed": removed})).into_response())
}

async fn prepare(
    gateway: Shared,
    viewer: Extension<Viewer>,
    id: Path<String>,
) -> Result<Response, Problem> {
    order(&gateway, *viewer, &id, Order::Prepare).await
}

async fn swap(
    gateway: Shared,
    viewer: Extension<Viewer>,
    id: Path<String>,
) -> Result<Response, Problem> {
    order(&gateway, *viewer, &id, Order::Swap).await
}

async fn undo(
    gateway: Shared,
    viewer: Extension<Viewer>,
    id: Path<String>,
) -> Result<Response, Problem> {
    order(&gateway, *viewer, &id, Order::Undo).await
}

async fn redo(
    gateway: Shared,
    viewer: Extension<Viewer>,
    id: Path<String>,
) -> Result<Response, Problem> {
    order(&gateway, *viewer, &id, Order::Redo).await
}

async fn order(
    gateway: &Gateway,
    viewer: Viewer,
    id: &str,
    order: Order,
) -> Result<Response, Problem> {
    let id = conversation(gateway, viewer, id).await?;
    gateway.control.reports.order(viewer, id, order).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(json!({"accepted": true}))).into_response())
}

/// Returns the metrics, which cover all tenants.
async fn metrics(State(gateway): Shared, viewer: Extension<Viewer>) -> Result<Response, Problem> {
    if *viewer != Viewer::All {
        return Err(Problem::Denied(Denied::Unauthenticated));
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], gateway.metrics.render()).into_response())
}
