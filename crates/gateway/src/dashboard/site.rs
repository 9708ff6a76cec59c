//! The addresses under `/ebbtide/` that a browser opens.
//!
//! | address | page or action |
//! |---|---|
//! | `GET /ebbtide/` | the list, or those with the text `find`, the `state` and the `model` |
//! | `GET /ebbtide/conversations.csv` | the same as a table to download |
//! | `GET /ebbtide/conversations/{id}` | one conversation |
//! | `GET /ebbtide/conversations/{id}/marks/{mark}` | a summary beside what it replaced |
//! | `GET /ebbtide/conversations/{id}/window` | the window at the turn in `at` |
//! | `GET /ebbtide/conversations/{id}/turns` | the turns from `from` on, or those with the text `find` |
//! | `GET /ebbtide/conversations/{id}/turns.jsonl` | all turns to download, one a line |
//! | `POST /ebbtide/conversations/{id}/marks/{mark}` | gives a summary that is ready the field `text` |
//! | `POST /ebbtide/conversations/{id}/pins` | sets a pin with the field `text` |
//! | `POST /ebbtide/conversations/{id}/pins/{pin}/remove` | removes the pin |
//! | `GET`, `POST /ebbtide/conversations/{id}/delete` | asks, and deletes the conversation |
//! | `POST /ebbtide/conversations/{id}/orders` | gives the order in the field `order`: `prepare`, `swap`, `undo` or `redo` |
//! | `GET /ebbtide/strategy.svg` | a picture of the strategy's network |
//! | `GET`, `POST /ebbtide/login`, `POST /ebbtide/logout` | signing in and out |
//! | `GET /ebbtide/assets/{name}` | the style sheet, the script, the icon |
//!
//! An action leads to a page whose address names it in `told`; that page says what will happen.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use context::coded::Coded;
use conversation::homunculus::hosted::StrategyProgram;
use history::{ConversationId, Tenant};
use http::{HeaderMap, Method, Response, StatusCode};

use super::notice::{Notice, login_page, notice_page};
use super::session::{Sessions, cookie, set_cookie};
use super::{Visit, form, reply};
use crate::config::{Config, Secret};
use crate::conversations::Clock;
use crate::report::{ReportError, Reports, Viewer};

mod show;
mod submit;

pub(super) const HOME: &str = "/ebbtide/";
const LOGIN: &str = "/ebbtide/login";
/// The longest form, in bytes.
const FORM: usize = 512 << 10;

/// The pages and the sessions of their visitors.
pub struct Dashboard {
    reports: Arc<dyn Reports>,
    clock: Clock,
    mode: &'static str,
    admin_token: Option<Secret>,
    secret: [u8; 32],
    sessions: Sessions,
    strategy: Arc<StrategyProgram>,
    /// The strategy's picture, drawn when it is first requested.
    picture: OnceLock<Bytes>,
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard").finish_non_exhaustive()
    }
}

/// A browser's request.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The request's method.
    pub method: Method,
    /// The path, which begins with `/ebbtide`.
    pub path: String,
    /// The query without its question mark, or empty.
    pub query: String,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The body: a form, or empty.
    pub body: Bytes,
    /// The viewer according to the request, cookies aside; `None` has to sign in.
    pub viewer: Option<Viewer>,
}

/// One request with the identity of its sender.
struct Call<'a> {
    dashboard: &'a Dashboard,
    request: &'a PageRequest,
    viewer: Option<Viewer>,
    /// The id of the session, if there is one.
    session: Option<&'a str>,
    visit: Visit,
}

impl Dashboard {
    /// Creates the dashboard. `secret` is the store's, which derives tenants from keys.
    #[must_use]
    pub fn new(reports: Arc<dyn Reports>, config: &Config, secret: [u8; 32], clock: Clock) -> Self {
        Self {
            sessions: Sessions::new(&secret, clock()),
            reports,
            clock,
            mode: config.mode_name(),
            admin_token: config.admin_token.clone(),
            secret,
            strategy: config.policy.strategy.program(),
            picture: OnceLock::new(),
        }
    }

    /// Answers a browser's request.
    pub async fn answer(&self, request: PageRequest) -> Response<Bytes> {
        let now = (self.clock)();
        let known = cookie(&request.headers)
            .and_then(|id| self.sessions.viewer(id, now).map(|viewer| (id, viewer)));
        let session = known.map(|(id, _)| id);
        let visit = Visit {
            now,
            base: form::base(&request.headers),
            mode: self.mode,
            form: self.sessions.form(session),
            signed_in: session.is_some(),
        };
        let call = Call {
            dashboard: self,
            request: &request,
            viewer: known.map(|(_, viewer)| viewer).or(request.viewer),
            session,
            visit,
        };
        match request.method {
            Method::GET | Method::HEAD => call.show().await,
            Method::POST => call.submit().await,
            _ => call.missing(),
        }
    }
}

impl Call<'_> {
    /// Signs a visitor in. A key that nothing was recorded with opens no session: it may be a mistyped token, and
    /// anyone can make up any number of keys.
    async fn sign_in(&self, key: &str) -> Response<Bytes> {
        let (dashboard, visit) = (self.dashboard, &self.visit);
        if key.is_empty() {
            let problem = Some("Enter an API key or the admin token.");
            return reply::page(StatusCode::UNPROCESSABLE_ENTITY, login_page(problem, visit));
        }
        // Comparing hashes takes the same time for any token.
        let is_admin = dashboard.admin_token.as_ref().is_some_and(|token| {
            blake3::hash(token.reveal().as_bytes()) == blake3::hash(key.as_bytes())
        });
        let viewer = match is_admin {
            true => Viewer::All,
            false => Viewer::Tenant(Tenant::of(&dashboard.secret, key.as_bytes())),
        };
        if !is_admin {
            match dashboard.reports.list(viewer).await {
                Ok(seen) if seen.conversations.is_empty() => {
                    let problem =
                        "This is not the admin token, and nothing was recorded with such a key.";
                    let page = login_page(Some(problem), visit);
                    return reply::page(StatusCode::UNPROCESSABLE_ENTITY, page);
                }
                Ok(_) => {}
                Err(error) => return self.failed(&error, LOGIN),
            }
        }
        let id = dashboard.sessions.open(viewer, visit.now);
        reply::redirect_with_cookie(HOME, &set_cookie(&id, &visit.base))
    }

    /// Serves a page, or the error of the report that it needs.
    fn page(
        &self,
        page: Result<Result<String, askama::Error>, ReportError>,
        back: &str,
    ) -> Response<Bytes> {
        match page {
            Ok(page) => reply::page(StatusCode::OK, page),
            Err(error) => self.failed(&error, back),
        }
    }

    fn failed(&self, error: &ReportError, to: &str) -> Response<Bytes> {
        let (status, title) = match error {
            ReportError::NoConversation | ReportError::NoMark => {
                (StatusCode::NOT_FOUND, "Not found")
            }
            ReportError::Refused { .. }
            | ReportError::Which { .. }
            | ReportError::AtRest
            | ReportError::UnderWay
            | ReportError::NotKept => (StatusCode::UNPROCESSABLE_ENTITY, "Not done"),
            ReportError::Store(_) | ReportError::Damaged { .. } | ReportError::Late => {
                (StatusCode::SERVICE_UNAVAILABLE, "Unavailable")
            }
        };
        let mut text = format!("{}: {error}.", error.code());
        if status == StatusCode::SERVICE_UNAVAILABLE {
            text = [text, error.hint().unwrap_or_default()].join(" ");
        }
        let (text, link) = (text.as_str(), "Back");
        let notice = Notice {
            title,
            text,
            to,
            link,
        };
        reply::page(status, notice_page(notice, &self.visit))
    }

    fn refuse(&self, status: StatusCode, title: &str, text: &str) -> Response<Bytes> {
        let (to, link) = (HOME, "All conversations");
        let notice = Notice {
            title,
            text,
            to,
            link,
        };
        reply::page(status, notice_page(notice, &self.visit))
    }

    fn missing(&self) -> Response<Bytes> {
        let text = "There is nothing at this address.";
        self.refuse(StatusCode::NOT_FOUND, "Not found", text)
    }
}

/// The segments of a path after `/ebbtide`.
fn segments(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty())
        .skip(1)
        .collect()
}

fn address(id: ConversationId) -> String {
    format!("/ebbtide/conversations/{id}")
}

#[cfg(test)]
mod tests;
